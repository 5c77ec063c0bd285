//! Whether the endpoints of a chain have the same blocks: one of another chain, or of a branch
//! that the others have left, shows in a block that all of them should have.

use secrecy::ExposeSecret;
use windlass_chain::evm::EvmRpc;
use windlass_core::chain::B256;
use windlass_core::code::Code;
use windlass_core::reader::BlockTag;

use super::chain::PROBE_TIMEOUT;
use super::report::Finding;
use crate::collect::endpoints::one_url_each;
use crate::collect::retry::retrying;
use crate::config::chain::{Chain, ChainName};
use crate::failure::Failure;

/// The block that is compared lies so far below the lowest head: newer ones may differ for a while.
const DEPTH_BLOCKS: u64 = 64;

/// Compares a block of all endpoints that answer; nothing is said where fewer than two do.
pub(super) async fn examine(name: &ChainName, chain: &Chain) -> Option<Finding> {
    let subject = format!("chain.{name}.rpc");
    let texts: Vec<_> = chain.rpc.iter().filter_map(|url| url.resolve().ok()).collect();
    let urls: Vec<&str> = texts.iter().map(ExposeSecret::expose_secret).collect();
    if let Err(failure) = one_url_each(name, &urls) {
        return Some(Finding::failed(subject, failure));
    }
    let mut heads: Vec<(EvmRpc, u64)> = Vec::new();
    for url in chain.rpc.iter() {
        let Ok(text) = url.resolve() else { continue };
        let Ok(rpc) = EvmRpc::with_timeout(text.expose_secret(), PROBE_TIMEOUT) else { continue };
        if let Ok(head) = retrying(|| rpc.block_number()).await {
            heads.push((rpc, head));
        }
    }
    let lowest = heads.iter().map(|(_, head)| *head).min()?;
    let number = lowest.saturating_sub(DEPTH_BLOCKS);
    let mut found: Vec<(String, B256)> = Vec::new();
    for (rpc, _) in &heads {
        if let Ok(Some(header)) = retrying(|| rpc.header(BlockTag::Number(number))).await {
            found.push((rpc.place().to_owned(), header.block.hash));
        }
    }
    let (_, first) = found.first().filter(|_| found.len() > 1)?;
    if found.iter().all(|(_, hash)| hash == first) {
        return Some(Finding::ok(subject, format!("{} endpoints have the same block {number}", found.len())));
    }
    let told: Vec<String> = found.iter().map(|(place, hash)| format!("{place} has {hash}")).collect();
    let message = format!("the endpoints have different blocks {number}: {}", told.join(", "));
    let hint = format!("take the one that serves another chain out of `rpc` in `[chain.{name}]`");
    Some(Finding::failed(subject, Failure::coded(Code::RpcWrongChain, message).hint(hint)))
}
