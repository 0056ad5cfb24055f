/*
 * The locks that Node has, each behind the same two doors: tryOnce() and release(), which says whether it was ours.
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

  /* Every vote against was a lock that somebody has, and not a server's error. */
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

/* The package redis-semaphore, which says nothing when it gives back: whether it was there is looked at here. */
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
    const there = (await this.redis.get(`mutex:${this.key}`)) === this.mutex.identifier;
    await this.mutex.release();
    return there;
  }
}

module.exports = { redlock: RedlockLock, "redis-semaphore": SemaphoreMutex };
