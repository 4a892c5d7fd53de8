package frontier

import (
	"encoding/binary"
	"fmt"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Snapshot returns the state with at most rows rows of hosts. Without rows its cost does not depend on the
// number of hosts.
func (f *Frontier) Snapshot(rows int) (sn Snapshot) {
	f.do(func(s *scheduler) { sn = s.snapshot(rows) })
	sn.Idle = int(f.idle.Load())
	return sn
}

// HostState returns what is known about a host by its politeness key, or not ok.
func (f *Frontier) HostState(key string) (st HostState, ok bool, err error) {
	f.do(func(s *scheduler) {
		if h := s.table[key]; h != nil {
			st, ok = h.state(), true
		}
	})
	if ok {
		return st, true, nil
	}
	u, err := weburl.Parse("http://" + key + "/")
	if err != nil {
		return HostState{}, false, fmt.Errorf("frontier: host %q: %w", key, err)
	}
	data, ok, err := f.opt.DB.Get(hostKey(f.opt.partitionOf(u.Domain()), key))
	if err != nil || !ok {
		return HostState{}, false, err
	}
	r, err := decodeRecord(data)
	if err != nil {
		return HostState{}, false, fmt.Errorf("frontier: host %q: %w", key, err)
	}
	st = r.manners.state(key)
	st.Queued = r.count
	return st, true, nil
}

// Find looks for a URL: "waiting", "ready" or "leased", or not ok. It may read all of a partition's queues.
func (f *Frontier) Find(u weburl.URL, fp weburl.Fingerprint) (state string, it Item, ok bool, err error) {
	key, part := f.opt.PoliteKey(u), f.opt.partitionOf(u.Domain())
	f.do(func(s *scheduler) {
		if h := s.table[key]; h != nil && h.leaseID != 0 && h.leased.item.FP == fp {
			it, ok = h.leased.item, true
		}
	})
	if ok {
		return "leased", it, true, nil
	}
	q := back{key: key, part: part, committed: 1<<64 - 1}
	err = q.scan(f.opt.DB, 0, func(_ uint64, found Item) bool {
		if found.FP == fp {
			it, ok = found, true
		}
		return !ok
	})
	if ok || err != nil {
		return "ready", it, ok, err
	}
	// A front of its own, read from disk, leaves the step side undisturbed.
	st := newStep(&f.opt)
	if known, err := st.loadCounts(); err != nil || !known {
		return "", Item{}, false, err
	}
	err = st.front.eachOf(part, func(_ store.Partition, found *Item) bool {
		if found.FP == fp {
			it, ok = *found, true
		}
		return !ok
	})
	if !ok || err != nil {
		return "", Item{}, false, err
	}
	return "waiting", it, true, nil
}

// each calls yield for every waiting URL on disk until it returns false.
func (f *front) each(yield func(store.Partition, *Item) bool) error {
	more := true
	for p := 0; more && p < len(f.runs)/len(f.levels); p++ {
		err := f.eachOf(store.Partition(p), func(part store.Partition, it *Item) bool {
			more = yield(part, it)
			return more
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOf is each for one partition.
func (f *front) eachOf(part store.Partition, yield func(store.Partition, *Item) bool) error {
	var bad error
	err := f.db.Scan(store.Range{Partition: part, Space: store.Front}, func(id, value []byte) bool {
		items, err := DecodeItems(value)
		if err != nil || len(id) != 9 {
			bad = fmt.Errorf("frontier: chunk %x: %w", id, errItems)
			return false
		}
		for i := f.goneFrom(part, id); i < len(items); i++ {
			if !yield(part, &items[i]) {
				return false
			}
		}
		return true
	})
	if err == nil {
		err = bad
	}
	return err
}

// goneFrom returns how many URLs of a chunk are no longer in it.
func (f *front) goneFrom(part store.Partition, id []byte) int {
	lv := int(id[0]) - 1
	if lv < 0 || lv >= len(f.levels) {
		return 0
	}
	if l := &f.levels[lv]; l.part == part && l.seq == binary.BigEndian.Uint64(id[1:]) {
		return int(l.gone)
	}
	return 0
}
