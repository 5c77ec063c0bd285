// One row for each event.
import { ponder } from "ponder:registry";
import { fees } from "ponder:schema";

ponder.on("FeeCollector:FeesCollected", async ({ event, context }) => {
  await context.db.insert(fees).values({
    blockNumber: event.block.number,
    logIndex: event.log.logIndex,
    blockHash: event.block.hash,
    blockTimestamp: event.block.timestamp,
    transactionHash: event.transaction.hash,
    address: event.log.address,
    ...event.args,
  });
});
