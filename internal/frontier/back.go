package frontier

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"decorum/internal/store"
)

// back is a back queue on disk: the ready URLs of one host, as
//
//	partition, Ready, host (its politeness key), 0, sequence (8 bytes, big-endian) -> EncodeItems of one URL
//
// The host's name, not a hash of it, is the key: it cannot collide. Sequences start in the middle of their
// range, so that heads go below. URLs in [head, tail) are on disk, with gaps; those below cursor are also
// with the scheduler ("handed"). back belongs to the step side.
type back struct {
	key   string
	part  store.Partition
	state manners

	head, tail uint64
	cursor     uint64 // next sequence to hand to the scheduler
	count      uint64 // URLs on disk
	handed     uint64 // of those, with the scheduler
	committed  uint64 // sequences from here on were written in this step, and cannot be read yet

	touched  bool // in step.touched
	dirty    bool // its record must be written
	draining bool // its URLs are to be refused
	grant    *grant
}

// middle is the first sequence of a back queue.
const middle = 1 << 63

// maxHeads bounds the URLs of one host that heads can bring into memory: with more waiting, a head goes to
// the tail.
const maxHeads = 1024

func newBack(key string, part store.Partition) *back {
	return &back{key: key, part: part, head: middle, tail: middle, cursor: middle, committed: middle}
}

func hostKey(part store.Partition, key string) store.Key {
	return store.Key{Partition: part, Space: store.Host, ID: []byte(key)}
}

func readyID(key string, seq uint64) []byte {
	id := make([]byte, 0, len(key)+9)
	id = append(append(id, key...), 0)
	return binary.BigEndian.AppendUint64(id, seq)
}

func readyKey(part store.Partition, key string, seq uint64) store.Key {
	return store.Key{Partition: part, Space: store.Ready, ID: readyID(key, seq)}
}

// parseReady is the inverse of readyID.
func parseReady(id []byte) (key string, seq uint64, ok bool) {
	n := len(id) - 9
	if n < 0 || id[n] != 0 || bytes.IndexByte(id[:n], 0) >= 0 {
		return "", 0, false
	}
	return string(id[:n]), binary.BigEndian.Uint64(id[n+1:]), true
}

// backlog is the number of URLs that are not with the scheduler.
func (q *back) backlog() uint64 { return q.count - q.handed }

// push writes a URL at the tail. If it is handed, it goes to the scheduler at once.
func (q *back) push(b *store.Batch, e *encoder, it *Item, hand bool) {
	q.put(b, e, q.tail, it)
	if hand {
		g := q.granted()
		g.items = append(g.items, queued{q.tail, *it})
		q.handed++
		q.cursor = q.tail + 1
	}
	q.tail++
	q.count++
}

// pushHead writes a URL at the head and hands it to the scheduler.
func (q *back) pushHead(b *store.Batch, e *encoder, it *Item) {
	q.head--
	q.put(b, e, q.head, it)
	g := q.granted()
	g.heads = append(g.heads, queued{q.head, *it})
	q.handed++
	q.count++
}

// put writes a URL at a place.
func (q *back) put(b *store.Batch, e *encoder, seq uint64, it *Item) {
	e.reset()
	e.add(it)
	b.Set(readyKey(q.part, q.key, seq), e.bytes())
	q.dirty = true
}

// remove deletes a handed URL.
func (q *back) remove(b *store.Batch, seq uint64) {
	b.Delete(readyKey(q.part, q.key, seq))
	q.count--
	q.handed--
	q.dirty = true
	if seq == q.head {
		q.head++
	}
	if q.handed == 0 && q.head < q.cursor {
		q.head = q.cursor // so that no scan walks over what was deleted
	}
}

// load hands up to n more URLs from disk to the scheduler, and returns how many.
func (q *back) load(db *store.DB, n int) (int, error) {
	if q.backlog() == 0 || n <= 0 {
		return 0, nil
	}
	loaded := 0
	err := q.scan(db, q.cursor, func(seq uint64, it Item) bool {
		g := q.granted()
		g.items = append(g.items, queued{seq, it})
		q.cursor = seq + 1
		q.handed++
		loaded++
		return loaded < n
	})
	return loaded, err
}

// scan reads committed URLs from a place on.
func (q *back) scan(db *store.DB, from uint64, yield func(seq uint64, it Item) bool) error {
	if from >= q.committed {
		return nil
	}
	var bad error
	rng := store.Range{
		Partition: q.part, Space: store.Ready,
		Lower: readyID(q.key, from), Upper: readyID(q.key, q.committed),
	}
	err := db.Scan(rng, func(id, value []byte) bool {
		_, seq, ok := parseReady(id)
		items, err := DecodeItems(value)
		if !ok || err != nil || len(items) != 1 {
			bad = fmt.Errorf("frontier: ready URL %q: %w", id, errItems)
			return false
		}
		return yield(seq, items[0])
	})
	if err == nil {
		err = bad
	}
	return err
}

// granted returns the grant of this step.
func (q *back) granted() *grant {
	if q.grant == nil {
		q.grant = &grant{back: q}
	}
	return q.grant
}

// save writes the host's record.
func (q *back) save(b *store.Batch) {
	r := record{manners: q.state, head: q.head, tail: q.tail, count: q.count}
	b.Set(hostKey(q.part, q.key), r.append(nil))
	q.dirty = false
}
