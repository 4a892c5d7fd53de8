package frontier

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"decorum/internal/store"
)

// Ends of Next, tested with errors.Is.
var (
	// ErrExhausted says that no URL is left anywhere.
	ErrExhausted = errors.New("frontier: no URL is left")
	// ErrLimit says that MaxPages pages are concluded and nothing is in flight.
	ErrLimit = errors.New("frontier: the page limit is reached")
	// ErrClosed says that Run has ended.
	ErrClosed = errors.New("frontier: closed")
)

// Frontier hands out URLs politely. See the package comment for who may call what.
type Frontier struct {
	opt  Options
	step *step // owned by the step goroutine

	// The scheduler belongs to whoever took it from free: Run while it runs, otherwise one caller at a time.
	free    chan *scheduler
	stopped chan struct{} // closed when Run ends

	leases  chan Lease
	ends    chan error
	claims  chan claim
	dones   chan Finished
	works   chan Work
	updates chan update
	calls   chan func(*scheduler)
	kick    chan struct{}

	idle atomic.Int64 // workers inside Next
}

type claim struct {
	id     uint64
	from   *host
	addr   netip.Addr
	answer chan bool
}

// Open rebuilds the frontier from the store, or begins a new one.
func Open(o Options) (*Frontier, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f := &Frontier{
		opt:     o,
		free:    make(chan *scheduler, 1),
		stopped: make(chan struct{}),
		leases:  make(chan Lease),
		ends:    make(chan error),
		claims:  make(chan claim),
		dones:   make(chan Finished),
		works:   make(chan Work),
		updates: make(chan update),
		calls:   make(chan func(*scheduler)),
		kick:    make(chan struct{}, 1),
	}
	return f, f.open()
}

// open rebuilds both sides from the store.
func (f *Frontier) open() error {
	now, b := time.Now(), f.opt.DB.NewBatch()
	defer b.Discard()
	f.step = newStep(&f.opt)
	known, err := f.step.loadCounts()
	if err != nil {
		return err
	}
	if known {
		if err := f.step.noteRestart(b, now); err != nil {
			return err
		}
		if err := f.step.restore(); err != nil {
			return err
		}
	}
	s := newScheduler(&f.opt, f.step.restart)
	s.concluded = f.step.concluded
	s.apply(f.step.applied(-1), now)
	s.hungerAt = now // the first step need not wait
	f.free <- s
	if f.opt.ReadOnly {
		return nil
	}
	b.Delete(cleanKey())
	return b.Commit(true)
}

// Run schedules until ctx is done, and returns the error of ctx. It may be called once.
func (f *Frontier) Run(ctx context.Context) error {
	s := <-f.free
	defer close(f.stopped)
	defer func() { f.free <- s }()
	return s.run(ctx, f)
}

// Close writes what the next Open needs to begin without a pause. Call it after Run and the last Applied.
// With a lease still out the stop is not clean, and the next Open makes every host wait one gap. Nor is it after a step
// that failed: what memory knows is not what is on disk then, so nothing is written.
func (f *Frontier) Close() error {
	if f.opt.ReadOnly || f.step.begun {
		return nil
	}
	s := <-f.free
	defer func() { f.free <- s }()
	b := f.opt.DB.NewBatch()
	for i := range s.finished { // visited, but never collected: the URL stays, its host must rest
		fin := &s.finished[i]
		q, err := f.step.back(fin.Lease.Host, fin.Lease.Partition)
		if err != nil {
			b.Discard()
			return err
		}
		q.state, q.dirty = fin.state, true
	}
	f.step.save(b)
	if s.leased == 0 {
		b.Set(cleanKey(), nil)
	}
	return b.Commit(true)
}

// Next waits until some host is due and leases it. It fails with ErrExhausted, ErrLimit, ErrClosed or the
// error of ctx.
func (f *Frontier) Next(ctx context.Context) (Lease, error) {
	f.idle.Add(1)
	defer f.idle.Add(-1)
	select {
	case l := <-f.leases:
		return l, nil
	case err := <-f.ends:
		return Lease{}, err
	case <-f.stopped:
		return Lease{}, ErrClosed
	case <-ctx.Done():
		return Lease{}, ctx.Err()
	}
}

// Claim asks for the address that the lease is about to contact. False means that the address is busy or
// resting; the lease has then been taken back untouched, and its host will be leased again in its turn.
func (f *Frontier) Claim(l Lease, addr netip.Addr) bool {
	c := claim{id: l.id, from: l.from, addr: addr, answer: make(chan bool, 1)}
	select {
	case f.claims <- c:
		return <-c.answer
	case s := <-f.free:
		defer func() { f.free <- s }()
		return s.claim(c, time.Now())
	}
}

// Done ends a lease and frees the host at once; the visit becomes durable with the next group commit. A
// second Done of a lease is ignored.
func (f *Frontier) Done(l Lease, v Visit) {
	d := Finished{Lease: l, Visit: v}
	select {
	case f.dones <- d:
	case s := <-f.free:
		s.done(d, time.Now())
		f.free <- s
	}
}

// Collect waits until a step is worthwhile: the oldest finished visit is CommitDelay old, many wait,
// workers starve while URLs may be had, or Kick was called. After Run has ended it returns at once, with
// ErrClosed when nothing is left to settle.
func (f *Frontier) Collect(ctx context.Context) (Work, error) {
	select {
	case w := <-f.works:
		f.step.collect(w.needs)
		return w, nil
	case <-f.stopped:
		return f.rest()
	case <-ctx.Done():
		return Work{}, ctx.Err()
	}
}

// rest collects what is left after Run has ended.
func (f *Frontier) rest() (Work, error) {
	s := <-f.free
	defer func() { f.free <- s }()
	w := s.work(false, 0)
	s.collected(time.Now())
	if len(w.Finished) == 0 {
		return Work{}, ErrClosed
	}
	f.step.collect(w.needs)
	return w, nil
}

// Kick makes Collect return soon, even with nothing.
func (f *Frontier) Kick() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Settle writes what became of the finished visits.
func (f *Frontier) Settle(b *store.Batch, w Work) error { return f.step.settle(b, w) }

// Add writes new URLs, in the order in which they were first seen.
func (f *Frontier) Add(b *store.Batch, items []Item) error { return f.step.add(b, items) }

// Refill moves URLs from front to back queues and loads windows, within a bound on work. It returns URLs of
// hosts that were given up or have spent their budget; they are no longer in the frontier.
func (f *Frontier) Refill(b *store.Batch) ([]Refused, error) { return f.step.refill(b) }

// Applied says that the batch is committed. intake is the number of links not yet known to be new: as long
// as it is positive, or Applied was never called, the crawl is not exhausted.
func (f *Frontier) Applied(intake int) {
	u := f.step.applied(intake)
	f.step.check()
	select {
	case f.updates <- u:
	case s := <-f.free:
		s.apply(u, time.Now())
		f.free <- s
	}
}

// do runs fn where the scheduler's state may be touched.
func (f *Frontier) do(fn func(*scheduler)) {
	done := make(chan struct{})
	select {
	case f.calls <- func(s *scheduler) { fn(s); close(done) }:
		<-done
	case s := <-f.free:
		fn(s)
		f.free <- s
	}
}

// Pause stops leases until Resume; those out are unaffected.
func (f *Frontier) Pause(reason string) {
	f.do(func(s *scheduler) { s.paused = cmp.Or(reason, "paused") })
}

// Resume ends a pause.
func (f *Frontier) Resume() { f.do(func(s *scheduler) { s.paused = "" }) }
