//! How collecting a chain goes, from who holds it and what that one has written. Pure:
//! time is an argument, by the store's clock.

use std::time::Duration;

use serde::Serialize;
use windlass_core::code::Code;
use windlass_core::lease::Lease;
use windlass_core::time::{Timestamp, duration_ms};
use windlass_engine::collect::health::{ChainHealth, Phase, SeenHead};

use super::HaltView;
use crate::output::{human, time};

/// A head that has not moved for so long is worth a word.
const STILL_S: u64 = 60;

/// How collecting a chain goes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct HealthView {
    /// In a word.
    pub(crate) state: HealthState,
    /// What is the matter, in a sentence; nothing when all is well.
    pub(crate) message: Option<String>,
    /// Under which code it is explained.
    #[serde(serialize_with = "code")]
    pub(crate) code: Option<Code>,
    /// Since when, in milliseconds since 1970 as all times here.
    pub(crate) since_ms: Option<Timestamp>,
    /// Who collects it, or was the last to do so.
    pub(crate) owner: Option<String>,
    /// Until when that one holds it.
    pub(crate) held_until_ms: Option<Timestamp>,
    /// When an endpoint last answered.
    pub(crate) heard_ms: Option<Timestamp>,
    /// The time of the newest block that endpoints know, in seconds.
    pub(crate) head_timestamp_s: Option<u64>,
    /// What is the matter with single endpoints, a sentence each.
    pub(crate) endpoints: Vec<String>,
    /// Whether it has lasted so long that the chain is not as it should be.
    pub(crate) is_urgent: bool,
}

/// How it goes, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HealthState {
    /// Nobody collects it, and nobody is to.
    #[default]
    Idle,
    /// A process has taken it, and has not said more yet.
    Starting,
    /// All is well.
    Collecting,
    /// Endpoints answer, and their newest block is old.
    Behind,
    /// Endpoints want fewer requests than following the chain takes.
    RateLimited,
    /// Endpoints do not answer, or not with what is asked.
    RpcDown,
    /// The database does not take what is collected.
    Failing,
    /// It stands still until somebody has mended something.
    Stopped,
    /// Who holds it has fallen silent; others wait until its lease has run out.
    Waiting,
    /// Nobody collects it, and somebody should.
    Unattended,
}

impl HealthState {
    /// The state as it is shown.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Collecting => "collecting",
            Self::Behind => "behind",
            Self::RateLimited => "rate limited",
            Self::RpcDown => "rpc down",
            Self::Failing => "failing",
            Self::Stopped => "stopped",
            Self::Waiting => "waiting",
            Self::Unattended => "unattended",
        }
    }

    /// What to do about it.
    pub(crate) const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Behind | Self::RpcDown => Some("`windlass doctor` asks every endpoint"),
            Self::RateLimited => Some("add an endpoint to `rpc`, or take a larger plan from the provider"),
            Self::Failing => Some("`windlass doctor` looks at the database"),
            Self::Unattended => Some("`windlass run` collects it; if it runs, its log says why it does not"),
            Self::Waiting => Some("another process takes over by itself when the time has come"),
            Self::Idle | Self::Starting | Self::Collecting | Self::Stopped => None,
        }
    }
}

/// What is known of a chain.
pub(super) struct HealthLook<'a> {
    pub(super) now: Timestamp,
    /// Who holds it, or did when the lease ran out.
    pub(super) lease: Option<&'a Lease>,
    /// Whether who holds it is known to have died.
    pub(super) is_abandoned: bool,
    pub(super) record: Option<&'a ChainHealth>,
    pub(super) halt: Option<&'a HaltView>,
    /// Whether something is to be collected of it.
    pub(super) is_wanted: bool,
    pub(super) grace: Duration,
}

impl HealthLook<'_> {
    /// How it goes.
    pub(super) fn view(&self) -> HealthView {
        let held = self.lease.filter(|lease| lease.expires_at > self.now && !self.is_abandoned);
        let record = self.record;
        let mut view = match (held, record) {
            (Some(lease), Some(record)) if record.owner == lease.owner && record.phase != Phase::Ended => {
                match record.is_fresh(self.now) {
                    true => self.told(record),
                    false => self.silent(lease, record),
                }
            }
            (Some(_), _) => HealthView { state: HealthState::Starting, ..HealthView::default() },
            (None, Some(record)) if record.is_fresh(self.now) && !self.is_abandoned => self.told(record),
            (None, _) if self.is_wanted => self.unattended(),
            (None, _) => HealthView::default(),
        };
        if let Some(halt) = self.halt {
            view.state = HealthState::Stopped;
            (view.code, view.message) = (Some(Code::FinalityViolated), Some(halt.reason.clone()));
            view.is_urgent = true;
        }
        let owner = held.map(|lease| &lease.owner).or_else(|| record.map(|record| &record.owner));
        view.owner = owner.map(ToString::to_string);
        view.held_until_ms = held.map(|lease| lease.expires_at);
        view.heard_ms = record.and_then(|record| record.heard_at);
        view.endpoints = record
            .filter(|record| record.is_fresh(self.now))
            .map_or(Vec::new(), |record| record.endpoints.clone());
        view.head_timestamp_s = record.and_then(|record| record.head).map(|head| head.timestamp_s);
        view
    }

    /// What a record says that is fresh.
    fn told(&self, record: &ChainHealth) -> HealthView {
        let Some(trouble) = &record.trouble else {
            let old = record.head.filter(|head| head.is_old(self.now));
            return match (old, record.phase) {
                (Some(head), _) => self.behind(&head),
                (None, Phase::Starting) => self.is(HealthState::Starting),
                (None, _) => self.is(HealthState::Collecting),
            };
        };
        let code = trouble.code.parse().unwrap_or(Code::TaskFailed);
        let state = match record.phase {
            Phase::Refused => HealthState::Stopped,
            _ if code == Code::RpcLimited => HealthState::RateLimited,
            _ if code == Code::ChainBehind => HealthState::Behind,
            _ if trouble.code.starts_with("W02") => HealthState::RpcDown,
            _ => HealthState::Failing,
        };
        let (since, age) = (time::instant(trouble.since), self.since(trouble.since));
        let words = match state {
            HealthState::RpcDown => format!("the rpc is down since {since} ({age}): {}", trouble.message),
            HealthState::RateLimited => format!("rate limited since {since} ({age}): {}", trouble.message),
            HealthState::Behind => format!("it stands still since {since} ({age}): {}", trouble.message),
            _ => format!("it cannot be collected since {since} ({age}): {}", trouble.message),
        };
        HealthView {
            message: Some(words),
            code: Some(code),
            since_ms: Some(trouble.since),
            is_urgent: state == HealthState::Stopped || self.has_lasted(trouble.since),
            ..self.is(state)
        }
    }

    /// Endpoints whose newest block is old.
    fn behind(&self, head: &SeenHead) -> HealthView {
        let still_s = self.seconds_since(head.since);
        let still = match still_s {
            STILL_S.. => format!(", and no newer one has come for {}", human::seconds(still_s)),
            _ => String::new(),
        };
        let (number, age_s) = (head.number, head.age_s(self.now));
        let message = match age_s > head.old_after_s {
            true => {
                format!("the newest block {number} of its endpoints is {} old{still}", human::seconds(age_s))
            }
            false => format!("no newer block than {number} has come for {}", human::seconds(still_s)),
        };
        HealthView {
            message: Some(message),
            code: Some(Code::ChainBehind),
            since_ms: Some(head.since),
            ..self.is(HealthState::Behind)
        }
    }

    /// Somebody holds the chain and should have said something since.
    fn silent(&self, lease: &Lease, record: &ChainHealth) -> HealthView {
        let (owner, until, since) = (&lease.owner, time::instant(lease.expires_at), time::instant(record.at));
        HealthView {
            message: Some(format!(
                "{owner} holds the chain until {until} and has said nothing since {since}"
            )),
            code: Some(Code::ChainUnattended),
            since_ms: Some(record.at),
            is_urgent: self.has_lasted(record.at),
            ..self.is(HealthState::Waiting)
        }
    }

    fn unattended(&self) -> HealthView {
        let since = self.record.map(|record| record.at);
        HealthView {
            message: Some(format!("nobody collects this chain: {}", self.last_holder())),
            code: Some(Code::ChainUnattended),
            since_ms: since,
            is_urgent: since.is_none_or(|since| self.has_lasted(since)),
            ..self.is(HealthState::Unattended)
        }
    }

    /// What became of the last process that collected the chain.
    fn last_holder(&self) -> String {
        let record = self.record;
        if let Some(Lease { owner, .. }) = self.lease.filter(|_| self.is_abandoned) {
            let heard = record.filter(|record| record.owner == *owner);
            let heard = heard.map(|record| format!(", last heard of at {}", time::instant(record.at)));
            return format!("the process {owner} has died{}", heard.unwrap_or_default());
        }
        let Some(record) = record else { return "no process has begun with it".to_owned() };
        let last = match &record.trouble {
            Some(trouble) => format!("; the last one ended with {}: {}", trouble.code, trouble.message),
            None => String::new(),
        };
        format!("no process holds it since {}{last}", time::instant(record.at))
    }

    fn is(&self, state: HealthState) -> HealthView {
        HealthView { state, ..HealthView::default() }
    }

    fn has_lasted(&self, since: Timestamp) -> bool {
        self.now.as_ms().saturating_sub(since.as_ms()) >= duration_ms(self.grace)
    }

    fn seconds_since(&self, since: Timestamp) -> u64 {
        self.now.as_ms().saturating_sub(since.as_ms()).max(0).unsigned_abs() / 1_000
    }

    fn since(&self, since: Timestamp) -> String {
        human::seconds(self.seconds_since(since))
    }
}

/// A code as it is printed.
fn code<S: serde::Serializer>(code: &Option<Code>, serializer: S) -> Result<S::Ok, S::Error> {
    code.map(Code::as_str).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{B256, BlockRef};
    use windlass_core::lease::Epoch;
    use windlass_core::name::{LeaseName, Owner};
    use windlass_engine::collect::finality_wait::FinalityWaited;
    use windlass_engine::collect::health::Trouble;

    use super::*;

    const NOW_S: i64 = 1_700_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms((NOW_S + seconds) * 1_000)
    }

    fn lease(owner: &str, until: i64) -> Lease {
        Lease {
            name: LeaseName::new("collect/1").expect("a name"),
            owner: Owner::new(owner).expect("a name"),
            epoch: Epoch(1),
            expires_at: at(until),
        }
    }

    /// Written five seconds ago, fresh for twenty-five more.
    fn record(owner: &str) -> ChainHealth {
        ChainHealth {
            owner: Owner::new(owner).expect("a name"),
            phase: Phase::Collecting,
            at: at(-5),
            stale_at: at(25),
            heard_at: Some(at(-6)),
            head: None,
            finality_waited: FinalityWaited::default(),
            trouble: None,
            endpoints: Vec::new(),
        }
    }

    fn with_trouble(since: i64, code: Code) -> ChainHealth {
        ChainHealth { trouble: Some(Trouble::new(at(since), code, "it is away")), ..record("a") }
    }

    fn view(lease: Option<&Lease>, record: Option<&ChainHealth>) -> HealthView {
        let grace = Duration::from_secs(10);
        let (is_abandoned, halt, is_wanted) = (false, None, true);
        HealthLook { now: at(0), lease, is_abandoned, record, halt, is_wanted, grace }.view()
    }

    fn state(lease: Option<&Lease>, record: Option<&ChainHealth>) -> (HealthState, bool) {
        let view = view(lease, record);
        (view.state, view.is_urgent)
    }

    #[test]
    fn a_holder_that_speaks_of_no_trouble_collects() {
        let (lease, record) = (lease("a", 60), record("a"));
        assert_eq!(state(Some(&lease), Some(&record)), (HealthState::Collecting, false));
        let shown = view(Some(&lease), Some(&record));
        assert_eq!((shown.message, shown.code, shown.heard_ms), (None, None, Some(at(-6))));
        assert_eq!((shown.owner.as_deref(), shown.held_until_ms), (Some("a"), Some(at(60))));
    }

    #[test]
    fn a_holder_whose_rpc_is_down_is_urgent_after_the_grace() {
        let lease = lease("a", 60);
        let down = |since| with_trouble(since, Code::RpcUnreachable);
        assert_eq!(state(Some(&lease), Some(&down(-9))), (HealthState::RpcDown, false));
        assert_eq!(state(Some(&lease), Some(&down(-10))), (HealthState::RpcDown, true));
        let expired = super::tests::lease("a", -1);
        assert_eq!(
            state(Some(&expired), Some(&down(-10))),
            (HealthState::RpcDown, true),
            "it waits for an answer"
        );
        let words = view(Some(&lease), Some(&down(-90))).message.expect("words");
        assert_eq!(words, "the rpc is down since 2023-11-14T22:11:50Z (1m 30s): it is away");
        let limited = with_trouble(-90, Code::RpcLimited);
        assert_eq!(state(Some(&lease), Some(&limited)), (HealthState::RateLimited, true));
        let words = view(Some(&lease), Some(&limited)).message.expect("words");
        assert_eq!(words, "rate limited since 2023-11-14T22:11:50Z (1m 30s): it is away");
        let full = with_trouble(-10, Code::DiskFull);
        assert_eq!(state(Some(&lease), Some(&full)), (HealthState::Failing, true));
    }

    #[test]
    fn an_old_head_is_shown_and_is_no_reason_to_be_woken() {
        let timestamp_s = NOW_S.unsigned_abs() - 300;
        let head = SeenHead { number: 7, timestamp_s, since: at(-250), seen_at: None, old_after_s: 120 };
        let old = ChainHealth { head: Some(head), ..record("a") };
        let shown = view(Some(&lease("a", 60)), Some(&old));
        assert_eq!(
            (shown.state, shown.is_urgent, shown.code),
            (HealthState::Behind, false, Some(Code::ChainBehind))
        );
        let words = "the newest block 7 of its endpoints is 5m 0s old, and no newer one has come for 4m 10s";
        assert_eq!(shown.message.as_deref(), Some(words));
    }

    #[test]
    fn a_holder_that_fell_silent_is_told_from_one_that_is_well() {
        let silent = ChainHealth { at: at(-40), stale_at: at(-10), ..record("a") };
        let shown = view(Some(&lease("a", 60)), Some(&silent));
        assert_eq!((shown.state, shown.is_urgent), (HealthState::Waiting, true));
        let words = shown.message.expect("words");
        assert!(
            words.starts_with("a holds the chain until 2023-11-14T22:14:20Z and has said nothing since"),
            "{words}"
        );
        let heir = lease("b", 60);
        assert_eq!(state(Some(&heir), Some(&silent)), (HealthState::Starting, false), "another has taken it");
        assert_eq!(state(Some(&heir), None), (HealthState::Starting, false));
    }

    /// Its record says that all is well, until it is stale.
    #[test]
    fn a_holder_that_is_known_to_have_died_is_not_taken_for_well() {
        let (lease, record) = (lease("a", 60), record("a"));
        let shown = HealthLook { lease: Some(&lease), is_abandoned: true, ..look(&record) }.view();
        assert_eq!((shown.state, shown.code), (HealthState::Unattended, Some(Code::ChainUnattended)));
        assert_eq!((shown.is_urgent, shown.held_until_ms), (false, None), "a restart may be under way");
        let words =
            "nobody collects this chain: the process a has died, last heard of at 2023-11-14T22:13:15Z";
        assert_eq!(shown.message.as_deref(), Some(words));
    }

    #[test]
    fn a_chain_that_nobody_collects_says_since_when() {
        assert_eq!(state(None, None), (HealthState::Unattended, true), "nobody ever has");
        let ended = ChainHealth { phase: Phase::Ended, ..record("a") };
        assert_eq!(state(None, Some(&ended)), (HealthState::Unattended, false), "it may be a restart");
        let long = ChainHealth { at: at(-10), ..ended.clone() };
        assert_eq!(state(None, Some(&long)), (HealthState::Unattended, true));
        let died = ChainHealth { at: at(-100), stale_at: at(-70), ..record("a") };
        assert_eq!(state(Some(&lease("a", -1)), Some(&died)), (HealthState::Unattended, true));
        let failed = ChainHealth { phase: Phase::Ended, ..with_trouble(-5, Code::DiskFull) };
        let words = view(None, Some(&failed)).message.expect("words");
        assert!(words.ends_with("; the last one ended with W0104: it is away"), "{words}");
        let unwanted = HealthLook { is_wanted: false, ..look(&ended) };
        assert_eq!(unwanted.view().state, HealthState::Idle);
    }

    fn look(record: &ChainHealth) -> HealthLook<'_> {
        let grace = Duration::from_secs(10);
        let (is_abandoned, halt, is_wanted) = (false, None, true);
        HealthLook { now: at(0), lease: None, is_abandoned, record: Some(record), halt, is_wanted, grace }
    }

    #[test]
    fn one_that_waits_at_its_gate_says_why_without_holding_the_chain() {
        let waiting = ChainHealth { phase: Phase::Starting, ..with_trouble(-30, Code::RpcUnreachable) };
        assert_eq!(state(None, Some(&waiting)), (HealthState::RpcDown, true));
        let refused = ChainHealth { phase: Phase::Refused, ..with_trouble(-1, Code::RpcWrongChain) };
        assert_eq!(state(None, Some(&refused)), (HealthState::Stopped, true));
    }

    #[test]
    fn a_halt_is_told_before_anything_else() {
        let halt = HaltView {
            block: BlockRef { number: 7, hash: B256::ZERO },
            rewind_to: None,
            reason: "gone".to_owned(),
        };
        let shown = HealthLook { halt: Some(&halt), ..look(&record("a")) }.view();
        assert_eq!((shown.state, shown.is_urgent), (HealthState::Stopped, true));
        assert_eq!((shown.code, shown.message.as_deref()), (Some(Code::FinalityViolated), Some("gone")));
    }
}
