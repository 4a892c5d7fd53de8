package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
)

func TestRetryOfURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Factor: -1, Workers: 2})
		r.intake = [][]Item{pages(t, "a.example", 3)}
		var starts []time.Time
		r.visit = func(l Lease) Exchange {
			if l.URL.Path() != "/0" {
				return Exchange{Outcome: outcome.OK, Contact: true}
			}
			starts = append(starts, time.Now())
			if l.Attempt != len(starts) || l.Last != (l.Attempt == 4) || l.Concludes(outcome.Timeout) != l.Last {
				t.Errorf("attempt %d, last %v, concludes %v on visit %d", l.Attempt, l.Last, l.Concludes(outcome.Timeout), len(starts))
			}
			return Exchange{Outcome: outcome.Timeout, Contact: true}
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(starts) != 4 {
			t.Fatalf("%d attempts, want 4", len(starts))
		}
		for i, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
			if got := starts[i+1].Sub(starts[i]); got != want {
				t.Errorf("rest %d of the URL was %v, want %v", i+1, got, want)
			}
		}
		// A resting URL does not hold up the others of its host.
		if r.contacts[1].URL.Path() != "/1" || r.contacts[2].URL.Path() != "/2" {
			t.Errorf("others had to wait: %v, %v", r.contacts[1].URL, r.contacts[2].URL)
		}
		r.open()
		if st, ok, err := r.f.HostState("a.example"); !ok || err != nil || st.Pages != 3 || st.Errors != 4 {
			t.Errorf("host state %+v, %v, %v; want 3 pages, 4 errors", st, ok, err)
		}
	})
}

func TestRetryOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 2})
		r.intake = [][]Item{pages(t, "a.example", 2)}
		n := 0
		r.visit = func(l Lease) Exchange {
			if n++; n <= 3 {
				return Exchange{Outcome: outcome.RateLimited, Contact: true}
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		_ = r.crawl(t.Context())
		var paths []string
		for _, c := range r.contacts {
			paths = append(paths, c.URL.Path())
		}
		if want := []string{"/0", "/0", "/0", "/0", "/1"}; !slices.Equal(paths, want) {
			t.Errorf("visited %v, want %v", paths, want)
		}
		want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, time.Second}
		if gaps := r.gaps("a.example"); !slices.Equal(gaps, want) {
			t.Errorf("rests %v, want %v", gaps, want)
		}
	})
}

func TestNoneLeavesTheURLAtTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 2})
		r.intake = [][]Item{pages(t, "a.example", 3)}
		r.visit = func(l Lease) Exchange {
			if len(r.contacts) == 0 {
				return Exchange{Contact: true} // robots.txt
			}
			if l.Attempt != 1 {
				t.Errorf("attempt %d", l.Attempt)
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		_ = r.crawl(t.Context())
		if got := len(r.contacts); got != 4 || r.contacts[1].URL.Path() != "/0" {
			t.Errorf("%d contacts, the second for %v", got, r.contacts[1].URL)
		}
	})
}

func TestHostIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 2, HostGiveUp: 3})
		r.intake = [][]Item{append(pages(t, "dead.example", 3000), pages(t, "a.example", 5)...), pages(t, "dead.example", 10)}
		r.visit = func(l Lease) Exchange {
			if l.Host == "dead.example" {
				return Exchange{HostFailed: true, Contact: true}
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.refused) != 3010 || len(r.contacts) != 3+5 {
			t.Errorf("%d refused, %d contacts; want 3010, 8", len(r.refused), len(r.contacts))
		}
		seen := map[string]bool{}
		for _, ref := range r.refused {
			if ref.Outcome != outcome.GaveUp || ref.Rule == "" || ref.Item.URL.Host() != "dead.example" {
				t.Fatalf("refused %+v", ref)
			}
			seen[ref.Item.URL.String()] = true
		}
		if len(seen) != 3000 {
			t.Errorf("%d URLs refused, want 3000", len(seen))
		}
		// It stays given up in the next run.
		r.intake = [][]Item{pages(t, "dead.example", 7)}
		r.refused, r.contacts = nil, nil
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) || len(r.refused) != 7 || len(r.contacts) != 0 {
			t.Errorf("%v: %d refused, %d contacts; want 7, 0", err, len(r.refused), len(r.contacts))
		}
	})
}

// What a host asks for is never cut short, and never waited for without end.
func TestHostThatAsksForAnEndlessRestIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		x     Exchange
		floor time.Duration
		gone  bool
	}{
		{x: Exchange{RetryAfter: time.Hour}},
		{x: Exchange{RetryAfter: time.Hour + 1}, gone: true},
		{x: Exchange{RetryAfter: 1<<63 - 1}, gone: true},
		{x: Exchange{CrawlDelay: 1<<63 - 1}, gone: true},
		{x: Exchange{Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, gone: true},
		{x: Exchange{}, floor: 2 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{Floor: c.floor, LongestRest: time.Hour, Workers: 2})
			r.intake = [][]Item{pages(t, "a.example", 3)}
			r.visit = func(Lease) Exchange {
				x := Exchange{Contact: true, Outcome: outcome.OK}
				if len(r.contacts) == 0 {
					x.RetryAfter, x.CrawlDelay, x.Until = c.x.RetryAfter, c.x.CrawlDelay, c.x.Until
				}
				return x
			}
			start := time.Now()
			if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
				t.Fatal(err)
			}
			if gone := len(r.refused) == 2 && len(r.contacts) == 1; gone != c.gone || gone && time.Since(start) > time.Minute {
				t.Errorf("%+v: %d refused, %d contacts in %v", c, len(r.refused), len(r.contacts), time.Since(start))
			}
			if c.gone && !strings.Contains(r.refused[0].Rule, "asks for a rest of more than 1h") {
				t.Errorf("refused for %q", r.refused[0].Rule)
			}
		})
	}
}

func TestHostBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4, HostPages: 10})
		r.intake = [][]Item{append(pages(t, "big.example", 2000), pages(t, "a.example", 10)...)}
		r.visit = func(l Lease) Exchange {
			if strings.HasSuffix(l.URL.Path(), "5") {
				return Exchange{Outcome: outcome.RobotsDenied} // does not count
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		fetched := 0
		for _, c := range r.contacts {
			if c.Host == "big.example" && c.outcome == outcome.OK {
				fetched++
			}
		}
		if fetched != 10 {
			t.Errorf("%d pages of the host, want 10", fetched)
		}
		if want := 2000 - 11; len(r.refused) != want || r.refused[0].Outcome != outcome.HostBudget {
			t.Errorf("%d refused, want %d", len(r.refused), want)
		}
	})
}

func TestPageLimitIsExact(t *testing.T) {
	for _, limit := range []uint64{1, 7, 100} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{Floor: time.Second, Workers: 30, MaxPages: limit, Retries: -1})
			var items []Item
			for h := range 40 {
				items = append(items, pages(t, fmt.Sprintf("h%d.example", h), 10)...)
			}
			r.intake = [][]Item{items}
			n := 0
			r.visit = func(Lease) Exchange {
				r.sleep(time.Second)
				switch n++; n % 3 {
				case 0:
					return Exchange{Outcome: outcome.RobotsDenied}
				case 1:
					return Exchange{Outcome: outcome.Timeout, Contact: true}
				}
				return Exchange{Outcome: outcome.OK, Contact: true}
			}
			if err := r.crawl(t.Context()); !errors.Is(err, ErrLimit) {
				t.Fatal(err)
			}
			done := uint64(0)
			for _, c := range r.contacts {
				if c.outcome != outcome.RobotsDenied {
					done++
				}
			}
			if done != limit {
				t.Errorf("%d pages concluded, want %d", done, limit)
			}
			// A second run knows that the limit is reached.
			r.contacts = nil
			if err := r.crawl(t.Context()); !errors.Is(err, ErrLimit) || len(r.contacts) != 0 {
				t.Errorf("next run: %v, %d contacts", err, len(r.contacts))
			}
		})
	}
}

func TestHeadsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 2})
		r.intake = [][]Item{pages(t, "a.example", 20)}
		sent := false
		r.onStep = func(w Work) []Item {
			if sent || len(w.Finished) == 0 {
				return nil
			}
			sent = true
			a, b, c := item(t, "http://a.example/head1"), item(t, "http://a.example/head2"), item(t, "http://other.example/head3")
			a.Head, b.Head, c.Head = true, true, true
			return []Item{a, b, c}
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != 23 {
			t.Fatalf("%d contacts, want 23", len(r.contacts))
		}
		var paths []string
		for _, c := range r.contacts[1:4] {
			paths = append(paths, c.URL.Path())
		}
		slices.Sort(paths)
		if want := []string{"/head1", "/head2", "/head3"}; !slices.Equal(paths, want) {
			t.Errorf("visited %v after the first page, want %v", paths, want)
		}
	})
}

func TestUrgentContactsAndParking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4})
		r.intake = [][]Item{append(pages(t, "a.example", 2), pages(t, "b.example", 50)...)}
		hop := item(t, "http://b.example/robots-moved.txt")
		hop.Kind, hop.Origin = Robots, "http://a.example"
		far := item(t, "http://c.example/robots.txt")
		far.Kind, far.Origin = Robots, "http://a.example"
		answered := false
		r.visit = func(l Lease) Exchange {
			x := Exchange{Outcome: outcome.OK, Contact: true}
			switch {
			case l.Kind == Robots && l.Host == "b.example":
				x.Urgent = []Item{far}
			case l.Kind == Robots:
				answered, x.Wake = true, []string{"a.example"}
			case l.Host == "a.example" && len(r.gaps("a.example")) == 0 && !answered:
				x.Outcome, x.Park, x.Urgent = outcome.None, true, []Item{hop}
			case l.Host == "a.example" && !answered:
				t.Error("a parked host was contacted")
			}
			return x
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != 3+50+2 {
			t.Errorf("%d contacts, want 55", len(r.contacts))
		}
		if gaps := r.gaps("a.example"); gaps[0] > 5*time.Second {
			t.Errorf("parked for %v although the answer came at once", gaps[0])
		}
	})
}

func TestParkingEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4})
		r.intake = [][]Item{pages(t, "a.example", 1)}
		r.visit = func(Lease) Exchange {
			if len(r.contacts) == 0 {
				return Exchange{Contact: true, Park: true}
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		_ = r.crawl(t.Context())
		if gaps := r.gaps("a.example"); len(gaps) != 1 || gaps[0] != parkLimit {
			t.Errorf("parked for %v, want %v", gaps, parkLimit)
		}
	})
}

// The answer may come while the host that will wait for it is still leased.
func TestWakeBeforePark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4})
		r.intake = [][]Item{append(pages(t, "a.example", 1), pages(t, "b.example", 1)...)}
		r.visit = func(l Lease) Exchange {
			if l.Host == "b.example" {
				return Exchange{Outcome: outcome.OK, Contact: true, Wake: []string{"a.example"}}
			}
			r.sleep(time.Minute)
			if len(r.contacts) == 1 {
				return Exchange{Contact: true, Park: true, CrawlDelay: time.Second}
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		_ = r.crawl(t.Context())
		if gaps := r.gaps("a.example"); len(gaps) != 1 || gaps[0] != 10*time.Minute {
			t.Errorf("gap %v, want the factor's 10m", gaps)
		}
	})
}

// The answer may also come while a parked host makes an urgent contact for another.
func TestWakeDuringUrgentContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Factor: -1, Workers: 4})
		r.intake = [][]Item{append(pages(t, "a.example", 1), pages(t, "b.example", 2)...)}
		hop := item(t, "http://a.example/robots.txt")
		hop.Kind = Robots
		r.visit = func(l Lease) Exchange {
			x := Exchange{Outcome: outcome.OK, Contact: true}
			switch {
			case l.Kind == Robots:
				r.sleep(10 * time.Second)
			case l.Host == "a.example" && len(r.gaps("a.example")) == 0:
				if len(r.contacts) == 0 {
					x.Outcome, x.Park = outcome.None, true
				}
			case l.Host == "b.example" && l.URL.Path() == "/0":
				r.sleep(3 * time.Second)
				x.Urgent = []Item{hop}
			case l.Host == "b.example":
				r.sleep(3 * time.Second)
				x.Wake = []string{"a.example"}
			}
			return x
		}
		_ = r.crawl(t.Context())
		if gaps := r.gaps("a.example"); len(gaps) != 2 || gaps[1] != time.Second {
			t.Errorf("gaps %v, want 1s after the urgent contact", gaps)
		}
	})
}

func TestPauseStopsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4})
		r.intake = [][]Item{pages(t, "a.example", 60)}
		began := time.Now()
		time.AfterFunc(10*time.Second, func() { r.f.Pause("disk full") })
		time.AfterFunc(20*time.Second, func() {
			if sn := r.f.Snapshot(1); sn.Paused != "disk full" || sn.Longest.Host != "a.example" {
				t.Errorf("snapshot while paused: %+v", sn)
			}
		})
		time.AfterFunc(time.Hour, func() { r.f.Resume() })
		_ = r.crawl(t.Context())
		for _, c := range r.contacts {
			if at := c.start.Sub(began); at > 10*time.Second && at < time.Hour {
				t.Errorf("leased %v after the start", at)
			}
		}
		if len(r.contacts) != 60 {
			t.Errorf("%d contacts, want 60", len(r.contacts))
		}
	})
}

func TestUncommittedVisitsHoldLeasesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 8, MaxUncommitted: 5})
		var items []Item
		for h := range 100 {
			items = append(items, item(t, fmt.Sprintf("http://h%d.example/", h)))
		}
		r.intake = [][]Item{items}
		r.onStep = func(w Work) []Item {
			if len(w.Finished) > 5+8 {
				t.Errorf("%d finished visits", len(w.Finished))
			}
			time.Sleep(10 * time.Second) // a slow disk
			return nil
		}
		_ = r.crawl(t.Context())
		if len(r.contacts) != 100 {
			t.Errorf("%d contacts, want 100", len(r.contacts))
		}
	})
}

func TestNextReturnsWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: 24 * time.Hour, Workers: 3})
		r.intake = [][]Item{pages(t, "a.example", 3)}
		stop, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := r.crawl(stop); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("stopped after %v, want 1m", took)
		}
	})
}

func TestExhaustedOnlyWhenNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each page links to one more, until 100 are known; its links arrive with the step that settles it.
		r := newRig(t, Options{Floor: time.Second, Workers: 5})
		r.intake = [][]Item{pages(t, "h0.example", 1)}
		known := 1
		r.onStep = func(w Work) []Item {
			var add []Item
			for range w.Finished {
				if known < 100 {
					add = append(add, item(t, fmt.Sprintf("http://h%d.example/%d", known%7, known)))
					known++
				}
			}
			return add
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) || len(r.contacts) != 100 {
			t.Errorf("%v after %d contacts, want 100", err, len(r.contacts))
		}
	})
}

// Intake that the sieve holds back counts as work left.
func TestIntakeKeepsTheCrawlAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 5})
		for i := range 30 {
			r.intake = append(r.intake, nil, []Item{item(t, fmt.Sprintf("http://h%d.example/", i))})
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) || len(r.contacts) != 30 {
			t.Errorf("%v after %d contacts, want 30", err, len(r.contacts))
		}
	})
}

func TestSecondDoneIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Workers: 1})
		r.intake = [][]Item{pages(t, "a.example", 2)}
		var first *Lease
		r.visit = func(l Lease) Exchange {
			if first == nil {
				first = &l
			} else {
				r.f.Done(*first, &visitOf{Exchange{Outcome: outcome.OK}})
			}
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) || len(r.contacts) != 2 {
			t.Errorf("%v after %d contacts", err, len(r.contacts))
		}
	})
}
