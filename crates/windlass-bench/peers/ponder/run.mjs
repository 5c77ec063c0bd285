// Starts the peer as its users do, reads its log, and stops it when everything is indexed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const PONDER = join(FOLDER, "node_modules/ponder/dist/esm/bin/ponder.js");

// The peer says these itself, with the time in milliseconds.
const BEGUN = ["Started fetching backfill JSON-RPC data", "Started backfill indexing"];
const DONE = "Completed backfill indexing across all chains";
const PROBLEM_LEVEL = 40;

/** Runs it; says when it began and was done, and what it reports of its own settings. */
export async function run(env, limitMs) {
  const port = await freePort();
  const flags = ["--root", join(FOLDER, "app"), "--log-format", "json", "start", "--port", port, "--hostname", "127.0.0.1"];
  const child = spawn(process.execPath, [PONDER, ...flags], {
    cwd: join(FOLDER, "app"),
    env: { ...process.env, DATABASE_SCHEMA: "public", ...env, PONDER_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const limit = setTimeout(() => child.kill("SIGKILL"), limitMs);
  try {
    const times = await follow(child.stdout);
    return { ...times, settings: await settings(port) };
  } finally {
    clearTimeout(limit);
    child.kill("SIGTERM");
    await ended;
  }
}

async function follow(output) {
  let begun;
  for await (const line of createInterface({ input: output })) {
    const { time, level, msg, error } = parsed(line);
    if (level >= PROBLEM_LEVEL) process.stderr.write(`ponder: ${msg} ${error?.message ?? ""}\n`);
    if (BEGUN.includes(msg)) begun ??= time;
    if (msg === DONE && begun) return { begun, done: time };
  }
  throw new Error("ponder ended before it was done");
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

/** The labels of its metric about settings. */
async function settings(port) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const labels = /^ponder_settings_info\{(.*)\}/m.exec(text)?.[1] ?? "";
  return Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return String(port);
}
