//! Where the chains of a stream begin, and whether an id is one of this database's.
//!
//! | the id's message is | then |
//! | --- | --- |
//! | kept, with the id's mark | the stream goes on behind it |
//! | kept, with another mark | it is another database's, and refused |
//! | forgotten, others behind it are kept | the reader is told what it missed |
//! | ahead of all that are kept | it is another database's, and refused |
//! | none of those, for nothing is kept | nothing can be said: the feed looks again once something is |

use windlass_core::chain::ChainId;
use windlass_core::name::Partition;
use windlass_core::outbox::Message;
use windlass_core::store::{Outbox, Store};

use super::StreamQuery;
use super::feed::ChainFeed;
use super::position::{At, Mark, Position};
use super::removals::Removals;
use super::tail::{next_after, tail};
use crate::error::{ApiError, ApiResult, ErrorCode};

/// Where each chain of a stream begins.
pub(super) async fn chain_feeds(store: &dyn Store, query: &StreamQuery) -> ApiResult<Vec<ChainFeed>> {
    let chains = query.wanted.chains(store).await?;
    if let Some(resume) = &query.resume {
        check_chains(&chains, resume)?;
    }
    let mut feeds = Vec::with_capacity(chains.len());
    for chain in chains {
        let partition = Partition::new(format!("collect/{chain}")).map_err(ApiError::internal)?;
        feeds.push(chain_feed(store, query, chain, partition).await?);
    }
    Ok(feeds)
}

/// An id of this stream has at least one of its chains: others may have come and gone.
fn check_chains(chains: &[ChainId], resume: &[Position]) -> ApiResult<()> {
    if resume.iter().any(|position| chains.contains(&position.chain)) {
        return Ok(());
    }
    let listed = |chains: &mut dyn Iterator<Item = ChainId>| {
        chains.map(|chain| format!("chain {chain}")).collect::<Vec<_>>().join(", ")
    };
    let named = listed(&mut resume.iter().map(|position| position.chain));
    let told = listed(&mut chains.iter().copied());
    Err(bad_id(format!("the id belongs to another stream: it is of {named}, and this one tells of {told}")))
}

async fn chain_feed(
    store: &dyn Store,
    query: &StreamQuery,
    chain: ChainId,
    partition: Partition,
) -> ApiResult<ChainFeed> {
    let of_chain = query.resume.iter().flatten().find(|position| position.chain == chain);
    let mut is_known = true;
    let (position, is_continuing) = match (of_chain, &query.resume) {
        (Some(position), _) => {
            is_known = is_of(store, &partition, position).await?;
            (position.clone(), true)
        }
        // It has joined since the reader was here: all of it is news.
        (None, Some(_)) => (Position::before_all(chain), true),
        (None, None) if query.is_from_oldest => (Position::before_all(chain), false),
        (None, None) => match tail(store, &partition).await? {
            Some(newest) => (Position::of(chain, &newest, At::End), true),
            None => (Position::before_all(chain), false),
        },
    };
    Ok(ChainFeed { partition, position, is_continuing, is_known, removals: Removals::default() })
}

/// Whether a position is certain to be one of this partition; refuses it where it is
/// certain to be none.
async fn is_of(outbox: &dyn Outbox, partition: &Partition, position: &Position) -> ApiResult<bool> {
    if position.seq == 0 {
        return Ok(true);
    }
    match next_after(outbox, partition, position.seq - 1).await? {
        Some(message) if is_another(position, &message) => Err(of_another()),
        Some(_) => Ok(true),
        None if next_after(outbox, partition, 0).await?.is_some() => Err(of_another()),
        None => Ok(false),
    }
}

/// Whether a message that is kept shows that a position is not of its partition, since
/// it has the position's number and another mark. One that comes later shows nothing.
fn is_another(position: &Position, message: &Message) -> bool {
    message.seq == position.seq && Mark::of(message) != position.mark
}

/// The refusal of another database's id.
pub(super) fn of_another() -> ApiError {
    bad_id("the id is not one of this database: it was made by another one, or before a backup was restored")
}

pub(super) fn bad_id(told: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidCursor, told).hint(
        "leave the id out to begin now, or ask for `start=oldest`; rows of before are in /api/v1/events",
    )
}
