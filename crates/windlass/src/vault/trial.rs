//! What would become of a transaction now: a call that sends nothing.

use windlass_core::chain::{Address, U256};
use windlass_core::code::Code;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{CallOutcome, GasEstimate};
use windlass_core::payout::vault::VaultRefusal;
use windlass_core::payout::vault::admin::refusal;
use windlass_core::reader::BlockTag;

use super::plan::Planned;
use super::site::Site;
use crate::failure::Failure;

/// What would become of it.
pub(crate) enum Trial {
    /// It would be taken.
    Taken(Cost),
    /// It would be refused.
    Refused(VaultRefusal),
}

/// What it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// How much gas it takes now.
    pub(crate) gas: u64,
    /// How much it may take.
    pub(crate) gas_limit: u64,
    /// What is offered for a unit.
    pub(crate) fees: GasFees,
}

impl Cost {
    /// The most that it can cost, in wei.
    pub(crate) fn most(&self) -> U256 {
        U256::from(self.gas_limit) * U256::from(self.fees.max_fee)
    }
}

/// Tries a transaction of an account.
pub(crate) async fn run(site: &Site, planned: &Planned, from: Address) -> Result<Trial, Failure> {
    let call = planned.from(from);
    // Asked first: where it reverts, every node says why; not all do when they estimate.
    if let CallOutcome::Reverted { data, message } = site.chain.call(&call, BlockTag::Latest).await? {
        return Ok(Trial::Refused(refusal::read(&data, &message)));
    }
    let gas = match site.chain.estimate_gas(&call).await? {
        GasEstimate::Gas(gas) => gas,
        GasEstimate::Reverted { data, message } => {
            return Ok(Trial::Refused(refusal::read(&data, &message)));
        }
    };
    let fees = site.chain.gas_fees().await?;
    Ok(Trial::Taken(Cost { gas, gas_limit: with_margin(gas), fees }))
}

impl Trial {
    /// What it costs, or why it is not sent.
    pub(crate) fn taken(self, planned: &Planned) -> Result<Cost, Failure> {
        match self {
            Self::Taken(cost) => Ok(cost),
            Self::Refused(refusal) => Err(refused(planned, &refusal)),
        }
    }
}

/// It was not sent, because it would be reverted.
fn refused(planned: &Planned, refusal: &VaultRefusal) -> Failure {
    let message = format!("nothing was sent: `{}` would be refused: {refusal}", planned.function());
    Failure::coded(Code::VaultUnusable, message).hint(hint(&refusal.name))
}

/// The next step.
fn hint(name: &str) -> &'static str {
    match name {
        "AccessControlUnauthorizedAccount" => {
            "send it from an account that has the role: name its signer with --signer; `windlass vault show` lists roles"
        }
        "EnforcedPause" => "it is paused, perhaps by the same command before; `windlass vault show` tells",
        "ExpectedPause" => "pause it first: windlass vault pause",
        "OperationNotReady" => "wait for that time; `windlass vault show` tells it",
        "OperationExpired" | "NothingScheduled" => {
            "announce it, perhaps again; it may also be done already: `windlass vault show` tells"
        }
        "RequestAlreadyPaid" | "RequestAlreadyCancelled" => "the request is settled, and stays so",
        "TokenNotSweepable" => "windlass vault emergency-withdraw sends it to the treasury, after the delay",
        _ => "`windlass vault show` tells how the vault stands",
    }
}

/// A fifth more than was estimated, and some: what is stored may change in between.
const fn with_margin(gas: u64) -> u64 {
    gas.saturating_add(gas / 5).saturating_add(25_000)
}
