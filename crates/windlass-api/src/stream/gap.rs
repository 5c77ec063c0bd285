//! Whether a stream really goes on where its reader was.

use serde_json::json;
use windlass_core::outbox::Message;

use super::feed::{Ended, Feed};
use super::position::{At, Position};
use super::tail::next_after;
use super::told::Told;

impl Feed {
    /// Looks at the first message that comes where none was kept: a number that a reader
    /// has seen is not given out again, unless the reader saw it somewhere else.
    pub(super) async fn check_id(&mut self, place: usize) -> Result<(), Ended> {
        let chain = &mut self.chains[place];
        if chain.is_known {
            return Ok(());
        }
        match next_after(&*self.outbox, &chain.partition, 0).await? {
            Some(message) if message.seq <= chain.position.seq => Err(Ended::Another),
            first => {
                chain.is_known = first.is_some();
                Ok(())
            }
        }
    }

    /// Messages that were forgotten before they were read are owned up to. A number that
    /// is missing behind a message that is kept was never to be told: messages are
    /// forgotten from the first one on, and some are for one sink alone.
    pub(super) async fn check_gap(&mut self, place: usize, message: &Message) -> Result<(), Ended> {
        let chain = &mut self.chains[place];
        let next = chain.position.next_seq();
        let is_gap = chain.is_continuing && message.seq != next;
        chain.is_continuing = true;
        if !is_gap {
            return Ok(());
        }
        let (id, read) = (chain.position.chain, chain.position.seq);
        let oldest = next_after(&*self.outbox, &chain.partition, 0).await?;
        if oldest.is_some_and(|oldest| oldest.seq <= read) {
            return Ok(());
        }
        self.move_to(place, Position::of(id, message, At::Start));
        let body = json!({ "chain": id, "from_seq": next, "to_seq": message.seq - 1 });
        self.send(Told::new("gap", body.to_string())).await
    }
}
