package node

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// virtually runs a test in virtual time.
func virtually(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// A random web under a random configuration: whatever they are, the crawl visits what there is to visit, each URL once,
// and keeps every promise. The seed is printed; DECORUM_SEED repeats it.
func TestRandomWebsAndConfigurations(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("DECORUM_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	for i := range uint64(6) {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			t.Logf("repeat with DECORUM_SEED=%d", seed+i)
			virtually(t, func(t *testing.T) { randomSim(t, rand.New(rand.NewPCG(seed+i, 0))).crawlAndJudge() })
		})
	}
}

func randomSim(t *testing.T, r *rand.Rand) *sim {
	o := simweb.Realistic()
	o.Seed, o.Hosts, o.Pages = r.Uint64(), 1+r.IntN(40), 20+r.IntN(600)
	o.HostsPerAddr = []int{1, 1, 3, -1}[r.IntN(4)]
	o.DominantShare = []float64{0, 0, .9}[r.IntN(3)]
	o.Latency = time.Duration(r.IntN(300)) * time.Millisecond
	s := newSim(t, o)
	s.cfg.Concurrency = []int{1, 2, 10, 100, 1000}[r.IntN(5)]
	s.cfg.FrontQueues = 1 + r.IntN(10)
	s.cfg.BackQueues = []string{"auto", "3x", "2", "50"}[r.IntN(4)]
	s.cfg.SeenCache = []string{"clock", "lru", "random", "infinite", "off"}[r.IntN(5)]
	s.cfg.DelayFactor = []float64{0, 1, 10}[r.IntN(3)]
	return s
}

func (s *sim) crawlAndJudge() {
	s.t.Helper()
	r := s.crawl()
	if r.Reason != jobdir.EndExhausted {
		s.t.Errorf("ended by %s: %s", r.Reason, r.Detail)
	}
	s.judge()
	s.verifyFolder(&r.Summary)
}

// verifyFolder reads archive and records back: every record is whole, and the numbers of the summary are those of the
// server's log.
func (s *sim) verifyFolder(sum *jobdir.Summary) {
	s.t.Helper()
	files, err := s.fs.List(s.dir + "/archive")
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no archive: %v", err)
	}
	checker := warc.NewChecker()
	for _, name := range files {
		if report := checker.Check(bytes.NewReader(s.read("archive/" + name))); !report.OK() {
			s.t.Errorf("%s: %v", name, report.Problems)
		}
	}
	requests := s.web.Log()
	if int64(len(requests)) != sum.Fetches {
		s.t.Errorf("the summary says %d exchanges, the server %d", sum.Fetches, len(requests))
	}
	if n := int64(len(s.visited())); n != sum.Pages {
		s.t.Errorf("the summary says %d pages, pages.jsonl %d", sum.Pages, n)
	}
	if sum.QueuedLeft != 0 && sum.EndReason == jobdir.EndExhausted {
		s.t.Errorf("%d URLs are left of an exhausted crawl", sum.QueuedLeft)
	}
}

// -n is exact, never overshot, and what is left is crawled by the next run.
func TestPageLimitIsExactAndResumable(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Realistic()
		o.Hosts, o.Pages = 20, 300
		s := newSim(t, o)
		for _, n := range []uint64{1, 57, 120} {
			s.cfg.MaxPages = n
			if r := s.crawl(); r.Reason != jobdir.EndMaxPages || r.Summary.Pages != int64(n) {
				t.Errorf("asked for %d pages: %d, ended by %s", n, r.Summary.Pages, r.Reason)
			}
		}
		s.cfg.MaxPages = 0
		s.crawl()
		s.judge()
	})
}

// --max-bytes is never passed.
func TestByteLimitIsNeverPassed(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Plain()
		o.Hosts, o.Pages = 10, 200
		s := newSim(t, o)
		s.cfg.MaxBytes = 300_000
		r := s.crawl()
		if r.Reason != jobdir.EndMaxBytes || r.Summary.BytesWire > 300_000 || r.Summary.BytesWire < 200_000 {
			t.Errorf("%d bytes received, ended by %s", r.Summary.BytesWire, r.Reason)
		}
		s.cfg.MaxBytes = 0
		s.crawl()
		missing, extra, _ := s.web.Compare(s.visited(), "decorum")
		if len(missing)+len(extra) > 0 {
			t.Errorf("after resuming, %d URLs are missing and %d too many", len(missing), len(extra))
		}
	})
}

// --max-time ends the run; requests under way end as they would.
func TestTimeLimit(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Plain()
		o.Hosts, o.Pages = 2, 200
		s := newSim(t, o)
		s.cfg.MaxTime = s.cfg.Delay * 30
		start := time.Now()
		if r := s.crawl(); r.Reason != jobdir.EndMaxTime {
			t.Errorf("ended by %s", r.Reason)
		}
		if took := time.Since(start); took < 30*time.Second || took > 35*time.Second {
			t.Errorf("a limit of 30 s ended the run after %v", took)
		}
	})
}

// A crawl that is interrupted again and again visits what an uninterrupted one does, each URL once, and no host is
// contacted early because of it.
func TestInterruptedCrawlLosesAndRepeatsNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Realistic()
		o.Hosts, o.Pages, o.Latency = 12, 250, 200*time.Millisecond
		s := newSim(t, o)
		for range 8 {
			s.interrupt(20*time.Second, false)
			time.Sleep(100 * time.Millisecond)
		}
		s.crawlAndJudge()
	})
}

// Cutting requests under way repeats at most those.
func TestCutCrawlRepeatsOnlyWhatWasUnderWay(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Realistic()
		o.Hosts, o.Pages, o.Latency = 12, 250, 200*time.Millisecond
		s := newSim(t, o)
		for range 8 {
			s.interrupt(20*time.Second, true)
			time.Sleep(100 * time.Millisecond)
		}
		s.crawl()
		missing, extra, repeated := s.web.Compare(s.visited(), "decorum")
		if len(missing)+len(extra)+len(repeated) > 0 {
			t.Errorf("missing %q, extra %q, repeated %q", missing, extra, repeated)
		}
		p := s.promise()
		p.Repeats, p.MaxAttempts = 8*len(s.web.Hosts()), p.MaxAttempts+8
		for _, v := range s.web.Verify(p) {
			t.Error(v)
		}
	})
}

// interrupt runs for d and stops the run, cutting requests under way or letting them end.
func (s *sim) interrupt(d time.Duration, cut bool) {
	s.t.Helper()
	n := s.open()
	soft, pause := context.WithTimeout(context.Background(), d)
	defer pause()
	hard := context.Background()
	if cut {
		hard = soft
	}
	r, err := n.Run(soft, hard)
	if err != nil || r.Err != nil {
		s.t.Fatal(err, r.Err)
	}
	if err := n.Finish(&r, 130, ""); err != nil {
		s.t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// One host is paced exactly: n contacts take n-1 gaps.
func TestFewHostsArePacedExactly(t *testing.T) {
	for _, hosts := range []int{1, 3, 10} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				o := simweb.Plain()
				o.Hosts, o.Pages, o.EqualHosts, o.SeedHosts = hosts, 40*hosts, true, hosts
				s := newSim(t, o)
				start := time.Now()
				s.crawlAndJudge()
				last := map[string]time.Time{}
				for _, r := range s.web.Log() {
					if end, ok := last[r.Host]; ok {
						// Before it reuses a connection that is no socket, fetch waits a millisecond for its end.
						if gap := r.Start.Sub(end); gap < time.Second || gap > time.Second+time.Millisecond {
							t.Fatalf("%s %s came %v after the contact before, promised 1s", r.Host, r.Target, gap)
						}
					}
					last[r.Host] = r.End
				}
				t.Logf("%d contacts in %v", len(s.web.Log()), time.Since(start))
			})
		})
	}
}

// S4-18: rules that change while URLs wait are obeyed as soon as the copy is a day old, in both directions.
func TestRobotsChangeWhileURLsWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Plain()
		o.Hosts, o.Pages = 1, 400
		s := newSim(t, o)
		host := s.web.Hosts()[0].Name
		s.web.SetRobots(host, "User-agent: *\nCrawl-delay: 600\nDisallow: /nothing\n")
		go func() {
			time.Sleep(12 * time.Hour)
			s.web.SetRobots(host, "User-agent: *\nDisallow: /\n")
		}()
		start := time.Now()
		r := s.crawl()
		if r.Summary.Skipped["robots"] == 0 {
			t.Errorf("nothing was skipped by the new rules: %v", r.Summary.Skipped)
		}
		if last := s.web.Log()[len(s.web.Log())-1]; last.Start.Sub(start) > 25*time.Hour {
			t.Errorf("%s was fetched %v after the start, by rules older than a day", last.Target, last.Start.Sub(start))
		}
		for _, v := range s.web.Verify(s.promise()) {
			t.Error(v)
		}
	})
}

// A page budget per host ends an endless host and nothing else.
func TestHostBudgetEndsAnEndlessHost(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Demo()
		s := newSim(t, o)
		s.cfg.HostPages = 300
		r := s.crawl()
		if r.Reason != jobdir.EndExhausted {
			t.Fatalf("ended by %s", r.Reason)
		}
		if r.Summary.Skipped["host_budget"] == 0 {
			t.Errorf("no URL was refused for the budget: %v", r.Summary.Skipped)
		}
		missing, _, _ := s.web.Compare(s.visited(), "decorum")
		traps := map[string]bool{}
		for _, h := range s.web.Hosts() {
			traps[h.Name] = h.Traps
		}
		for _, u := range missing {
			if host := hostOf(t, u); !traps[host] {
				t.Errorf("%s is missing, though %s is no trap", u, host)
			}
		}
	})
}

func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host()
}
