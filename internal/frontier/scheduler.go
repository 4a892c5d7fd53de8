package frontier

import (
	"context"
	"net/netip"
	"time"

	"decorum/internal/outcome"
)

// scheduler knows who may be contacted and when. It owns host table, heap, addresses and leases, and runs
// in one goroutine. It never reads the store.
type scheduler struct {
	opt *Options

	table     map[string]*host
	heap      timeHeap[*host]
	due       deque[*host] // may hold hosts that are due no more: their phase tells
	addresses addresses
	phases    [phases]int // hosts by phase
	lastID    uint64

	leased      int    // leases out
	leasedPages int    // of those, the ones that may conclude a page
	concluded   uint64 // pages
	urgent      int    // urgent contacts held here or on their way to the step side and back

	finished  []Finished
	lastGroup int       // visits in the group before, as a guess at this one
	oldest    time.Time // when the first of finished came
	unsettled int       // finished visits not yet durable
	low       []low     // hosts that need URLs, not yet reported
	eager     bool      // one of them will be due before a step comes by itself
	homeless  []Item    // urgent contacts with hosts that are not in memory
	kicked    bool

	disk      diskState // as of the last Applied
	hungerAt  time.Time // no step for hunger alone before that
	hungerGap time.Duration
	paused    string
	wakeups   uint64
	timer     *time.Timer
	timerAt   time.Time
}

func newScheduler(o *Options, restart time.Time) *scheduler {
	s := &scheduler{opt: o, table: map[string]*host{}, hungerGap: hungerPause}
	s.addresses = addresses{gap: max(0, o.IPGap), fast: o.FastAddr, table: map[netip.Addr]*address{}, sweep: minSweep}
	s.addresses.begin = restart.Add(s.addresses.gap)
	s.disk.intake = -1
	return s
}

// run is the one loop. It wakes for messages and for the earliest time at which something changes by itself.
func (s *scheduler) run(ctx context.Context, f *Frontier) error {
	s.timer = time.NewTimer(time.Hour)
	defer s.timer.Stop()
	s.timerAt = time.Time{}
	for {
		s.wakeups++
		now := time.Now()
		s.advance(now)
		s.check()
		lease, leases := s.offer(f.leases)
		work, works := s.offerWork(f, now)
		ends, end := s.offerEnd(f.ends)
		s.setTimer(now, works != nil)
		select {
		case leases <- lease:
			s.lease(lease, time.Now())
		case d := <-f.dones:
			s.drain(f, d)
		case c := <-f.claims:
			c.answer <- s.claim(c, time.Now())
		case works <- work:
			s.collected(time.Now())
		case u := <-f.updates:
			s.apply(u, time.Now())
		case call := <-f.calls:
			call(s)
		case <-f.kick:
			s.kicked = true
		case ends <- end:
		case <-s.timer.C:
			s.timerAt = time.Time{}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain takes all visits that are ready to be taken: one round of the loop for many.
func (s *scheduler) drain(f *Frontier, d Finished) {
	now := time.Now()
	for range s.opt.Workers {
		s.done(d, now)
		select {
		case d = <-f.dones:
		default:
			return
		}
	}
	s.done(d, now)
}

// setTimer arms the timer for the next moment at which something changes without a message.
func (s *scheduler) setTimer(now time.Time, workOffered bool) {
	var at time.Time
	consider := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.heap) > 0 {
		consider(s.heap[0].at)
	}
	if len(s.addresses.heap) > 0 {
		consider(s.addresses.heap[0].at)
	}
	if len(s.finished) > 0 && !workOffered {
		consider(s.oldest.Add(s.opt.CommitDelay))
	}
	if !workOffered && s.starving() {
		consider(s.hungerAt)
	}
	if at.Equal(s.timerAt) {
		return
	}
	s.timerAt = at
	s.timer.Stop()
	if !at.IsZero() {
		s.timer.Reset(max(0, at.Sub(now)))
	}
}

// advance does what time alone brings.
func (s *scheduler) advance(now time.Time) {
	for {
		h, ok := s.heap.pop(now)
		if !ok {
			break
		}
		s.place(h, now)
	}
	for {
		h, ok := s.addresses.wake(now)
		if !ok {
			return
		}
		h.addrWaited = true
		s.place(h, now)
	}
}

// place puts a host that is neither leased nor waiting for its address where it belongs now.
func (s *scheduler) place(h *host, now time.Time) {
	h.promote(now)
	if !h.parkedUntil.After(now) {
		h.parkedUntil = time.Time{}
	}
	at, phase := h.next(s.opt.HostPages)
	if at.After(now) {
		if phase == Due {
			phase = Resting
			if h.failures > 0 {
				phase = BackingOff
			}
		}
		s.heap.set(h, at)
		s.setPhase(h, phase)
	} else {
		s.heap.remove(h)
		if phase == Due && h.phase != Due {
			s.due.pushBack(h)
		}
		s.setPhase(h, phase)
	}
	if phase != Due && h.addr != nil {
		s.addresses.release(h, false, now)
	}
	if phase == Idle && !at.After(now) {
		s.idle(h)
	}
}

// idle handles a host that could be contacted but has no URL in memory: it is forgotten unless more URLs
// or its own record are on their way.
func (s *scheduler) idle(h *host) {
	if h.backlog > 0 {
		s.eager = true
		return
	}
	if h.unsettled == 0 && h.leaseID == 0 {
		s.phases[h.phase]--
		delete(s.table, h.key)
	}
}

func (s *scheduler) setPhase(h *host, p Phase) {
	s.phases[h.phase]--
	s.phases[p]++
	h.phase = p
}

// noteLow asks for more URLs for a host whose window is half empty.
func (s *scheduler) noteLow(h *host) {
	want := h.want(s.opt)
	if h.low || h.window.len() > want/2 || len(h.later) > maxLater || h.givenUp {
		return
	}
	h.low = true
	s.low = append(s.low, low{h.key, want - h.window.len()})
	if h.backlog+h.waiting > 0 && h.rest < s.opt.CommitDelay {
		s.eager = true // it will be due again before a step comes by itself
	}
}

// maxLater bounds the retries of one host in memory, each some 300 bytes: above it no URLs are loaded
// until some are tried.
const maxLater = 1024

// offer returns the next lease and the channel to send it on, or a nil channel if none may be sent.
func (s *scheduler) offer(leases chan Lease) (Lease, chan Lease) {
	h := s.head()
	if h == nil || s.paused != "" || s.unsettled >= s.opt.MaxUncommitted {
		return Lease{}, nil
	}
	q, live := h.peek()
	if q.item.Kind != Robots && s.limited() {
		return Lease{}, nil
	}
	l := Lease{
		Item: q.item, Host: h.key, Partition: h.part, LastEnd: h.lastEnd, Promised: h.rest, Reason: h.reason,
		Attempt: int(q.item.Attempt) + 1, Last: int(q.item.Attempt) >= max(0, s.opt.Retries),
		id: s.lastID + 1, seq: q.seq, from: h, live: live,
	}
	if h.addrWaited {
		l.Reason = GapIP
	}
	return l, leases
}

// limited reports whether another page in flight could exceed MaxPages.
func (s *scheduler) limited() bool {
	return s.opt.MaxPages > 0 && s.concluded+uint64(s.leasedPages) >= s.opt.MaxPages
}

// head returns the host that is due longest, or nil.
func (s *scheduler) head() *host {
	for s.due.len() > 0 {
		if h := *s.due.front(); h.phase == Due {
			return h
		}
		s.due.popFront()
	}
	return nil
}

// lease takes note that the offered lease was accepted.
func (s *scheduler) lease(l Lease, now time.Time) {
	h := s.due.popFront()
	h.take()
	s.lastID = l.id
	h.leaseID, h.leasedAt, h.addrWaited, h.woken = l.id, now, false, false
	s.setPhase(h, Fetching)
	s.leased++
	if l.Kind != Robots {
		s.leasedPages++
	}
	if l.live {
		s.urgent--
	}
	s.noteLow(h)
}

// unlease ends the lease of a host.
func (s *scheduler) unlease(h *host) {
	h.leaseID = 0
	s.leased--
	if h.leased.item.Kind != Robots {
		s.leasedPages--
	}
}

// claim answers a worker that knows its address now. See Frontier.Claim.
func (s *scheduler) claim(c claim, now time.Time) bool {
	h := c.from
	if h == nil || h.leaseID != c.id {
		return false
	}
	if s.addresses.claim(h, c.addr, now) {
		return true
	}
	s.unlease(h)
	if h.leaseLive {
		s.urgent++
	}
	h.putBack()
	h.leased = queued{}
	s.setPhase(h, Address)
	return false
}

// done ends a lease: the host rests, the URL's fate is decided, the visit waits for the step side.
func (s *scheduler) done(d Finished, now time.Time) {
	h := d.Lease.from
	if h == nil || h.leaseID != d.Lease.id {
		return
	}
	x := d.Visit.Exchange()
	h.manners = s.opt.after(h.manners, h.key, x, h.leasedAt, now)
	s.freeAddress(h, x, now)
	s.unlease(h)
	s.decide(h, &d, x, now)
	h.leased = queued{}
	if x.Park && !h.woken {
		h.parkedUntil = now.Add(parkLimit)
	}
	d.state = h.manners
	if len(s.finished) == 0 {
		s.oldest = now
	}
	if s.finished == nil {
		s.finished = make([]Finished, 0, s.lastGroup)
	}
	s.finished = append(s.finished, d)
	s.unsettled++
	h.unsettled++
	s.place(h, now)
	s.noteLow(h)
	for _, it := range x.Urgent {
		s.addUrgent(it, now)
	}
	for _, key := range x.Wake {
		s.wake(key, now)
	}
}

func (s *scheduler) freeAddress(h *host, x *Exchange, now time.Time) {
	held := h.addr
	s.addresses.release(h, x.Contact, latest(h.lastEnd, h.leasedAt))
	if x.Contact && x.Addr.IsValid() && (held == nil || held.addr != x.Addr) {
		s.addresses.contacted(x.Addr, latest(h.lastEnd, h.leasedAt), now)
	}
}

// decide settles the fate of the leased URL.
func (s *scheduler) decide(h *host, d *Finished, x *Exchange, now time.Time) {
	o := x.Outcome
	if d.Lease.Concludes(o) {
		d.fate = leaves
		class := o.Class()
		d.page = d.Lease.Kind != Robots && (class == outcome.ClassVisited || class == outcome.ClassFailed)
		if d.page {
			s.concluded++
			h.pages++
		}
		return
	}
	if o == outcome.None {
		h.putBack()
		if h.leaseLive {
			s.urgent++
		}
		return
	}
	q := h.leased
	q.item.Attempt++
	if o.Retry() == outcome.RetryURL {
		q.item.NotBefore = now.Add(outcome.Backoff(int(q.item.Attempt), s.opt.BackoffBase, s.opt.BackoffMax))
		h.postpone(q)
	} else {
		h.window.pushFront(q)
	}
	d.fate, d.notBefore = rewritten, q.item.NotBefore
}

// addUrgent queues a contact ahead of everything on its host. The step side must first load a host that is
// not in memory.
func (s *scheduler) addUrgent(it Item, now time.Time) {
	if s.urgent >= maxUrgent {
		return // the parked host asks again when its time limit ends
	}
	s.urgent++
	if h := s.table[s.opt.PoliteKey(it.URL)]; h != nil {
		h.urgent = append(h.urgent, it)
		s.replace(h, now)
		return
	}
	s.homeless = append(s.homeless, it)
}

// maxUrgent bounds the urgent contacts in memory.
const maxUrgent = 10_000

// wake ends the parking of a host.
func (s *scheduler) wake(key string, now time.Time) {
	h := s.table[key]
	if h == nil {
		return
	}
	h.woken = h.leaseID != 0 // the lease may be about to end by parking
	h.parkedUntil = time.Time{}
	s.replace(h, now)
}

// replace places a host again after a change, unless a worker or an address has it.
func (s *scheduler) replace(h *host, now time.Time) {
	if h.phase != Fetching && h.phase != Address {
		s.place(h, now)
	}
}
