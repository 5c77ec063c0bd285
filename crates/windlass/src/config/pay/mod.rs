//! `[pay]`: what is paid out, from which vault and by whom.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | the section |
//! | [`token`] | what is paid |
//! | [`amount`] | how much, as people write it |
//! | [`risk`] | what may be paid |
//! | [`approval`] | how many have to say yes |
//! | [`check`] | what no single value can say |

pub(crate) mod amount;
pub(crate) mod approval;
pub(crate) mod check;
pub(crate) mod coins;
pub(crate) mod risk;
pub(crate) mod token;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::WrittenAddress;
use super::chain::{ChainName, Finality};
use super::hidden::Hidden;
use super::interval::Interval;
use super::number::Number;
use super::signer::SignerName;
use approval::Approval;
use coins::Coins;
use risk::Risk;
use token::{Symbol, Token};

/// The most accounts that pay out of one vault.
pub(crate) const MAX_SIGNERS: usize = 64;

/// What is paid out, from which vault and by whom.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pay {
    /// The name of the chain that the vault is on.
    pub(crate) chain: ChainName,
    /// The vault's address; `windlass vault deploy` makes one.
    pub(crate) vault: WrittenAddress,
    /// The accounts that send, each the name of a `[signer.<name>]`. They are for paying alone.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub(crate) signers: Vec<SignerName>,
    /// The key that approves payouts where the vault asks for that: the name of a `[signer.<name>]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) risk_signer: Option<SignerName>,
    /// The key of the audit log, 64 hexadecimal digits: `env:NAME` or `file:PATH`.
    #[schemars(with = "String")]
    pub(crate) audit_key: Hidden,
    /// The file in which the end of the audit log is kept outside the database; beside the first keystore unless named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) audit_head: Option<PathBuf>,
    /// When a payout counts as confirmed: after so many blocks, its own counted, or when it is `safe` or `finalized`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Finality")]
    pub(crate) confirmation: Option<Finality>,
    /// How many payouts of a token go into one transaction at most; 1 sends each alone.
    #[serde(default = "batch")]
    pub(crate) batch: Number<1, 200>,
    /// How many transactions of an account may be on their way at once.
    #[serde(default = "max_open")]
    pub(crate) max_open: Number<1, 10_000>,
    /// The most that is offered for a unit of gas, in gwei.
    #[serde(default = "max_fee_gwei")]
    pub(crate) max_fee_gwei: Number<1, 1_000_000>,
    /// Below how much of the chain's own coin an account that pays is warned about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Coins")]
    pub(crate) warn_gas_below: Option<Coins>,
    /// After how many blocks without it more is offered for a transaction.
    #[serde(default = "bump_after_blocks")]
    pub(crate) bump_after_blocks: Number<1, 1_000>,
    /// How long an approval of the risk signer is good.
    #[serde(default = "approval_ttl")]
    pub(crate) approval_ttl: Interval<60_000, 86_400_000>,
    /// How long a process that has died keeps the account and the payouts it held.
    #[serde(default = "lease_ttl")]
    pub(crate) lease_ttl: Interval<1_000, 3_600_000>,
    /// How often a transaction on its way is looked at.
    #[serde(default = "track_interval")]
    pub(crate) track_interval: Interval<50, 3_600_000>,
    /// How often a payout that waits for something is looked at.
    #[serde(default = "hold_interval")]
    pub(crate) hold_interval: Interval<50, 3_600_000>,
    /// Whether this machine may ask and approve without keys, and bare private keys may sign. Never with real money.
    #[serde(default)]
    pub(crate) development: bool,
    /// The tokens that are paid, each under its symbol.
    #[serde(default)]
    pub(crate) token: BTreeMap<Symbol, Token>,
    /// What may be paid.
    #[serde(default)]
    pub(crate) risk: Risk,
    /// How many have to approve.
    #[serde(default)]
    pub(crate) approval: Approval,
}

const fn batch() -> Number<1, 200> {
    Number::of(1)
}

const fn max_open() -> Number<1, 10_000> {
    Number::of(64)
}

const fn max_fee_gwei() -> Number<1, 1_000_000> {
    Number::of(500)
}

const fn bump_after_blocks() -> Number<1, 1_000> {
    Number::of(3)
}

const fn approval_ttl() -> Interval<60_000, 86_400_000> {
    Interval::of_ms(3_600_000)
}

const fn lease_ttl() -> Interval<1_000, 3_600_000> {
    Interval::of_ms(60_000)
}

const fn track_interval() -> Interval<50, 3_600_000> {
    Interval::of_ms(2_000)
}

const fn hold_interval() -> Interval<50, 3_600_000> {
    Interval::of_ms(15_000)
}

impl Pay {
    /// The same with relative paths taken from a folder on.
    pub(crate) fn anchored(mut self, folder: &Path) -> Self {
        self.audit_key = self.audit_key.anchored(folder);
        self.audit_head = self.audit_head.map(|path| folder.join(path));
        self.risk.file = self.risk.file.map(|path| folder.join(path));
        self
    }
}
