// The party of Go: the contract of ../arena.py, on the lock of redsync.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"
)

const (
	patience  = 60 * time.Second
	giveUpMax = 3
	// The library's own pause is up to a quarter of a second; shorter, so that the two sides meet more often.
	pause = 5 * time.Millisecond
)

type tally struct {
	Who      string `json:"who"`
	Acquired int    `json:"acquired"`
	Overlaps int    `json:"overlaps"`
	Lost     int    `json:"lost"`
	GaveUp   int    `json:"gave_up"`
	Errors   int    `json:"errors"`
	Stolen   int    `json:"stolen"`
	Note     string `json:"note"`
}

type party struct {
	sync    *redsync.Redsync
	mutex   *redsync.Mutex
	key     string
	lease   time.Duration
	witness *os.File
	who     string
}

func (p *party) acquire(wait time.Duration) (string, error) {
	tries := int(wait/pause) + 1
	p.mutex = p.sync.NewMutex(p.key, redsync.WithExpiry(p.lease), redsync.WithTries(tries),
		redsync.WithRetryDelay(pause))
	ctx, cancel := context.WithTimeout(context.Background(), wait+10*time.Second)
	defer cancel()
	err := p.mutex.LockContext(ctx)
	var taken *redsync.ErrTaken
	switch {
	case err == nil:
		return "held", nil
	case errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed):
		return "busy", nil
	default:
		return "", err
	}
}

func (p *party) release() (string, error) {
	ok, err := p.mutex.Unlock()
	var taken *redsync.ErrTaken
	switch {
	case ok:
		return "released", nil
	case err == nil || errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired):
		return "lost", nil
	default:
		return "", err
	}
}

// work is true when nobody else was inside.
func (p *party) work() bool {
	fd := int(p.witness.Fd())
	alone := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil
	fmt.Fprintf(p.witness, "in %s\n", p.who)
	nap()
	fmt.Fprintf(p.witness, "out %s\n", p.who)
	if alone {
		_ = syscall.Flock(fd, syscall.LOCK_UN)
	}
	return alone
}

func nap() {
	time.Sleep(time.Duration(rand.Intn(4000)) * time.Microsecond)
}

func (p *party) contend(count int) tally {
	t := tally{Who: p.who}
	for t.Acquired < count && t.GaveUp+t.Errors < giveUpMax {
		answer, err := p.acquire(patience)
		if err == nil && answer == "busy" {
			t.GaveUp++
			continue
		}
		if err == nil {
			t.Acquired++
			if !p.work() {
				t.Overlaps++
			}
			answer, err = p.release()
			if answer == "lost" {
				t.Lost++
			}
		}
		if err != nil {
			t.Errors++
			if t.Note == "" {
				t.Note = err.Error()
			}
		}
		nap()
	}
	return t
}

func (p *party) obey(line string) string {
	words := strings.Fields(line)
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	var answer string
	var err error
	switch words[0] {
	case "acquire":
		answer, err = p.acquire(time.Duration(number) * time.Millisecond)
	case "release":
		answer, err = p.release()
	case "contend":
		said, _ := json.Marshal(p.contend(number))
		answer = string(said)
	}
	if err != nil {
		return "error " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return answer
}

func main() {
	host, port, key, who := os.Args[2], os.Args[3], os.Args[4], os.Args[7]
	leaseMs, _ := strconv.Atoi(os.Args[5])
	witness, err := os.OpenFile(os.Args[6], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	pool := redigo.NewPool(&redigolib.Pool{
		Dial: func() (redigolib.Conn, error) { return redigolib.Dial("tcp", host+":"+port) },
	})
	p := &party{sync: redsync.New(pool), key: key, who: who, witness: witness,
		lease: time.Duration(leaseMs) * time.Millisecond}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(p.obey(lines.Text()))
	}
}
