// Where the peer stores: a PGlite in a temporary folder, or a database of its own on a PostgreSQL. Both are gone afterwards.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PGlite } from "@electric-sql/pglite";
import pg from "pg";

const NAME = "windlass_bench_ponder";

/** An empty database: what the peer needs in its environment, and how its rows are counted once it has ended. */
export async function createFresh(args) {
  return args.database === "pglite" ? inFolder() : onServer(args.postgresUrl);
}

async function inFolder() {
  const folder = await mkdtemp(join(tmpdir(), "ponder-"));
  const count = async (sql) => {
    const database = await PGlite.create(folder);
    try {
      return Number((await database.query(sql)).rows[0].count);
    } finally {
      await database.close();
    }
  };
  return { env: { PEER_PGLITE_FOLDER: folder }, count, drop: () => rm(folder, { recursive: true, force: true }) };
}

async function onServer(url) {
  const drop = () => query(url, `drop database if exists ${NAME} with (force)`);
  await drop();
  await query(url, `create database ${NAME}`);
  const own = new URL(url);
  own.pathname = NAME;
  const count = async (sql) => Number((await query(own.href, sql)).rows[0].count);
  return { env: { DATABASE_URL: own.href, DATABASE_SCHEMA: "public" }, count, drop };
}

async function query(url, sql) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}
