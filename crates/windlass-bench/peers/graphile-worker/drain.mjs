// One timed run: from the start of the peer's runner until its last job is gone from the database.
import { setTimeout as sleep } from "node:timers/promises";
import { EventEmitter } from "node:events";

import { run } from "graphile-worker";

import { SCHEMA, TASK, isEmpty } from "./schema.mjs";

const DEADLINE_MS = 600_000;
const LOOK_EVERY_MS = 2;

/**
 * Runs all `jobs` in this process. Returns the seconds, and the settings and version as the peer tells them. `client` is a
 * connection of the bench: it asks for the table only after the last job has run, so it does not disturb the peer.
 */
export async function drain({ client, connectionString, worker, jobs, logger }) {
  const counter = countTo(jobs);
  const events = new EventEmitter();
  let resolved;
  let version;
  events.once("pool:create", ({ ctx }) => {
    resolved = ctx.resolvedPreset.worker;
    version = ctx.version;
  });
  const deadline = AbortSignal.timeout(DEADLINE_MS);

  const started = performance.now();
  const runner = await run({
    preset: { worker: { ...worker, connectionString, schema: SCHEMA, logger, events } },
    taskList: { [TASK]: counter.task },
    parsedCronItems: [],
    noHandleSignals: true,
  });
  try {
    await Promise.race([counter.reached, diedEarly(runner), expired(deadline)]);
    while (!(await isEmpty(client))) {
      deadline.throwIfAborted();
      await sleep(LOOK_EVERY_MS);
    }
    const seconds = (performance.now() - started) / 1000;
    if (counter.ran() !== jobs) throw new Error(`${counter.ran()} runs of ${jobs} jobs`);
    return { seconds, resolved, version };
  } finally {
    // It refuses when it has stopped by itself, and the error that says so is already on its way.
    await runner.stop().catch(() => {});
  }
}

/** A task that does nothing but count, and a promise for its last call. */
function countTo(jobs) {
  let ran = 0;
  let resolve;
  const reached = new Promise((done) => (resolve = done));
  const task = () => {
    ran += 1;
    if (ran === jobs) resolve();
  };
  return { task, reached, ran: () => ran };
}

async function diedEarly(runner) {
  await runner.promise;
  throw new Error("the runner ended before its jobs did");
}

function expired(signal) {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`not done after ${DEADLINE_MS} ms`)), { once: true });
  });
}
