package urlseen

import (
	"cmp"
	"encoding/binary"
	"slices"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// entry is a Key in the form the sieve works with. The order of entries is the order of runs.
type entry struct {
	host, url uint64 // the halves of the fingerprint, big-endian
	part      uint16 // partition + 1: zero is an empty slot of a table
}

// entrySize is the bytes an entry takes in memory, with padding.
const entrySize = 24

func entryOf(k Key) entry {
	return entry{
		host: binary.BigEndian.Uint64(k.FP[:8]),
		url:  binary.BigEndian.Uint64(k.FP[8:]),
		part: uint16(k.Partition) + 1,
	}
}

func (e entry) partition() store.Partition { return store.Partition(e.part - 1) }

func (e entry) fingerprint() (fp weburl.Fingerprint) {
	binary.BigEndian.PutUint64(fp[:8], e.host)
	binary.BigEndian.PutUint64(fp[8:], e.url)
	return fp
}

func (e entry) compare(o entry) int {
	if e.part != o.part {
		return cmp.Compare(e.part, o.part)
	}
	if e.host != o.host {
		return cmp.Compare(e.host, o.host)
	}
	return cmp.Compare(e.url, o.url)
}

func (e entry) less(o entry) bool {
	if e.part != o.part {
		return e.part < o.part
	}
	if e.host != o.host {
		return e.host < o.host
	}
	return e.url < o.url
}

// hash spreads entries over slots. Fingerprints are uniform already (keyed hashes); the multiplication keeps
// the table fast should they not be.
func (e entry) hash() uint64 {
	h := (e.url ^ e.host>>32 ^ e.host<<32) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// table is a set of entries: open addressing with linear probing. The zero table is empty.
type table struct {
	slots []entry
	n     int
}

// minSlots is the size of a table's first allocation.
const minSlots = 1024

// maxLoad is the load, in eighths, beyond which a table doubles. With 5/8 a miss looks at four slots on
// average, about two cache lines.
const maxLoad = 5

func (t *table) has(e entry) bool {
	if t.n == 0 {
		return false
	}
	mask := uint64(len(t.slots) - 1)
	for i := e.hash() & mask; ; i = (i + 1) & mask {
		switch s := &t.slots[i]; {
		case *s == e:
			return true
		case s.part == 0:
			return false
		}
	}
}

// add inserts e and reports whether it was absent.
func (t *table) add(e entry) bool {
	if (t.n+1)*8 > len(t.slots)*maxLoad {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := e.hash() & mask; ; i = (i + 1) & mask {
		if t.slots[i] == e {
			return false
		}
		if t.slots[i].part == 0 {
			t.slots[i] = e
			t.n++
			return true
		}
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots, t.n = make([]entry, max(2*len(old), minSlots)), 0
	for _, e := range old {
		if e.part != 0 {
			t.add(e)
		}
	}
}

// reset empties the table; it keeps its memory up to the given number of slots.
func (t *table) reset(keep int) {
	if len(t.slots) > keep {
		t.slots = nil
	}
	if t.n > 0 {
		clear(t.slots)
	}
	t.n = 0
}

// all calls yield for each entry, in no order.
func (t *table) all(yield func(entry) bool) {
	for _, e := range t.slots {
		if e.part != 0 && !yield(e) {
			return
		}
	}
}

// sorted returns the entries in the order of runs.
func (t *table) sorted() []entry {
	es := slices.AppendSeq(make([]entry, 0, t.n), t.all)
	slices.SortFunc(es, entry.compare)
	return es
}
