package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"decorum/internal/store"
)

// The counts of the queues are one value, written with every batch that changes them:
//
//	version (1 byte), number of levels (uvarint)
//	next chunk sequence, URLs ready, pages concluded (uvarints)
//	per level: URLs waiting; partition, sequence and URLs gone of the open chunk (uvarints)
//
// Beside it, the clean mark exists exactly while the crawl is stopped in good order, and the restart mark
// holds the time of the last open without it (Unix nanoseconds, varint). Records of hosts that are older
// than the restart mark may lack a contact, however often the crawl is stopped in good order afterwards.
const countsVersion = 1

var errCounts = errors.New("malformed counts")

func countsKey() store.Key {
	return store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("frontier/counts")}
}

func cleanKey() store.Key {
	return store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("frontier/clean")}
}

func restartKey() store.Key {
	return store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("frontier/restart")}
}

// noteRestart finds out when the crawl last opened after an unclean stop: now, unless the clean mark is
// there.
func (st *step) noteRestart(b *store.Batch, now time.Time) error {
	clean, err := st.opt.DB.Has(cleanKey())
	if err != nil {
		return err
	}
	if !clean {
		st.restart = now
		b.Set(restartKey(), binary.AppendVarint(nil, unixNano(now)))
		return nil
	}
	v, ok, err := st.opt.DB.Get(restartKey())
	if err != nil || !ok {
		return err
	}
	d := decoder{b: v}
	st.restart = fromUnixNano(d.varint())
	if d.bad {
		return fmt.Errorf("frontier: %w: restart mark", errCounts)
	}
	return nil
}

func (st *step) saveCounts(b *store.Batch) {
	v := binary.AppendUvarint([]byte{countsVersion}, uint64(len(st.front.levels)))
	for _, n := range [...]uint64{st.front.seq, st.ready, st.concluded} {
		v = binary.AppendUvarint(v, n)
	}
	for i := range st.front.levels {
		l := &st.front.levels[i]
		for _, n := range [...]uint64{l.waiting, uint64(l.part), l.seq, l.gone} {
			v = binary.AppendUvarint(v, n)
		}
	}
	b.Set(countsKey(), v)
}

// loadCounts reads the counts; ok is false for a store that never had any.
func (st *step) loadCounts() (ok bool, err error) {
	v, ok, err := st.opt.DB.Get(countsKey())
	if err != nil || !ok {
		return false, err
	}
	const most = 1<<64 - 1
	d := decoder{b: v}
	if n := d.byte(); n != countsVersion {
		return false, fmt.Errorf("frontier: %w: version %d, want %d", errCounts, n, countsVersion)
	}
	levels := d.uvarint(most)
	if levels > uint64(len(st.front.levels)) {
		return false, fmt.Errorf("frontier: the crawl has %d front queues, not %d", levels, len(st.front.levels))
	}
	st.front.seq, st.ready, st.concluded = d.uvarint(most), d.uvarint(most), d.uvarint(most)
	for i := range levels {
		l := &st.front.levels[i]
		l.waiting = d.uvarint(most)
		l.part = store.Partition(d.uvarint(1<<16 - 1))
		l.seq, l.gone = d.uvarint(most), d.uvarint(most)
		if int(l.part) >= st.opt.Partitions {
			return false, fmt.Errorf("frontier: %w: partition %d of %d", errCounts, l.part, st.opt.Partitions)
		}
	}
	if d.bad {
		return false, fmt.Errorf("frontier: %w", errCounts)
	}
	return true, nil
}
