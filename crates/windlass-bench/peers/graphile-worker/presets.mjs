// The peer's settings. `plain` and `batched` are the two configurations of graphile-worker's own performance page
// ("without batching" and "with batching"), with the numbers that were best on two cores as defaults.

/** What the peer's documentation gives for a pool: one connection more than jobs at a time. */
const CONNECTIONS_BEYOND_CONCURRENCY = 1;
/** Below PostgreSQL's default of 100, with room for the bench's own connection. */
const CONNECTIONS_MAX = 90;
const CONCURRENT_JOBS = 24;

/** The peer's default. Without named queues it is waited for only once the table is empty. */
const POLL_INTERVAL_MS = 2000;
/** With named queues a fetch may find every queue busy; nothing then wakes the peer before its next poll. */
const POLL_INTERVAL_QUEUES_MS = 5;

/** Best of a sweep without named queues: larger and later batches than the page's 500 and 0. */
const BATCH = { size: 2000, delayMs: 5 };
/** With named queues a larger fetch only finds jobs of queues it holds already, and a later completion holds them. */
const BATCH_QUEUES = { size: 500, delayMs: 0 };

export const PRESETS = {
  plain: shared,
  batched: (args) => {
    const best = args.queues > 0 ? BATCH_QUEUES : BATCH;
    const delayMs = args.batchDelayMs ?? best.delayMs;
    return {
      ...shared(args),
      localQueue: { size: args.localQueueSize ?? best.size },
      completeJobBatchDelay: delayMs,
      failJobBatchDelay: delayMs,
    };
  },
};

function shared(args) {
  const concurrentJobs = args.concurrency ?? CONCURRENT_JOBS;
  const pollIntervalDefaultMs = args.queues > 0 ? POLL_INTERVAL_QUEUES_MS : POLL_INTERVAL_MS;
  return {
    concurrentJobs,
    maxPoolSize: Math.min(concurrentJobs + CONNECTIONS_BEYOND_CONCURRENCY, CONNECTIONS_MAX),
    pollInterval: args.pollIntervalMs ?? pollIntervalDefaultMs,
  };
}

/** The settings in force as the peer resolved them, its defaults included, without the connection or functions. */
export function settingsInForce(resolved) {
  return {
    concurrentJobs: resolved.concurrentJobs,
    maxPoolSize: resolved.maxPoolSize,
    pollInterval: resolved.pollInterval,
    localQueue: resolved.localQueue ?? { size: -1 },
    completeJobBatchDelay: resolved.completeJobBatchDelay ?? -1,
    failJobBatchDelay: resolved.failJobBatchDelay ?? -1,
    preparedStatements: resolved.preparedStatements,
    useNodeTime: resolved.useNodeTime,
  };
}
