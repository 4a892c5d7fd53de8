package frontier

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

type heapItem struct{ pos, key int }

func (h *heapItem) slot() *int { return &h.pos }

func TestHeapAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Unix(1_700_000_000, 0)
		var h timeHeap[*heapItem]
		items := map[int]*heapItem{}
		want := map[int]time.Time{}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				key := rapid.IntRange(0, 20).Draw(t, "key")
				at := base.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "at")))
				if items[key] == nil {
					items[key] = &heapItem{key: key}
				}
				h.set(items[key], at)
				want[key] = at
			},
			"remove": func(t *rapid.T) {
				key := rapid.IntRange(0, 20).Draw(t, "key")
				if items[key] != nil {
					h.remove(items[key])
					delete(want, key)
				}
			},
			"pop": func(t *rapid.T) {
				now := base.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "now")))
				v, ok := h.pop(now)
				due := slices.SortedFunc(maps.Values(want), time.Time.Compare)
				if any := len(due) > 0 && !due[0].After(now); ok != any {
					t.Fatalf("pop %v, want %v", ok, any)
				}
				if ok {
					if !want[v.key].Equal(due[0]) || v.pos != 0 {
						t.Fatalf("popped %v, the earliest is %v", want[v.key], due[0])
					}
					delete(want, v.key)
				}
			},
			"": func(t *rapid.T) {
				if len(h) != len(want) {
					t.Fatalf("%d in the heap, want %d", len(h), len(want))
				}
			},
		})
	})
}

func TestDequeAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q deque[int]
		var want []int
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"back":  func(*rapid.T) { n++; q.pushBack(n); want = append(want, n) },
			"front": func(*rapid.T) { n++; q.pushFront(n); want = slices.Insert(want, 0, n) },
			"pop": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				front := *q.front()
				if v := q.popFront(); v != want[0] || front != v {
					t.Fatalf("popped %d after front %d, want %d", v, front, want[0])
				}
				want = want[1:]
			},
			"": func(t *rapid.T) {
				if q.len() != len(want) {
					t.Fatalf("length %d, want %d", q.len(), len(want))
				}
			},
		})
	})
}

func TestCensusAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCensus()
		waiting, inHand := map[string]int{}, map[string]bool{}
		key := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) { k := key.Draw(t, "host"); c.add(k, inHand[k]); waiting[k]++ },
			"take": func(t *rapid.T) {
				if k := key.Draw(t, "host"); waiting[k] > 0 {
					c.take(k, inHand[k])
					waiting[k]--
				}
			},
			"enter or leave": func(t *rapid.T) {
				k := key.Draw(t, "host")
				if inHand[k] = !inHand[k]; inHand[k] {
					c.entered(k)
				} else {
					c.left(k)
				}
			},
			"": func(t *rapid.T) {
				fresh := 0
				for k, n := range waiting {
					if n > 0 && !inHand[k] {
						fresh++
					}
				}
				if c.fresh != fresh || c.mayBring() != (fresh > 0) {
					t.Fatalf("%d fresh hosts, want %d", c.fresh, fresh)
				}
			},
		})
	})
}

func TestCensusOverflows(t *testing.T) {
	c := newCensus()
	for i := range maxCensus + 1 {
		c.add(fmt.Sprint(i), true)
	}
	if c.exact() || !c.mayBring() {
		t.Error("an overflowed census claims to be exact")
	}
	c.add("a", false)
	c.take("a", false)
	c.entered("a")
	c.left("a")
}

// Without a census every URL is still found, and a search that finds no host becomes rare.
func TestCrawlWithoutCensus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 20})
		r.intake = [][]Item{append(pages(t, "a.example", 3000), pages(t, "b.example", 5)...)}
		r.onStep = func(Work) []Item { r.f.step.census.overflow(); return nil }
		stop, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_ = r.crawl(stop)
		if got := len(r.gaps("b.example")); got != 4 {
			t.Errorf("%d gaps of the second host, want 4", got)
		}
		if got := len(r.gaps("a.example")); got < 10 {
			t.Errorf("%d gaps of the first host, want one per 2 s", got)
		}
	})
}

func TestFindAndHostState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Hour, Workers: 1})
		items := pages(t, "a.example", 40)
		for i := range items {
			items[i].FP[0] = byte(i)
		}
		r.intake = [][]Item{items}
		r.visit = func(l Lease) Exchange {
			if state, _, ok, err := r.f.Find(l.URL, l.FP); state != "leased" || !ok || err != nil {
				t.Errorf("the URL being visited is %q, %v, %v", state, ok, err)
			}
			r.sleep(time.Second)
			return Exchange{Outcome: outcome.OK, Contact: true, Status: 200}
		}
		stop, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		_ = r.crawl(stop)
		r.opt.ReadOnly = true
		r.open()
		for i, want := range map[int]string{0: "", 1: "", 2: "ready", 3: "ready", 39: "waiting"} {
			state, it, ok, err := r.f.Find(items[i].URL, items[i].FP)
			if state != want || ok != (want != "") || err != nil || (ok && it.URL != items[i].URL) {
				t.Errorf("URL %d is %q, %v, %v, %v; want %q", i, state, it.URL, ok, err, want)
			}
		}
		st, ok, err := r.f.HostState("a.example")
		if err != nil || !ok || st.Pages != 2 || st.Queued+st.Waiting != 38 || st.Gap != time.Hour || st.Reason != GapFloor || st.LastStatus != 200 {
			t.Errorf("host state %+v, %v, %v", st, ok, err)
		}
		if st, ok, err := r.f.HostState("unknown.example"); ok || err != nil {
			t.Errorf("unknown host: %+v, %v, %v", st, ok, err)
		}
		sn := r.f.Snapshot(5)
		if len(sn.Rows) != 1 || sn.Rows[0].Host != "a.example" || sn.Concluded != 2 || sn.WaitingTotal()+sn.Ready != 38 ||
			sn.NextDue.IsZero() || sn.Hosts[Resting] != 1 || sn.Longest.ETA < 38*time.Hour {
			t.Errorf("snapshot %+v", sn)
		}
		// Looking at a crawl does not make its stop unclean.
		if ok, err := r.db.Has(cleanKey()); !ok || err != nil {
			t.Errorf("clean mark: %v, %v", ok, err)
		}
	})
}

func TestSnapshotRowsAreTheLongestQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Hour, Workers: 1})
		for h := range 9 {
			r.intake = append(r.intake, pages(t, fmt.Sprintf("h%d.example", h), 1+h*h))
		}
		stop, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(50*time.Second, func() {
			sn := r.f.Snapshot(3)
			if len(sn.Rows) != 3 || sn.Rows[0].Host != "h8.example" || sn.Rows[2].Host != "h6.example" {
				t.Errorf("rows %+v", sn.Rows)
			}
			if sn.Longest.Host != "h8.example" || sn.Rows[0].Queued+sn.Rows[0].Waiting != 64 {
				t.Errorf("longest %+v", sn.Longest)
			}
		})
		_ = r.crawl(stop)
	})
}

func TestOptions(t *testing.T) {
	db, err := store.Open(store.Options{Dir: "/state", FS: store.Memory()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	good := Options{DB: db, Hasher: weburl.NewHasher([16]byte{}, weburl.KeyRules{})}
	good.EnsureDefaults()
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Options){
		"store":        func(o *Options) { o.DB = nil },
		"hasher":       func(o *Options) { o.Hasher = nil },
		"partitions":   func(o *Options) { o.Partitions = 1 << 16 },
		"fronts":       func(o *Options) { o.Fronts = 33 },
		"weights":      func(o *Options) { o.Weights = []float64{1} },
		"zero weight":  func(o *Options) { o.Weights[3] = 0 },
		"floor":        func(o *Options) { o.Floor = -1 },
		"backs":        func(o *Options) { o.Backs = -2 },
		"longest rest": func(o *Options) { o.LongestRest = -1 },
		"commit delay": func(o *Options) { o.CommitDelay = time.Second },
	} {
		o := good
		o.Weights = slices.Clone(good.Weights)
		spoil(&o)
		if err := o.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The number of front queues can be raised on resume, not lowered.
func TestFrontsOnResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Hour, Workers: 1, Fronts: 3})
		r.intake = [][]Item{pages(t, "a.example", 10)}
		stop, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = r.crawl(stop)
		r.opt.Fronts = 5
		r.open()
		r.close()
		r.opt.Fronts = 2
		db, err := store.Open(store.Options{Dir: "/state", FS: r.fs})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		o := r.opt
		o.DB, o.Hasher = db, weburl.NewHasher([16]byte{1}, weburl.KeyRules{})
		if _, err := Open(o); err == nil {
			t.Error("two front queues accepted for three")
		}
	})
}
