package frontier

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"decorum/internal/store"
)

// front is the F front queues. On disk a queue is a row of chunks
//
//	partition, Front, level (1 byte), sequence (8 bytes, big-endian) -> at most chunkItems items
//
// whose sequence numbers grow over all partitions and levels, so that the chunk with the smallest one in a
// level is the oldest. URLs of a chunk are all of one partition. The chunk at the head of a level is open:
// it is taken URL by URL, and how many are gone is kept in the counts, so that it need not be rewritten.
type front struct {
	db      *store.DB
	rnd     *rand.Rand
	weights []float64

	seq    uint64 // of the next chunk
	levels []level
	runs   []run // by partition x levels + level

	forming map[int]*forming // chunks being built, by index of their run
	begun   uint64           // first sequence number of this step: from here on the store cannot answer yet
	cached  int              // bytes of chunks kept in memory
}

const (
	// chunkItems bounds the URLs of a chunk. 256 URLs of a page with common prefixes are some 10 KB.
	chunkItems = 256
	// chunkBytes bounds a chunk of long URLs; with 64 partitions and 8 levels, chunks being built take at
	// most 16 MB.
	chunkBytes = 32 << 10
	// runAhead is how many chunk keys of one partition and level are read at once.
	runAhead = 32
	// frontCache bounds the bytes of chunks kept in memory so that a young crawl does not read back what it
	// has just written.
	frontCache = 4 << 20
)

// level is one front queue.
type level struct {
	waiting uint64 // URLs
	open    []Item // what is left of the open chunk
	part    store.Partition
	seq     uint64 // of the open chunk; 0 if none is open
	gone    uint64 // URLs already taken from it
	blocked bool   // its next chunk is not committed yet
}

// run is the row of chunks of one partition and level: the next ones, and whether there are more on disk.
type run struct {
	next deque[chunk]
	last uint64 // sequence of the last chunk ever put into next
	tail uint64 // sequence of the last chunk on disk; all is in memory when last == tail
}

type chunk struct {
	seq  uint64
	data []byte // nil if it must be read
}

type forming struct {
	encoder
	n int
}

func newFront(o *Options) front {
	return front{
		db: o.DB, rnd: rand.New(rand.NewPCG(o.Seed, 0x5eed)), weights: o.Weights, seq: 1,
		levels: make([]level, o.Fronts), runs: make([]run, o.Partitions*o.Fronts), forming: map[int]*forming{},
	}
}

// frontKey is the key of a chunk. Levels count from 1 on disk and from 0 here.
func frontKey(part store.Partition, lv int, seq uint64) store.Key {
	return store.Key{Partition: part, Space: store.Front, ID: frontID(lv, seq)}
}

func frontID(lv int, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(lv + 1)}, seq)
}

// waiting returns the number of URLs in all levels.
func (f *front) waiting() uint64 {
	var n uint64
	for i := range f.levels {
		n += f.levels[i].waiting
	}
	return n
}

// add appends a URL to a level. endAdd must follow before the batch is committed.
func (f *front) add(b *store.Batch, part store.Partition, lv int, it *Item) {
	i := int(part)*len(f.levels) + lv
	c := f.forming[i]
	if c == nil {
		c = &forming{}
		f.forming[i] = c
	}
	c.encoder.add(it)
	f.levels[lv].waiting++
	if c.n++; c.n == chunkItems || len(c.buf) >= chunkBytes {
		f.write(b, i, c)
	}
}

// endAdd writes the chunks that are not full.
func (f *front) endAdd(b *store.Batch) {
	for i := range f.runs {
		if c := f.forming[i]; c != nil && c.n > 0 {
			f.write(b, i, c)
		}
	}
}

func (f *front) write(b *store.Batch, i int, c *forming) {
	data := c.bytes()
	b.Set(frontKey(store.Partition(i/len(f.levels)), i%len(f.levels), f.seq), data)
	r := &f.runs[i]
	if r.last == r.tail && r.next.len() < runAhead {
		ch := chunk{seq: f.seq}
		if f.cached+len(data) <= frontCache {
			ch.data = append([]byte(nil), data...)
			f.cached += len(data)
		}
		r.next.pushBack(ch)
		r.last = f.seq
	}
	r.tail = f.seq
	f.seq++
	c.reset()
	c.n = 0
}

// take removes the next URL of a level chosen at random by weight among those that have one. ok is false
// when none has, or all that is left was added in this step and is not readable yet.
func (f *front) take(b *store.Batch) (it Item, part store.Partition, ok bool, err error) {
	for {
		lv := f.choose()
		if lv < 0 {
			return Item{}, 0, false, nil
		}
		l := &f.levels[lv]
		if len(l.open) == 0 {
			if err := f.openNext(lv); err != nil {
				return Item{}, 0, false, err
			}
			if len(l.open) == 0 {
				l.blocked = true
				continue
			}
		}
		it = l.open[0]
		l.open[0] = Item{}
		l.open = l.open[1:]
		l.gone++
		l.waiting--
		part = l.part
		if len(l.open) == 0 {
			b.Delete(frontKey(l.part, lv, l.seq))
			l.open, l.seq, l.gone = nil, 0, 0
		}
		return it, part, true, nil
	}
}

// choose picks a level.
func (f *front) choose() int {
	sum, last := 0.0, -1
	for i := range f.levels {
		if l := &f.levels[i]; l.waiting > 0 && !l.blocked {
			sum += f.weights[i]
			last = i
		}
	}
	if last < 0 {
		return -1
	}
	x := f.rnd.Float64() * sum
	for i := range last {
		if l := &f.levels[i]; l.waiting > 0 && !l.blocked {
			if x -= f.weights[i]; x < 0 {
				return i
			}
		}
	}
	return last
}

// openNext opens the oldest chunk of a level, if it can be read.
func (f *front) openNext(lv int) error {
	best, bestPart := uint64(0), 0
	for p := range len(f.runs) / len(f.levels) {
		r := &f.runs[p*len(f.levels)+lv]
		if r.next.len() == 0 && r.last != r.tail {
			if err := f.readAhead(r, store.Partition(p), lv); err != nil {
				return err
			}
		}
		if r.next.len() > 0 {
			if seq := r.next.front().seq; best == 0 || seq < best {
				best, bestPart = seq, p
			}
		}
	}
	if best == 0 {
		return nil
	}
	r := &f.runs[bestPart*len(f.levels)+lv]
	if r.next.front().data == nil && best >= f.begun {
		return nil
	}
	return f.open(r.next.popFront(), store.Partition(bestPart), lv)
}

func (f *front) open(c chunk, part store.Partition, lv int) error {
	data := c.data
	f.cached -= len(data)
	if data == nil {
		var ok bool
		var err error
		if data, ok, err = f.db.Get(frontKey(part, lv, c.seq)); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("frontier: chunk %d of level %d in partition %d is missing", c.seq, lv+1, part)
		}
	}
	items, err := DecodeItems(data)
	if err != nil {
		return fmt.Errorf("frontier: chunk %d of level %d in partition %d: %w", c.seq, lv+1, part, err)
	}
	l := &f.levels[lv]
	l.open, l.part, l.seq, l.gone = items, part, c.seq, 0
	return nil
}

// readAhead reads the keys of the next chunks of a run.
func (f *front) readAhead(r *run, part store.Partition, lv int) error {
	n := 0
	rng := store.Range{Partition: part, Space: store.Front, Lower: frontID(lv, r.last+1), Upper: []byte{byte(lv + 2)}}
	err := f.db.Scan(rng, func(id, _ []byte) bool {
		if len(id) != 9 {
			return true
		}
		r.last = binary.BigEndian.Uint64(id[1:])
		r.next.pushBack(chunk{seq: r.last})
		n++
		return n < runAhead
	})
	if n < runAhead && r.tail < f.begun {
		r.tail = r.last // nothing more is on disk, and nothing is on its way
	}
	return err
}

// applied says that the batch is committed.
func (f *front) applied() {
	f.begun = f.seq
	for i := range f.levels {
		f.levels[i].blocked = false
	}
}

// restore rebuilds the levels after their counts were read.
func (f *front) restore() error {
	f.begun = f.seq
	for p := range len(f.runs) / len(f.levels) {
		for lv := range f.levels {
			r := &f.runs[p*len(f.levels)+lv]
			if f.levels[lv].waiting == 0 {
				continue
			}
			r.tail = f.seq - 1 // the bound; readAhead corrects it
			if err := f.readAhead(r, store.Partition(p), lv); err != nil {
				return err
			}
		}
	}
	for lv := range f.levels {
		if err := f.reopen(lv); err != nil {
			return err
		}
	}
	return nil
}

// reopen opens the chunk that was open when the counts were written.
func (f *front) reopen(lv int) error {
	l := &f.levels[lv]
	if l.seq == 0 {
		return nil
	}
	r, gone := &f.runs[int(l.part)*len(f.levels)+lv], l.gone
	if r.next.len() == 0 || r.next.front().seq != l.seq {
		return fmt.Errorf("frontier: open chunk %d of level %d in partition %d is missing", l.seq, lv+1, l.part)
	}
	if err := f.open(r.next.popFront(), l.part, lv); err != nil {
		return err
	}
	if gone >= uint64(len(l.open)) {
		return fmt.Errorf("frontier: open chunk %d of level %d has no URL left", l.seq, lv+1)
	}
	l.open, l.gone = l.open[gone:], gone
	return nil
}
