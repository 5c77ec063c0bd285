//! Asking for everything, at one block.

use std::collections::BTreeSet;

use windlass_core::chain::{Address, Bytes, U256};
use windlass_core::code::Code;
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::vault::admin::ask::{self, Moment, Window};
use windlass_core::payout::vault::admin::{EVERYTHING, code};
use windlass_core::payout::vault::{VaultAnswerError, answer, calldata};
use windlass_core::range::BlockRange;
use windlass_core::reader::BlockTag;

use super::history::History;
use super::{PendingAccount, PendingWithdrawal, TokenState, VaultState, When};
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::vault::deploy;
use crate::vault::site::Vault;

/// A look at a vault.
struct Look<'a> {
    vault: &'a Vault,
    at: BlockTag,
    now_s: u64,
}

/// Reads everything; what only events tell, if they are wanted.
pub(crate) async fn read(vault: &Vault, with_events: bool) -> Result<VaultState, Failure> {
    let header = vault.site.chain.header(BlockTag::Latest).await?.ok_or_else(|| {
        Failure::coded(Code::RpcFailed, "the endpoint does not tell its newest block")
            .hint("`windlass doctor` looks closer")
    })?;
    let (block, now_s) = (header.block.number, header.block.timestamp_s);
    let at = BlockTag::Number(block);
    let look = Look { vault, at, now_s };
    let deployed_at_block = look.told(calldata::deployed_at_block(), answer::deployed_at_block).await?;
    let (history, roles_missing) = match with_events {
        true => history(vault, BlockRange { from: deployed_at_block, to: block }).await,
        false => (None, Some("events were not asked for".to_owned())),
    };
    let code = vault.site.chain.code(vault.address, at).await?;
    Ok(VaultState {
        chain: vault.site.name.to_string(),
        chain_id: vault.site.id.as_u64(),
        vault: WrittenAddress(vault.address),
        block,
        block_time_s: now_s,
        paused: look.told(calldata::paused(), answer::paused).await?,
        admin: WrittenAddress(vault.ask(&ask::admin(), at).await?),
        pending_admin: look.account(vault.ask(&ask::pending_admin(), at).await?),
        approval_required: look.told(calldata::approval_required(), answer::approval_required).await?,
        risk_signer: look.told(calldata::risk_signer(), answer::risk_signer).await?.map(WrittenAddress),
        pending_risk_signer: look.account(vault.ask(&ask::pending_risk_signer(), at).await?),
        approval_nonce: look.told(calldata::approval_nonce(), answer::approval_nonce).await?,
        treasury: WrittenAddress(vault.ask(&ask::treasury(), at).await?),
        delay_s: vault.ask(&ask::delay_s(), at).await?,
        tokens: look.tokens(history.as_ref()).await?,
        roles: history.map(|history| history.roles()),
        roles_missing,
        deployed_at_block,
        code_hash: code::hash(&code),
        code_is_carried: deploy::is_carried(vault, &code, block).await?,
    })
}

/// What events tell, or why they do not.
async fn history(vault: &Vault, blocks: BlockRange) -> (Option<History>, Option<String>) {
    if blocks.from > blocks.to {
        // Contracts of some rollups see another chain's block numbers.
        return (None, Some("the vault does not count this chain's blocks".to_owned()));
    }
    match History::read(vault, blocks).await {
        Ok(history) => (Some(history), None),
        Err(failure) => (None, Some(failure.message)),
    }
}

impl Look<'_> {
    /// Asks the vault, and reads what it answers.
    async fn told<T>(
        &self,
        data: Bytes,
        read: fn(&[u8]) -> Result<T, VaultAnswerError>,
    ) -> Result<T, Failure> {
        let answer = self.vault.site.call(self.vault.address, data, self.at).await?;
        self.vault.read(read(&answer))
    }

    /// Every token that is configured, or that events speak of; the chain's own coin also where the
    /// vault holds some.
    async fn tokens(&self, history: Option<&History>) -> Result<Vec<TokenState>, Failure> {
        let configured = self.vault.site.tokens.iter().flat_map(|tokens| tokens.all().keys().copied());
        let mut addresses: BTreeSet<Address> = configured.collect();
        addresses.extend(history.iter().flat_map(|history| history.tokens.iter().copied()));
        if self.vault.balance(NATIVE_COIN, self.at).await?.is_some_and(|held| !held.is_zero()) {
            addresses.insert(NATIVE_COIN);
        }
        let mut tokens = Vec::with_capacity(addresses.len());
        for token in addresses {
            tokens.push(self.token(token).await?);
        }
        Ok(tokens)
    }

    async fn token(&self, token: Address) -> Result<TokenState, Failure> {
        let vault = self.vault;
        let policy = vault.ask(&ask::token_policy(token), self.at).await?;
        let remaining = self.told(calldata::remaining_today(token), answer::remaining_today).await?;
        let pending = vault.ask(&ask::pending_withdrawal(token), self.at).await?;
        let known = vault.site.token(token).cloned();
        let limit = |units: U256| (!units.is_zero()).then(|| units.to_string());
        Ok(TokenState {
            token: WrittenAddress(token),
            symbol: known.as_ref().map(|token| token.symbol.clone()),
            decimals: known.as_ref().map(|token| token.decimals),
            enabled: policy.enabled,
            ever_enabled: policy.ever_enabled,
            per_payout: limit(policy.payout_limit),
            per_day: limit(policy.day_limit),
            spent_today: policy.spent_today.to_string(),
            remaining_today: limit(policy.day_limit).map(|_| remaining.to_string()),
            balance: vault.balance(token, self.at).await?.map(|units| units.to_string()),
            pending_withdrawal: pending.map(|(amount, window)| PendingWithdrawal {
                amount: (amount != EVERYTHING).then(|| amount.to_string()),
                when: self.when(window),
            }),
            known,
        })
    }

    fn account(&self, pending: Option<(Address, Window)>) -> Option<PendingAccount> {
        pending.map(|(account, window)| PendingAccount {
            account: WrittenAddress(account),
            when: self.when(window),
        })
    }

    const fn when(&self, window: Window) -> When {
        let status = match window.at(self.now_s) {
            Moment::TooEarly => "waiting",
            Moment::Open => "ready",
            Moment::TooLate => "expired",
        };
        When { ready_at_s: window.ready_at_s, expires_at_s: window.expires_at_s, status }
    }
}
