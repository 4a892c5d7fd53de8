package urlseen

import (
	"encoding/binary"
	"math/rand/v2"

	"decorum/internal/weburl"
)

// places is a bounded set of fingerprints, each at a place 0..len(fps)-1, found through a hash index: linear probing
// over place+1, at most half full.
type places struct {
	fps   []weburl.Fingerprint // up to its capacity
	index []uint32
	limit int
}

func newPlaces(limit int) places {
	return places{
		fps:   make([]weburl.Fingerprint, 0, limit),
		index: make([]uint32, ceilPow2(max(2*limit, 2))),
		limit: limit,
	}
}

func (p *places) home(fp weburl.Fingerprint) int {
	h := binary.BigEndian.Uint64(fp[8:]) ^ binary.BigEndian.Uint64(fp[:8])
	return int(h*0x9E3779B97F4A7C15>>32) & (len(p.index) - 1)
}

// find returns the place of fp, or -1.
func (p *places) find(fp weburl.Fingerprint) int {
	for i := p.home(fp); p.index[i] != 0; i = (i + 1) & (len(p.index) - 1) {
		if at := int(p.index[i] - 1); p.fps[at] == fp {
			return at
		}
	}
	return -1
}

// put sets the fingerprint of a place, replacing what was there. The place one past the last adds to the set.
func (p *places) put(at int, fp weburl.Fingerprint) {
	if at < len(p.fps) {
		p.unlink(at)
	} else {
		p.fps = p.fps[:at+1]
	}
	p.fps[at] = fp
	i := p.home(fp)
	for p.index[i] != 0 {
		i = (i + 1) & (len(p.index) - 1)
	}
	p.index[i] = uint32(at + 1)
}

// unlink removes a place from the index and closes the gap behind it (Knuth, TAOCP 6.4, algorithm R).
func (p *places) unlink(at int) {
	mask := len(p.index) - 1
	i := p.home(p.fps[at])
	for p.index[i] != uint32(at+1) {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; p.index[j] != 0; j = (j + 1) & mask {
		home := p.home(p.fps[p.index[j]-1])
		if (j-home)&mask >= (j-i)&mask { // home is not between the gap and j
			p.index[i] = p.index[j]
			i = j
		}
	}
	p.index[i] = 0
}

func (p *places) full() bool { return len(p.fps) == p.limit }

// clock is the CLOCK policy: a hand goes round, spares entries used since it last came by, and takes the first
// other.
type clock struct {
	places
	used []bool
	hand int
}

func newClock(entries int) *clock {
	return &clock{places: newPlaces(entries), used: make([]bool, entries)}
}

func (c *clock) seen(fp weburl.Fingerprint) bool {
	if at := c.find(fp); at >= 0 {
		c.used[at] = true
		return true
	}
	if !c.full() {
		c.put(len(c.fps), fp)
		return false
	}
	for c.used[c.hand] {
		c.used[c.hand] = false
		c.hand = (c.hand + 1) % len(c.fps)
	}
	c.put(c.hand, fp)
	c.hand = (c.hand + 1) % len(c.fps)
	return false
}

// lru is the least-recently-used policy: places form a ring, newest first after place `limit`, which is the ring's fixed
// point and holds nothing.
type lru struct {
	places
	newer, older []uint32
}

func newLRU(entries int) *lru {
	l := &lru{places: newPlaces(entries), newer: make([]uint32, entries+1), older: make([]uint32, entries+1)}
	l.newer[entries], l.older[entries] = uint32(entries), uint32(entries)
	return l
}

func (l *lru) seen(fp weburl.Fingerprint) bool {
	at := l.find(fp)
	hit := at >= 0
	switch {
	case hit:
		l.remove(at)
	case !l.full():
		at = len(l.fps)
		l.put(at, fp)
	default:
		at = int(l.newer[l.limit]) // round the ring: the oldest
		l.remove(at)
		l.put(at, fp)
	}
	l.front(at)
	return hit
}

func (l *lru) remove(at int) {
	n, o := l.newer[at], l.older[at]
	l.older[n], l.newer[o] = o, n
}

func (l *lru) front(at int) {
	first := l.older[l.limit]
	l.newer[at], l.older[at] = uint32(l.limit), first
	l.newer[first], l.older[l.limit] = uint32(at), uint32(at)
}

// random is the random replacement policy.
type random struct {
	places
	pcg *rand.PCG
}

func newRandom(entries int, seed uint64) *random {
	return &random{newPlaces(entries), rand.NewPCG(seed, 0)}
}

func (r *random) seen(fp weburl.Fingerprint) bool {
	if r.find(fp) >= 0 {
		return true
	}
	at := len(r.fps)
	if r.full() {
		at = int(r.pcg.Uint64() % uint64(r.limit))
	}
	r.put(at, fp)
	return false
}

// static remembers the members of a fixed set once they came by, and nothing else.
type static struct {
	places
	came []bool
}

func newStatic(set []weburl.Fingerprint) *static {
	s := &static{places: newPlaces(len(set)), came: make([]bool, len(set))}
	for _, fp := range set {
		if s.find(fp) < 0 {
			s.put(len(s.fps), fp)
		}
	}
	return s
}

func (s *static) seen(fp weburl.Fingerprint) bool {
	at := s.find(fp)
	if at < 0 {
		return false
	}
	came := s.came[at]
	s.came[at] = true
	return came
}

// infinite remembers everything.
type infinite struct{ table }

func (m *infinite) seen(fp weburl.Fingerprint) bool { return !m.add(entryOf(Key{FP: fp})) }

// nothing remembers nothing.
type nothing struct{}

func (nothing) seen(weburl.Fingerprint) bool { return false }
