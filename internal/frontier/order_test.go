package frontier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
)

// Shares of levels follow their weights as long as all have URLs (S2-20), and order within a level is kept.
func TestLevelsAreServedByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perLevel, draws = 3000, 4000
		r := newRig(t, Options{Floor: time.Second, Workers: 1, Fronts: 4, Seed: 7})
		r.open()
		next := map[uint8]int{}
		b := r.db.NewBatch()
		var items []Item
		for i := range perLevel {
			for level := range uint8(4) {
				it := item(t, fmt.Sprintf("http://h.example/%d/%d", level+1, i))
				it.Level = level + 1
				items = append(items, it)
			}
		}
		if err := r.f.Add(b, items); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(false); err != nil {
			t.Fatal(err)
		}
		r.f.Applied(0)
		b = r.db.NewBatch()
		defer b.Discard()
		served := [4]float64{}
		for range draws {
			it, _, ok, err := r.f.step.front.take(b)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if want := fmt.Sprintf("/%d/%d", it.Level, next[it.Level]); it.URL.Path() != want {
				t.Fatalf("took %s, want %s: a level is first in, first out", it.URL.Path(), want)
			}
			next[it.Level]++
			served[it.Level-1]++
		}
		chi := 0.0
		for i := range served {
			want := draws * math.Pow(2, float64(3-i)) / 15
			chi += (served[i] - want) * (served[i] - want) / want
		}
		if chi > 16.27 { // 3 degrees of freedom, p = 0.001
			t.Errorf("served %v, chi-square %.1f", served, chi)
		}
		if served[3] == 0 {
			t.Error("the last level starves")
		}
	})
}

func TestPrioritizer(t *testing.T) {
	f := step{opt: &Options{Fronts: 3, Prioritize: ByDepth}}
	for _, c := range []struct {
		it   Item
		want int
	}{
		{Item{}, 1},
		{Item{Depth: 1}, 2},
		{Item{Depth: 9}, 3},
		{Item{Depth: 1, Embed: true}, 1},
		{Item{Depth: 60000}, 3},
		{Item{Depth: 9, Kind: Sitemap}, 1},
		{Item{Depth: 9, Level: 2}, 2},
		{Item{Level: 200}, 3},
	} {
		if got := f.levelOf(&c.it) + 1; got != c.want {
			t.Errorf("%+v goes to level %d, want %d", c.it, got, c.want)
		}
	}
}

// In a crawl of one host a better URL found late overtakes all but the few that are already in hand.
func TestPriorityWithinOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 10, Fronts: 2, Weights: []float64{1, 1e-9}})
		var items []Item
		for _, it := range pages(t, "a.example", 500) {
			it.Level = 2
			items = append(items, it)
		}
		good := item(t, "http://a.example/good")
		good.Level = 1
		r.intake = [][]Item{items}
		r.onStep = func(Work) []Item {
			if r.steps == 20 {
				return []Item{good}
			}
			return nil
		}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		for i, c := range r.contacts {
			if c.URL == good.URL && i > 30 {
				t.Errorf("the best URL, found in step 20, was visited as number %d", i)
			}
		}
		if len(r.contacts) != 501 {
			t.Errorf("%d contacts, want 501", len(r.contacts))
		}
	})
}

// 99 % of the front queues belong to one host (S2-19): the others do not wait for it, and memory holds a
// window of it only.
func TestDominantHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dominant, others = 9900, 100
		r := newRig(t, Options{Floor: time.Second, Workers: 20})
		var items []Item
		for i := range dominant {
			items = append(items, item(t, fmt.Sprintf("http://dominant.example/%d", i)))
			if i%(dominant/others) == 0 {
				items = append(items, item(t, fmt.Sprintf("http://h%d.example/", i)))
			}
		}
		r.intake = [][]Item{items}
		var took time.Duration
		began, seen, most := time.Now(), 0, 0
		r.visit = func(l Lease) Exchange {
			if l.Host == "dominant.example" {
				r.f.do(func(*scheduler) { most = max(most, l.from.window.len()) })
			} else if seen++; seen == others {
				took = time.Since(began)
			}
			r.sleep(100 * time.Millisecond)
			return Exchange{Outcome: outcome.OK, Contact: true}
		}
		stop, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_ = r.crawl(stop)
		if gaps := r.gaps("dominant.example"); len(gaps) < 250 {
			t.Errorf("%d contacts of the dominant host in five minutes", len(gaps))
		}
		if took == 0 || took > 5*time.Second {
			t.Errorf("the other hosts took %v", took)
		}
		if most > r.f.opt.Window {
			t.Errorf("%d URLs of the dominant host in memory", most)
		}
	})
}

// The curve of DESIGN §5: with k = 10, B = 3T keeps workers busy 27 % of the time, (1+k)T hosts are needed,
// and the adaptive rule finds them.
func TestUtilisation(t *testing.T) {
	for _, c := range []struct {
		name     string
		backs    Backs
		low, top float64
	}{
		{"3x", Times3, 0.24, 0.30},
		{"6x", 60, 0.48, 0.58},
		{"11x", 110, 0.93, 1.01},
		{"adaptive", Adaptive, 0.95, 1.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const workers, hosts, each = 10, 300, 20
				r := newRig(t, Options{Workers: workers, Backs: c.backs, Factor: 10})
				var items []Item
				for i := range each {
					for h := range hosts {
						items = append(items, item(t, fmt.Sprintf("http://h%d.example/%d", h, i)))
					}
				}
				r.intake = [][]Item{items}
				busy := time.Duration(0)
				r.visit = func(Lease) Exchange {
					r.sleep(300 * time.Millisecond)
					busy += 300 * time.Millisecond
					return Exchange{Outcome: outcome.OK, Contact: true}
				}
				// Measured in the middle, where neither start nor the last URLs matter.
				var from, to time.Duration
				time.AfterFunc(10*time.Second, func() { r.mu.Lock(); from = busy; r.mu.Unlock() })
				time.AfterFunc(60*time.Second, func() { r.mu.Lock(); to = busy; r.mu.Unlock() })
				if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
					t.Fatal(err)
				}
				if got := float64(to-from) / float64(50*time.Second*workers); got < c.low || got > c.top {
					t.Errorf("workers were busy %.0f %% of the time, want %.0f to %.0f %%", 100*got, 100*c.low, 100*c.top)
				}
			})
		})
	}
}
