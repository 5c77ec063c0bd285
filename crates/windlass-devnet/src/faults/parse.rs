//! Reads a plan from one line of text; `print` is the way back.
//!
//! ```text
//! plan  := rule {"," rule}                       an empty text is an empty plan
//! rule  := fault ["@" method]
//! fault := "429=" share [":" seconds "s"]        HTTP 429, Retry-After
//!        | "429=" share ":none"                  HTTP 429 without Retry-After
//!        | "rate=" calls [":" burst] ["/retry" | "/words"] ["*" share]    a token bucket
//!        | "ratelimit=" share                    a rate limit in a JSON-RPC error
//!        | "refuse=" share                       a JSON-RPC error nobody knows
//!        | "5xx=" share                          5xx being a status from 500 to 599
//!        | "timeout=" share [":" time]           no answer, then a reset
//!        | "reset=" share | "truncate=" share | "nullreceipts=" share | "nologtime=" share
//!        | "latency=" time [".." time] ["*" share]
//!        | "chainid=" number ["*" share]
//!        | "logs=" (provider | range refusal) ":" number ["*" share]
//!        | "lie=" lie ["*" share]
//!        | "batch=" number ["*" share]
//!        | "lag=" number "of" number ":" blocks [":empty"] ["*" share]
//! share := "1" | "0." digits                     up to six digits
//! time  := digits ("ms" | "s")
//! ```

use std::str::FromStr;

use super::{
    lie::Lie,
    plan::{
        DEFAULT_HOLD_MS, DEFAULT_RETRY_AFTER_S, Fault, MAX_HOLD_MS, MAX_LATENCY_MS, MAX_NODES, MAX_RATE,
        MAX_RETRY_AFTER_S, MAX_RULES, Plan, RateRefusal, Rule, UnknownHash,
    },
    provider::Provider,
    range_refusal::RangeRefusal,
    share::Share,
};

/// A text that is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fault `{rule}`: {problem}")]
pub struct PlanError {
    /// The rule that could not be read.
    pub rule: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is no `=`.
    #[error("expected `name=value`")]
    NoValue,
    /// There is no such fault.
    #[error(
        "unknown name, expected 429, rate, ratelimit, refuse, 500 to 599, timeout, reset, truncate, \
         nullreceipts, nologtime, latency, chainid, logs, lie, batch or lag"
    )]
    UnknownName,
    /// A share that is none.
    #[error("`{0}` is not a share, expected 1 or a decimal between 0 and 1 such as 0.05")]
    Share(String),
    /// A duration that is none.
    #[error("`{0}` is not a time, expected digits with a unit such as 20ms or 3s")]
    Time(String),
    /// A number that is none.
    #[error("`{0}` is not a whole number")]
    Number(String),
    /// A number beyond its bounds.
    #[error("{what} must be {least} to {most}")]
    Bounds {
        /// What the number is.
        what: &'static str,
        /// The least it may be.
        least: u64,
        /// The most it may be.
        most: u64,
    },
    /// No such provider.
    #[error("unknown provider `{0}`, expected one of {names}", names = provider_names())]
    Provider(String),
    /// No such lie.
    #[error("unknown lie `{0}`, expected one of {names}", names = Lie::ALL.map(Lie::name).join(", "))]
    Lie(String),
    /// The value has another form.
    #[error("expected {0}")]
    Form(&'static str),
    /// A method name with strange letters.
    #[error("`{0}` is not a method name")]
    Method(String),
    /// More rules than a plan may have.
    #[error("more than {MAX_RULES} faults in one plan")]
    TooManyRules,
}

fn provider_names() -> String {
    let listed = Provider::ALL.map(Provider::name);
    [&listed[..], &RangeRefusal::ALL.map(RangeRefusal::name)].concat().join(", ")
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut rules = Vec::new();
        for part in text.split(',').map(str::trim) {
            let fail = |problem| PlanError { rule: part.to_owned(), problem };
            if rules.len() == MAX_RULES {
                return Err(fail(Problem::TooManyRules));
            }
            rules.push(rule(part).map_err(fail)?);
        }
        Ok(Self { rules })
    }
}

fn rule(text: &str) -> Result<Rule, Problem> {
    let (body, method) = match text.split_once('@') {
        Some((body, method)) => (body, Some(method_name(method)?)),
        None => (text, None),
    };
    let (name, value) = body.split_once('=').ok_or(Problem::NoValue)?;
    let (fault, share) = match name {
        "latency" | "chainid" | "logs" | "batch" | "lag" | "rate" | "lie" => {
            let (value, share) = match value.split_once('*') {
                Some((value, text)) => (value, share(text)?),
                None => (value, Share::ALWAYS),
            };
            (valued_fault(name, value)?, share)
        }
        _ => {
            let (text, detail) = match value.split_once(':') {
                Some((text, detail)) => (text, Some(detail)),
                None => (value, None),
            };
            (plain_fault(name, detail)?, share(text)?)
        }
    };
    Ok(Rule { fault, share, method })
}

/// A fault whose value is its share.
fn plain_fault(name: &str, detail: Option<&str>) -> Result<Fault, Problem> {
    let fault = match (name, detail) {
        ("429", detail) => return Ok(Fault::TooManyRequests { retry_after_s: retry_after(detail)? }),
        ("timeout", detail) => {
            let hold_ms = detail.map_or(Ok(DEFAULT_HOLD_MS), |text| {
                time_ms("the time-out in milliseconds", text, 1, MAX_HOLD_MS)
            })?;
            return Ok(Fault::TimeOut { hold_ms });
        }
        ("ratelimit", _) => Fault::RateLimitBody,
        ("reset", _) => Fault::Reset,
        ("truncate", _) => Fault::Truncate,
        ("nullreceipts", _) => Fault::NullReceipts,
        ("nologtime", _) => Fault::NoLogTime,
        ("refuse", _) => Fault::Refuse,
        (status, _) => server_error(status)?,
    };
    if detail.is_some() {
        return Err(Problem::Form("a share and nothing else"));
    }
    Ok(fault)
}

fn retry_after(detail: Option<&str>) -> Result<Option<u32>, Problem> {
    match detail {
        None => Ok(Some(DEFAULT_RETRY_AFTER_S)),
        Some("none") => Ok(None),
        Some(text) => {
            let digits = text.strip_suffix('s').ok_or(Problem::Form("whole seconds such as 2s, or none"))?;
            bounded("Retry-After in seconds", digits, 0, MAX_RETRY_AFTER_S).map(Some)
        }
    }
}

fn server_error(name: &str) -> Result<Fault, Problem> {
    let all_digits = name.len() == 3 && name.bytes().all(|byte| byte.is_ascii_digit());
    let status = name.parse().ok().filter(|status| all_digits && (500..600).contains(status));
    status.map(|status| Fault::ServerError { status }).ok_or(Problem::UnknownName)
}

/// A fault with a value of its own.
fn valued_fault(name: &str, value: &str) -> Result<Fault, Problem> {
    match name {
        "latency" => latency(value),
        "chainid" => Ok(Fault::ChainId(number(value)?)),
        "logs" => log_limit(value),
        "batch" => Ok(Fault::BatchLimit(number(value)?)),
        "rate" => rate_limit(value),
        "lie" => lie(value),
        _ => lag(value),
    }
}

fn latency(value: &str) -> Result<Fault, Problem> {
    let (from, to) = value.split_once("..").unwrap_or((value, value));
    let from_ms = time_ms("the latency in milliseconds", from, 0, MAX_LATENCY_MS)?;
    let to_ms = time_ms("the latency in milliseconds", to, 0, MAX_LATENCY_MS)?;
    if from_ms > to_ms {
        return Err(Problem::Form("the shorter latency before the longer"));
    }
    Ok(Fault::Latency { from_ms, to_ms })
}

fn log_limit(value: &str) -> Result<Fault, Problem> {
    let form = Problem::Form("a provider and a limit such as infura:10000");
    let (name, limit) = value.split_once(':').ok_or(form)?;
    let provider = Provider::ALL.into_iter().find(|provider| provider.name() == name);
    let refusal = RangeRefusal::ALL.into_iter().find(|refusal| refusal.name() == name);
    if provider.is_none() && refusal.is_none() {
        return Err(Problem::Provider(name.to_owned()));
    }
    let limit = number(limit)?;
    if limit == 0 {
        return Err(Problem::Bounds { what: "the limit", least: 1, most: u64::MAX });
    }
    match (provider, refusal) {
        (Some(provider), _) => Ok(Fault::LogLimit { provider, limit }),
        (None, Some(refusal)) => Ok(Fault::LogRange { refusal, blocks: limit }),
        (None, None) => Err(Problem::Provider(name.to_owned())),
    }
}

fn rate_limit(value: &str) -> Result<Fault, Problem> {
    let (rate, refusal) = match value.split_once('/') {
        None => (value, RateRefusal::Bare),
        Some((rate, "retry")) => (rate, RateRefusal::RetryAfter),
        Some((rate, "words")) => (rate, RateRefusal::Words),
        Some(_) => return Err(Problem::Form("a rate such as 10, 10:20, 10/retry or 10:20/words")),
    };
    let (calls, burst) = rate.split_once(':').unwrap_or((rate, rate));
    Ok(Fault::RateLimit {
        calls_per_s: bounded("the rate in calls a second", calls, 1, MAX_RATE)?,
        burst: bounded("the burst in calls", burst, 1, MAX_RATE)?,
        refusal,
    })
}

fn lie(value: &str) -> Result<Fault, Problem> {
    let lie = Lie::ALL.into_iter().find(|lie| lie.name() == value);
    lie.map(Fault::Lie).ok_or_else(|| Problem::Lie(value.to_owned()))
}

fn lag(value: &str) -> Result<Fault, Problem> {
    let form = || Problem::Form("lagging nodes, nodes and blocks such as 2of5:3 or 2of5:3:empty");
    let (lagging, rest) = value.split_once("of").ok_or_else(form)?;
    let mut rest = rest.split(':');
    let (nodes, blocks) = rest.next().zip(rest.next()).ok_or_else(form)?;
    let unknown_hash = match (rest.next(), rest.next()) {
        (None, _) => UnknownHash::Refuse,
        (Some("empty"), None) => UnknownHash::Empty,
        _ => return Err(form()),
    };
    let nodes = bounded("the number of nodes", nodes, 1, MAX_NODES)?;
    let lagging = bounded("the number of lagging nodes", lagging, 1, nodes)?;
    Ok(Fault::Lag { lagging, nodes, blocks: number(blocks)?, unknown_hash })
}

fn method_name(text: &str) -> Result<String, Problem> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if text.is_empty() || !text.bytes().all(valid) {
        return Err(Problem::Method(text.to_owned()));
    }
    Ok(text.to_owned())
}

fn share(text: &str) -> Result<Share, Problem> {
    text.parse().map_err(|()| Problem::Share(text.to_owned()))
}

fn time_ms(what: &'static str, text: &str, least: u32, most: u32) -> Result<u32, Problem> {
    let (digits, unit_ms) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s').ok_or_else(|| Problem::Time(text.to_owned()))?, 1_000),
    };
    let count = number(digits).map_err(|_| Problem::Time(text.to_owned()))?;
    within(what, count.saturating_mul(unit_ms), least, most)
}

fn bounded(what: &'static str, text: &str, least: u32, most: u32) -> Result<u32, Problem> {
    within(what, number(text)?, least, most)
}

fn within(what: &'static str, value: u64, least: u32, most: u32) -> Result<u32, Problem> {
    u32::try_from(value).ok().filter(|value| (least..=most).contains(value)).ok_or(Problem::Bounds {
        what,
        least: least.into(),
        most: most.into(),
    })
}

/// Digits only: the standard parser would take a plus sign too.
fn number(text: &str) -> Result<u64, Problem> {
    let fail = || Problem::Number(text.to_owned());
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(fail());
    }
    text.parse().map_err(|_| fail())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_a_command_line() {
        let plan: Plan = "429=0.1, latency=20ms,reset=0.01@eth_getLogs,lag=2of5:3".parse().unwrap();
        let faults: Vec<_> = plan.rules().iter().map(|rule| rule.fault.clone()).collect();
        let lag = Fault::Lag { lagging: 2, nodes: 5, blocks: 3, unknown_hash: UnknownHash::Refuse };
        assert_eq!(
            faults,
            [
                Fault::TooManyRequests { retry_after_s: Some(DEFAULT_RETRY_AFTER_S) },
                Fault::Latency { from_ms: 20, to_ms: 20 },
                Fault::Reset,
                lag,
            ]
        );
        assert_eq!(plan.rules()[2].method.as_deref(), Some("eth_getLogs"));
        assert_eq!(plan.rules()[2].share.to_string(), "0.01");
        assert_eq!("".parse(), Ok(Plan::default()));
    }

    #[test]
    fn reads_rates_lies_and_caps() {
        let faults = |text: &str| -> Vec<Fault> {
            text.parse::<Plan>().unwrap().rules().iter().map(|rule| rule.fault.clone()).collect()
        };
        let rate = |calls_per_s, burst, refusal| Fault::RateLimit { calls_per_s, burst, refusal };
        assert_eq!(
            faults("rate=10,rate=10:20,rate=5/retry,rate=5:6/words,429=0.1:none"),
            [
                rate(10, 10, RateRefusal::Bare),
                rate(10, 20, RateRefusal::Bare),
                rate(5, 5, RateRefusal::RetryAfter),
                rate(5, 6, RateRefusal::Words),
                Fault::TooManyRequests { retry_after_s: None },
            ]
        );
        assert_eq!(
            faults("logs=random:50,logs=hang:9*0.5,lie=empty*0.1@eth_getLogs,refuse=0.2@eth_call"),
            [
                Fault::LogRange { refusal: RangeRefusal::Random, blocks: 50 },
                Fault::LogRange { refusal: RangeRefusal::Hang, blocks: 9 },
                Fault::Lie(Lie::Empty),
                Fault::Refuse,
            ]
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let cases = [
            ("reset", "fault `reset`: expected `name=value`"),
            (
                "resett=1",
                "fault `resett=1`: unknown name, expected 429, rate, ratelimit, refuse, 500 to 599, timeout, reset, truncate, nullreceipts, nologtime, latency, chainid, logs, lie, batch or lag",
            ),
            (
                "499=1",
                "fault `499=1`: unknown name, expected 429, rate, ratelimit, refuse, 500 to 599, timeout, reset, truncate, nullreceipts, nologtime, latency, chainid, logs, lie, batch or lag",
            ),
            (
                "reset=2",
                "fault `reset=2`: `2` is not a share, expected 1 or a decimal between 0 and 1 such as 0.05",
            ),
            ("reset=1:3", "fault `reset=1:3`: expected a share and nothing else"),
            (
                "latency=20",
                "fault `latency=20`: `20` is not a time, expected digits with a unit such as 20ms or 3s",
            ),
            ("latency=2s..1s", "fault `latency=2s..1s`: expected the shorter latency before the longer"),
            ("latency=61s", "fault `latency=61s`: the latency in milliseconds must be 0 to 60000"),
            ("timeout=1:200s", "fault `timeout=1:200s`: the time-out in milliseconds must be 1 to 120000"),
            ("429=1:20ms", "fault `429=1:20ms`: `20m` is not a whole number"),
            ("chainid=+1", "fault `chainid=+1`: `+1` is not a whole number"),
            ("chainid=", "fault `chainid=`: `` is not a whole number"),
            (
                "logs=nobody:5",
                "fault `logs=nobody:5`: unknown provider `nobody`, expected one of alchemy, alchemy-free, infura, infura-range, quicknode, ankr, bsc, cloudflare, reth, reth-range, base, query-timeout, random, drpc, limit-exceeded, cut, hang",
            ),
            (
                "lie=white",
                "fault `lie=white`: unknown lie `white`, expected one of empty, missing, number, hash, time, repeat, parent, bloom",
            ),
            ("rate=0", "fault `rate=0`: the rate in calls a second must be 1 to 1000000"),
            ("rate=5:0", "fault `rate=5:0`: the burst in calls must be 1 to 1000000"),
            (
                "rate=5/later",
                "fault `rate=5/later`: expected a rate such as 10, 10:20, 10/retry or 10:20/words",
            ),
            ("logs=bsc:0", "fault `logs=bsc:0`: the limit must be 1 to 18446744073709551615"),
            ("lag=3of2:1", "fault `lag=3of2:1`: the number of lagging nodes must be 1 to 2"),
            (
                "lag=1of2:1:full",
                "fault `lag=1of2:1:full`: expected lagging nodes, nodes and blocks such as 2of5:3 or 2of5:3:empty",
            ),
            ("reset=1@", "fault `reset=1@`: `` is not a method name"),
            ("reset=1,,reset=1", "fault ``: expected `name=value`"),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<Plan>().unwrap_err().to_string(), message);
        }
        let many = vec!["reset=1"; MAX_RULES + 1].join(",");
        assert_eq!(many.parse::<Plan>().unwrap_err().problem, Problem::TooManyRules);
    }

    fn faults() -> impl Strategy<Value = Fault> {
        let unknown_hash = prop_oneof![Just(UnknownHash::Refuse), Just(UnknownHash::Empty)];
        prop_oneof![
            (0..=MAX_LATENCY_MS, 0..=MAX_LATENCY_MS)
                .prop_map(|(a, b)| Fault::Latency { from_ms: a.min(b), to_ms: a.max(b) }),
            proptest::option::of(0..=MAX_RETRY_AFTER_S)
                .prop_map(|retry_after_s| Fault::TooManyRequests { retry_after_s }),
            (1..=MAX_RATE, 1..=MAX_RATE, 0..RateRefusal::ALL.len()).prop_map(|(calls_per_s, burst, at)| {
                Fault::RateLimit { calls_per_s, burst, refusal: RateRefusal::ALL[at] }
            }),
            (0..Lie::ALL.len()).prop_map(|at| Fault::Lie(Lie::ALL[at])),
            (0..RangeRefusal::ALL.len(), 1..=u64::MAX)
                .prop_map(|(at, blocks)| Fault::LogRange { refusal: RangeRefusal::ALL[at], blocks }),
            (500u16..600).prop_map(|status| Fault::ServerError { status }),
            (1..=MAX_HOLD_MS).prop_map(|hold_ms| Fault::TimeOut { hold_ms }),
            any::<u64>().prop_map(Fault::ChainId),
            any::<u64>().prop_map(Fault::BatchLimit),
            prop_oneof![
                Just(Fault::RateLimitBody),
                Just(Fault::Reset),
                Just(Fault::Truncate),
                Just(Fault::NullReceipts),
                Just(Fault::NoLogTime),
                Just(Fault::Refuse),
            ],
            (0..Provider::ALL.len(), 1..=u64::MAX)
                .prop_map(|(at, limit)| Fault::LogLimit { provider: Provider::ALL[at], limit }),
            (1..=MAX_NODES, 1..=MAX_NODES, any::<u64>(), unknown_hash).prop_map(
                |(a, b, blocks, unknown_hash)| Fault::Lag {
                    lagging: a.min(b),
                    nodes: a.max(b),
                    blocks,
                    unknown_hash,
                }
            ),
        ]
    }

    fn rules() -> impl Strategy<Value = Rule> {
        let share = (1u32..=1_000_000).prop_map(|calls| Share::per_million(calls).unwrap());
        let method = proptest::option::of("[a-z]{1,5}_[A-Za-z0-9]{1,9}");
        (faults(), share, method).prop_map(|(fault, share, method)| Rule { fault, share, method })
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_as_the_same_plan(rules in proptest::collection::vec(rules(), 0..MAX_RULES)) {
            let plan = Plan { rules };
            prop_assert_eq!(plan.to_string().parse::<Plan>(), Ok(plan));
        }

        #[test]
        fn any_text_is_a_plan_or_an_error(text in "[a-z0-9=:.,*@_/-]{0,40}") {
            if let Ok(plan) = text.parse::<Plan>() {
                prop_assert_eq!(plan.to_string().parse::<Plan>(), Ok(plan));
            }
        }
    }
}
