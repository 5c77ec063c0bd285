//! What no single value of an index can say: whether its chain is there, whether its
//! events are any, and whether they go together.

use windlass_core::abi::{AbiError, EventShape};
use windlass_core::chain::{Address, ChainId};
use windlass_core::index::{self, IndexError, IndexSpec};

use super::columns;
use super::contract::Contracts;
use super::start::Start;
use super::{Index, IndexName};
use crate::config::Config;
use crate::config::chain::ChainName;
use crate::config::origin::Origin;
use crate::config::problem::{Problem, nearest};
use crate::config::tree::{self, Content, Table};
use crate::config::typed::MAX_NAMED;

/// Checks every index against the chains, and its events by themselves. Events of an
/// ABI are not looked at: the file is read when it is needed. Of an index that could not
/// be read whole, what could be is checked all the same.
pub(crate) fn check(config: &Config, table: &Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    // That there are too many is told elsewhere.
    let written = tree::sections(table, "index").into_iter().flatten().take(MAX_NAMED);
    for (name, node) in written {
        let Ok(name) = name.parse::<IndexName>() else { continue };
        let troubles = match (config.index.get(&name), &node.content) {
            (Some(section), _) => whole(config, table, &name, section),
            (None, Content::Table(section)) => partial(table, &tree::values(section)),
            (None, _) => continue,
        };
        problems.extend(troubles.into_iter().map(|trouble| trouble.problem(&name, table)));
    }
    problems
}

/// Something that is wrong with an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The setting it is about, with the place in a list.
    pub(crate) key: String,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Trouble {
    pub(super) fn new(key: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), hint: Some(hint.into()) }
    }

    /// What is wrong with an event.
    pub(crate) fn event(key: impl Into<String>, error: &AbiError) -> Self {
        Self { key: key.into(), message: error.to_string(), hint: error.hint().map(str::to_owned) }
    }

    /// What is wrong with an index as a whole.
    pub(crate) fn index(error: &IndexError) -> Self {
        let key = match error {
            IndexError::NoContract
            | IndexError::ZeroAddress
            | IndexError::ContractTwice(_)
            | IndexError::TooManyContracts(_)
            | IndexError::NoField { .. }
            | IndexError::NotAnAddress { .. } => "contract",
            IndexError::StartTooHigh(_) => "start",
            _ => "events",
        };
        Self::new(key, error.to_string(), error.hint())
    }

    /// The same as a problem of the configuration, with its place.
    pub(crate) fn problem(self, name: &IndexName, table: &Table) -> Problem {
        let setting = self.key.split('[').next().unwrap_or_default();
        let path = ["index".to_owned(), name.to_string(), setting.to_owned()];
        let origin = tree::nearest(table, &path).map_or(Origin::Default, |node| node.origin.clone());
        Problem::new(origin, format!("index.{name}.{}", self.key), self.message).hint(self.hint)
    }
}

/// What is wrong with an index that could be read.
fn whole(config: &Config, table: &Table, name: &IndexName, section: &Index) -> Vec<Trouble> {
    let mut troubles: Vec<Trouble> = unknown_chain(table, &section.chain).into_iter().collect();
    if section.abi.is_some() {
        return troubles;
    }
    let (shapes, unread) = shapes(section.events.iter().enumerate());
    troubles.extend(unread);
    let shapes = Some(shapes).filter(|shapes| shapes.len() == section.events.len());
    troubles.extend(disagreements(config, name, section, shapes));
    troubles
}

/// What is wrong with what could be read of an index.
fn partial(table: &Table, section: &toml::Table) -> Vec<Trouble> {
    let chain = section.get("chain").and_then(toml::Value::as_str);
    let chain = chain.and_then(|chain| ChainName::try_from(chain.to_owned()).ok());
    let mut troubles: Vec<Trouble> =
        chain.and_then(|chain| unknown_chain(table, &chain)).into_iter().collect();
    if section.get("abi").is_none() {
        let events = section.get("events").and_then(toml::Value::as_array).into_iter().flatten().enumerate();
        let texts = events.filter_map(|(place, event)| Some((place, event.as_str()?)));
        troubles.extend(shapes(texts).1);
    }
    troubles
}

/// Events as they are written, each with its place; and what is wrong with the others.
fn shapes<T: AsRef<str>>(events: impl Iterator<Item = (usize, T)>) -> (Vec<EventShape>, Vec<Trouble>) {
    let (mut shapes, mut troubles) = (Vec::new(), Vec::new());
    for (place, text) in events {
        match text.as_ref().parse::<EventShape>() {
            Ok(shape) => shapes.push(shape),
            Err(error) => troubles.push(Trouble::event(format!("events[{place}]"), &error)),
        }
    }
    (shapes, troubles)
}

/// In what an index disagrees with itself: its contracts, its events, or both together.
/// Each is looked at beside something harmless, so that one does not hide the other.
pub(crate) fn disagreements(
    config: &Config,
    name: &IndexName,
    section: &Index,
    events: Option<Vec<EventShape>>,
) -> Vec<Trouble> {
    let Some(chain) = chain_id(config, section) else { return Vec::new() };
    let harmless = Index {
        contract: Contracts::These(vec![Address::repeat_byte(1)]),
        start: Start::Block(0),
        ..section.clone()
    };
    let event = "Harmless()".parse().into_iter().collect();
    let bare = Index { index: None, ..section.clone() };
    let mut troubles: Vec<Trouble> = spec(name, &bare, chain, event).err().into_iter().collect();
    if let Some(events) = events {
        troubles.extend(spec(name, &harmless, chain, events.clone()).err());
        if troubles.is_empty() {
            troubles.extend(spec(name, section, chain, events).err());
        }
    }
    troubles
}

/// The chain's id; of a chain that is not known any will do to look at the rest.
fn chain_id(config: &Config, section: &Index) -> Option<ChainId> {
    config.chain.get(&section.chain).map(|chain| chain.id).or_else(|| ChainId::new(1).ok())
}

/// An index of these events, checked as a whole. Its tables are named as if there were no others.
pub(crate) fn spec(
    name: &IndexName,
    section: &Index,
    chain: ChainId,
    events: Vec<EventShape>,
) -> Result<IndexSpec, Trouble> {
    let start = match section.start {
        Start::Block(block) => index::Start::Block(block),
        Start::Deployment => index::Start::Deployment,
    };
    let contracts = contracts(&section.contract)?;
    let spec = IndexSpec::new(name.identifier().clone(), chain, contracts, start, events, &[])
        .map_err(|error| Trouble::index(&error))?;
    match section.index.as_deref().and_then(|fields| columns::trouble(&spec, fields)) {
        Some(trouble) => Err(trouble),
        None => Ok(spec),
    }
}

fn contracts(contracts: &Contracts) -> Result<index::Contracts, Trouble> {
    match contracts {
        Contracts::These(addresses) => Ok(index::Contracts::Fixed(addresses.clone())),
        Contracts::Created(factory) => {
            let event = factory.event.parse().map_err(|error| Trouble::event("contract", &error))?;
            let (by, field) = (vec![factory.created_by.0], factory.field.clone());
            Ok(index::Contracts::Created { by, event, field })
        }
    }
}

/// A chain that has no section. One whose section is wrong was told of there.
fn unknown_chain(table: &Table, chain: &ChainName) -> Option<Trouble> {
    let (wanted, chains) = (chain.to_string(), tree::sections(table, "chain"));
    if chains.is_some_and(|chains| chains.contains_key(&wanted)) {
        return None;
    }
    let known = || chains.into_iter().flatten().map(|(name, _)| name.as_str()).take(MAX_NAMED);
    let hint = match nearest(&wanted, known()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known().next().is_none() => format!("add a section `[chain.{wanted}]`"),
        None => format!("known here: {}", known().collect::<Vec<_>>().join(", ")),
    };
    Some(Trouble::new("chain", format!("there is no section `[chain.{wanted}]`"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{file, typed};

    const CHAIN: &str = "[chain.polygon]\nid = 137\nrpc = ['http://h']\n";

    fn problems(index: &str) -> Vec<String> {
        let table =
            file::parse(std::path::Path::new("w.toml"), &format!("{CHAIN}[index.fees]\n{index}")).table;
        let (config, _) = typed::read(table.clone());
        check(&config, &table).iter().map(ToString::to_string).collect()
    }

    fn index(contract: &str, rest: &str) -> String {
        format!("chain = 'polygon'\ncontract = {contract}\nstart = 1\n{rest}\n")
    }

    const ONE: &str = "'0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9'";

    #[test]
    fn what_is_well_is_passed_over() {
        assert_eq!(problems(&index(ONE, "events = ['E(uint a)', 'F()']")), Vec::<String>::new());
        assert_eq!(problems(&index(ONE, "abi = 'E.json'\nevents = ['E']")), Vec::<String>::new());
    }

    #[test]
    fn every_problem_is_named_with_its_line() {
        let found =
            problems(&index(ONE, "events = ['E(adress a)', 'F()', 'G(']").replace("polygon", "polgon"));
        assert_eq!(found.len(), 3, "{found:#?}");
        assert_eq!(
            found[0],
            "w.toml:5: index.fees.chain: there is no section `[chain.polgon]` (hint: did you mean `polygon`?)"
        );
        assert!(found[1].starts_with("w.toml:8: index.fees.events[0]: "), "{}", found[1]);
        assert!(found[2].starts_with("w.toml:8: index.fees.events[2]: "), "{}", found[2]);
    }

    #[test]
    fn events_have_to_go_together() {
        for (events, told) in [
            ("", "index.fees.events: no event is named"),
            (
                "events = ['E(uint a)', 'E(uint256 b)']",
                "index.fees.events: event `E(uint256)` is named twice",
            ),
        ] {
            let found = problems(&index(ONE, events));
            assert!(found.len() == 1 && found[0].contains(told), "{found:#?}");
        }
        let zero = format!("'0x{}'", "0".repeat(40));
        assert!(problems(&index(&zero, "events = ['E()']"))[0].contains("index.fees.contract: "));
    }

    #[test]
    fn fields_that_get_an_index_are_fields_of_an_event() {
        let events = "events = ['E(address integrator, string note)', 'F(uint256 fee)']";
        let problem = |fields: &str| {
            problems(&index(ONE, &format!("{events}\nindex = {fields}"))).pop().unwrap_or_default()
        };
        assert_eq!(problem("['integrator', 'fee']"), "");
        assert_eq!(problem("[]"), "");
        let slip = problem("['fee', 'integratr']");
        assert!(slip.contains("w.toml:9: index.fees.index[1]: no event has a field `integratr`"), "{slip}");
        assert!(slip.contains("did you mean `integrator`?"), "{slip}");
        assert!(problem("['zebra']").contains("known here: integrator, note, fee"));
        assert!(problem("['note']").contains("`note` may be long"), "{}", problem("['note']"));
        assert!(problem("['fee', 'fee']").contains("`fee` is named twice"));
        let events = "events = ['E(address lifiFee)']\nindex = ['lifiFee', 'lifi_fee']";
        let twice = problems(&index(ONE, events)).pop().unwrap_or_default();
        assert!(twice.contains("`lifi_fee` and `lifiFee` are one field"), "{twice}");
    }

    #[test]
    fn a_factorys_event_has_a_field_with_an_address() {
        let factory = |event: &str, field: &str| {
            let contract = format!("{{ created_by = {ONE}, event = '{event}', field = '{field}' }}");
            problems(&index(&contract, "events = ['E()']")).pop().unwrap_or_default()
        };
        assert!(factory("Made(address pool", "pool").contains("index.fees.contract"));
        assert!(factory("Made(address pool)", "pol").contains("has no field `pol`"));
        assert!(factory("Made(uint pool)", "pool").contains("not an address"));
        assert_eq!(factory("Made(address pool)", "pool"), "");
    }
}
