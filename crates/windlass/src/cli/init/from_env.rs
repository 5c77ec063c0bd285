//! The variables of the fee collector, with its defaults and its meanings: what is
//! carried over, and what is to be done about the rest.

use std::time::Duration;

use windlass_core::chain::{Address, ChainId};
use windlass_core::code::Code;

use super::template::Template;
use super::{Section, fill_in_chain};
use crate::config::address::parse_address;
use crate::config::duration::HumanDuration;
use crate::config::index::start::Start;
use crate::failure::Failure;

/// The event that the fee collector collects.
const EVENT: &str = "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";
/// What the index is called: its table is `fees_fees_collected`.
const INDEX: &str = "fees";

/// Variables that have no counterpart, and what to do instead.
const NOT_CARRIED: [(&str, &str); 3] = [
    ("MONGO_URI", "data is kept in windlass.db beside the file; for a server set `url` in `[database]`"),
    ("APP_ENV", "there are no environments; `[log]` decides how logs look"),
    (
        "DEV_MULTIPLE_WORKERS",
        "raise `workers` of the chain, or start several `windlass run --role collect` on one PostgreSQL",
    ),
];

/// A number with a default, which what is no number or zero falls back to.
struct Counted {
    variable: &'static str,
    default: u64,
    max: u64,
}

const BATCH_SIZE: Counted = Counted { variable: "BATCH_SIZE", default: 100, max: 1_000_000 };
const LEASE_TTL_MS: Counted = Counted { variable: "JOB_LEASE_TTL_MS", default: 120_000, max: 86_400_000 };
const HISTORICAL_MS: Counted =
    Counted { variable: "HISTORICAL_POLL_INTERVAL_MS", default: 5_000, max: 86_400_000 };
const REALTIME_MS: Counted =
    Counted { variable: "REALTIME_POLL_INTERVAL_MS", default: 60_000, max: 86_400_000 };
const API_PORT: Counted = Counted { variable: "API_PORT", default: 9_999, max: 65_535 };
/// The shortest times that are accepted.
const MIN_LEASE_TTL_MS: u64 = 1_000;
const MIN_INTERVAL_MS: u64 = 10;

/// What was found.
#[derive(Debug)]
pub(super) struct Carried {
    chain: ChainId,
    contract: Address,
    start: Start,
    batch_size: u64,
    lease_ttl_ms: u64,
    historical_ms: u64,
    realtime_ms: u64,
    api_port: u64,
    log_level: &'static str,
    notes: Vec<String>,
}

impl Carried {
    /// Reads the variables, or names everything that is missing or wrong.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let mut reader = Reader { variable, notes: Vec::new(), problems: Vec::new() };
        let chain = reader.required("ACTIVE_CHAIN", |text| {
            text.parse::<ChainId>().map_err(|_| "it must be a chain's id, such as 137".to_owned())
        });
        reader.required("RPC_URL", |_| Ok(()));
        let contract = reader.required("CONTRACT_ADDRESS", parse_address);
        let start = reader.required("START_POINT", |text| match text.parse() {
            Ok(start @ Start::Block(_)) => Ok(start),
            _ => Err("it must be a number".to_owned()),
        });
        let log_level = reader.log_level();
        let carried = chain.zip(contract).zip(start).map(|((chain, contract), start)| Self {
            chain,
            contract,
            start,
            batch_size: reader.number(&BATCH_SIZE, 1),
            lease_ttl_ms: reader.number(&LEASE_TTL_MS, MIN_LEASE_TTL_MS),
            historical_ms: reader.number(&HISTORICAL_MS, MIN_INTERVAL_MS),
            realtime_ms: reader.number(&REALTIME_MS, MIN_INTERVAL_MS),
            api_port: reader.number(&API_PORT, 1),
            log_level,
            notes: Vec::new(),
        });
        reader
            .notes
            .push("RPC_URL may hold a key and stays where it is: the file refers to the variable".to_owned());
        reader.not_carried();
        match carried {
            Some(carried) if reader.problems.is_empty() => Ok(Self { notes: reader.notes, ..carried }),
            _ => Err(Failure::coded(Code::ConfigInvalid, "the fee collector's variables are not complete")
                .details(reader.problems)
                .hint("set them as for the fee collector, for example by `set -a; . ./.env; set +a`")),
        }
    }

    /// What a person should know.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Fills in the chain and everything else; gives the index, which is still to be looked at.
    pub(super) fn fill_in(&self, template: &mut Template) -> Result<Section, Failure> {
        // The URL may hold a key: it stays where it is.
        let chain = fill_in_chain(template, self.chain, "env:RPC_URL", None)?;
        let section = format!("chain.{chain}");
        let ms = |ms: u64| HumanDuration(Duration::from_millis(ms)).to_string();
        template.set(&section, "batch_size", i64::try_from(self.batch_size).unwrap_or(i64::MAX));
        template.set(&section, "lease_ttl", ms(self.lease_ttl_ms));
        template.set(&section, "historical_poll_interval", ms(self.historical_ms));
        template.set(&section, "realtime_poll_interval", ms(self.realtime_ms));
        template.set("api", "listen", format!("127.0.0.1:{}", self.api_port));
        template.set("log", "level", self.log_level);
        Ok(Section {
            name: INDEX.parse().map_err(Failure::unexpected)?,
            chain,
            contracts: vec![self.contract],
            start: Some(self.start),
            events: vec![EVENT.to_owned()],
            abi: None,
        })
    }
}

struct Reader<V> {
    variable: V,
    notes: Vec<String>,
    problems: Vec<String>,
}

impl<V: Fn(&str) -> Option<String>> Reader<V> {
    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|text| !text.trim().is_empty())
    }

    fn required<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let read = match self.set(name) {
            Some(text) => read(text.trim()),
            None => Err("it is not set".to_owned()),
        };
        read.map_err(|trouble| self.problems.push(format!("{name}: {trouble}"))).ok()
    }

    /// A number; what is none, or zero, is the default, as it was for the fee collector.
    fn number(&mut self, counted: &Counted, min: u64) -> u64 {
        let Counted { variable, default, max } = *counted;
        let Some(text) = self.set(variable) else { return default };
        let number = match text.trim().parse::<u64>() {
            Ok(number) if number > 0 => number,
            _ => {
                self.notes.push(format!(
                    "{variable}: `{text}` is no number above 0, so the default {default} is taken"
                ));
                return default;
            }
        };
        let fitting = number.clamp(min, max);
        if fitting != number {
            self.notes.push(format!("{variable}: {number} is out of bounds, so {fitting} is taken"));
        }
        fitting
    }

    fn log_level(&mut self) -> &'static str {
        let Some(text) = self.set("LOG_LEVEL") else { return "debug" };
        match text.trim().to_ascii_lowercase().as_str() {
            "error" | "fatal" | "silent" => "error",
            "warn" => "warn",
            "info" => "info",
            "debug" => "debug",
            "trace" => "trace",
            _ => {
                self.notes.push(format!("LOG_LEVEL: `{text}` is not known, so debug is taken"));
                "debug"
            }
        }
    }

    fn not_carried(&mut self) {
        for (name, instead) in NOT_CARRIED {
            if self.set(name).is_some() {
                self.notes.push(format!("{name} is not carried over: {instead}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const REQUIRED: [(&str, &str); 4] = [
        ("ACTIVE_CHAIN", "137"),
        ("RPC_URL", "https://polygon.example/hunter2"),
        ("CONTRACT_ADDRESS", "0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9"),
        ("START_POINT", "78600000"),
    ];

    fn read(more: &[(&str, &str)]) -> Result<Carried, Failure> {
        let all: Vec<_> = more.iter().chain(&REQUIRED).collect();
        Carried::read(|name| all.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned()))
    }

    fn config(more: &[(&str, &str)]) -> Config {
        let mut template = Template::example();
        let section = read(more).expect("complete").fill_in(&mut template).expect("filled in");
        template.index(&section.text());
        assert!(!template.text().contains("hunter2"), "the key stays where it is");
        toml::from_str(&template.text()).expect("a configuration")
    }

    #[test]
    fn what_is_not_set_has_the_fee_collectors_default() {
        let config = config(&[]);
        let (name, chain) = config.chain.first_key_value().expect("a chain");
        assert_eq!((name.to_string().as_str(), chain.batch_size.get()), ("polygon", 100));
        let seconds =
            [chain.lease_ttl.get(), chain.historical_poll_interval.get()].map(|time| time.as_secs());
        assert_eq!(seconds, [120, 5]);
        assert_eq!(chain.realtime_poll_interval.fixed(), Some(Duration::from_secs(60)));
        assert_eq!((config.api.listen.0.port(), config.log.level.as_str()), (9_999, "debug"));
        let index = config.index.values().next().expect("an index");
        assert_eq!(index.start, Start::Block(78_600_000));
    }

    #[test]
    fn what_is_set_is_carried_over() {
        let config = config(&[
            ("BATCH_SIZE", "10"),
            ("JOB_LEASE_TTL_MS", "30000"),
            ("HISTORICAL_POLL_INTERVAL_MS", "20000"),
            ("REALTIME_POLL_INTERVAL_MS", "1500"),
            ("API_PORT", "8000"),
            ("LOG_LEVEL", "WARN"),
        ]);
        let chain = config.chain.values().next().expect("a chain");
        let ms = [chain.lease_ttl.get(), chain.historical_poll_interval.get()].map(|time| time.as_millis());
        assert_eq!((chain.batch_size.get(), ms), (10, [30_000, 20_000]));
        assert_eq!(chain.realtime_poll_interval.fixed(), Some(Duration::from_millis(1_500)));
        assert_eq!((config.api.listen.0.port(), config.log.level.as_str()), (8_000, "warn"));
    }

    #[test]
    fn numbers_that_are_none_fall_back_and_are_named() {
        let carried =
            read(&[("BATCH_SIZE", "many"), ("API_PORT", "0"), ("JOB_LEASE_TTL_MS", "5")]).expect("complete");
        assert_eq!((carried.batch_size, carried.api_port, carried.lease_ttl_ms), (100, 9_999, 1_000));
        let named = carried.notes().iter().filter(|note| note.contains("is taken"));
        assert_eq!(named.count(), 3, "{:?}", carried.notes());
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let failure = Carried::read(|_| None).expect_err("nothing is set");
        assert_eq!(failure.details.len(), 4, "{:?}", failure.details);
        let failure = read(&[("ACTIVE_CHAIN", "polygon"), ("START_POINT", "deployment")]).expect_err("wrong");
        assert_eq!(
            failure.details,
            ["ACTIVE_CHAIN: it must be a chain's id, such as 137", "START_POINT: it must be a number"]
        );
    }

    #[test]
    fn what_has_no_counterpart_comes_with_advice() {
        let carried =
            read(&[("MONGO_URI", "mongodb://x"), ("APP_ENV", "dev"), ("DEV_MULTIPLE_WORKERS", "1")]);
        let notes = carried.expect("complete").notes.join("\n");
        for word in ["MONGO_URI", "APP_ENV", "DEV_MULTIPLE_WORKERS", "`[database]`", "--role collect"] {
            assert!(notes.contains(word), "{notes}");
        }
        assert!(!notes.contains("mongodb://"), "{notes}");
    }
}
