package frontier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
)

func TestCleanRestartContinuesRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Minute, Workers: 4})
		r.intake = [][]Item{append(pages(t, "a.example", 3), pages(t, "b.example", 3)...)}
		stop, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_ = r.crawl(stop)
		time.Sleep(10 * time.Second)
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		for _, host := range []string{"a.example", "b.example"} {
			for i, g := range r.gaps(host) {
				if g != time.Minute {
					t.Errorf("%s: gap %d is %v, want 1m: the stop took 10 s of it", host, i, g)
				}
			}
		}
		if len(r.contacts) != 6 {
			t.Errorf("%d contacts, want 6", len(r.contacts))
		}
	})
}

func TestUncleanRestartWaitsAFullGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4})
		r.intake = [][]Item{append(pages(t, "a.example", 2), pages(t, "slow.example", 2)...)}
		r.visit = func(l Lease) Exchange {
			x := Exchange{Outcome: outcome.OK, Contact: true}
			if l.Host == "slow.example" {
				x.CrawlDelay = time.Minute
			}
			return x
		}
		r.crash = true
		stop, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		_ = r.crawl(stop)
		time.Sleep(time.Hour)
		began := time.Now()
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		for _, c := range r.contacts[2:] {
			want := time.Second
			if c.Host == "slow.example" {
				want = time.Minute
			}
			if got := c.start.Sub(began); got != want || c.Reason != GapRestart {
				t.Errorf("%s: contacted %v after the restart for %v, want %v", c.Host, got, c.Reason, want)
			}
		}
	})
}

// A visit without contact leaves a short rest in the record; the contact that may be missing asked for a full gap.
func TestUncleanRestartAfterAVisitWithoutContact(t *testing.T) {
	o := Options{Floor: time.Second, Factor: 10}
	o.EnsureDefaults()
	now := time.Now()
	for want, m := range map[time.Duration]manners{
		time.Minute:     {crawlDelay: time.Minute, lastTook: time.Second},
		2 * time.Minute: {crawlDelay: time.Minute, lastTook: 12 * time.Second},
		time.Second:     {},
	} {
		m.restFrom, m.rest = now.Add(-time.Hour), idleVisit
		if got := o.restored(m, "a.example", now, now); got.due().Sub(now) != want {
			t.Errorf("%+v: %v after the restart, want %v", m, got.due().Sub(now), want)
		}
	}
}

// A host that is not even in the record, because the crash came before its first commit, waits as well.
func TestUncleanRestartKnowsNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: 3 * time.Second, Workers: 4})
		r.intake = [][]Item{pages(t, "a.example", 1), nil}
		r.crash = true
		stop, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = r.crawl(stop)
		began := time.Now()
		_ = r.crawl(t.Context())
		if len(r.contacts) != 1 || r.contacts[0].start.Sub(began) != 3*time.Second {
			t.Errorf("contacts after the restart: %v", r.contacts)
		}
	})
}

// A clean stop soon after an unclean one must not make the next open forget the missing contact.
func TestCleanStopAfterUncleanOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Minute, Workers: 4})
		r.intake = [][]Item{pages(t, "a.example", 3)}
		for _, run := range []struct {
			crash bool
			after time.Duration
		}{{false, time.Second}, {true, 61 * time.Second}, {false, 10 * time.Second}} {
			r.crash = run.crash
			stop, cancel := context.WithTimeout(t.Context(), run.after)
			_ = r.crawl(stop)
			cancel()
		}
		crashed := r.contacts[1]
		if _, ok := r.durable["a.example"]; !ok || len(r.contacts) != 2 {
			t.Fatalf("%d contacts before the last run, want 2", len(r.contacts))
		}
		_ = r.crawl(t.Context())
		if got := r.contacts[2].start.Sub(crashed.end); got < time.Minute {
			t.Errorf("contacted %v after a contact that was not committed, want 1m", got)
		}
	})
}

func TestClockGoingBackwardsShortensNoRest(t *testing.T) {
	o := Options{Floor: time.Second}
	o.EnsureDefaults()
	now := time.Now()
	m := manners{lastEnd: now.Add(time.Hour), restFrom: now.Add(time.Hour), rest: time.Minute, reason: GapCrawlDelay}
	if got := o.restored(m, "a.example", now, time.Time{}); !got.due().Equal(now.Add(time.Minute)) {
		t.Errorf("due in %v, want 1m", got.due().Sub(now))
	}
	m.restFrom = now.Add(-40 * time.Second).Round(0)
	if got := o.restored(m, "a.example", now, time.Time{}); got.due().Sub(now).Round(time.Millisecond) != 20*time.Second {
		t.Errorf("due in %v, want 20s", got.due().Sub(now))
	}
	m.restFrom = now.Add(-40 * time.Hour).Round(0)
	if got := o.restored(m, "a.example", now, time.Time{}); got.due().After(now) {
		t.Errorf("due in %v, want now", got.due().Sub(now))
	}
}

// web is a random web with a printed seed: hosts of very different size and temper.
type web struct {
	rnd   *rand.Rand
	pages map[string]Item
	order []Item
}

func newWeb(t testing.TB, rnd *rand.Rand) *web {
	w := &web{rnd: rnd, pages: map[string]Item{}}
	hosts := 1 + rnd.IntN(12)
	for range 20 + rnd.IntN(150) {
		h := min(rnd.IntN(hosts), rnd.IntN(hosts)) // host 0 dominates
		it := item(t, fmt.Sprintf("http://h%d.example/%d", h, len(w.order)))
		it.Depth = uint16(rnd.IntN(6))
		it.Head = rnd.IntN(10) == 0
		it.Seed = uint32(len(w.order))
		w.order = append(w.order, it)
		w.pages[it.URL.String()] = it
	}
	return w
}

func (w *web) visit(r *rig, l Lease) Exchange {
	r.sleep(time.Duration(w.rnd.IntN(400)) * time.Millisecond)
	x := Exchange{Outcome: outcome.OK, Contact: true, Status: 200, Bytes: 1000}
	switch l.Host {
	case "h1.example":
		x.CrawlDelay = 3 * time.Second
	case "h2.example":
		if w.rnd.IntN(3) == 0 {
			return Exchange{HostFailed: true, Contact: true}
		}
	case "h3.example":
		x.Outcome = []outcome.Outcome{outcome.OK, outcome.RateLimited, outcome.ServerError, outcome.Timeout}[w.rnd.IntN(4)]
		x.RetryAfter = time.Duration(w.rnd.IntN(50)) * time.Second
	case "h4.example":
		return Exchange{Outcome: outcome.RobotsDenied}
	case "h5.example":
		if w.rnd.IntN(4) == 0 {
			return Exchange{Contact: true, Park: true}
		}
		x.Wake = []string{"h5.example", "h6.example"}
	case "h6.example":
		hop := l.Item
		hop.Kind = Robots
		if w.rnd.IntN(4) == 0 && l.Kind == Page {
			x.Urgent = []Item{hop}
		}
	}
	return x
}

// A random web, crawled with random settings and killed at random moments: no URL is lost, none concludes
// twice, no gap is ever broken, and both sides agree after every step.
func TestRandomCrawlsWithCrashes(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomCrawl(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func randomCrawl(t *testing.T, rnd *rand.Rand) {
	w := newWeb(t, rnd)
	r := newRig(t, Options{
		Floor: time.Second, Workers: 1 + rnd.IntN(12), Fronts: 1 + rnd.IntN(8), Window: 1 + rnd.IntN(8),
		Partitions: 1 + rnd.IntN(5), Seed: rnd.Uint64(), Backs: []Backs{Adaptive, Times3, 1, 4}[rnd.IntN(4)],
		MaxUncommitted: 1 + rnd.IntN(30), HostGiveUp: 4,
	})
	r.visit = func(l Lease) Exchange { return w.visit(r, l) }
	if rnd.IntN(2) == 0 {
		r.addr = func(host string) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, host[1] % 3}) }
	}
	left := w.order
	r.onStep = func(Work) []Item {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := min(len(left), rnd.IntN(40))
		add := left[:n]
		left = left[n:]
		r.intake = nil // what step counts as left
		if len(left) > 0 {
			r.intake = [][]Item{nil}
		}
		return add
	}
	r.intake = [][]Item{nil}
	for i := 0; ; i++ {
		r.crash = rnd.IntN(3) > 0
		stop, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(60_000))*time.Millisecond)
		if i == 20 {
			stop, cancel = context.WithCancel(t.Context())
		}
		err := r.crawl(stop)
		cancel()
		if errors.Is(err, ErrExhausted) {
			break
		}
		if i == 20 {
			t.Fatal(err)
		}
		r.owed = maps.Clone(r.durable)
	}
	r.checkComplete(w)
}

func (r *rig) checkComplete(w *web) {
	for _, ref := range r.refused {
		r.concluded[ref.Item.URL.String()]++
	}
	for u := range w.pages {
		if n := r.concluded[u]; n != 1 {
			r.t.Errorf("%s concluded %d times", u, n)
		}
	}
}
