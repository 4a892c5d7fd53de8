package frontier

import (
	"cmp"
	"slices"
	"time"
)

// Phase is what a host does at the moment.
type Phase uint8

const (
	Idle       Phase = iota // nothing to fetch
	Fetching                // leased
	Due                     // waits for a worker
	Resting                 // waits for its next contact time
	BackingOff              // the same after a failure
	Address                 // waits for its address
	Parked                  // waits for an answer from another host
	GivenUp                 // failed too often
	phases                  // how many there are
)

// String returns the name used in records.
func (p Phase) String() string {
	if p < phases {
		return [...]string{"idle", "fetching", "due", "resting", "backing_off", "address", "parked", "given_up"}[p]
	}
	return "unknown"
}

// HostState is a host as the frontier sees it.
type HostState struct {
	Host         string // politeness key
	Phase        Phase
	Queued       uint64        // URLs in its back queue
	Waiting      uint64        // URLs in the front queues, as far as counted
	Due          time.Time     // next contact; zero if it may be contacted now
	LastEnd      time.Time     // end of the last contact; zero if none
	LastDuration time.Duration // of the last contact
	Gap          time.Duration // rest after the last contact
	Reason       GapReason     // for that rest
	CrawlDelay   time.Duration
	Failures     int // host failures in a row
	LastStatus   int // HTTP status; 0 if none
	Pages        uint64
	Errors       uint64
	Bytes        uint64
	ETA          time.Duration // until its URLs are all fetched at the present gap
}

// Snapshot is the state of the frontier at one moment.
type Snapshot struct {
	Intake      int      // links not yet known to be new
	Waiting     []uint64 // URLs in the front queues; index 0 is level 1
	Ready       uint64   // URLs in back queues, those leased included
	Urgent      int      // contacts that go ahead of everything
	Leased      int
	Uncommitted int    // finished visits not yet durable
	Concluded   uint64 // pages with a final outcome, over all runs

	Hosts   [phases]int // hosts in memory by Phase
	InHand  int         // back queues: B
	NextDue time.Time   // of the host that is due next; zero if a host is due now or none has URLs
	Idle    int         // workers that wait for a host
	Paused  string      // why leases are stopped; "" if they are not
	Wakeups uint64      // rounds of the scheduler

	Longest HostState   // of the host whose URLs will take longest; zero if no rows were asked for
	Rows    []HostState // of the hosts with most URLs queued, most first
}

// WaitingTotal returns the number of URLs in all front queues.
func (s *Snapshot) WaitingTotal() uint64 {
	var n uint64
	for _, w := range s.Waiting {
		n += w
	}
	return n
}

// snapshot describes the scheduler's state.
func (s *scheduler) snapshot(rows int) Snapshot {
	sn := Snapshot{
		Intake: max(0, s.disk.intake), Waiting: slices.Clone(s.disk.waiting), Ready: s.disk.ready,
		Urgent: s.urgent, Leased: s.leased, Uncommitted: s.unsettled, Concluded: s.concluded,
		Hosts: s.phases, InHand: s.disk.inHand, Paused: s.paused, Wakeups: s.wakeups,
	}
	if s.phases[Due] == 0 {
		sn.NextDue = s.nextDue()
	}
	if rows <= 0 {
		return sn
	}
	sn.Rows = make([]HostState, 0, rows+1)
	for _, h := range s.table {
		sn.consider(h, rows)
	}
	return sn
}

// nextDue returns the earliest time in the heap at which a host becomes due. Idle hosts, which have no URLs,
// may stand before it: only the few that rest for less time than it are looked at.
func (s *scheduler) nextDue() time.Time {
	var at time.Time
	var look func(i int)
	look = func(i int) {
		if i >= len(s.heap) || (!at.IsZero() && !s.heap[i].at.Before(at)) {
			return
		}
		if p := s.heap[i].v.phase; p == Resting || p == BackingOff {
			at = s.heap[i].at
			return
		}
		look(2*i + 1)
		look(2*i + 2)
	}
	look(0)
	return at
}

// consider puts a host into the rows if it has enough queued, and makes it the longest if it is. It is called
// for every host in memory, so it first looks whether either can be.
func (sn *Snapshot) consider(h *host, rows int) {
	longer := h.eta() > sn.Longest.ETA
	if last := len(sn.Rows) - 1; !longer && len(sn.Rows) == rows && h.queued()+h.waiting < sn.Rows[last].Queued+sn.Rows[last].Waiting {
		return
	}
	st := h.state()
	if longer {
		sn.Longest = st
	}
	i, _ := slices.BinarySearchFunc(sn.Rows, st, compareRows)
	if i < rows {
		sn.Rows = slices.Insert(sn.Rows, i, st)
		sn.Rows = sn.Rows[:min(len(sn.Rows), rows)]
	}
}

// compareRows orders by URLs queued, most first, then by name.
func compareRows(a, b HostState) int {
	if c := cmp.Compare(b.Queued+b.Waiting, a.Queued+a.Waiting); c != 0 {
		return c
	}
	return cmp.Compare(a.Host, b.Host)
}
