//! `windlass version`

use serde::Serialize;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What this binary is.
#[derive(Debug, Serialize)]
struct Version {
    version: &'static str,
    /// The commit it was built from, where the build said so.
    commit: Option<&'static str>,
    /// What is built in.
    features: &'static [&'static str],
    schema: Schema,
}

/// The schema version each store is brought to.
#[derive(Debug, Serialize)]
struct Schema {
    sqlite: i64,
    postgres: i64,
}

const VERSION: Version = Version {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("WINDLASS_GIT_COMMIT"),
    features: if cfg!(feature = "aws-kms") {
        &["sqlite", "postgres", "evm", "devnet", "aws-kms"]
    } else {
        &["sqlite", "postgres", "evm", "devnet"]
    },
    schema: Schema {
        sqlite: windlass_store_sqlite::SCHEMA_VERSION,
        postgres: windlass_store_postgres::SCHEMA_VERSION,
    },
};

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    if args.json {
        return Ok(output::json(&VERSION)?);
    }
    let commit = VERSION.commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    Ok(output::print(&format!(
        "windlass {}{commit}\nbuilt with: {}\nschema: sqlite {}, postgres {}\n",
        VERSION.version,
        VERSION.features.join(", "),
        VERSION.schema.sqlite,
        VERSION.schema.postgres
    ))?)
}
