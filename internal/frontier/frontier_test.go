package frontier

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// rig runs a frontier with simulated workers and a step loop, in virtual time. It checks what no crawl may
// break: one lease per host, and no contact before the promised time.
type rig struct {
	t     testing.TB
	opt   Options
	fs    store.FS
	f     *Frontier
	db    *store.DB
	visit func(Lease) Exchange // called with mu held; takes time by r.sleep; Start and End are set by the rig
	addr  func(host string) netip.Addr

	mu       sync.Mutex
	out      map[string]bool      // hosts with a lease
	last     map[string]time.Time // end of the last contact
	contacts []contact
	refused  []Refused
	intake   [][]Item // batches that the next steps add
	onStep   func(Work) []Item
	steps    int

	crash     bool                 // stop drops everything at once, as kill -9 does
	owed      map[string]time.Time // next contact, by the rig's own reckoning
	durable   map[string]time.Time // owed as far as committed
	concluded map[string]int       // URLs by how often their end was committed
}

type contact struct {
	Lease
	start, end time.Time
	outcome    outcome.Outcome
}

type visitOf struct{ x Exchange }

func (v *visitOf) Exchange() *Exchange { return &v.x }

func newRig(t testing.TB, o Options) *rig {
	r := &rig{
		t: t, opt: o, fs: store.Memory(), out: map[string]bool{}, last: map[string]time.Time{},
		owed: map[string]time.Time{}, durable: map[string]time.Time{}, concluded: map[string]int{},
	}
	r.visit = func(Lease) Exchange {
		r.sleep(100 * time.Millisecond)
		return Exchange{Outcome: outcome.OK, Contact: true}
	}
	return r
}

func (r *rig) open() {
	r.t.Helper()
	db, err := store.Open(store.Options{Dir: "/state", FS: r.fs})
	if err != nil {
		r.t.Fatal(err)
	}
	r.db = db
	r.t.Cleanup(r.close)
	o := r.opt
	o.DB, o.Hasher = db, weburl.NewHasher([16]byte{1}, weburl.KeyRules{})
	if r.f, err = Open(o); err != nil {
		r.t.Fatal(err)
	}
	clear(r.out)
	r.verify()
}

// crawl opens, runs until Next ends or stop is done, and closes. It returns the error that ended Next.
func (r *rig) crawl(stop context.Context) error {
	r.t.Helper()
	r.open()
	run, cancelRun := context.WithCancel(context.Background())
	steps, cancelSteps := context.WithCancel(context.Background())
	var workers, stepper, runner sync.WaitGroup
	runner.Go(func() { _ = r.f.Run(run) })
	var end error
	var once sync.Once
	for range r.f.opt.Workers {
		workers.Go(func() {
			if err := r.work(stop); err != nil {
				once.Do(func() { end = err })
			}
		})
	}
	stepper.Go(func() {
		for {
			w, err := r.f.Collect(steps)
			if err != nil || r.crashed(stop) {
				return
			}
			r.step(w)
		}
	})
	workers.Wait()
	cancelRun()
	runner.Wait()
	stepper.Wait()
	cancelSteps()
	if !r.crashed(stop) {
		if err := r.f.Close(); err != nil {
			r.t.Fatal(err)
		}
	}
	r.close()
	return end
}

func (r *rig) crashed(stop context.Context) bool { return r.crash && stop.Err() != nil }

// close closes the store, once.
func (r *rig) close() {
	if r.db != nil {
		if err := r.db.Close(); err != nil {
			r.t.Error(err)
		}
	}
	r.db = nil
}

func (r *rig) work(ctx context.Context) error {
	for {
		l, err := r.f.Next(ctx)
		if err != nil {
			return err
		}
		r.begin(l)
		start := time.Now()
		if r.addr != nil {
			r.mu.Lock()
			delete(r.out, l.Host)
			addr := r.addr(l.Host)
			r.mu.Unlock()
			if !r.f.Claim(l, addr) {
				continue
			}
		}
		r.mu.Lock()
		x := r.visit(l)
		if r.addr != nil {
			x.Addr = r.addr(l.Host)
		}
		r.mu.Unlock()
		x.Start, x.End = start, time.Now()
		if r.crashed(ctx) {
			return ctx.Err()
		}
		r.end(l, &x)
		r.f.Done(l, &visitOf{x})
	}
}

func (r *rig) begin(l Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out[l.Host] {
		r.t.Errorf("%s: two leases at once", l.Host)
	}
	r.out[l.Host] = true
	if early := time.Until(r.owed[l.Host]); early > 0 {
		r.t.Errorf("%s: contacted %v too early, for %v", l.Host, early, l.Reason)
	}
	if last, ok := r.last[l.Host]; ok && time.Since(last) < l.Promised {
		r.t.Errorf("%s: contacted %v after the last contact, promised %v (%v)", l.Host, time.Since(last), l.Promised, l.Reason)
	}
}

func (r *rig) end(l Lease, x *Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.out, l.Host)
	if x.Contact {
		r.last[l.Host] = x.End
		r.owed[l.Host] = x.End.Add(r.rest(l, x))
	}
	r.contacts = append(r.contacts, contact{l, x.Start, x.End, x.Outcome})
}

// rest is the pacing rule as DESIGN §5 has it, back-off aside.
func (r *rig) rest(l Lease, x *Exchange) time.Duration {
	rest := max(x.CrawlDelay, x.RetryAfter)
	if r.f.opt.Fast(l.Host) {
		return rest
	}
	factor := time.Duration(max(0, r.f.opt.Factor) * float64(x.End.Sub(x.Start)))
	return max(rest, r.f.opt.Floor, min(factor, r.f.opt.MaxFactorGap))
}

// step is one step of the caller, as the crawler does it.
func (r *rig) step(w Work) {
	b := r.db.NewBatch()
	r.mu.Lock()
	r.steps++
	var add []Item
	if len(r.intake) > 0 {
		add, r.intake = r.intake[0], r.intake[1:]
	}
	r.mu.Unlock()
	if r.onStep != nil {
		add = append(add, r.onStep(w)...) // unlocked: it may sleep
	}
	err := errors.Join(r.f.Settle(b, w), r.f.Add(b, add))
	refused, err2 := r.f.Refill(b)
	if err := errors.Join(err, err2, b.Commit(true)); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.refused = append(r.refused, refused...)
	for i := range w.Finished {
		l, x := &w.Finished[i].Lease, w.Finished[i].Visit.Exchange()
		if x.Contact {
			r.durable[l.Host] = x.End.Add(r.rest(*l, x))
		}
		if l.Concludes(x.Outcome) && l.Kind != Robots {
			r.concluded[l.URL.String()]++
		}
	}
	left := len(r.intake)
	r.mu.Unlock()
	r.f.Applied(left)
	r.verify()
}

// verify checks both sides and that they agree. It runs on the step goroutine, between two steps.
func (r *rig) verify() {
	st := r.f.step
	err := st.verify()
	r.f.do(func(s *scheduler) {
		if e := s.verify(time.Now()); e != nil {
			err = errors.Join(err, e)
		}
		held := map[string]uint64{}
		for key, h := range s.table {
			held[key] += uint64(h.window.len() + len(h.later))
			if h.leaseID != 0 && !h.leaseLive {
				held[key]++
			}
		}
		for i := range s.finished {
			if fin := &s.finished[i]; fin.fate == leaves && !fin.Lease.live {
				held[fin.Lease.Host]++
			}
		}
		for key, q := range st.backs {
			if !q.draining && held[key] != q.handed {
				err = errors.Join(err, fmt.Errorf("host %q: %d URLs handed, %d held", key, q.handed, held[key]))
			}
			delete(held, key)
		}
		for key, n := range held {
			if n > 0 {
				err = errors.Join(err, fmt.Errorf("host %q: %d URLs held, none in its back queue", key, n))
			}
		}
	})
	err = errors.Join(err, r.verifyDisk())
	if err != nil {
		r.t.Errorf("step %d: %v", r.steps, err)
	}
}

// verifyDisk checks that every URL is in exactly one place on disk and that the counts are right.
func (r *rig) verifyDisk() error {
	st := r.f.step
	if st.ready+st.front.waiting() > 500 {
		return nil // too slow to do in every step
	}
	place := map[string]string{}
	var err error
	put := func(u weburl.URL, where string) {
		if was := place[u.String()]; was != "" {
			err = errors.Join(err, fmt.Errorf("%v is in %s and in %s", u, was, where))
		}
		place[u.String()] = where
	}
	ready, waiting := uint64(0), uint64(0)
	for p := range st.opt.Partitions {
		err = errors.Join(err, r.db.Scan(store.Range{Partition: store.Partition(p), Space: store.Ready}, func(id, v []byte) bool {
			items, e := DecodeItems(v)
			if e != nil {
				err = errors.Join(err, e)
				return false
			}
			ready++
			put(items[0].URL, "ready")
			return true
		}))
	}
	err = errors.Join(err, st.front.each(func(_ store.Partition, it *Item) bool {
		waiting++
		put(it.URL, "waiting")
		return true
	}))
	if ready != st.ready || waiting != st.front.waiting() {
		err = errors.Join(err, fmt.Errorf("%d ready and %d waiting on disk, counted %d and %d", ready, waiting, st.ready, st.front.waiting()))
	}
	return err
}

// sleep is for visit: others go on meanwhile.
func (r *rig) sleep(d time.Duration) {
	r.mu.Unlock()
	defer r.mu.Lock()
	time.Sleep(d)
}

func item(t testing.TB, url string) Item {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	it := Item{URL: u}
	copy(it.FP[:], fmt.Sprintf("%16.16s", fmt.Sprint(len(url), url[max(0, len(url)-14):])))
	return it
}

func pages(t testing.TB, host string, n int) []Item {
	var items []Item
	for i := range n {
		items = append(items, item(t, fmt.Sprintf("http://%s/%d", host, i)))
	}
	return items
}

// times returns the gaps between the contacts of a host.
func (r *rig) gaps(host string) []time.Duration {
	var gaps []time.Duration
	var last time.Time
	for _, c := range r.contacts {
		if c.Host != host {
			continue
		}
		if !last.IsZero() {
			gaps = append(gaps, c.start.Sub(last))
		}
		last = c.end
	}
	return gaps
}

func TestOneHostIsPacedExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 4})
		r.intake = [][]Item{pages(t, "a.example", 50)}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != 50 {
			t.Fatalf("%d contacts, want 50", len(r.contacts))
		}
		for i, g := range r.gaps("a.example") {
			if g != time.Second {
				t.Errorf("gap %d is %v, want 1s", i, g)
			}
		}
		for i, c := range r.contacts {
			if want := fmt.Sprintf("/%d", i); c.URL.Path() != want {
				t.Fatalf("contact %d is %s, want %s", i, c.URL.Path(), want)
			}
		}
	})
}
