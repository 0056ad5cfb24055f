package main

import (
	"context"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	goredispool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const lease = 30 * time.Second

// A lock waits without a time limit, and is released.
type lock interface {
	acquire() error
	release() error
	close()
}

// redsync, with one pool. It gives up after 32 tries by default: here it goes on.
type redsyncLock struct {
	client *redis.Client
	sync   *redsync.Redsync
	mutex  *redsync.Mutex
	name   string
}

func (l *redsyncLock) acquire() error {
	l.mutex = l.sync.NewMutex(l.name, redsync.WithExpiry(lease), redsync.WithTries(math.MaxInt32))
	return l.mutex.Lock()
}

func (l *redsyncLock) release() error {
	_, err := l.mutex.Unlock()
	return err
}

func (l *redsyncLock) close() { _ = l.client.Close() }

// rueidislock, with one key. Client-side caching notifies the waiter that the key has changed. The ring of a
// connection is small, as there are hundreds of them in one process.
type rueidisLock struct {
	locker rueidislock.Locker
	cancel context.CancelFunc
	name   string
}

func (l *rueidisLock) acquire() (err error) {
	_, l.cancel, err = l.locker.WithContext(context.Background(), l.name)
	return err
}

func (l *rueidisLock) release() error {
	l.cancel()
	return nil
}

func (l *rueidisLock) close() { l.locker.Close() }

func newLock(which, address, name string) (lock, error) {
	switch which {
	case "redsync":
		client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 1})
		pool := goredispool.NewPool(client)
		return &redsyncLock{client: client, sync: redsync.New(pool), name: name}, client.Ping(context.Background()).Err()
	case "rueidislock":
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: []string{address}, RingScaleEachConn: 6},
			KeyMajority:    1,
			NoLoopTracking: true,
		})
		return &rueidisLock{locker: locker, name: name}, err
	}
	panic("no such lock: " + which)
}
