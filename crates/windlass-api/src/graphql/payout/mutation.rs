//! What can be done with payouts.
//!
//! Several in one document are done in their order, each by itself: one that is refused
//! takes none of the others back. So each is null where it was refused, and the others tell
//! what they have done.

use async_graphql::{Context, ID, Object, Result};

use super::node::PayoutNode;
use super::{admit, asked_key};
use crate::access::Verb;
use crate::error::{ApiError, ErrorCode};
use crate::limits::GRAPHQL_COMMAND_COMPLEXITY;
use crate::payouts::asked::{Draft, Names, idempotency_key, payout_id, random_key};

/// What can be done with payouts.
#[derive(Debug, Default)]
pub(crate) struct PayoutMutations;

#[Object(name = "Mutation")]
impl PayoutMutations {
    /// Asks for a payout. A key that was used for the same is the same payout.
    #[allow(clippy::too_many_arguments, reason = "the arguments of the schema")]
    #[graphql(complexity = "GRAPHQL_COMMAND_COMPLEXITY + child_complexity")]
    async fn create_payout_request(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "In lower case, or with the capitals of its checksum.")] to: String,
        #[graphql(desc = "In base units of the token, decimal.")] amount: String,
        #[graphql(
            desc = "The token's symbol, or its address; for the chain's own coin its symbol, or the zero address."
        )]
        asset: String,
        #[graphql(desc = "Or the header Idempotency-Key. Without either a random key is given.")]
        idempotency_key: Option<String>,
        #[graphql(desc = "What it is for. It never changes: a known key is answered as it is stored.")]
        memo: Option<String>,
        #[graphql(desc = "Your identifier for it in another system. It never changes.")] reference: Option<
            String,
        >,
    ) -> Result<Option<PayoutNode>> {
        let admitted = admit(context, Verb::Create).await?;
        let key = asked_key(context, idempotency_key)?;
        let draft = Draft { to, amount, token: asset, key, memo, reference };
        let names = Names { prefix: String::new(), token: "asset" };
        let new = draft.read(&admitted.pay.info, &names)?;
        let created = admitted.create(&[new]).await?.pop();
        let created = created.ok_or_else(|| ApiError::new(ErrorCode::Internal, "nothing was asked for"))?;
        Ok(Some(PayoutNode::new(&admitted.pay, created.payout)))
    }

    /// Approves a payout of somebody else. The last approval that it takes asks the rules.
    #[graphql(complexity = "GRAPHQL_COMMAND_COMPLEXITY + child_complexity")]
    async fn approve_payout_request(&self, context: &Context<'_>, id: ID) -> Result<Option<PayoutNode>> {
        let admitted = admit(context, Verb::Approve).await?;
        let approved = admitted.approve(payout_id(&id)?).await?;
        Ok(Some(PayoutNode::new(&admitted.pay, approved.payout)))
    }

    /// Rejects a payout that nothing was signed for.
    #[graphql(complexity = "GRAPHQL_COMMAND_COMPLEXITY + child_complexity")]
    async fn reject_payout_request(
        &self,
        context: &Context<'_>,
        id: ID,
        reason: String,
    ) -> Result<Option<PayoutNode>> {
        let admitted = admit(context, Verb::Reject).await?;
        let rejected = admitted.reject(payout_id(&id)?, &reason).await?;
        Ok(Some(PayoutNode::new(&admitted.pay, rejected)))
    }

    /// Takes back a payout that nothing was signed for.
    #[graphql(complexity = "GRAPHQL_COMMAND_COMPLEXITY + child_complexity")]
    async fn cancel_payout_request(
        &self,
        context: &Context<'_>,
        id: ID,
        reason: String,
    ) -> Result<Option<PayoutNode>> {
        let admitted = admit(context, Verb::Cancel).await?;
        let cancelled = admitted.cancel(payout_id(&id)?, &reason).await?;
        Ok(Some(PayoutNode::new(&admitted.pay, cancelled)))
    }

    /// Asks again for what has failed or was rejected, as a payout of its own.
    #[graphql(complexity = "GRAPHQL_COMMAND_COMPLEXITY + child_complexity")]
    async fn retry_payout_request(
        &self,
        context: &Context<'_>,
        id: ID,
        #[graphql(
            name = "idempotencyKey",
            desc = "A new key, or the header Idempotency-Key. Without either a random key is given."
        )]
        key: Option<String>,
    ) -> Result<Option<PayoutNode>> {
        let admitted = admit(context, Verb::Retry).await?;
        let key = match asked_key(context, key)? {
            Some(key) => idempotency_key("idempotencyKey", &key)?,
            None => random_key()?,
        };
        let created = admitted.retry(payout_id(&id)?, key).await?;
        Ok(Some(PayoutNode::new(&admitted.pay, created.payout)))
    }
}
