//! An index as it is typed, and as the configuration file has it.

use std::path::{Path, PathBuf};

use windlass_core::abi::EventShape;
use windlass_core::chain::Address;
use windlass_core::code::Code;

use crate::config::address::parse_address;
use crate::config::chain::ChainName;
use crate::config::index::IndexName;
use crate::config::index::start::Start;
use crate::failure::Failure;

/// What was typed of an index.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IndexArgs {
    /// An event as the contract declares it; with --abi its name is enough; several times for several
    #[arg(long = "event", value_name = "EVENT", requires = "contracts")]
    pub(crate) events: Vec<String>,
    /// A file with the contract's ABI
    #[arg(long, value_name = "FILE", requires = "contracts")]
    pub(crate) abi: Option<PathBuf>,
    /// The first block of interest, or "deployment" [default: the block of the deployment, searched for now]
    #[arg(long, value_name = "BLOCK", requires = "contracts")]
    pub(crate) start: Option<Start>,
}

/// Reads an address that was typed.
pub(crate) fn typed_address(text: &str) -> Result<Address, String> {
    parse_address(text)
}

/// An index to be written down.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) name: IndexName,
    pub(crate) chain: ChainName,
    pub(crate) contracts: Vec<Address>,
    /// Unknown as long as it was not searched for.
    pub(crate) start: Option<Start>,
    pub(crate) events: Vec<String>,
    pub(crate) abi: Option<PathBuf>,
}

impl Section {
    /// What was typed, with every event looked at.
    pub(crate) fn new(
        name: IndexName,
        chain: ChainName,
        contracts: Vec<Address>,
        args: IndexArgs,
    ) -> Result<Self, Failure> {
        if args.abi.is_none() {
            if args.events.is_empty() {
                return Err(Failure::usage("which events? name them with --event, or give an --abi")
                    .hint("--event 'Transfer(address indexed from, address indexed to, uint256 value)'"));
            }
            for event in &args.events {
                event.parse::<EventShape>().map_err(|error| {
                    let failure = Failure::coded(Code::ConfigInvalid, format_args!("--event: {error}"));
                    match error.hint() {
                        Some(hint) => failure.hint(hint),
                        None => failure,
                    }
                })?;
            }
        }
        Ok(Self { name, chain, contracts, start: args.start, events: args.events, abi: args.abi })
    }

    /// The same for a file that lies elsewhere: paths that were typed begin at the current folder.
    pub(crate) fn for_file(mut self, file: &Path) -> Self {
        let is_elsewhere = file.parent().is_some_and(|folder| !folder.as_os_str().is_empty());
        if is_elsewhere {
            self.abi = self.abi.map(|abi| std::path::absolute(&abi).unwrap_or(abi));
        }
        self
    }

    /// As the configuration file has it.
    pub(crate) fn text(&self) -> String {
        let quoted = |text: String| toml::Value::from(text).to_string();
        let listed = |texts: Vec<String>| match texts.as_slice() {
            [one] => format!("[{}]", quoted(one.clone())),
            many => {
                let lines = many.iter().map(|text| format!("  {},\n", quoted(text.clone())));
                format!("[\n{}]", lines.collect::<String>())
            }
        };
        let addresses: Vec<String> = self.contracts.iter().map(ToString::to_string).collect();
        let contract = match addresses.as_slice() {
            [one] => quoted(one.clone()),
            _ => listed(addresses),
        };
        let start = toml::Value::from(self.start.unwrap_or(Start::Block(0)));
        let mut text = format!("[index.{}]\nchain = {}\n", self.name, quoted(self.chain.to_string()));
        text.push_str(&format!("contract = {contract}\nstart = {start}\n"));
        if let Some(abi) = &self.abi {
            text.push_str(&format!("abi = {}\n", quoted(abi.display().to_string())));
        }
        if !self.events.is_empty() {
            text.push_str(&format!("events = {}\n", listed(self.events.clone())));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::index::Index;

    #[test]
    fn what_is_written_reads_back() {
        let section = Section {
            name: "fees".parse().expect("a name"),
            chain: ChainName::try_from("polygon".to_owned()).expect("a name"),
            contracts: vec![Address::repeat_byte(0x11), Address::repeat_byte(0x22)],
            start: Some(Start::Deployment),
            events: vec!["E(uint256 a)".to_owned(), "F(string \"b)".to_owned()],
            abi: Some("a \"b\".json".into()),
        };
        let table: toml::Table = section.text().parse().expect("toml");
        let index: Index = table["index"]["fees"].clone().try_into().expect("an index");
        assert_eq!(index.events, section.events);
        assert_eq!(index.start, Start::Deployment);
        assert_eq!(index.abi.expect("a path").as_path(), section.abi.expect("a path"));
    }
}
