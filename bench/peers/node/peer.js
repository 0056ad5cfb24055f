/*
 * The driver of Node: the contract of ../README.md, on the packages redlock and redis-semaphore, with ioredis.
 *
 *     peer.js redlock|redis-semaphore HOST PORT NAME
 *
 * Every waiter of a crowd has a connection of its own; all run on the one thread that Node has.
 */
"use strict";

const fs = require("node:fs");
const readline = require("node:readline");
const Redis = require("ioredis");
const { Mutex } = require("redis-semaphore");
const { default: Redlock } = require("redlock");

const LEASE_MS = 30000;

const now = () => process.hrtime.bigint();
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/* redlock with one server. It gives up after ten tries by default: here it goes on. */
class RedlockLock {
  constructor(redis, name) {
    this.redlock = new Redlock([redis], { retryCount: -1 });
    this.name = name;
  }

  async acquire() {
    this.lock = await this.redlock.acquire([this.name], LEASE_MS);
  }

  async release() {
    await this.lock.release();
  }
}

class SemaphoreMutex {
  constructor(redis, name) {
    this.redis = redis;
    this.name = name;
  }

  async acquire() {
    this.mutex = new Mutex(this.redis, this.name, { lockTimeout: LEASE_MS, acquireTimeout: 600000 });
    await this.mutex.acquire();
  }

  async release() {
    await this.mutex.release();
  }
}

const locks = { redlock: RedlockLock, "redis-semaphore": SemaphoreMutex };
const [which, host, port, name] = process.argv.slice(2);

async function open() {
  const redis = new Redis({ host, port: Number(port) });
  redis.on("error", () => {});
  await redis.ping();
  return { redis, lock: new locks[which](redis, name) };
}

async function pair(lock, count) {
  const took = [];
  for (let i = 0; i < count; i++) {
    const began = now();
    await lock.acquire();
    await lock.release();
    took.push(now() - began);
  }
  return "pair " + took.join(" ");
}

let crowd = [];

async function gather(count) {
  crowd.forEach((each) => each.redis.disconnect());
  crowd = [];
  for (let i = 0; i < count; i++) {
    crowd.push(await open());
  }
  return `crowd ${count}`;
}

async function contend(ms, holdUs, path) {
  const end = now() + BigInt(ms) * 1000000n;
  const turns = await Promise.all(
    crowd.map(async ({ lock }, who) => {
      const mine = [];
      do {
        await lock.acquire();
        const began = now();
        if (holdUs > 0) {
          await sleep(holdUs / 1000);
        }
        mine.push(`${who} ${began} ${now()}\n`);
        await lock.release();
      } while (now() < end);
      return mine;
    }),
  );
  fs.writeFileSync(path, turns.flat().join(""));
  return `done ${turns.flat().length}`;
}

async function obey(lock, line) {
  const words = line.split(" ");
  switch (words[0]) {
    case "pair":
      return pair(lock, Number(words[1]));
    case "acquire":
      await lock.acquire();
      return `held ${now()}`;
    case "release": {
      const began = now();
      await lock.release();
      return `released ${began}`;
    }
    case "crowd":
      return gather(Number(words[1]));
    case "contend":
      return contend(Number(words[1]), Number(words[2]), words[3]);
    default:
      return "error not a line of the contract";
  }
}

async function main() {
  const { lock } = await open();
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let said;
    try {
      said = await obey(lock, line);
    } catch (error) {
      said = `error ${error}`.replaceAll("\n", " ");
    }
    console.log(said);
  }
  process.exit(0);
}

main();
