// What was typed, checked: the command line of bench.mjs as one plain object. Anything unknown is refused.
import { parseArgs } from "node:util";

import { PRESETS } from "./presets.mjs";

export const USAGE = `usage: node bench.mjs [--url postgres://...] [--jobs N] [--preset plain|batched] [--concurrency C] [--queues Q]

  --url URL                  a PostgreSQL database whose graphile_worker schema may be dropped; without it, the
                             variable PEER_POSTGRES_URL, which other users of the machine cannot see
  --jobs N                   no-op jobs to run (200000)
  --preset NAME              plain or batched (batched)
  --concurrency C            jobs at a time in the one process (24)
  --queues Q                 spread the jobs over Q named queues, serial within each (0: no named queue)
  --local-queue-size S       jobs fetched at once, batched only (2000, or 500 with named queues)
  --batch-delay-ms D         wait before a batch of completions, batched only (5, or 0 with named queues)
  --poll-interval-ms P       wait after a fetch that found nothing (2000, or 5 with named queues)`;

const JOBS_DEFAULT = 200_000;
const JOBS_MAX = 10_000_000;
const SETTING_MAX = 100_000;

const OPTIONS = Object.fromEntries(
  ["url", "jobs", "preset", "concurrency", "queues", "local-queue-size", "batch-delay-ms", "poll-interval-ms"].map(
    (name) => [name, { type: "string" }],
  ),
);

/** A wrong command line; its message is for the person who typed it. */
export class UsageError extends Error {}

export function readArgs(argv) {
  const values = parsed(argv);
  const url = values.url ?? process.env.PEER_POSTGRES_URL;
  if (!url) throw new UsageError("neither --url nor PEER_POSTGRES_URL is given");
  const preset = values.preset ?? "batched";
  if (!Object.hasOwn(PRESETS, preset)) {
    throw new UsageError(`--preset is ${preset}, not one of ${Object.keys(PRESETS).join(", ")}`);
  }
  const whole = (name, min, max) => wholeNumber(name, values[name], min, max);
  return {
    url,
    preset,
    jobs: whole("jobs", 1, JOBS_MAX) ?? JOBS_DEFAULT,
    queues: whole("queues", 0, SETTING_MAX) ?? 0,
    concurrency: whole("concurrency", 1, SETTING_MAX),
    localQueueSize: whole("local-queue-size", 1, SETTING_MAX),
    batchDelayMs: whole("batch-delay-ms", 0, SETTING_MAX),
    pollIntervalMs: whole("poll-interval-ms", 1, SETTING_MAX),
  };
}

function parsed(argv) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new UsageError(error.message);
  }
}

/** The number behind an option, or undefined where it was not given. */
function wholeNumber(name, text, min, max) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(`--${name} is ${text}, not a whole number from ${min} to ${max}`);
  }
  return value;
}
