package urlseen

import (
	"cmp"
	"encoding/binary"
	"math/bits"
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

// hash is where e lies in tables and filters, as a fraction of 2^64: both place entries in the order of their hash, so
// that a batch taken in that order goes through their memory once instead of jumping about. Fingerprints are
// uniform already (keyed hashes); the multiplication keeps tables fast should they not be.
func (e entry) hash() uint64 {
	return (e.url ^ bits.RotateLeft64(e.host, 17) ^ uint64(e.part)) * 0xD6E8FEB86659FD93
}

// table is a set of entries: open addressing with linear probing. The zero table is empty.
type table struct {
	slots  []entry // a power of two
	n      int
	filter *filter // of the entries, to answer most misses within the processor's cache; may be nil
}

// minSlots is the size of a table's first allocation.
const minSlots = 1024

// maxLoad is the load, in eighths, beyond which a table doubles. With 5/8 a miss looks at four slots on
// average, about two cache lines.
const maxLoad = 5

func (t *table) has(e entry) bool {
	if t.n == 0 || t.filter != nil && !t.filter.mayHave(e) {
		return false
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.home(e); ; i = (i + 1) & mask {
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
	t.reserve(1)
	mask := uint64(len(t.slots) - 1)
	for i := t.home(e); ; i = (i + 1) & mask {
		if t.slots[i] == e {
			return false
		}
		if t.slots[i].part == 0 {
			t.slots[i] = e
			t.n++
			if t.filter != nil {
				t.filter.add(e)
			}
			return true
		}
	}
}

func (t *table) home(e entry) uint64 { return e.hash() >> (64 - bits.Len(uint(len(t.slots)-1))) }

// reserve makes room for n more entries. Whoever adds many in the order of their hash calls it first: in a table
// that grows as they come they would all lie at its beginning, and adding would take quadratic time.
func (t *table) reserve(n int) {
	size := max(len(t.slots), minSlots)
	for (t.n+n)*8 > size*maxLoad {
		size *= 2
	}
	if size > len(t.slots) {
		t.resize(size)
	}
}

func (t *table) resize(size int) {
	old := t.slots
	t.slots = make([]entry, size)
	mask := uint64(len(t.slots) - 1)
	for _, e := range old {
		if e.part == 0 {
			continue
		}
		i := t.home(e)
		for t.slots[i].part != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = e
	}
}

// reset empties the table; it keeps its memory up to the given number of slots.
func (t *table) reset(keep int) {
	if len(t.slots) > keep {
		t.slots = nil
	}
	if t.n > 0 {
		clear(t.slots)
		if t.filter != nil {
			clear(t.filter.lines)
		}
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
