package node

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
)

// A clock that is set back between two runs never shortens a rest, and delays the crawl by no more than the rests: after a
// clean stop, and after a kill. Each bubble of virtual time begins at the same instant; so the second run begins long
// before the first by the clock.
func TestClockSetBackBetweenRuns(t *testing.T) {
	for name, killed := range map[string]bool{"clean stop": false, "kill": true} {
		t.Run(name, func(t *testing.T) {
			o := simweb.Realistic()
			o.Hosts, o.Pages, o.SeedHosts, o.Robots.Flaky = 12, 200, 8, 0.3
			s := newSim(t, o)
			disk := store.NewCrashFS()
			s.fs = disk
			var stopped time.Time
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(400 * 24 * time.Hour)
				s.t = t
				n := s.open()
				soft, stop := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Second, func() {
					if stopped = time.Now(); killed {
						s.fs = disk.ImageOf(rand.New(rand.NewPCG(1, 1)), store.Everything, store.Everything)
					}
					stop()
				})
				if _, err := n.Run(soft, soft); err != nil {
					t.Fatal(err)
				}
				if err := n.Close(); err != nil {
					t.Fatal(err)
				}
			})
			before := s.web.Log()
			synctest.Test(t, func(t *testing.T) {
				s.t = t
				opened := time.Now()
				if r := s.crawl(); r.Reason != jobdir.EndExhausted {
					t.Errorf("ended by %s: %s", r.Reason, r.Detail)
				}
				if took := time.Since(opened); took > 24*time.Hour {
					t.Errorf("it took %v", took)
				}
				missing, extra, repeated := s.web.Compare(s.visited(), "decorum")
				if len(missing)+len(extra)+len(repeated) > 0 {
					t.Errorf("%d missing, %d extra, %d repeated", len(missing), len(extra), len(repeated))
				}
				s.restedInFull(before, stopped, opened)
			})
		})
	}
}

// restedInFull holds the first contact with each host since opened against the last one before. Of what was under way when
// the first run was stopped only the floor is owed: what it asked for may be lost.
func (s *sim) restedInFull(before []simweb.Request, stopped, opened time.Time) {
	s.t.Helper()
	last, first := map[string]simweb.Request{}, map[string]time.Time{}
	for _, r := range before {
		last[r.Host] = r
	}
	// The log is in order of start, so that the second run comes first.
	for _, r := range s.web.Log() {
		if _, ok := first[r.Host]; !ok && r.Start.Before(before[0].Start) {
			first[r.Host] = r.Start
		}
	}
	if len(last) < 5 || len(first) < 5 {
		s.t.Fatalf("%d and %d hosts were contacted: the test shows little", len(last), len(first))
	}
	for host, at := range first {
		r, ok := last[host]
		if !ok {
			continue
		}
		owed := time.Duration(s.cfg.Delay)
		if stopped.Sub(r.End) > 300*time.Millisecond {
			owed = max(owed, time.Duration(s.cfg.DelayFactor*float64(r.End.Sub(r.Start))))
			if !r.RetryAfter.IsZero() {
				owed = max(owed, r.RetryAfter.Sub(r.End))
			}
		}
		if got := at.Sub(opened); got < owed {
			s.t.Errorf("%s was contacted %v after the start, and is owed %v since %s", host, got, owed, r.URL)
		}
	}
}
