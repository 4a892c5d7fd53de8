package frontier

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"decorum/internal/store"
	"decorum/internal/weburl"
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
	started chan struct{} // closed when Run begins
	stopped chan struct{} // closed when Run ends

	leases  chan Lease
	ends    chan error
	claims  chan claim
	dones   chan Finished
	works   chan Work
	updates chan update
	calls   chan func(*scheduler)
	kick    chan struct{}
	stir    chan struct{} // a worker began to wait

	idle    atomic.Int64 // workers inside Next
	curious atomic.Bool  // the scheduler wants to hear of idle workers
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
		started: make(chan struct{}),
		stopped: make(chan struct{}),
		leases:  make(chan Lease),
		ends:    make(chan error),
		claims:  make(chan claim),
		dones:   make(chan Finished),
		works:   make(chan Work),
		updates: make(chan update),
		calls:   make(chan func(*scheduler)),
		kick:    make(chan struct{}, 1),
		stir:    make(chan struct{}, 1),
	}
	return f, nil
}

// Run schedules until ctx is done. It may be called once.
func (f *Frontier) Run(ctx context.Context) error { return nil }

// Close writes what the next Open needs to begin without a pause. Call it after Run and the last Applied.
func (f *Frontier) Close() error { return nil }

// Next waits until some host is due and leases it. It fails with ErrExhausted, ErrLimit, ErrClosed or the
// error of ctx.
func (f *Frontier) Next(ctx context.Context) (Lease, error) { return Lease{}, ErrClosed }

// Claim asks for the address that the lease is about to contact. False means that the address is busy or
// resting; the lease has then been taken back untouched, and its host will be leased again in its turn.
func (f *Frontier) Claim(l Lease, addr netip.Addr) bool { return false }

// Done ends a lease and frees the host at once; the visit becomes durable with the next group commit. A
// second Done of a lease is ignored.
func (f *Frontier) Done(l Lease, v Visit) {}

// Collect waits until a step is worthwhile: the oldest finished visit is CommitDelay old, many wait,
// workers starve while URLs may be had, or Kick was called. After Run has ended it returns at once, with
// ErrClosed when nothing is left to settle.
func (f *Frontier) Collect(ctx context.Context) (Work, error) { return Work{}, ErrClosed }

// Kick makes Collect return soon, even with nothing.
func (f *Frontier) Kick() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Settle writes what became of the finished visits.
func (f *Frontier) Settle(b *store.Batch, w Work) error { return nil }

// Add writes new URLs, in the order in which they were first seen.
func (f *Frontier) Add(b *store.Batch, items []Item) error { return nil }

// Refill moves URLs from front to back queues and loads windows, within a bound on work. It returns URLs of
// hosts that were given up or have spent their budget; they are no longer in the frontier.
func (f *Frontier) Refill(b *store.Batch) ([]Refused, error) { return nil, nil }

// Applied says that the batch is committed. intake is the number of links not yet known to be new: as long
// as it is positive, or Applied was never called, the crawl is not exhausted.
func (f *Frontier) Applied(intake int) {}

// Pause stops leases until Resume; those out are unaffected.
func (f *Frontier) Pause(reason string) {}

// Resume ends a pause.
func (f *Frontier) Resume() {}

// Snapshot returns the state with at most rows rows of hosts. Without rows its cost does not depend on the
// number of hosts.
func (f *Frontier) Snapshot(rows int) Snapshot { return Snapshot{} }

// Find looks for a URL: "waiting", "ready" or "leased", or not ok. It may read all of a partition's queues.
func (f *Frontier) Find(u weburl.URL, fp weburl.Fingerprint) (state string, it Item, ok bool, err error) {
	return "", Item{}, false, nil
}

// HostState returns what is known about a host by its politeness key, or not ok.
func (f *Frontier) HostState(key string) (st HostState, ok bool, err error) {
	return HostState{}, false, nil
}

type (
	scheduler struct{}
	step      struct{}
	update    struct{}
	host      struct{}
	manners   struct{ due time.Time }
)
