//! What `pay init` writes into the configuration file.

use windlass_core::money::Amount;

use super::answers::Answers;
use super::keys::KeyFiles;

/// The signer that sends payouts.
pub(super) const OPS: &str = "ops";
/// The signer that approves each payout to the vault.
pub(super) const RISK: &str = "risk";
/// The signer that sets the vault's rules.
pub(super) const ADMIN: &str = "admin";
/// All of them.
pub(super) const SIGNERS: [&str; 3] = [OPS, RISK, ADMIN];

/// Written where an address is not known yet.
const UNKNOWN: &str = "0x…";

/// The addresses that the configuration names.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses {
    /// The vault.
    pub(super) vault: Option<String>,
    /// The token.
    pub(super) token: Option<String>,
}

/// The sections, behind what the file has already.
pub(super) fn sections(answers: &Answers, keys: &KeyFiles, addresses: &Addresses) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let address = |known: &Option<String>| quoted(known.as_deref().unwrap_or(UNKNOWN));
    let mut text = String::new();
    for (name, what) in
        SIGNERS.iter().zip(["sends payouts", "approves each payout", "sets the vault's rules"])
    {
        let (keystore, passphrase) = (quoted(&keys.keystore(name)), quoted(&keys.passphrase(name)));
        text.push_str(&format!(
            "# Signs: {what}.\n[signer.{name}]\nkeystore = {keystore}\npassphrase = {passphrase}\n\n"
        ));
    }
    let (chain, vault) = (quoted(&answers.chain.to_string()), address(&addresses.vault));
    let audit_key = quoted(&keys.audit_key());
    text.push_str(&format!(
        "[pay]\nchain = {chain}\nvault = {vault}\nsigners = [\"{OPS}\"]\nrisk_signer = \"{RISK}\"\naudit_key = {audit_key}\n"
    ));
    if answers.is_test {
        text.push_str(
            "# On a test chain a payout counts once it is in a block, and this machine needs no API keys.\n\
             # Never with real money.\nconfirmation = 1\ndevelopment = true\n",
        );
    }
    let (symbol, decimals, token) =
        (&answers.token.symbol, answers.token.decimals, address(&addresses.token));
    text.push_str(&format!("\n[pay.token.{}]\naddress = {token}\ndecimals = {decimals}\n", key(symbol)));
    text.push_str(&format!(
        "\n# What this machine pays at most; the vault has the same limits.\n[pay.risk]\nmax_per_request = {}\nmax_daily_total = {}\n\
         # The first payment to an address waits so long.\n# new_recipient_hold = \"24h\"\n",
        quoted_amount(&answers.per_payout),
        quoted_amount(&answers.per_day),
    ));
    text.push_str(&format!("\n[pay.approval]\napprovers = {}\n", answers.approvals));
    text
}

fn quoted_amount(amount: &Amount) -> String {
    toml::Value::from(amount.to_string()).to_string()
}

/// A key as TOML has it: one with a dot is quoted.
fn key(symbol: &str) -> String {
    if symbol.contains('.') { toml::Value::from(symbol).to_string() } else { symbol.to_owned() }
}

/// How a new file begins.
pub(super) const HEAD: &str = "#:schema ./windlass.schema.json\n\
    # For editors that check TOML against a schema: windlass config schema > windlass.schema.json\n\
    # `windlass config example` prints everything that can be set.\n\n";

/// The section of a chain that the file does not have yet.
pub(super) fn chain_section(name: &str, id: u64, rpc: &str) -> String {
    format!("[chain.{name}]\nid = {id}\nrpc = [{}]\n", toml::Value::from(rpc))
}

/// The text of the file with more at its end.
pub(super) fn appended(before: &str, more: &str) -> String {
    let gap = match before {
        "" => "",
        before if before.ends_with("\n\n") => "",
        before if before.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{before}{gap}{more}")
}
