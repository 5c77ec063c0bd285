// The peer side of the `collect` benchmark: how fast ponder indexes the same events from the same chain.
// Prints one JSON line on stdout; all else goes to stderr. Exit codes: 0 measured, 1 failed, 2 usage.
import { readFileSync } from "node:fs";

import { USAGE, UsageError, readArgs } from "./args.mjs";
import { createFresh } from "./database.mjs";
import { run } from "./run.mjs";

const PEER = "ponder";

async function main() {
  const args = readArgs(process.argv.slice(2));
  const database = await createFresh(args);
  try {
    process.stdout.write(`${JSON.stringify(await measure(args, database))}\n`);
  } finally {
    await database.drop();
  }
}

async function measure(args, database) {
  const env = {
    PEER_RPC_URL: args.rpc,
    PEER_RPC_TIMES: String(args.rpcTimes),
    PEER_CHAIN_ID: String(args.chainId),
    PEER_CONTRACT: args.contract,
    PEER_END_BLOCK: String(args.blocks),
    ...database.env,
  };
  const { begun, done, settings } = await run(env, args.limitMs);
  const stored = await database.count("select count(*) from public.fees");
  if (stored !== args.events) throw new Error(`${stored} rows are stored, not ${args.events}`);
  const seconds = (done - begun) / 1_000;
  return {
    peer: PEER,
    version: versionOf(PEER),
    settings: { ...settings, rpc_urls: args.rpcTimes, viem: versionOf("viem"), node: process.versions.node },
    events: stored,
    seconds,
    rate: Math.round(stored / seconds),
  };
}

function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url))).version;
}

main().catch((error) => {
  const usage = error instanceof UsageError;
  process.stderr.write(`error: ${error.message}\n${usage ? `${USAGE}\n` : ""}`);
  process.exitCode = usage ? 2 : 1;
});
