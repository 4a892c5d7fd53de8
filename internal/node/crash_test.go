package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
)

// Every operation on a file is a point at which the power may go. The tests here let it go there, look at what the disk
// may hold then, start the same crawl again, and hold the end against the truth: the same pages, each once; archive, index,
// streams and state in agreement byte for byte; nothing fetched again but what was under way; no host contacted early.
//
// DECORUM_SEED repeats a run, as far as the order of goroutines allows; DECORUM_CRASHES is how many crawls there are,
// or "all" for a crash at each operation of one.

// crashSim is a simulated crawl on a disk that loses power.
type crashSim struct {
	*sim
	disk    *store.CrashFS
	r       *rand.Rand
	crashes []time.Time
	trace   []string // the last operations before each crash
}

// crashWeb is small, because it is crawled hundreds of times, and has a bit of everything.
func crashWeb(seed uint64) simweb.Options {
	o := simweb.Realistic()
	o.Seed, o.Hosts, o.Pages, o.PageBytes, o.LinksPerPage = seed, 6, 40, 2<<10, 8
	return o
}

func newCrashSim(t *testing.T, seed uint64) *crashSim {
	s := &crashSim{sim: newSim(t, crashWeb(seed)), disk: store.NewCrashFS(), r: rand.New(rand.NewPCG(seed, 1))}
	s.fs = s.disk
	s.dir = t.TempDir() + "/new/folders/crawl"
	// Far below what a user may set, so that files are rotated, flushed and merged within a small crawl.
	s.cfg.Memory, s.cfg.WARCSize, s.cfg.SeenRecent = 4<<20, 32<<10, 8
	return s
}

// line is the network between the crawler and the world; it is cut with the power.
type line struct {
	to   func(context.Context, string, string) (net.Conn, error)
	mu   sync.Mutex
	dead bool       // guarded by mu
	open []net.Conn // guarded by mu
}

var errCut = errors.New("the line is cut")

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return nil, errCut
	}
	c, err := l.to(ctx, network, addr)
	if err == nil {
		l.open = append(l.open, c)
	}
	return c, err
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, c := range l.open {
		c.Close()
	}
}

// run starts the program and cuts the power at its n-th operation on a file, before or after it. It reports whether the
// crawl came to its end instead.
func (s *crashSim) run(n int, before bool) (ended bool) {
	s.t.Helper()
	l := &line{to: s.web.Dial}
	ctx, stop := context.WithTimeout(context.Background(), simLimit)
	defer stop()
	crashed, first := false, s.disk.Ops()
	var last []store.Op
	s.disk.Follow(func(op store.Op) store.Action {
		if op.Kind > store.LastChange {
			return store.Action{}
		}
		last = append(last[max(0, len(last)-7):], op)
		if op.N != first+n {
			return store.Action{}
		}
		crashed = true
		l.cut()
		stop()
		return store.Action{Before: before, After: !before}
	})
	r, err := s.session(ctx, ctx, l)
	s.disk.Follow(nil)
	if !crashed {
		if err == nil && r.Reason != jobdir.EndExhausted {
			err = fmt.Errorf("ended by %s: %s", r.Reason, r.Detail)
		}
		s.check(err)
		return true
	}
	s.crashes = append(s.crashes, time.Now())
	s.trace = append(s.trace, fmt.Sprintf("crash %d, before %v: %v", len(s.crashes), before, last))
	s.disk = s.disk.Image(s.r)
	s.fs = s.disk
	return false
}

func (s *crashSim) story() string {
	var b bytes.Buffer
	for _, line := range s.trace[max(0, len(s.trace)-3):] {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// pause runs the program for a while and stops it as a person would, which must be clean.
func (s *crashSim) pause() {
	s.t.Helper()
	soft, stop := context.WithTimeout(context.Background(), time.Duration(s.r.IntN(5000))*time.Millisecond)
	defer stop()
	_, err := s.session(soft, context.Background(), &line{to: s.web.Dial})
	s.check(err)
}

// session is one start of the program.
func (s *crashSim) session(soft, hard context.Context, l *line) (r Result, err error) {
	n, err := s.start(l)
	if err != nil {
		return r, err
	}
	r, err = n.Run(soft, hard)
	if err = errors.Join(err, r.Err); err == nil {
		err = n.Finish(&r, 0, "")
	}
	return r, errors.Join(err, n.Close())
}

// start opens a node with options too small for users.
func (s *crashSim) start(l *line) (*Node, error) {
	var seeds []config.Seed
	for _, u := range s.web.Seeds() {
		seed, err := config.ParseSeed(u)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, seed)
	}
	n := &Node{opt: Options{Config: s.cfg, Seeds: seeds, Dir: s.dir, Version: "test", Dial: l.dial, FS: s.disk,
		Log: func(string, ...any) {}, Free: freeDisk}, began: time.Now()}
	if err := n.open(); err != nil {
		n.closeAll()
		return nil, diskTrouble(err, s.dir)
	}
	return n, nil
}

// operations returns how many operations on files an uninterrupted crawl makes.
func operations(t *testing.T, seed uint64) (n int) {
	virtually(t, func(t *testing.T) {
		s := newCrashSim(t, seed)
		if !s.run(0, true) {
			t.Fatal("crashed by itself")
		}
		n = s.disk.Ops()
		s.judgeCrashes()
	})
	return n
}

// Power that goes once, anywhere.
func TestCrashOnce(t *testing.T) {
	seed, crawls := crashSeed(t)
	n := operations(t, seed)
	t.Logf("an uninterrupted crawl makes %d operations on files", n)
	step := max(1, 2*n/crawls)
	if crawls < 0 {
		step = 1
	}
	r := rand.New(rand.NewPCG(seed, 2))
	points := 0
	for at := 1; at <= n; at += step {
		for _, before := range []bool{true, false} {
			k := at + r.IntN(step)
			points++
			t.Run(fmt.Sprint(k, before), func(t *testing.T) {
				virtually(t, func(t *testing.T) {
					s := newCrashSim(t, seed)
					s.r = rand.New(rand.NewPCG(seed, uint64(k)))
					s.again(k, before)
					s.judgeCrashes()
				})
			})
		}
	}
	t.Logf("%d crawls, seed %d", points, seed)
}

// again crashes as said and finishes the crawl.
func (s *crashSim) again(n int, before bool) {
	s.t.Helper()
	for !s.run(n, before) {
		time.Sleep(time.Duration(s.r.IntN(1500)) * time.Millisecond) // until somebody types the command again
		n = 0
	}
}

// Power that goes again and again: while starting, while recovering from the time before, anywhere.
func TestCrashAgainAndAgain(t *testing.T) {
	seed, crawls := crashSeed(t)
	if crawls < 0 {
		crawls = 400
	}
	points := 0
	for i := range uint64(crawls / 8) {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newCrashSim(t, seed+i)
				for mean := 1 << (3 + s.r.IntN(6)); !s.run(1+s.r.IntN(2*mean), s.r.IntN(2) == 0); {
					time.Sleep(time.Duration(s.r.IntN(1500)) * time.Millisecond)
					mean += mean / 8 // or it would never get anywhere
					if s.r.IntN(4) == 0 {
						s.pause()
					}
				}
				s.judgeCrashes()
				points += len(s.crashes)
			})
		})
	}
	t.Logf("%d crashes in %d crawls, seed %d", points, crawls/8, seed)
}

// crashSeed returns the seed and how many crawls there are to be; -1 for all there can be.
func crashSeed(t *testing.T) (seed uint64, crawls int) {
	seed, crawls = 1, 80
	if s := os.Getenv("DECORUM_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	switch s := os.Getenv("DECORUM_CRASHES"); s {
	case "":
	case "all":
		crawls = -1
	default:
		var err error
		if crawls, err = strconv.Atoi(s); err != nil {
			t.Fatalf("DECORUM_CRASHES: %v", err)
		}
	}
	return seed, crawls
}
