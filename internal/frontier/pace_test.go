package frontier

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
)

func TestFewHostsArePacedExactly(t *testing.T) {
	for _, hosts := range []int{1, 3, 10} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{Floor: time.Second, Workers: 20})
				var items []Item
				for h := range hosts {
					items = append(items, pages(t, fmt.Sprintf("h%d.example", h), 100)...)
				}
				r.intake = [][]Item{items}
				if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
					t.Fatal(err)
				}
				for h := range hosts {
					gaps := r.gaps(fmt.Sprintf("h%d.example", h))
					if len(gaps) != 99 {
						t.Fatalf("host %d: %d gaps, want 99", h, len(gaps))
					}
					for i, g := range gaps {
						if g != time.Second {
							t.Errorf("host %d: gap %d is %v, want 1s", h, i, g)
						}
					}
				}
				// A visit costs a lease, a Done, an expiry and its share of steps: no spin.
				r.f.do(func(s *scheduler) {
					if most := uint64(15 * 100 * hosts); s.wakeups > most {
						t.Errorf("%d rounds of the scheduler for %d visits, want at most %d", s.wakeups, 100*hosts, most)
					}
				})
			})
		})
	}
}

func TestGapIsTheLongestRest(t *testing.T) {
	exchange := func(x Exchange) Exchange {
		x.Contact = true
		if x.Outcome == outcome.None {
			x.Outcome = outcome.OK
		}
		return x
	}
	cases := []struct {
		name   string
		took   time.Duration
		x      Exchange
		gap    time.Duration
		reason GapReason
	}{
		{"floor", 10 * time.Millisecond, exchange(Exchange{}), time.Second, GapFloor},
		{"factor", 2 * time.Second, exchange(Exchange{}), 20 * time.Second, GapFactor},
		{"factor is clipped", 5 * time.Minute, exchange(Exchange{}), 10 * time.Minute, GapFactor},
		{"crawl-delay", 2 * time.Second, exchange(Exchange{CrawlDelay: time.Minute}), time.Minute, GapCrawlDelay},
		{"long crawl-delay is kept", 0, exchange(Exchange{CrawlDelay: 5 * time.Hour}), 5 * time.Hour, GapCrawlDelay},
		{"retry-after", 0, exchange(Exchange{Outcome: outcome.RateLimited, RetryAfter: time.Hour}), time.Hour, GapRetryAfter},
		{"back-off", 0, exchange(Exchange{Outcome: outcome.RateLimited, RetryAfter: time.Second}), 30 * time.Second, GapBackoff},
		{"no name server", 0, Exchange{Outcome: outcome.DNSFailure}, 30 * time.Second, GapBackoff},
		{"robots.txt unreachable", 0, Exchange{HostFailed: true, Contact: true}, 30 * time.Second, GapBackoff},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{Floor: time.Second, Workers: 2})
				r.intake = [][]Item{pages(t, "a.example", 2)}
				n := 0
				r.visit = func(Lease) Exchange {
					r.sleep(c.took)
					if n++; n == 1 {
						return c.x
					}
					return exchange(Exchange{})
				}
				if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
					t.Fatal(err)
				}
				second := r.contacts[1]
				if got := second.start.Sub(r.contacts[0].end); got != c.gap || second.Promised != c.gap || second.Reason != c.reason {
					t.Errorf("rested %v, promised %v for %v; want %v for %v", got, second.Promised, second.Reason, c.gap, c.reason)
				}
			})
		})
	}
}

func TestCrawlDelayStaysInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 1})
		r.intake = [][]Item{pages(t, "a.example", 5)}
		r.visit = func(Lease) Exchange {
			if len(r.contacts) == 0 {
				return Exchange{Contact: true, CrawlDelay: 7 * time.Second} // robots.txt
			}
			return Exchange{Contact: true, Outcome: outcome.OK, CrawlDelay: 7 * time.Second}
		}
		_ = r.crawl(t.Context())
		if gaps := r.gaps("a.example"); len(gaps) != 5 {
			t.Fatalf("%d gaps, want 5", len(gaps))
		} else {
			for _, g := range gaps {
				if g != 7*time.Second {
					t.Errorf("gap %v, want 7s", g)
				}
			}
		}
	})
}

func TestFastHostsHaveNoFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4, Fast: func(h string) bool { return h == "fast.example" }})
		r.intake = [][]Item{append(pages(t, "fast.example", 1000), pages(t, "a.example", 3)...)}
		began := time.Now()
		_ = r.crawl(t.Context())
		if took := time.Since(began); took > 110*time.Second {
			t.Errorf("1000 pages of 100 ms took %v", took)
		}
		if len(r.contacts) != 1003 {
			t.Errorf("%d contacts, want 1003", len(r.contacts))
		}
	})
}

// The adversarial trace of S2-14: a host empties its queue, other hosts take its place, it returns.
func TestHostStateOutlivesItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: 20 * time.Second, Workers: 3, Backs: 2})
		for round := range 20 {
			items := []Item{item(t, fmt.Sprintf("http://a.example/%d", round))}
			for h := range 3 {
				items = append(items, item(t, fmt.Sprintf("http://h%d-%d.example/", round, h)))
			}
			r.intake = append(r.intake, items)
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != 80 {
			t.Errorf("%d contacts, want 80", len(r.contacts))
		}
		for i, g := range r.gaps("a.example") {
			if g < 20*time.Second {
				t.Errorf("gap %d is %v, want at least 20s", i, g)
			}
		}
	})
}

func TestHostDueLongestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Factor: -1, Workers: 1})
		var items []Item
		for h := range 7 {
			items = append(items, pages(t, fmt.Sprintf("h%d.example", h), 30)...)
		}
		r.intake = [][]Item{items}
		left := map[string]int{}
		for _, it := range items {
			left[it.URL.Host()]++
		}
		r.visit = func(l Lease) Exchange {
			for other, due := range r.owed {
				if left[other] > 0 && due.Before(r.owed[l.Host]) {
					t.Errorf("%s, due at %v, went before %s, due at %v", l.Host, r.owed[l.Host], other, due)
				}
			}
			left[l.Host]--
			r.sleep(500 * time.Millisecond)
			return Exchange{Outcome: outcome.OK, Contact: true, CrawlDelay: time.Duration(1+l.Host[1]-'0') * 700 * time.Millisecond}
		}
		_ = r.crawl(t.Context())
		if len(r.contacts) != 210 {
			t.Errorf("%d contacts, want 210", len(r.contacts))
		}
	})
}

func TestAddressRestsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 50})
		var items []Item
		for h := range 50 {
			items = append(items, pages(t, fmt.Sprintf("h%d.example", h), 4)...)
		}
		r.intake = [][]Item{items}
		claims := 0
		r.addr = func(string) netip.Addr { claims++; return netip.MustParseAddr("192.0.2.1") }
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != 200 {
			t.Fatalf("%d contacts, want 200", len(r.contacts))
		}
		for i := 1; i < len(r.contacts); i++ {
			if gap := r.contacts[i].start.Sub(r.contacts[i-1].end); gap != 250*time.Millisecond {
				t.Errorf("contact %d: the address rested %v, want 250ms", i, gap)
			}
		}
		// Every visit asks once and at most once in vain: waking all that wait would ask 50 times.
		if claims > 3*200 {
			t.Errorf("%d addresses asked for in 200 visits", claims)
		}
	})
}

// A host may move to another address between being woken and asking again.
func TestAddressIsReleasedWhenTheHostMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 8})
		var items []Item
		for h := range 8 {
			items = append(items, pages(t, fmt.Sprintf("h%d.example", h), 10)...)
		}
		r.intake = [][]Item{items}
		n := byte(0)
		r.addr = func(string) netip.Addr { n++; return netip.AddrFrom4([4]byte{192, 0, 2, n % 3}) }
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != 80 {
			t.Errorf("%d contacts, want 80", len(r.contacts))
		}
	})
}

func TestManyRestingHostsCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts = 2000
		r := newRig(t, Options{Floor: time.Hour, Workers: 100, Backs: hosts})
		var items []Item
		for h := range hosts {
			items = append(items, pages(t, fmt.Sprintf("h%d.example", h), 2)...)
		}
		r.intake = [][]Item{items}
		stop, cancel := context.WithTimeout(t.Context(), 50*time.Minute)
		defer cancel()
		rounds := make(chan uint64, 2)
		for _, at := range []time.Duration{10 * time.Minute, 49 * time.Minute} {
			time.AfterFunc(at, func() { rounds <- r.f.Snapshot(0).Wakeups })
		}
		_ = r.crawl(stop)
		first, second := <-rounds, <-rounds
		if len(r.contacts) != hosts {
			t.Errorf("%d contacts in 50 minutes, want %d", len(r.contacts), hosts)
		}
		if second-first > 3 {
			t.Errorf("%d rounds of the scheduler while every host rested", second-first)
		}
	})
}
