package urlseen

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

// However fast URLs arrive, recent keys and runs stay bounded: Step waits instead.
func TestStepWaitsForTheBackground(t *testing.T) {
	const recent, batch, maxRuns = 64, 50, 2
	b := newBed(t, Options{Memory: 1 << 20, RecentKeys: recent, MaxRuns: maxRuns})
	defer b.close()
	r := rand.New(rand.NewPCG(21, 22))
	for range 400 {
		b.step(hostKeys(r, 5, batch/5, 64)...)
		if n := b.s.active.n; n >= recent+batch {
			t.Fatalf("%d recent keys, want less than %d", n, recent+batch)
		}
		low := 0
		for _, run := range b.s.runs {
			if b.s.tier(run) == 0 {
				low++
			}
		}
		if low > lagRuns*maxRuns+1 {
			t.Fatalf("%d runs of the lowest tier", low)
		}
	}
	if st := b.s.Stats(); st.Known != 400*batch || st.Waits == 0 {
		t.Errorf("%+v: want %d known, and waits", st, 400*batch)
	}
}

// Others may ask while the step side works; what was applied before they ask is known.
func TestContainsIsSafeForConcurrentUse(t *testing.T) {
	b := newBed(t, Options{Memory: 1 << 20, RecentKeys: 100, MaxRuns: 2})
	defer b.close()
	var (
		mu      sync.Mutex
		applied int
		wg      sync.WaitGroup
		stop    = make(chan struct{})
	)
	for w := range 2 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				n := applied
				mu.Unlock()
				i := r.IntN(n + 1)
				if ok, err := b.s.Contains(key(i%64, i/20, i)); err != nil || i < n && !ok {
					t.Errorf("key %d of %d: %v, %v", i, n, ok, err)
					return
				}
				if st := b.s.Stats(); st.Known < uint64(n) {
					t.Errorf("%d known, %d applied", st.Known, n)
				}
			}
		})
	}
	for i := 0; i < 4000; i += 40 {
		var keys []Key
		for j := range 40 {
			keys = append(keys, key((i+j)%64, (i+j)/20, i+j))
		}
		b.step(keys...)
		mu.Lock()
		applied = i + 40
		mu.Unlock()
	}
	close(stop)
	wg.Wait()
}

// The crawl's tests run in virtual time; the background must not keep a bubble from idling.
func TestRunsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Options{Memory: 1 << 20, RecentKeys: 10})
		for i := range 100 {
			b.step(key(1, i, i))
		}
		synctest.Wait()
		b.close()
	})
}
