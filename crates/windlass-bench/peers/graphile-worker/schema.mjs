// The peer's tables: made fresh, filled with no-op jobs, looked at when the run is over, and dropped.
import { runMigrations } from "graphile-worker";

export const SCHEMA = "graphile_worker";
export const TASK = "noop";

/** Drops what an earlier run left and lets the peer make its schema of the installed version. */
export async function createFresh(client, connectionString, logger) {
  await drop(client);
  await runMigrations({ connectionString, schema: SCHEMA, logger });
}

export async function drop(client) {
  await client.query(`drop schema if exists ${SCHEMA} cascade`);
}

/**
 * Adds the jobs by one call of the peer's own function; job i goes to queue i modulo `queues`, so that neighbours are
 * in different queues. Then brings the planner's statistics up to date, so that no run suffers from a bad plan.
 */
export async function addJobs(client, jobs, queues) {
  const { rows } = await client.query(
    `select count(*)::int as added from ${SCHEMA}.add_jobs(array(
       select (
         $1::text, null, case when $3::int > 0 then 'queue-' || (i % $3::int) end, null, null, null, null, null
       )::${SCHEMA}.job_spec
       from generate_series(1, $2::int) as i))`,
    [TASK, jobs, queues],
  );
  if (rows[0].added !== jobs) throw new Error(`${rows[0].added} jobs were added, not ${jobs}`);
  await client.query(`vacuum analyze ${SCHEMA}._private_jobs, ${SCHEMA}._private_job_queues, ${SCHEMA}._private_tasks`);
}

/** Whether the database holds no job any more: the peer deletes what it has completed. */
export async function isEmpty(client) {
  const { rows } = await client.query(`select 1 from ${SCHEMA}._private_jobs limit 1`);
  return rows.length === 0;
}

export async function serverSettings(client) {
  const { rows } = await client.query(
    "select current_setting('server_version') as postgres, current_setting('synchronous_commit') as synchronous_commit",
  );
  return rows[0];
}
