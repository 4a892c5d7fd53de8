package frontier

import (
	"fmt"
	"time"
)

// check panics when a belief of the scheduler is broken. Only with the build tag invariants.
func (s *scheduler) check() {
	if invariants {
		if err := s.verify(time.Now()); err != nil {
			panic(err)
		}
	}
}

// verify returns the first broken belief of the scheduler.
func (s *scheduler) verify(now time.Time) error {
	var phases [phases]int
	leased, urgent := 0, len(s.homeless)
	for key, h := range s.table {
		if h.key != key {
			return fmt.Errorf("host %q is in the table as %q", h.key, key)
		}
		if err := s.verifyHost(h, now); err != nil {
			return fmt.Errorf("host %q (%v): %w", key, h.phase, err)
		}
		phases[h.phase]++
		urgent += len(h.urgent)
		if h.leaseID != 0 {
			leased++
		}
	}
	switch {
	case phases != s.phases:
		return fmt.Errorf("hosts by phase %v, counted %v", phases, s.phases)
	case leased != s.leased:
		return fmt.Errorf("%d leases, counted %d", leased, s.leased)
	case urgent > s.urgent:
		return fmt.Errorf("%d urgent contacts, counted %d", urgent, s.urgent)
	case s.opt.MaxPages > 0 && s.concluded > s.opt.MaxPages:
		return fmt.Errorf("%d pages concluded of at most %d", s.concluded, s.opt.MaxPages)
	}
	return s.verifyQueues()
}

func (s *scheduler) verifyHost(h *host, now time.Time) error {
	inHeap := h.heap > 0
	if (h.leaseID != 0) != (h.phase == Fetching) {
		return fmt.Errorf("lease %d", h.leaseID)
	}
	switch h.phase {
	case Fetching, Due, Address:
		if inHeap {
			return fmt.Errorf("in the heap")
		}
	case Resting, BackingOff, Parked:
		if !inHeap {
			return fmt.Errorf("not in the heap")
		}
	case Idle:
		if h.window.len()+len(h.later)+len(h.urgent) > 0 {
			return fmt.Errorf("%d URLs, %d later, %d urgent", h.window.len(), len(h.later), len(h.urgent))
		}
	}
	switch h.phase {
	case Due:
		if h.window.len()+len(h.urgent) == 0 || h.due().After(now) {
			return fmt.Errorf("%d URLs, due %v", h.window.len(), h.due().Sub(now))
		}
	case Address:
		if h.addr == nil || h.addr.holder == h {
			return fmt.Errorf("does not wait for an address")
		}
	}
	return nil
}

func (s *scheduler) verifyQueues() error {
	for i, e := range s.heap {
		if e.v.heap != i+1 || s.table[e.v.key] != e.v {
			return fmt.Errorf("heap entry %d (%q) is not the table's", i, e.v.key)
		}
		if i > 0 && e.at.Before(s.heap[(i-1)/2].at) {
			return fmt.Errorf("heap entry %d is due before its parent", i)
		}
	}
	for ip, a := range s.addresses.table {
		if a.holder != nil && a.holder.addr != a {
			return fmt.Errorf("address %v is held by %q, which does not know", ip, a.holder.key)
		}
		if (a.heap > 0) != (a.holder == nil && len(a.waiting) > 0) {
			return fmt.Errorf("address %v: %d hosts wait, in heap %v", ip, len(a.waiting), a.heap > 0)
		}
		for _, h := range a.waiting {
			if h.addr != a || h.phase != Address {
				return fmt.Errorf("host %q (%v) is in the queue of %v", h.key, h.phase, ip)
			}
		}
	}
	return nil
}

// check panics when a belief of the step side is broken. Only with the build tag invariants.
func (st *step) check() {
	if invariants {
		if err := st.verify(); err != nil {
			panic(err)
		}
	}
}

// verify returns the first broken belief of the step side, between two steps.
func (st *step) verify() error {
	ready, inHand := uint64(0), 0
	for key, q := range st.backs {
		switch {
		case q.key != key || q.count == 0 || q.touched || q.grant != nil:
			return fmt.Errorf("back queue %q: key %q, %d URLs, touched %v", key, q.key, q.count, q.touched)
		case q.handed > q.count || q.head > q.cursor || q.cursor > q.tail || q.count > q.tail-q.head:
			return fmt.Errorf("back queue %q: %d of %d handed, head %x cursor %x tail %x",
				key, q.handed, q.count, q.head, q.cursor, q.tail)
		}
		ready += q.count
		inHand++
	}
	if ready != st.ready || inHand != st.inHand {
		return fmt.Errorf("%d URLs of %d hosts ready, counted %d of %d", ready, inHand, st.ready, st.inHand)
	}
	return st.verifyCensus()
}

func (st *step) verifyCensus() error {
	if !st.census.exact() {
		return nil
	}
	waiting, fresh := uint64(0), 0
	for key, n := range st.census.hosts {
		waiting += uint64(n)
		if st.backs[key] == nil {
			fresh++
		}
	}
	if waiting != st.front.waiting() || fresh != st.census.fresh {
		return fmt.Errorf("census: %d URLs waiting, %d fresh hosts, counted %d, %d",
			waiting, fresh, st.front.waiting(), st.census.fresh)
	}
	return nil
}
