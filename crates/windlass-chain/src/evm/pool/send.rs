//! A transaction to one of the endpoints, whether or not it rests: each of them may be the
//! one through which it reaches a block, and a lost copy costs less than a late payout.
//!
//! It is sent once and for a bounded time, and not to an endpoint of another chain. What an
//! endpoint that rests says changes nothing about its rest.

use tokio::time::{Instant, timeout};
use windlass_core::chain::Bytes;
use windlass_core::payout::submit::SendAnswer;
use windlass_core::reader::{ChainError, ChainErrorKind};

use super::Inner;
use super::member::{Failure, Member};
use super::question::Kind;

impl Inner {
    /// What one endpoint says to a transaction.
    pub(super) async fn send_to(&self, place: usize, raw: &Bytes) -> SendAnswer {
        let turn = self.turn_at(place);
        let member = turn.member();
        let rests = !member.health().is_available(turn.began);
        let limit = self.options.send_timeout;
        let said = match timeout(limit, self.offer(member, raw)).await {
            Ok(said) => said,
            Err(_) => {
                let message = format!("{} did not answer within {} ms", member.name, limit.as_millis());
                Err(Failure::Error(ChainError::new(ChainErrorKind::Unreachable, message)))
            }
        };
        let now = Instant::now();
        if !rests {
            match &said {
                Ok(_) => member.health().succeeded(Kind::Send, turn.began, now),
                Err(failure) => member.failed(failure, (Kind::Send, 1), turn.began, now),
            }
        }
        match said {
            Ok(answer) => answer,
            Err(Failure::Error(error)) => SendAnswer::Silent(error.message),
            Err(Failure::WrongChain(error) | Failure::Behind(error) | Failure::TooManyCalls(error)) => {
                SendAnswer::Withheld(error.message)
            }
        }
    }

    async fn offer(&self, member: &Member, raw: &Bytes) -> Result<SendAnswer, Failure> {
        member.prove(self.chain).await?;
        Ok(member.source.offer(raw).await?)
    }
}
