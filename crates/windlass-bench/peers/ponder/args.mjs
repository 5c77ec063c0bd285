// What was typed, checked: the command line of bench.mjs as one plain object. Anything unknown is refused.
import { parseArgs } from "node:util";

export const USAGE = `usage: node bench.mjs --rpc URL --blocks B --events N [--rpc-times T] [--chain-id ID] [--contract ADDRESS] [--database pglite|postgres]

  --rpc URL            the chain
  --rpc-times T        list the URL so many times: requests are paced URL by URL (1)
  --blocks B           blocks 0 to B are indexed; the chain goes on for at least 30 more
  --events N           how many events these blocks hold: the run fails unless as many rows are stored
  --chain-id ID        (31337)
  --contract ADDRESS   (0xbd6c7b0d2f68c2b7805d88388319cfb6ecb50ea9)
  --database KIND      pglite, in a temporary folder, or postgres: a database of its own on the server at
                       PEER_POSTGRES_URL, made for the run (pglite)
  --limit-s S          give up after so long (1800)`;

const NUMBER_MAX = 1_000_000_000;
const NAMES = ["rpc", "rpc-times", "blocks", "events", "chain-id", "contract", "database", "limit-s"];
const OPTIONS = Object.fromEntries(NAMES.map((name) => [name, { type: "string" }]));

/** A wrong command line; its message is for the person who typed it. */
export class UsageError extends Error {}

export function readArgs(argv) {
  const values = parsed(argv);
  if (!values.rpc) throw new UsageError("--rpc is not given");
  const database = values.database ?? "pglite";
  if (!["pglite", "postgres"].includes(database)) {
    throw new UsageError(`--database is ${database}, neither pglite nor postgres`);
  }
  const postgresUrl = process.env.PEER_POSTGRES_URL;
  if (database === "postgres" && !postgresUrl) throw new UsageError("PEER_POSTGRES_URL is not set");
  return {
    rpc: values.rpc,
    rpcTimes: wholeNumber("rpc-times", values["rpc-times"] ?? "1"),
    database,
    postgresUrl,
    blocks: wholeNumber("blocks", values.blocks),
    events: wholeNumber("events", values.events),
    chainId: wholeNumber("chain-id", values["chain-id"] ?? "31337"),
    contract: values.contract ?? "0xbd6c7b0d2f68c2b7805d88388319cfb6ecb50ea9",
    limitMs: wholeNumber("limit-s", values["limit-s"] ?? "1800") * 1_000,
  };
}

function parsed(argv) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new UsageError(error.message);
  }
}

function wholeNumber(name, text) {
  const value = Number(text);
  if (!/^\d+$/.test(text ?? "") || value < 1 || value > NUMBER_MAX) {
    throw new UsageError(`--${name} is ${text}, not a whole number from 1 to ${NUMBER_MAX}`);
  }
  return value;
}
