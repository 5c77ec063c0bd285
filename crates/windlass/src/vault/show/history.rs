//! What only events tell: who has which role, which tokens there are rules for, and whom the
//! vault does not pay.

use std::collections::BTreeSet;

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::VaultRole;
use windlass_core::payout::vault::admin::event::{self, AdminEvent};
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainErrorKind, LogSpan};

use super::Roles;
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::output::{self, human};
use crate::vault::site::Vault;

/// After how many questions it is said how far it is.
const QUESTIONS_PER_LINE: u64 = 50;

/// What the vault's events add up to.
#[derive(Debug, Default)]
pub(super) struct History {
    operators: BTreeSet<Address>,
    guardians: BTreeSet<Address>,
    denied: BTreeSet<Address>,
    /// Every token that was ever spoken of.
    pub(super) tokens: BTreeSet<Address>,
}

impl History {
    /// Reads the events from the vault's first block on.
    pub(super) async fn read(vault: &Vault, blocks: BlockRange) -> Result<Self, Failure> {
        let chain = &vault.site.chain;
        let wanted = event::filter(vault.address);
        let mut history = Self::default();
        let (mut from, mut size, mut asked) = (blocks.from, chain.range_size(&wanted).max(1), 0_u64);
        while from <= blocks.to {
            let range = BlockRange { from, to: blocks.to.min(from.saturating_add(size - 1)) };
            match chain.logs(LogSpan::Range(range), &wanted).await {
                Ok(logs) => {
                    for log in &logs {
                        if let Some(event) = vault.read(AdminEvent::read(vault.reference(), log))? {
                            history.add(event);
                        }
                    }
                    from = range.to + 1;
                    size = chain.range_size(&wanted).max(1);
                }
                Err(error) if matches!(error.kind, ChainErrorKind::RangeTooLarge { .. }) && size > 1 => {
                    size = (size / 2).max(1);
                }
                Err(error) => return Err(error.into()),
            }
            asked += 1;
            if asked.is_multiple_of(QUESTIONS_PER_LINE) {
                let (at, to) = (human::count(from), human::count(blocks.to));
                output::note(&format!(
                    "reading the vault's events: block {at} of {to}; --no-events leaves them out"
                ));
            }
        }
        Ok(history)
    }

    fn add(&mut self, event: AdminEvent) {
        let (set, account, is_in) = match event {
            AdminEvent::Role { role: VaultRole::Operator, account, has } => {
                (&mut self.operators, account, has)
            }
            AdminEvent::Role { role: VaultRole::Guardian, account, has } => {
                (&mut self.guardians, account, has)
            }
            AdminEvent::Denied { account, denied } => (&mut self.denied, account, denied),
            AdminEvent::Token(token) | AdminEvent::Withdrawal(token) => (&mut self.tokens, token, true),
        };
        if is_in {
            set.insert(account);
        } else {
            set.remove(&account);
        }
    }

    /// Who has which role in the end.
    pub(super) fn roles(&self) -> Roles {
        let list = |set: &BTreeSet<Address>| set.iter().copied().map(WrittenAddress).collect();
        Roles {
            operators: list(&self.operators),
            guardians: list(&self.guardians),
            denied: list(&self.denied),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let (one, two) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let mut history = History::default();
        let role = |account, has| AdminEvent::Role { role: VaultRole::Operator, account, has };
        for event in [
            role(one, true),
            role(two, true),
            role(one, false),
            AdminEvent::Denied { account: two, denied: true },
            AdminEvent::Denied { account: two, denied: false },
            AdminEvent::Denied { account: one, denied: true },
            AdminEvent::Token(one),
            AdminEvent::Withdrawal(two),
        ] {
            history.add(event);
        }
        let roles = history.roles();
        let [one, two] = [one, two].map(WrittenAddress);
        assert_eq!((roles.operators, roles.guardians, roles.denied), (vec![two], vec![], vec![one]));
        assert_eq!(history.tokens.len(), 2);
    }
}
