package frontier

import (
	"net/netip"
	"time"
)

// address is an IP address that is contacted, rests, or is waited for. At most one host holds it. When it
// becomes free and has rested, it is reserved for the first host that waits, and only that host is woken.
type address struct {
	addr     netip.Addr
	next     time.Time // rests until then
	holder   *host     // contacts it, or has it reserved
	reserved bool      // the holder was woken and has not claimed it yet
	waiting  []*host   // in order of their claims
	heap     int       // slot in the heap of addresses that are waited for and not held
}

func (a *address) slot() *int { return &a.heap }

// addresses is the table of addresses in use. It belongs to the scheduler.
type addresses struct {
	gap   time.Duration         // rest after a contact
	fast  func(netip.Addr) bool // addresses that do not rest
	begin time.Time             // before that, no address is contacted: its last contact is unknown
	table map[netip.Addr]*address
	heap  timeHeap[*address]
	sweep int // size of the table at which idle addresses are dropped
}

// minSweep keeps small tables from being swept all the time.
const minSweep = 1024

// claim gives the address to the host, or queues the host for it.
func (t *addresses) claim(h *host, ip netip.Addr, now time.Time) bool {
	if a := h.addr; a != nil {
		if a.addr == ip {
			a.reserved = false
			return true
		}
		t.release(h, true, now)
	}
	a := t.get(ip, now)
	h.addr = a
	if a.holder == nil && len(a.waiting) == 0 && !a.next.After(now) {
		a.holder = h
		return true
	}
	a.waiting = append(a.waiting, h)
	t.arm(a)
	return false
}

// release ends the host's hold on its address. A contact that ended at end makes it rest; a reservation
// or a claim without a contact does not.
func (t *addresses) release(h *host, contact bool, end time.Time) {
	a := h.addr
	if a == nil || a.holder != h {
		return
	}
	if contact && !a.reserved {
		a.next = latest(a.next, end.Add(t.rest(a.addr)))
	}
	a.holder, a.reserved, h.addr = nil, false, nil
	t.arm(a)
}

// contacted makes an address rest that was contacted without a claim.
func (t *addresses) contacted(ip netip.Addr, end, now time.Time) {
	a := t.get(ip, now)
	a.next = latest(a.next, end.Add(t.rest(ip)))
	t.arm(a)
}

// rest is how long an address rests after a contact.
func (t *addresses) rest(ip netip.Addr) time.Duration {
	if t.fast(ip) {
		return 0
	}
	return t.gap
}

// arm puts a free address that hosts wait for into the heap.
func (t *addresses) arm(a *address) {
	if a.holder == nil && len(a.waiting) > 0 {
		t.heap.set(a, a.next)
	}
}

// wake reserves an address whose rest is over for the first host that waits for it, and returns the host.
func (t *addresses) wake(now time.Time) (*host, bool) {
	a, ok := t.heap.pop(now)
	if !ok {
		return nil, false
	}
	h := a.waiting[0]
	a.waiting[0] = nil
	a.waiting = a.waiting[1:]
	a.holder, a.reserved = h, true
	return h, true
}

func (t *addresses) get(ip netip.Addr, now time.Time) *address {
	a := t.table[ip]
	if a == nil {
		if len(t.table) >= t.sweep {
			t.drop(now)
		}
		a = &address{addr: ip}
		if !t.fast(ip) {
			a.next = t.begin
		}
		t.table[ip] = a
	}
	return a
}

// drop forgets addresses that nobody needs.
func (t *addresses) drop(now time.Time) {
	for ip, a := range t.table {
		if a.holder == nil && len(a.waiting) == 0 && !a.next.After(now) {
			delete(t.table, ip)
		}
	}
	t.sweep = max(minSweep, 2*len(t.table))
}
