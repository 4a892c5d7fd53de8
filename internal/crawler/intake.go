package crawler

import (
	"encoding/binary"
	"fmt"

	"decorum/internal/frontier"
	"decorum/internal/store"
)

// intake holds links that are durable but not yet known to be new. They enter a partition only as
// batches with a position: appended in the batch of the visits that found them, and taken out in the
// batch that holds their effects, so that replay is harmless. It belongs to the committer.
//
// On disk: partition, space Intake, position (8 bytes, big-endian) -> frontier.EncodeItems.
type intake struct {
	db      *store.DB
	next    map[store.Partition]uint64 // position of the next batch
	pending []intakeBatch              // committed and not yet taken, oldest first
	fresh   []intakeBatch              // appended to the batch being built
	links   int                        // in pending and fresh
}

type intakeBatch struct {
	partition store.Partition
	position  uint64
	links     int
}

func (b intakeBatch) key() store.Key {
	return store.Key{Partition: b.partition, Space: store.Intake, ID: binary.BigEndian.AppendUint64(nil, b.position)}
}

// openIntake finds what an earlier run left.
func openIntake(db *store.DB, partitions int) (*intake, error) {
	in := &intake{db: db, next: map[store.Partition]uint64{}}
	for p := range store.Partition(partitions) {
		var bad error
		err := db.Scan(store.Range{Partition: p, Space: store.Intake}, func(id, value []byte) bool {
			items, err := frontier.DecodeItems(value)
			if err != nil || len(id) != 8 {
				bad = fmt.Errorf("intake batch %d/%x: %w", p, id, err)
				return false
			}
			b := intakeBatch{p, binary.BigEndian.Uint64(id), len(items)}
			in.pending, in.next[p], in.links = append(in.pending, b), b.position+1, in.links+b.links
			return true
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// append writes links of one partition to the batch.
func (in *intake) append(b *store.Batch, p store.Partition, items []frontier.Item) {
	e := intakeBatch{p, in.next[p], len(items)}
	b.Set(e.key(), frontier.EncodeItems(nil, items))
	in.next[p]++
	in.fresh, in.links = append(in.fresh, e), in.links+e.links
}

// take reads the oldest committed batches, about limit links, and removes them in b.
func (in *intake) take(b *store.Batch, limit int) (items []frontier.Item, parts []store.Partition, err error) {
	for len(in.pending) > 0 && len(items) < limit {
		e := in.pending[0]
		raw, ok, err := in.db.Get(e.key())
		if err != nil || !ok {
			return nil, nil, fmt.Errorf("intake batch %d/%d is gone: %w", e.partition, e.position, err)
		}
		got, err := frontier.DecodeItems(raw)
		if err != nil {
			return nil, nil, fmt.Errorf("intake batch %d/%d: %w", e.partition, e.position, err)
		}
		for range got {
			parts = append(parts, e.partition)
		}
		items = append(items, got...)
		b.Delete(e.key())
		in.pending, in.links = in.pending[1:], in.links-e.links
	}
	return items, parts, nil
}

// applied says that the batch is committed: what was appended may be taken.
func (in *intake) applied() {
	in.pending = append(in.pending, in.fresh...)
	in.fresh = in.fresh[:0]
}
