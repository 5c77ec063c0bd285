//! An index as it is configured, with its events read: from text, or from an ABI.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use windlass_core::abi::{EventShape, MAX_ABI_BYTES};
use windlass_core::chain::{Address, B256, ChainId};
use windlass_core::code::Code;
use windlass_core::index::{Contracts, IndexSpec, Start};
use windlass_core::plan::MAX_SOURCES;
use windlass_core::table::TableSpec;

use super::progress::KnownSource;
use crate::config::Config;
use crate::config::chain::ChainName;
use crate::config::index::check::{self, Trouble};
use crate::config::index::{Index, IndexName};
use crate::failure::Failure;

/// An index whose tables have no names yet.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Its name.
    pub(crate) name: IndexName,
    /// The chain's name.
    pub(crate) chain_name: ChainName,
    /// Checked, with tables named as if there were no others.
    spec: IndexSpec,
}

impl Draft {
    /// The drafts of every configured index. Reads ABI files.
    pub(crate) fn all(config: &Config) -> Result<Vec<Self>, Failure> {
        let drafts = config.index.iter().map(|(name, section)| Self::new(config, name, section));
        let drafts = drafts.collect::<Result<Vec<_>, _>>()?;
        match crowds(&drafts).into_iter().next() {
            Some((name, trouble)) => Err(refused(name, trouble)),
            None => Ok(drafts),
        }
    }

    /// The draft of one index.
    pub(crate) fn new(config: &Config, name: &IndexName, section: &Index) -> Result<Self, Failure> {
        let refuse = |trouble: Trouble| refused(name, trouble);
        let chain = config.chain.get(&section.chain).map(|chain| chain.id);
        // A chain that is missing was refused when the configuration was read.
        let chain = chain.ok_or_else(|| {
            let message = format!("there is no section `[chain.{}]`", section.chain);
            refuse(Trouble { key: "chain".to_owned(), message, hint: None })
        })?;
        let events = events(section).map_err(refuse)?;
        let spec = check::spec(name, section, chain, events).map_err(refuse)?;
        Ok(Self { name: name.clone(), chain_name: section.chain.clone(), spec })
    }

    /// The chain.
    pub(crate) const fn chain(&self) -> ChainId {
        self.spec.chain
    }

    /// The contracts it names.
    pub(crate) fn contracts(&self) -> &[Address] {
        match &self.spec.contracts {
            Contracts::Fixed(addresses) => addresses,
            Contracts::Created { by, .. } => by,
        }
    }

    /// From where on.
    pub(crate) const fn start(&self) -> Start {
        self.spec.start
    }

    /// Its events.
    pub(crate) fn events(&self) -> impl Iterator<Item = &EventShape> {
        self.spec.events.iter().map(|(event, _)| event)
    }

    /// The events that its contracts themselves emit, each with the first topic of its logs: of
    /// a factory, the event that tells of what it creates. Anonymous events have none.
    pub(crate) fn emitted(&self) -> Vec<(&EventShape, B256)> {
        let topic = |event| EventShape::topic0(event).map(|topic| (event, topic));
        match &self.spec.contracts {
            Contracts::Fixed(_) => self.events().filter_map(topic).collect(),
            Contracts::Created { event, .. } => topic(event).into_iter().collect(),
        }
    }

    /// Every event with who emits it; of factories also the event that tells of what they create.
    pub(crate) fn sources(&self) -> Vec<KnownSource> {
        let source =
            |event: &EventShape, contract| KnownSource { signature: event.signature().to_owned(), contract };
        let named = |event: &EventShape, contracts: &[Address]| -> Vec<KnownSource> {
            contracts.iter().map(|contract| source(event, Some(*contract))).collect()
        };
        match &self.spec.contracts {
            Contracts::Fixed(contracts) => self.events().flat_map(|event| named(event, contracts)).collect(),
            Contracts::Created { by, event, .. } => {
                let created = self.events().map(|event| source(event, None));
                named(event, by).into_iter().chain(created).collect()
            }
        }
    }

    /// The index with tables of its own beside those that exist.
    pub(crate) fn named(&self, taken: &[Arc<TableSpec>]) -> Result<IndexSpec, Failure> {
        let IndexSpec { name, chain, contracts, start, .. } = self.spec.clone();
        IndexSpec::new(name, chain, contracts, start, self.events().cloned().collect(), taken)
            .map_err(|error| refused(&self.name, Trouble::index(&error)))
    }
}

/// What is wrong with indexes of a chain that together have more sources than its ledger
/// holds: told of the one that is too much.
pub(crate) fn crowds(drafts: &[Draft]) -> Vec<(&IndexName, Trouble)> {
    let mut counts: BTreeMap<&ChainName, (usize, Option<&IndexName>)> = BTreeMap::new();
    for draft in drafts {
        let (count, first) = counts.entry(&draft.chain_name).or_default();
        *count += draft.sources().len();
        if *count > MAX_SOURCES {
            first.get_or_insert(&draft.name);
        }
    }
    let trouble = |chain: &ChainName, count: usize| Trouble {
        key: "contract".to_owned(),
        message: format!(
            "the indexes of chain `{chain}` have {count} sources, of which a chain has at most {MAX_SOURCES}: \
             each contract counts once for each of its events"
        ),
        hint: Some("name fewer contracts or events, or the contract that creates them".to_owned()),
    };
    let too_many =
        counts.into_iter().filter_map(|(chain, (count, first))| Some((first?, trouble(chain, count))));
    too_many.collect()
}

/// What is wrong with an index whose events come from an ABI.
pub(crate) fn abi_troubles(config: &Config, name: &IndexName, section: &Index) -> Vec<Trouble> {
    let (events, unread) = match events(section) {
        Ok(events) => (Some(events), Vec::new()),
        Err(trouble) => (None, slips(section, trouble)),
    };
    let mut troubles = check::disagreements(config, name, section, events);
    troubles.extend(unread);
    troubles
}

/// Every event that an ABI does not have as it is named, if that is the trouble; otherwise the trouble.
fn slips(section: &Index, trouble: Trouble) -> Vec<Trouble> {
    let text = section.abi.as_ref().and_then(|abi| read(abi.as_path()).ok()).unwrap_or_default();
    let slip = |(place, event): (usize, &String)| {
        let found = EventShape::from_json(&text, std::slice::from_ref(event));
        Some(Trouble::event(format!("events[{place}]"), &found.err()?))
    };
    let slips: Vec<Trouble> = section.events.iter().enumerate().filter_map(slip).collect();
    // Where not a single one can be read, it is the ABI itself.
    let is_whole = EventShape::from_json(&text, &[]).is_ok();
    if is_whole && !slips.is_empty() { slips } else { vec![trouble] }
}

fn refused(name: &IndexName, trouble: Trouble) -> Failure {
    let message = format!("index.{name}.{}: {}", trouble.key, trouble.message);
    let hint = trouble.hint.unwrap_or_else(|| format!("correct `[index.{name}]`"));
    Failure::coded(Code::ConfigInvalid, message).hint(hint)
}

fn events(section: &Index) -> Result<Vec<EventShape>, Trouble> {
    let Some(abi) = &section.abi else {
        let read = |(place, text): (usize, &String)| {
            text.parse().map_err(|error| Trouble::event(format!("events[{place}]"), &error))
        };
        return section.events.iter().enumerate().map(read).collect();
    };
    let text = read(abi.as_path()).map_err(|error| Trouble {
        key: "abi".to_owned(),
        message: format!("cannot read `{}`: {error}", abi.as_path().display()),
        hint: Some("a relative path begins at the folder of the configuration file".to_owned()),
    })?;
    let key = if section.events.is_empty() { "abi" } else { "events" };
    EventShape::from_json(&text, &section.events).map_err(|error| Trouble::event(key, &error))
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_ABI_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}
