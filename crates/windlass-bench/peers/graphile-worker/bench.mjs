// The peer side of the `jobs` benchmark: how fast graphile-worker runs no-op jobs in one process on a PostgreSQL.
// Prints one JSON line on stdout; all else goes to stderr. Exit codes: 0 measured, 1 failed, 2 usage.
import { USAGE, UsageError, readArgs } from "./args.mjs";
import { PRESETS, settingsInForce } from "./presets.mjs";

// The peer reads this when it is loaded, which is why it and what uses it are imported below. Its own performance
// test sets it too: a line of log per job would be what is measured.
process.env.NO_LOG_SUCCESS = "1";
const { Logger } = await import("graphile-worker");
const { default: pg } = await import("pg");
const { addJobs, createFresh, drop, serverSettings } = await import("./schema.mjs");
const { drain } = await import("./drain.mjs");

const PEER = "graphile-worker";

async function main() {
  const args = readArgs(process.argv.slice(2));
  const client = new pg.Client({ connectionString: args.url });
  await client.connect();
  try {
    process.stdout.write(`${JSON.stringify(await measure(client, args))}\n`);
  } finally {
    await drop(client).finally(() => client.end());
  }
}

async function measure(client, args) {
  const logger = problemsOnly();
  await createFresh(client, args.url, logger);
  await addJobs(client, args.jobs, args.queues);
  const worker = PRESETS[args.preset](args);
  const { seconds, resolved, version } = await drain({ client, connectionString: args.url, worker, jobs: args.jobs, logger });
  const server = await serverSettings(client);
  return {
    peer: PEER,
    version,
    preset: args.preset,
    settings: { ...settingsInForce(resolved), queues: args.queues, processes: 1, node: process.versions.node, ...server },
    jobs: args.jobs,
    seconds: Number(seconds.toFixed(3)),
    rate: Math.round(args.jobs / seconds),
  };
}

/** Warnings and errors to stderr; stdout is for the result. */
function problemsOnly() {
  return new Logger(() => (level, message) => {
    if (level === "error" || level === "warning") process.stderr.write(`${PEER}: ${message}\n`);
  });
}

main().catch((error) => {
  const usage = error instanceof UsageError;
  process.stderr.write(`error: ${error.message}\n${usage ? `${USAGE}\n` : ""}`);
  process.exitCode = usage ? 2 : 1;
});
