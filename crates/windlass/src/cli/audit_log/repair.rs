//! `windlass audit-log repair`

use serde_json::{Value, json};
use windlass_core::code::Code;
use windlass_core::payout::ledger::{Forgery, RowId};
use windlass_core::payout::memo::is_hidden;
use windlass_engine::pay::repair::{Repair, RepairAction, RepairError, Repairer};

use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::failure::{Failure, store_hint};
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The row, as the list of refused rows and `audit-log verify` name it, such as `key:alice`; without one, list them
    #[arg(value_parser = row)]
    row: Option<RowId>,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn row(text: &str) -> Result<RowId, String> {
    RowId::from_key(text).map_err(|error| error.to_string())
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let deed = if args.row.is_some() && args.yes { Deed::Administer } else { Deed::Look };
    let session = Session::begin(&loaded.config, deed).await?;
    let done = async {
        let repairer = Repairer::new(session.ledger.clone(), &session.actor).map_err(unnamed)?;
        match &args.row {
            None => list(&args, &repairer, &RepairCommand::new(global)).await,
            Some(row) => repair(&args, &repairer, row).await,
        }
    };
    let done = done.await;
    session.store.close().await;
    done
}

/// The command that puts a refused row right, as it can be pasted into a shell.
pub(super) struct RepairCommand {
    /// With the configuration file that was named, if one was.
    prefix: String,
}

impl RepairCommand {
    pub(super) fn new(global: &Global) -> Self {
        let config = global.file().map(|path| format!(" --config {}", quoted(&path.display().to_string())));
        Self { prefix: format!("windlass{}", config.unwrap_or_default()) }
    }

    /// The command for one row. The known blocks of a chain are learned again, not made anew.
    pub(super) fn of(&self, row: &RowId) -> String {
        if matches!(row, RowId::ChainIdentity(_)) {
            return format!("{} pay accept-chain --yes", self.prefix);
        }
        format!("{} audit-log repair {} --yes", self.prefix, quoted(&row.key()))
    }
}

/// A word as a shell takes it. Letters that a terminal hides or obeys are written as their bytes, as
/// bash and zsh read them: what is shown is the row that is meant.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+,=".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().any(|letter| letter.is_control() || is_hidden(letter)) {
        return format!("$'{}'", word.bytes().map(escaped).collect::<String>());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A byte between `$'` and `'`.
fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

async fn list(args: &Args, repairer: &Repairer, repairs: &RepairCommand) -> Result<(), Failure> {
    let refused = repairer.refused().await.map_err(failed)?;
    if args.json {
        return Ok(output::json(&refused.iter().map(shown).collect::<Vec<_>>())?);
    }
    if refused.is_empty() {
        return Ok(output::print("every row is what the audit log says\n")?);
    }
    for forgery in &refused {
        let (row, command) = (forgery.row.key(), repairs.of(&forgery.row));
        output::print(&format!("{row}\n  {forgery}\n  {command}\n"))?;
    }
    output::note(
        "put them right from a backup if there is one; otherwise let an admin run the command below each row, \
         payouts first; without --yes it says what it would do",
    );
    Ok(())
}

async fn repair(args: &Args, repairer: &Repairer, row: &RowId) -> Result<(), Failure> {
    if !args.yes {
        let Repair { forgery, action, next } = repairer.preview(row).await.map_err(failed)?;
        let does = match action {
            RepairAction::Removed => "this removes it",
            RepairAction::Rebuilt => "this makes it anew from what the audit log says",
        };
        let next = next.map_or_else(String::new, |next| format!("; then {next}"));
        return Err(Failure::coded(Code::RowForged, format_args!("{forgery}; {does}{next}"))
            .hint("a backup of the same time is better, if there is one; otherwise say --yes"));
    }
    let done = repairer.repair(row).await.map_err(failed)?;
    if args.json {
        let Repair { forgery, action, next } = &done;
        return Ok(output::json(
            &json!({"row": forgery.row.key(), "was": forgery.kind.as_str(), "action": action, "next": next}),
        )?);
    }
    let word = match done.action {
        RepairAction::Removed => "removed",
        RepairAction::Rebuilt => "made anew",
    };
    output::print(&format!("{} is {word}\n", row))?;
    if let Some(next) = done.next {
        output::print(&format!("next: {next}\n"))?;
    }
    Ok(())
}

fn shown(forgery: &Forgery) -> Value {
    json!({"row": forgery.row.key(), "kind": forgery.kind.as_str(), "message": forgery.to_string()})
}

fn failed(error: RepairError) -> Failure {
    match error {
        RepairError::Store(error) => {
            let code = error.code();
            Failure::coded(code, error).hint(store_hint(code))
        }
        RepairError::Name(error) => unnamed(error),
        error @ RepairError::Broken(_) => Failure::coded(Code::AuditBroken, error)
            .hint("compare with a backup: nothing is made anew from a log that was altered"),
        error @ RepairError::Sound(_) => {
            Failure::refused(error).hint("`windlass audit-log repair` lists what was refused")
        }
        error => {
            Failure::coded(Code::RowForged, error).hint("`windlass explain W0612` says what else can be done")
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{Address, ChainId};
    use windlass_core::payout::request::VaultRef;

    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let repairs = RepairCommand { prefix: "windlass".to_owned() };
        let of = |name: &str| repairs.of(&RowId::ApiKey(name.to_owned()));
        assert_eq!(of("alice"), "windlass audit-log repair key:alice --yes");
        assert_eq!(of("it's; rm -rf $HOME"), r"windlass audit-log repair 'key:it'\''s; rm -rf $HOME' --yes");
        assert_eq!(
            of("a\u{1b}[31m'b\u{202e}"),
            r"windlass audit-log repair $'key:a\x1b[31m\'b\xe2\x80\xae' --yes"
        );
        let vault = VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::ZERO };
        assert_eq!(repairs.of(&RowId::ChainIdentity(vault)), "windlass pay accept-chain --yes");
    }
}
