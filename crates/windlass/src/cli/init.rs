//! `windlass init`

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use secrecy::ExposeSecret;
use windlass_chain::evm::EvmRpc;
use windlass_core::chain::ChainId;
use windlass_core::code::Code;

use super::global::Global;
use crate::config::chain::RpcUrl;
use crate::config::secret::Secret;
use crate::config::{EXAMPLE, FILE_NAME};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An endpoint to fill in, with the chain id it answers; best as env:NAME or file:PATH
    #[arg(long, value_name = "URL")]
    rpc: Option<String>,
    /// Print what would be written
    #[arg(long)]
    dry_run: bool,
    /// Overwrite the file
    #[arg(long, conflicts_with = "dry_run")]
    force: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let text = match args.rpc {
        Some(rpc) => with_endpoint(&rpc).await?,
        None => EXAMPLE.to_owned(),
    };
    if args.dry_run {
        return Ok(output::print(&text)?);
    }
    let path = global.file().map_or(Path::new(FILE_NAME), |path| path.as_path());
    write(path, &text, args.force)?;
    output::note(&format!("wrote {}; next: windlass doctor", path.display()));
    Ok(())
}

/// The example with an endpoint that has been asked for its chain.
async fn with_endpoint(rpc: &str) -> Result<String, Failure> {
    let url = RpcUrl::try_from(Secret::from(rpc.to_owned())).map_err(Failure::usage)?;
    let resolved = url.resolve().map_err(|error| Failure::coded(Code::SecretMissing, error))?;
    let id = EvmRpc::new(resolved.expose_secret())?.chain_id().await?;
    Ok(filled_in(id, rpc))
}

fn filled_in(id: ChainId, rpc: &str) -> String {
    let rpc = toml::Value::from(vec![rpc]);
    EXAMPLE
        .replace("[chain.local]", &format!("[chain.{}]", name_of(id)))
        .replace("id = 31337", &format!("id = {id}"))
        .replace("rpc = [\"http://127.0.0.1:8545\"]", &format!("rpc = {rpc}"))
}

/// The name most people would choose.
fn name_of(id: ChainId) -> String {
    let known = match id.as_u64() {
        1 => "ethereum",
        10 => "optimism",
        56 => "bsc",
        100 => "gnosis",
        137 => "polygon",
        8_453 => "base",
        42_161 => "arbitrum",
        43_114 => "avalanche",
        31_337 => "local",
        11_155_111 => "sepolia",
        other => return format!("chain_{other}"),
    };
    known.to_owned()
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::coded(Code::ConfigExists, format_args!("`{}` is there already", path.display()))
                .hint("--force overwrites it, --dry-run prints what would be written")
        }
        _ => {
            Failure::coded(Code::ConfigUnreadable, format_args!("cannot write `{}`: {error}", path.display()))
                .hint("check the folder and its rights")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn an_endpoint_is_filled_in() {
        for (id, name) in [(137, "polygon"), (99_999, "chain_99999"), (31_337, "local")] {
            let text = filled_in(ChainId::new(id).expect("an id"), "env:RPC");
            let config: Config = toml::from_str(&text).expect("a configuration");
            let (found, chain) = config.chain.first_key_value().expect("a chain");
            assert_eq!((found.to_string().as_str(), chain.id.as_u64()), (name, id));
            assert_eq!(chain.rpc.iter().map(RpcUrl::shown).collect::<Vec<_>>(), ["env:RPC"]);
        }
    }
}
