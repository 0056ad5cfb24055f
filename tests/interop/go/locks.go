package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	goredispool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// One attempt, and a release; false: the lock has another owner.
type lock interface {
	try() (bool, error)
	release() (bool, error)
}

// redsync, with one pool or several.
type redsyncLock struct {
	sync  *redsync.Redsync
	mutex *redsync.Mutex
	key   string
	lease time.Duration
}

func (l *redsyncLock) try() (bool, error) {
	l.mutex = l.sync.NewMutex(l.key, redsync.WithExpiry(l.lease), redsync.WithTries(1))
	err := l.mutex.Lock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return false, nil
	}
	return err == nil, err
}

func (l *redsyncLock) release() (bool, error) {
	ok, err := l.mutex.Unlock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return false, nil
	}
	return ok, err
}

// bsm/redislock
type bsmLock struct {
	client *redislock.Client
	held   *redislock.Lock
	key    string
	lease  time.Duration
}

func (l *bsmLock) try() (bool, error) {
	held, err := l.client.Obtain(context.Background(), l.key, l.lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	l.held = held
	return err == nil, err
}

func (l *bsmLock) release() (bool, error) {
	err := l.held.Release(context.Background())
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}

func newLock(algorithm, host string, ports []string, key string, lease time.Duration) lock {
	var clients []*redis.Client
	var pools []redsyncredis.Pool
	for _, port := range ports {
		client := redis.NewClient(&redis.Options{Addr: host + ":" + port, PoolSize: 1, MaxRetries: -1})
		clients = append(clients, client)
		pools = append(pools, goredispool.NewPool(client))
	}
	switch algorithm {
	case "redsync":
		return &redsyncLock{sync: redsync.New(pools...), key: key, lease: lease}
	case "redislock":
		return &bsmLock{client: redislock.New(clients[0]), key: key, lease: lease}
	}
	panic("no such lock: " + algorithm)
}
