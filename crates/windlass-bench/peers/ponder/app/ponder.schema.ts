// The columns and the key of the table that Windlass keeps.
import { onchainTable, primaryKey } from "ponder";

export const fees = onchainTable(
  "fees",
  (t) => ({
    blockNumber: t.bigint().notNull(),
    logIndex: t.integer().notNull(),
    blockHash: t.hex().notNull(),
    blockTimestamp: t.bigint().notNull(),
    transactionHash: t.hex().notNull(),
    address: t.hex().notNull(),
    token: t.hex().notNull(),
    integrator: t.hex().notNull(),
    integratorFee: t.bigint().notNull(),
    lifiFee: t.bigint().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);
