//! Which request is cancelled: by a payout's id or key, or by the id under which the vault knows it.

use windlass_core::chain::B256;
use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::vault::VaultPayout;

use super::site::Vault;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output;
use crate::pay::find::{self, PayoutName};

/// A name as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// A payout's id, or its key.
    Payout(PayoutName),
    /// A request's id, or a key that looks like one.
    Request(B256, PayoutName),
}

impl std::str::FromStr for Which {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let name: PayoutName = text.parse()?;
        let is_request = text.starts_with("0x") && text.len() == 66;
        match text.parse() {
            Ok(id) if is_request => Ok(Self::Request(id, name)),
            _ => Ok(Self::Payout(name)),
        }
    }
}

impl Which {
    /// What the vault is told of it. Token, recipient and amount go into an event, and are
    /// zero where no payout is known here.
    pub(crate) async fn payout(&self, config: &Config, vault: &Vault) -> Result<VaultPayout, Failure> {
        match (self, self.stored(config).await) {
            (_, Ok(Some(payout))) => of(vault, &payout),
            (Self::Payout(name), Ok(None)) => Err(missing(format_args!("there is no payout {name}"))),
            // Where several match, they are listed.
            (Self::Payout(_), Err(failure))
                if failure.code == Some(Code::PayoutMissing) && failure.details.is_empty() =>
            {
                Err(missing(failure.message))
            }
            (Self::Payout(_), Err(failure)) => Err(failure),
            (Self::Request(request_id, _), _) => {
                let request_id = *request_id;
                output::note("no payout of this request is known here: its cancellation will name no token");
                Ok(VaultPayout {
                    request_id,
                    token: Default::default(),
                    to: Default::default(),
                    amount: Default::default(),
                })
            }
        }
    }

    async fn stored(&self, config: &Config) -> Result<Option<Payout>, Failure> {
        let store = store::open(&config.database, Access::Look).await?;
        let found = self.find(&*store).await;
        store.close().await;
        found
    }

    async fn find(&self, payouts: &dyn Payouts) -> Result<Option<Payout>, Failure> {
        match self {
            Self::Payout(name) => {
                let id = find::payout(payouts, name).await?;
                Ok(payouts.payouts(&[id]).await?.pop())
            }
            Self::Request(id, name) => match payouts.payouts_of_requests(&[*id]).await?.pop() {
                Some(payout) => Ok(Some(payout)),
                // The hash of an order may be a payout's key: it is not taken for a request of nobody.
                None => find::of_key(payouts, name).await,
            },
        }
    }
}

fn missing(message: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::PayoutMissing, message)
        .hint("by the request's id it can be cancelled without this database")
}

fn of(vault: &Vault, payout: &Payout) -> Result<VaultPayout, Failure> {
    if payout.request.vault == vault.reference() {
        return Ok(VaultPayout::from(&payout.request));
    }
    let paid_by = payout.request.vault;
    let message = format!("payout {} is of vault {} on chain {}", payout.id, paid_by.address, paid_by.chain);
    Err(Failure::coded(Code::PayoutRefused, message).hint("name that vault with --vault and --chain"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_by_its_id_and_a_payout_by_its_id_or_key() {
        let request = format!("0x{}", "ab".repeat(32));
        let read = request.parse::<Which>().expect("a request's id");
        assert!(matches!(read, Which::Request(id, _) if id == B256::repeat_byte(0xab)), "{read:?}");
        let payout = "01890a5d-ac96-7b7c-8f3e-0123456789ab";
        for name in [payout, "0123456789ab", "invoice-7", "7", "0xab", &"ab".repeat(32)] {
            assert!(matches!(name.parse(), Ok(Which::Payout(_))), "{name}");
        }
        for neither in ["", " ", &"x".repeat(201)] {
            assert!(neither.parse::<Which>().is_err(), "{neither}");
        }
    }
}
