//! Rows of the ledger as an operator types them: `payout:ID`, `approval:ID:NAME`,
//! `sum:CHAIN:VAULT:TOKEN:DAY[:RECIPIENT]` (days since 1970), `transaction:ID`, `account:CHAIN:ADDRESS`, `key:NAME`,
//! `chain:CHAIN:VAULT`, `form:TRANSACTION:NUMBER` (a signed form) and `unreadable:TABLE:WORDS`.

use std::fmt::Display;
use std::str::FromStr;

use super::{BudgetKey, RowId};
use crate::payout::day::UtcDay;
use crate::payout::request::VaultRef;

/// The text names no row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no row of the ledger: `windlass audit-log repair` lists those that were refused")]
pub struct RowKeyError(String);

impl RowId {
    /// The row as it is typed.
    pub fn key(&self) -> String {
        match self {
            Self::Payout(id) => format!("payout:{id}"),
            Self::Approval { payout, approver } => format!("approval:{payout}:{approver}"),
            Self::Budget(BudgetKey { vault, token, day, to }) => {
                let (chain, vault) = (vault.chain, vault.address);
                let to = to.map_or_else(String::new, |to| format!(":{to:#x}"));
                format!("sum:{chain}:{vault:#x}:{token:#x}:{}{to}", day.0)
            }
            Self::Intent(id) => format!("transaction:{id}"),
            Self::Signer { chain, address } => format!("account:{chain}:{address:#x}"),
            Self::ApiKey(name) => format!("key:{name}"),
            Self::ChainIdentity(vault) => format!("chain:{}:{:#x}", vault.chain, vault.address),
            Self::Attempt { intent, number } => format!("form:{intent}:{number}"),
            Self::Unreadable { table, key } => format!("unreadable:{table}:{key}"),
        }
    }

    /// Reads a row as it is typed.
    pub fn from_key(text: &str) -> Result<Self, RowKeyError> {
        let wrong = || RowKeyError(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        let parts: Vec<&str> = rest.split(':').collect();
        let row = match (kind, parts.as_slice()) {
            ("payout", [id]) => Self::Payout(part(id)?),
            // A name may have colons in it.
            ("approval", [id, ..]) => {
                let approver = rest[id.len()..].strip_prefix(':').ok_or_else(wrong)?;
                Self::Approval { payout: part(id)?, approver: approver.to_owned() }
            }
            ("sum", [chain, vault, token, day, to @ ..]) if to.len() <= 1 => {
                let vault = VaultRef { chain: part(chain)?, address: part(vault)? };
                let to = to.first().map(|to| part(to)).transpose()?;
                Self::Budget(BudgetKey { vault, token: part(token)?, day: UtcDay(part(day)?), to })
            }
            ("transaction", [id]) => Self::Intent(part(id)?),
            ("account", [chain, address]) => Self::Signer { chain: part(chain)?, address: part(address)? },
            ("key", [_, ..]) => Self::ApiKey(rest.to_owned()),
            ("chain", [chain, vault]) => {
                Self::ChainIdentity(VaultRef { chain: part(chain)?, address: part(vault)? })
            }
            ("form", [intent, number]) => Self::Attempt { intent: part(intent)?, number: part(number)? },
            // The database's words may have colons in them.
            ("unreadable", [table, _, ..]) => {
                let key = rest[table.len()..].strip_prefix(':').ok_or_else(wrong)?;
                Self::Unreadable { table: (*table).to_owned(), key: key.to_owned() }
            }
            _ => return Err(wrong()),
        };
        Ok(row)
    }
}

fn part<T: FromStr<Err: Display>>(text: &str) -> Result<T, RowKeyError> {
    text.parse().map_err(|_| RowKeyError(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Address, ChainId};
    use crate::payout::ledger::IntentId;
    use crate::payout::request::PayoutId;
    use crate::time::Timestamp;

    #[test]
    fn what_is_shown_of_a_row_reads_back() {
        let chain = ChainId::new(137).expect("an id");
        let vault = VaultRef { chain, address: Address::repeat_byte(1) };
        let (payout, address) = (PayoutId::new(Timestamp::from_ms(1), 7), Address::repeat_byte(9));
        let sum = |to| RowId::Budget(BudgetKey { vault, token: address, day: UtcDay(20_000), to });
        let rows = [
            RowId::Payout(payout),
            RowId::Approval { payout, approver: "development/approver:2".to_owned() },
            sum(None),
            sum(Some(Address::repeat_byte(3))),
            RowId::Intent(IntentId { chain, signer: address, nonce: 4 }),
            RowId::Signer { chain, address },
            RowId::ApiKey("a:b@example.org".to_owned()),
            RowId::ChainIdentity(vault),
            RowId::Attempt { intent: IntentId { chain, signer: address, nonce: 4 }, number: 2 },
            RowId::Unreadable { table: "payout".to_owned(), key: "'z:z'".to_owned() },
        ];
        for row in rows {
            assert_eq!(RowId::from_key(&row.key()), Ok(row.clone()), "{}", row.key());
        }
        for wrong in ["", "payout", "payout:", "payout:7", "sum:1:2", "row:1", "account:137", "chain:0:0x"] {
            assert!(RowId::from_key(wrong).is_err(), "{wrong}");
        }
    }
}
