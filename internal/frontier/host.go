package frontier

import (
	"slices"
	"time"

	"decorum/internal/store"
)

// host is a host in memory: its manners and the part of its back queue that is loaded. It belongs to the
// scheduler. It is in exactly one place, told by phase: with a worker (Fetching), in the queue of due hosts
// (Due), in the queue of its address (Address), in the heap (Resting, BackingOff, Parked, or Idle until its
// rest is over), or nowhere but in the table.
type host struct {
	key  string
	part store.Partition
	manners

	phase Phase
	heap  int // slot in the heap

	window deque[queued] // URLs that may go now, in order
	later  []queued      // retries that wait, by NotBefore
	urgent []Item        // contacts that go first

	backlog uint64 // URLs of the back queue that are not in memory
	waiting uint64 // URLs in front queues, as far as counted
	low     bool   // more URLs were asked for

	leaseID   uint64 // 0 if not leased
	leasedAt  time.Time
	leased    queued
	leaseLive bool // the lease is for an urgent contact
	unsettled int  // finished visits not yet durable

	addr        *address // it waits for, has reserved, or holds
	addrWaited  bool     // the last rest ended with its address
	parkedUntil time.Time
	woken       bool // Wake came while it was leased
}

func (h *host) slot() *int { return &h.heap }

// queued is a URL of a back queue with its place there.
type queued struct {
	seq  uint64
	item Item
}

// next returns when the host may be leased and the phase that then begins: Due if something can be leased.
func (h *host) next(hostPages uint64) (time.Time, Phase) {
	due := h.due()
	switch {
	case len(h.urgent) > 0:
		return due, Due
	case (h.givenUp || h.spent(hostPages)) && h.backlog+uint64(h.window.len()+len(h.later)) > 0:
		return due, GivenUp
	case !h.parkedUntil.IsZero():
		return h.parkedUntil, Parked
	case h.window.len() > 0:
		return due, Due
	case len(h.later) > 0:
		return latest(due, h.later[0].item.NotBefore), Due
	}
	return due, Idle
}

// want is how many URLs to hold in memory: what the host can use up in two group commits, so that its
// window is filled again before it is empty.
func (h *host) want(o *Options) int {
	if h.lastEnd.IsZero() {
		return o.firstWant(h.key)
	}
	return min(o.Window, max(firstWindow, int(2*maxCommitDelay/(min(h.rest, time.Hour)+min(h.lastTook, time.Hour)+1))))
}

// firstWant is want of a host of which nothing is known.
func (o *Options) firstWant(key string) int {
	if o.Fast(key) {
		return o.Window
	}
	return min(o.Window, firstWindow)
}

// spent reports whether the host's budget of pages is used up.
func (h *host) spent(hostPages uint64) bool { return hostPages > 0 && h.pages >= hostPages }

// promote moves retries whose time has come to the head of the window.
func (h *host) promote(now time.Time) {
	n := 0
	for n < len(h.later) && !h.later[n].item.NotBefore.After(now) {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		h.window.pushFront(h.later[i])
	}
	h.later = slices.Delete(h.later, 0, n)
}

// postpone keeps a URL until its NotBefore.
func (h *host) postpone(q queued) {
	i, _ := slices.BinarySearchFunc(h.later, q.item.NotBefore, func(l queued, t time.Time) int {
		return l.item.NotBefore.Compare(t)
	})
	h.later = slices.Insert(h.later, i, q)
}

// peek returns what the next lease of a due host is for.
func (h *host) peek() (q *queued, live bool) {
	if len(h.urgent) > 0 {
		return &queued{item: h.urgent[0]}, true
	}
	return h.window.front(), false
}

// take removes what peek returned and makes it the lease.
func (h *host) take() {
	if len(h.urgent) > 0 {
		h.leased, h.leaseLive = queued{item: h.urgent[0]}, true
		h.urgent = slices.Delete(h.urgent, 0, 1)
		return
	}
	h.leased, h.leaseLive = h.window.popFront(), false
}

// putBack returns the leased URL, untouched, to the head of the line.
func (h *host) putBack() {
	if h.leaseLive {
		h.urgent = slices.Insert(h.urgent, 0, h.leased.item)
	} else {
		h.window.pushFront(h.leased)
	}
}

// state describes the host.
func (h *host) state() HostState {
	st := h.manners.state(h.key)
	st.Phase, st.Queued, st.Waiting, st.ETA = h.phase, h.queued(), h.waiting, h.eta()
	return st
}

// queued is the number of URLs in the host's back queue.
func (h *host) queued() uint64 {
	n := h.backlog + uint64(h.window.len()+len(h.later))
	if h.leaseID != 0 && !h.leaseLive {
		n++
	}
	return n
}

// eta is how long the host's URLs take at its present pace.
func (h *host) eta() time.Duration {
	return time.Duration(min(float64(h.queued()+h.waiting)*(float64(h.rest)+float64(h.lastTook)), 1<<62))
}

// state describes a host of which only the manners are known.
func (m *manners) state(key string) HostState {
	st := HostState{
		Host: key, LastEnd: m.lastEnd, LastDuration: m.lastTook, Gap: m.rest, Reason: m.reason,
		CrawlDelay: m.crawlDelay, Failures: m.failures, LastStatus: m.lastStatus,
		Pages: m.pages, Errors: m.errors, Bytes: m.bytes,
	}
	if !m.restFrom.IsZero() {
		st.Due = m.due()
	}
	if m.givenUp {
		st.Phase = GivenUp
	}
	return st
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
