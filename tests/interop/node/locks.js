/*
 * The locks of Node, with one interface: tryOnce(), and release(), which returns whether the lock was still held.
 */
"use strict";

const { Mutex } = require("redis-semaphore");
const { default: Redlock } = require("redlock");

/* The package redlock, with one server or with several. */
class RedlockLock {
  constructor(redis, key, leaseMs) {
    this.redlock = new Redlock([redis].flat());
    this.key = key;
    this.leaseMs = leaseMs;
  }

  async tryOnce() {
    try {
      this.lock = await this.redlock.acquire([this.key], this.leaseMs, { retryCount: 0 });
      return true;
    } catch (error) {
      if (await RedlockLock.isBusy(error)) {
        return false;
      }
      throw error;
    }
  }

  /* True if each refusal was a held lock, and not an error of a server. */
  static async isBusy(error) {
    if (error.name !== "ExecutionError") {
      return false;
    }
    const attempts = await Promise.all(error.attempts);
    return attempts.every((each) => [...each.votesAgainst.values()].every((vote) => vote.name === "ResourceLockedError"));
  }

  async release() {
    try {
      await this.lock.release();
      return true;
    } catch (error) {
      if (error.name === "ExecutionError") {
        return false;
      }
      throw error;
    }
  }
}

/* The package redis-semaphore. Its release has no result: the key is checked here. */
class SemaphoreMutex {
  constructor(redis, key, leaseMs) {
    this.redis = redis;
    this.key = key;
    this.leaseMs = leaseMs;
  }

  async tryOnce() {
    this.mutex = new Mutex(this.redis, this.key, {
      lockTimeout: this.leaseMs,
      acquireAttemptsLimit: 1,
      retryInterval: 1,
      refreshInterval: 0,
    });
    return this.mutex.tryAcquire();
  }

  async release() {
    const isOurs = (await this.redis.get(`mutex:${this.key}`)) === this.mutex.identifier;
    await this.mutex.release();
    return isOurs;
  }
}

module.exports = { redlock: RedlockLock, "redis-semaphore": SemaphoreMutex };
