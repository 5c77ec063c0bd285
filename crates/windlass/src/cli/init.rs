//! `windlass init`

use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
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

/// What is written.
struct Written {
    text: String,
    /// Whether it may hold a key, and is nobody else's to read.
    private: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let written = match args.rpc {
        Some(rpc) => with_endpoint(&rpc).await?,
        None => Written { text: EXAMPLE.to_owned(), private: false },
    };
    if args.dry_run {
        return Ok(output::print(&written.text)?);
    }
    let path = global.file().map_or(Path::new(FILE_NAME), |path| path.as_path());
    write(path, &written, args.force)?;
    if written.private {
        output::note(&format!(
            "the endpoint's URL may hold a key, so only you may read {}; better keep it elsewhere: --rpc env:NAME",
            path.display()
        ));
    }
    output::note(&format!("wrote {}; next: windlass doctor", path.display()));
    Ok(())
}

/// The example with an endpoint that has been asked for its chain.
async fn with_endpoint(rpc: &str) -> Result<Written, Failure> {
    let secret = Secret::try_from(rpc.to_owned()).map_err(Failure::usage)?;
    let url = RpcUrl::try_from(secret).map_err(Failure::usage)?;
    let resolved = url.resolve().map_err(|error| {
        Failure::coded(Code::SecretMissing, error).hint("set it for this process, then try again")
    })?;
    let id = EvmRpc::new(resolved.expose_secret())?.chain_id().await?;
    Ok(Written { text: filled_in(id, rpc), private: may_hold_key(rpc) })
}

/// Whether a written-out URL has a part that providers put keys into.
fn may_hold_key(rpc: &str) -> bool {
    windlass_chain::evm::parse_url(rpc).is_some_and(|url| {
        let user = !url.username().is_empty() || url.password().is_some();
        user || url.query().is_some() || !matches!(url.path(), "" | "/")
    })
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

/// Readable and writable by the owner alone.
const PRIVATE_MODE: u32 = 0o600;

fn write(path: &Path, written: &Written, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if written.private {
        options.mode(PRIVATE_MODE);
    }
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let done = options.open(path).and_then(|mut file| {
        // A file that was there keeps the rights it had.
        if written.private {
            file.set_permissions(Permissions::from_mode(PRIVATE_MODE))?;
        }
        file.write_all(written.text.as_bytes())
    });
    done.map_err(|error| match error.kind() {
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
