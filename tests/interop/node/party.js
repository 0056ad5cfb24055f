/*
 * The party of Node: the interface of arena.py, with the locks of locks.js and ioredis.
 */
"use strict";

const Redis = require("ioredis");
const readline = require("node:readline");
const { spawn } = require("node:child_process");
const locks = require("./locks.js");

const PATIENCE_MS = 60000;
const GIVE_UP_MAX = 3;
const REST_MS = Number(process.env.REST_MS);
const PAUSE_MS = Number(process.env.PAUSE_MS);

const [algorithm, host, port, key, leaseMs, witness, who] = process.argv.slice(2);
const clients = port.split(",").map((each) => new Redis({ host, port: Number(each) }));
const redis = clients[0];
const lock = new locks[algorithm](clients.length > 1 ? clients : redis, key, Number(leaseMs));

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Node has no flock(2): witness.py calls it.
const helper = spawn(process.env.WITNESS_PYTHON, [process.env.WITNESS_HELPER, witness, who], {
  stdio: ["pipe", "pipe", "inherit"],
});
const answers = readline.createInterface({ input: helper.stdout })[Symbol.asyncIterator]();

async function askWitness(what) {
  helper.stdin.write(what + "\n");
  return (await answers.next()).value;
}

async function acquire(waitMs) {
  const end = performance.now() + waitMs;
  do {
    if (await lock.tryOnce()) {
      return "held";
    }
    if (waitMs > 0) {
      await sleep(PAUSE_MS);
    }
  } while (performance.now() < end);
  return "busy";
}

async function release() {
  return (await lock.release()) ? "released" : "lost";
}

async function contend(count) {
  const tally = { who, acquired: 0, overlaps: 0, lost: 0, gave_up: 0, errors: 0, stolen: 0, note: "" };
  while (tally.acquired < count && tally.gave_up + tally.errors < GIVE_UP_MAX) {
    try {
      if ((await acquire(PATIENCE_MS)) !== "held") {
        tally.gave_up++;
        continue;
      }
      tally.acquired++;
      tally.overlaps += (await askWitness("in")) === "overlap" ? 1 : 0;
      await sleep(Math.random() * 4);
      await askWitness("out");
      tally.lost += (await release()) === "lost" ? 1 : 0;
    } catch (error) {
      tally.errors++;
      tally.note ||= String(error);
    }
    await sleep(Math.random() * REST_MS);
  }
  return tally;
}

async function execute(line) {
  const [word, number] = line.split(" ");
  try {
    switch (word) {
      case "acquire":
        return await acquire(Number(number));
      case "release":
        return await release();
      default:
        return JSON.stringify(await contend(Number(number)));
    }
  } catch (error) {
    return `error ${error}`.replaceAll("\n", " ");
  }
}

async function main() {
  await redis.ping();
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await execute(line));
  }
  helper.stdin.end();
  await Promise.all(clients.map((client) => client.quit()));
}

main();
