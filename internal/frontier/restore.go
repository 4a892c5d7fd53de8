package frontier

import (
	"decorum/internal/store"
)

// censusScan is the number of waiting URLs up to which Open takes a census: reading a million takes less
// than a second (BenchmarkDecodeItems: 0.6 us each). With more, the census counts as overflowed, which costs
// searching but no URL.
const censusScan = 1 << 20

// restore rebuilds the step side after the counts were read: front queues, back queues with their first
// URLs in memory, census.
func (st *step) restore() error {
	if err := st.front.restore(); err != nil {
		return err
	}
	for p := range st.opt.Partitions {
		if err := st.restoreBacks(store.Partition(p)); err != nil {
			return err
		}
	}
	return st.takeCensus()
}

// restoreBacks finds the hosts of a partition that have ready URLs, jumping from one to the next.
func (st *step) restoreBacks(part store.Partition) error {
	for from := []byte(nil); ; {
		key, found := "", false
		err := st.opt.DB.Scan(store.Range{Partition: part, Space: store.Ready, Lower: from}, func(id, _ []byte) bool {
			key, _, found = parseReady(id)
			return false
		})
		if err != nil || !found {
			return err
		}
		if err := st.restoreBack(part, key); err != nil {
			return err
		}
		from = append([]byte(key), 1) // behind all of this host's URLs
	}
}

func (st *step) restoreBack(part store.Partition, key string) error {
	q, err := st.back(key, part)
	if err != nil {
		return err
	}
	st.inHand++
	if _, err := q.load(st.opt.DB, st.opt.firstWant(key)); err != nil {
		return err
	}
	st.noteRefusal(q)
	return nil
}

// takeCensus counts waiting URLs by host if they are few.
func (st *step) takeCensus() error {
	if st.front.waiting() > censusScan {
		st.census.overflow()
		return nil
	}
	return st.front.each(func(_ store.Partition, it *Item) bool {
		key := st.opt.PoliteKey(it.URL)
		q := st.backs[key]
		st.census.add(key, q != nil && q.count > 0)
		return st.census.exact()
	})
}
