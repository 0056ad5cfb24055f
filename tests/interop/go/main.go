// The party of Go: the interface of ../arena.py, with the locks of locks.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	patience  = 60 * time.Second
	giveUpMax = 3
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
	lock    lock
	pause   time.Duration
	rest    time.Duration
	witness *os.File
	who     string
}

func (p *party) acquire(wait time.Duration) (string, error) {
	for end := time.Now().Add(wait); ; time.Sleep(p.pause) {
		ok, err := p.lock.try()
		if err != nil {
			return "", err
		}
		if ok {
			return "held", nil
		}
		if !time.Now().Before(end) {
			return "busy", nil
		}
	}
}

func (p *party) release() (string, error) {
	ok, err := p.lock.release()
	if ok {
		return "released", err
	}
	return "lost", err
}

// work returns true if no other party was inside.
func (p *party) work() bool {
	fd := int(p.witness.Fd())
	alone := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil
	fmt.Fprintf(p.witness, "in %s\n", p.who)
	nap(4 * time.Millisecond)
	fmt.Fprintf(p.witness, "out %s\n", p.who)
	if alone {
		_ = syscall.Flock(fd, syscall.LOCK_UN)
	}
	return alone
}

func nap(most time.Duration) {
	time.Sleep(time.Duration(rand.Int63n(int64(most))))
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
			if err == nil && answer == "lost" {
				t.Lost++
			}
		}
		if err != nil {
			t.Errors++
			if t.Note == "" {
				t.Note = err.Error()
			}
		}
		nap(p.rest)
	}
	return t
}

func (p *party) execute(line string) string {
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

func fromEnvironment(name string) time.Duration {
	ms, _ := strconv.Atoi(os.Getenv(name))
	return time.Duration(ms) * time.Millisecond
}

func main() {
	leaseMs, _ := strconv.Atoi(os.Args[5])
	witness, err := os.OpenFile(os.Args[6], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	lease := time.Duration(leaseMs) * time.Millisecond
	p := &party{witness: witness, who: os.Args[7], pause: fromEnvironment("PAUSE_MS"), rest: fromEnvironment("REST_MS")}
	p.lock = newLock(os.Args[1], os.Args[2], strings.Split(os.Args[3], ","), os.Args[4], lease)
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(p.execute(lines.Text()))
	}
}
