//! `windlass index add`

use std::io::Write;
use std::path::{Path, PathBuf};

use windlass_core::chain::Address;
use windlass_core::code::Code;

use super::inspect;
use super::section::{IndexArgs, Section, typed_address};
use crate::cli::global::Global;
use crate::config::chain::ChainName;
use crate::config::index::IndexName;
use crate::config::{FILE_NAME, Loaded};
use crate::failure::Failure;
use crate::output;
use crate::output::file::WholeFile;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name: lower-case letters, digits and `_`
    name: IndexName,
    /// The name of a configured chain; it can be left out where there is only one
    #[arg(long)]
    chain: Option<String>,
    /// The contract's address; may be repeated
    #[arg(long = "contract", value_name = "ADDRESS", value_parser = typed_address, required = true)]
    contracts: Vec<Address>,
    #[command(flatten)]
    index: IndexArgs,
    /// Print what would be added
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    if loaded.config.index.contains_key(&args.name) {
        return Err(Failure::refused(format_args!("index {} is there already", args.name))
            .hint("choose another name, or change it in the configuration file"));
    }
    let chain = chosen_chain(&loaded, args.chain)?;
    let section = Section::new(args.name, chain, args.contracts, args.index)?;
    let path = loaded.file.clone().unwrap_or_else(|| PathBuf::from(FILE_NAME));
    let mut section = section.for_file(&path);
    let before = read(&path)?;
    let joined = |section: &Section| {
        let gap = if before.is_empty() || before.ends_with("\n\n") { "" } else { "\n" };
        let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        format!("{before}{end}{gap}{}", section.text())
    };
    section.start = Some(inspect::inspect(global, &path, &joined(&section), &section).await?.start);
    if args.dry_run {
        return Ok(output::print(&section.text())?);
    }
    replace(&path, &joined(&section))?;
    output::note(&format!(
        "added [index.{}] to {}; `windlass run` collects it from its next start on",
        section.name,
        path.display()
    ));
    Ok(())
}

fn chosen_chain(loaded: &Loaded, typed: Option<String>) -> Result<ChainName, Failure> {
    let chains = &loaded.config.chain;
    let known: Vec<String> = chains.keys().map(ToString::to_string).collect();
    let hint = match known.as_slice() {
        [] => "add a section `[chain.NAME]` first; `windlass init --rpc URL` writes one".to_owned(),
        known => format!("known: {}", known.join(", ")),
    };
    match typed {
        Some(name) => {
            let chain = ChainName::try_from(name).map_err(Failure::usage)?;
            if chains.contains_key(&chain) {
                return Ok(chain);
            }
            Err(Failure::coded(Code::ConfigInvalid, format_args!("there is no chain `{chain}`")).hint(hint))
        }
        None => match known.len() {
            1 => Ok(chains.keys().next().cloned().ok_or_else(|| Failure::usage("which chain?"))?),
            _ => Err(Failure::usage("which chain? name it with --chain").hint(hint)),
        },
    }
}

/// The file as it is; nothing where there is none yet.
fn read(path: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Puts a new text in a file's place.
pub(in crate::cli) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let written = WholeFile::begin(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.replace()
    });
    written.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::coded(Code::ConfigUnreadable, format_args!("cannot change `{}`: {error}", path.display()))
        .hint("check the folder and its rights")
}
