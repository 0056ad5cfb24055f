// The driver of Go: the contract of ../README.md, on the locks of locks.go.
//
//	peer redsync|rueidislock HOST PORT NAME
//
// Every waiter of a crowd is a goroutine with a client of its own.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// now is CLOCK_MONOTONIC, which all processes of a machine share; Go's own clock begins with the process.
func now() int64 {
	const clockMonotonic = 1
	var t syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

type turn struct{ in, out int64 }

type driver struct {
	open  func() (lock, error)
	lock  lock
	crowd []lock
}

func (d *driver) pair(count int) (string, error) {
	said := []string{"pair"}
	for i := 0; i < count; i++ {
		began := now()
		if err := d.lock.acquire(); err != nil {
			return "", err
		}
		if err := d.lock.release(); err != nil {
			return "", err
		}
		said = append(said, strconv.FormatInt(now()-began, 10))
	}
	return strings.Join(said, " "), nil
}

func (d *driver) gather(count int) (string, error) {
	for _, each := range d.crowd {
		each.close()
	}
	d.crowd = nil
	for i := 0; i < count; i++ {
		l, err := d.open()
		if err != nil {
			return "", err
		}
		d.crowd = append(d.crowd, l)
	}
	return fmt.Sprintf("crowd %d", count), nil
}

func contendAlone(l lock, end int64, hold time.Duration) (turns []turn, err error) {
	for {
		if err = l.acquire(); err != nil {
			return nil, err
		}
		t := turn{in: now()}
		if hold > 0 {
			time.Sleep(hold)
		}
		t.out = now()
		if err = l.release(); err != nil {
			return nil, err
		}
		turns = append(turns, t)
		if now() >= end {
			return turns, nil
		}
	}
}

func (d *driver) contend(ms int, holdUs int, path string) (string, error) {
	end := now() + int64(ms)*int64(time.Millisecond)
	turns := make([][]turn, len(d.crowd))
	errs := make([]error, len(d.crowd))
	var all sync.WaitGroup
	for i := range d.crowd {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			turns[i], errs[i] = contendAlone(d.crowd[i], end, time.Duration(holdUs)*time.Microsecond)
		}(i)
	}
	all.Wait()
	var text strings.Builder
	count := 0
	for i := range d.crowd {
		if errs[i] != nil {
			return "", errs[i]
		}
		for _, t := range turns[i] {
			fmt.Fprintf(&text, "%d %d %d\n", i, t.in, t.out)
		}
		count += len(turns[i])
	}
	return fmt.Sprintf("done %d", count), os.WriteFile(path, []byte(text.String()), 0o600)
}

func (d *driver) obey(line string) (string, error) {
	words := strings.Fields(line)
	numbers := make([]int, len(words))
	for i, word := range words {
		numbers[i], _ = strconv.Atoi(word)
	}
	switch words[0] {
	case "pair":
		return d.pair(numbers[1])
	case "acquire":
		err := d.lock.acquire()
		return fmt.Sprintf("held %d", now()), err
	case "release":
		began := now()
		err := d.lock.release()
		return fmt.Sprintf("released %d", began), err
	case "crowd":
		return d.gather(numbers[1])
	case "contend":
		return d.contend(numbers[1], numbers[2], words[3])
	}
	return "", fmt.Errorf("not a line of the contract")
}

func main() {
	which, address, name := os.Args[1], os.Args[2]+":"+os.Args[3], os.Args[4]
	d := driver{open: func() (lock, error) { return newLock(which, address, name) }}
	var err error
	if d.lock, err = d.open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		said, err := d.obey(lines.Text())
		if err != nil {
			said = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(said)
	}
}
