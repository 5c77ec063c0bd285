//! Signing, sending, waiting. The hash is said before anything leaves, so that whoever loses
//! the answer knows what to look for.

use std::time::{Duration, Instant};

use windlass_core::chain::{Address, B256, Bytes, U256};
use windlass_core::code::Code;
use windlass_core::payout::submit::{CallOutcome, NonceTag, SendAnswer, TransactionReceipt};
use windlass_core::payout::transaction::Transaction;
use windlass_core::payout::vault::admin::refusal;
use windlass_core::reader::BlockTag;

use super::account::Account;
use super::plan::Planned;
use super::site::Site;
use super::trial::Cost;
use crate::config::duration::HumanDuration;
use crate::failure::Failure;
use crate::output::{self, human};

/// How often its receipt is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// After how many looks it is sent again, and said that it is waited for.
const LOOKS_PER_SEND: u32 = 20;
/// Decimals of a chain's own coin.
const COIN_DECIMALS: usize = 18;
/// Decimals of a gwei.
const GWEI_DECIMALS: usize = 9;

/// A transaction that is in a block.
pub(crate) struct Mined {
    /// What it is known by.
    pub(crate) hash: B256,
    /// Where it is.
    pub(crate) receipt: TransactionReceipt,
}

/// The next nonce of an account: the one that was named, or the first that nobody has used.
pub(crate) async fn nonce_of(site: &Site, account: Address, named: Option<u64>) -> Result<u64, Failure> {
    let used = site.chain.nonce(account, NonceTag::Block(BlockTag::Latest)).await?;
    let taken = site.chain.nonce(account, NonceTag::Pending).await?.max(used);
    match named {
        Some(named) if named < used => {
            Err(Failure::refused(format_args!("nonce {named} of {account} is used: the next one is {used}"))
                .hint(
                    "what was sent with it is in a block; `windlass vault show` tells how the vault stands",
                ))
        }
        Some(named) if named > taken => {
            Err(Failure::refused(format_args!("nonce {named} of {account} would wait for {taken} first"))
                .hint("leave --nonce out"))
        }
        Some(named) => Ok(named),
        None if taken > used => Err(waiting(account, used)),
        None => Ok(used),
    }
}

/// Something of the account's is on its way, perhaps this very command of a moment ago.
fn waiting(account: Address, nonce: u64) -> Failure {
    let message = format!("{account} has a transaction with nonce {nonce} that waits to be mined");
    Failure::coded(Code::TransactionFailed, message).hint(format_args!(
        "wait for it: it may be this command's, sent before; --nonce {nonce} sends this one in its place"
    ))
}

/// Signs a transaction, says its hash, sends it to every endpoint and waits for its receipt.
pub(crate) async fn run(
    site: &Site,
    planned: &Planned,
    account: &Account,
    (nonce, cost): (u64, Cost),
    timeout: Duration,
) -> Result<Mined, Failure> {
    let fees = cost.fees.within(site.gas_cap).map_err(|over| {
        Failure::coded(Code::TransactionFailed, format_args!("nothing was sent: {over}"))
            .hint("wait until gas costs less, or raise `max_fee_gwei` in `[pay]`")
    })?;
    afford(site, account.address(), cost).await?;
    let transaction = Transaction {
        chain: site.id,
        nonce,
        to: planned.to,
        data: planned.data.clone(),
        gas_limit: cost.gas_limit,
        fees,
    };
    let signature = account.signer.sign_hash(transaction.signing_hash()).await.map_err(|error| {
        let message = format!("nothing was sent: signer `{}` did not sign: {error}", account.name);
        Failure::coded(Code::SignerUnusable, message).hint("the message has the signer's own words")
    })?;
    let signed = transaction.signed(&signature);
    output::note(&format!("sending {} with nonce {nonce} of {}", signed.hash, account.address()));
    let answers = site.chain.send(&signed.raw).await;
    let sent = Sent { site, planned, from: account.address(), nonce, hash: signed.hash, raw: signed.raw };
    sent.refused_everywhere(&answers).await?;
    sent.wait(timeout).await
}

/// Refuses what the account could not pay for.
async fn afford(site: &Site, account: Address, cost: Cost) -> Result<(), Failure> {
    let has = site.chain.balance(account, BlockTag::Latest).await?;
    if has >= cost.most() {
        return Ok(());
    }
    let message = format!(
        "nothing was sent: {account} has {} of the chain's own coin, and this may cost {}",
        coins(has),
        coins(cost.most())
    );
    Err(Failure::coded(Code::TransactionFailed, message).hint("send it some to pay for gas"))
}

/// Wei as whole coins.
pub(crate) fn coins(wei: U256) -> String {
    with_point(&wei.to_string(), COIN_DECIMALS)
}

/// Wei as gwei.
pub(crate) fn gwei(wei: u128) -> String {
    with_point(&wei.to_string(), GWEI_DECIMALS)
}

/// Digits with a point before the last so many, without zeros at the end.
fn with_point(digits: &str, decimals: usize) -> String {
    let digits = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// A transaction that has left.
struct Sent<'a> {
    site: &'a Site,
    planned: &'a Planned,
    from: Address,
    nonce: u64,
    hash: B256,
    raw: Bytes,
}

impl Sent<'_> {
    /// Whether every endpoint said no in so many words. One that took it, or said nothing to
    /// the point, leaves it open.
    async fn refused_everywhere(&self, answers: &[SendAnswer]) -> Result<(), Failure> {
        let is_no = |answer: &SendAnswer| !answer.is_there() && !matches!(answer, SendAnswer::Silent(_));
        if answers.is_empty() || !answers.iter().all(is_no) {
            return Ok(());
        }
        // "Nonce too low" is also what a transaction hears that is in a block already.
        if matches!(self.site.chain.receipt(self.hash).await, Ok(Some(_))) {
            return Ok(());
        }
        let said: Vec<String> = answers.iter().map(words).collect();
        let message = format!("no endpoint took transaction {}: {}", self.hash, said.join("; "));
        Err(Failure::coded(Code::TransactionFailed, message)
            .hint("look it up by its hash before sending anything else: an endpoint may have passed it on"))
    }

    /// Waits for the receipt, sending the same bytes again now and then.
    async fn wait(&self, timeout: Duration) -> Result<Mined, Failure> {
        let begun = Instant::now();
        let mut looks = 0_u32;
        loop {
            let trouble = match self.site.chain.receipt(self.hash).await {
                Ok(Some(receipt)) if receipt.is_success => return Ok(Mined { hash: self.hash, receipt }),
                Ok(Some(receipt)) => return Err(self.reverted(&receipt).await),
                Ok(None) => None,
                Err(error) => Some(error),
            };
            if begun.elapsed() >= timeout {
                return Err(self.overdue(timeout));
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS_PER_SEND) {
                let why = trouble.map_or_else(String::new, |error| format!("; an endpoint says: {error}"));
                let waited = human::seconds(begun.elapsed().as_secs());
                output::note(&format!("still waiting for {} after {waited}{why}", self.hash));
                self.site.chain.send(&self.raw).await;
            }
            tokio::time::sleep(LOOK_EVERY.min(timeout)).await;
        }
    }

    async fn reverted(&self, receipt: &TransactionReceipt) -> Failure {
        let message = format!("transaction {} was reverted in block {}", self.hash, receipt.block.number);
        let call = self.planned.from(self.from);
        // What a call says now is the likeliest reason; that it says nothing changes nothing.
        let again = self.site.chain.call(&call, BlockTag::Number(receipt.block.number)).await;
        let why = match again {
            Ok(CallOutcome::Reverted { data, message }) => {
                format!(": {}", refusal::read(&data, &message))
            }
            _ => String::new(),
        };
        Failure::coded(Code::TransactionFailed, format_args!("{message}{why}"))
            .hint("nothing was changed; `windlass vault show` tells how the vault stands")
    }

    fn overdue(&self, timeout: Duration) -> Failure {
        let waited = HumanDuration(timeout);
        let message =
            format!("transaction {} is in no block after {waited}, and may still be mined", self.hash);
        Failure::coded(Code::TransactionFailed, message).hint(format_args!(
            "look it up by its hash before sending anything else; the same command with --nonce {} can only take its place",
            self.nonce
        ))
    }
}

/// What an endpoint said.
fn words(answer: &SendAnswer) -> String {
    match answer {
        SendAnswer::NonceTooLow => "the nonce is used".to_owned(),
        SendAnswer::Underpriced => "another transaction with its nonce offers more".to_owned(),
        SendAnswer::FeeTooLow => "it offers too little".to_owned(),
        SendAnswer::NoFunds => "the account cannot pay for the gas".to_owned(),
        SendAnswer::Refused(why) | SendAnswer::Withheld(why) | SendAnswer::Silent(why) => why.clone(),
        SendAnswer::Accepted | SendAnswer::Known => answer.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wei_are_shown_as_coins_and_gwei() {
        assert_eq!([1, 2_750_000_000].map(gwei), ["0.000000001", "2.75"]);
        let shown = [0_u64, 1, 1_500_000_000_000_000_000, 2_000_000_000_000_000_000]
            .map(|wei| coins(U256::from(wei)));
        assert_eq!(shown, ["0", "0.000000000000000001", "1.5", "2"]);
    }
}
