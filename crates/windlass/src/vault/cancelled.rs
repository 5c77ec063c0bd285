//! Which request is cancelled: by a payout's id, or by the id under which the vault knows it.

use windlass_core::chain::B256;
use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::partial_id::PartialId;
use windlass_core::payout::vault::VaultPayout;

use super::site::Vault;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output;
use crate::pay::find;

/// An id as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// A payout's.
    Payout(PartialId),
    /// A request's.
    Request(B256),
}

impl std::str::FromStr for Which {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let (false, Ok(id)) = (text.starts_with("0x"), text.parse()) {
            return Ok(Self::Payout(id));
        }
        let is_request = text.starts_with("0x") && text.len() == 66;
        text.parse().ok().filter(|_| is_request).map(Self::Request).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            format!(
                "a payout's id is a UUID or a part of one, a request's `0x` and 64 hexadecimal digits; `{shown}` is neither"
            )
        })
    }
}

impl Which {
    /// What the vault is told of it. Token, recipient and amount go into an event, and are
    /// zero where no payout is known here.
    pub(crate) async fn payout(self, config: &Config, vault: &Vault) -> Result<VaultPayout, Failure> {
        match (self, self.stored(config).await) {
            (_, Ok(Some(payout))) => of(vault, &payout),
            (Self::Payout(id), Ok(None)) => {
                Err(Failure::coded(Code::PayoutMissing, format_args!("there is no payout {id}"))
                    .hint("by the request's id it can be cancelled without this database"))
            }
            (Self::Payout(_), Err(failure)) => Err(failure),
            (Self::Request(request_id), _) => {
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

    async fn stored(self, config: &Config) -> Result<Option<Payout>, Failure> {
        let store = store::open(&config.database, Access::Look).await?;
        let found = match self {
            Self::Payout(id) => match find::payout_id(&*store, id).await {
                Ok(id) => store.payouts(&[id]).await.map_err(Failure::from),
                Err(failure) => Err(failure),
            },
            Self::Request(id) => store.payouts_of_requests(&[id]).await.map_err(Failure::from),
        };
        store.close().await;
        Ok(found?.pop())
    }
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
    fn an_id_is_one_of_two() {
        let request = format!("0x{}", "ab".repeat(32));
        assert_eq!(request.parse(), Ok(Which::Request(B256::repeat_byte(0xab))));
        let payout = "01890a5d-ac96-7b7c-8f3e-0123456789ab";
        assert!(matches!(payout.parse(), Ok(Which::Payout(_))));
        assert!(matches!("0123456789ab".parse(), Ok(Which::Payout(_))));
        for neither in ["", "7", "0xab", "0x01890a5d", &"ab".repeat(32)] {
            assert!(neither.parse::<Which>().is_err(), "{neither}");
        }
    }
}
