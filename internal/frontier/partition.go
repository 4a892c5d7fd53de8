package frontier

import (
	"errors"
	"fmt"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Partitions returns P, the number of partitions of the crawl.
func (f *Frontier) Partitions() int { return f.opt.Partitions }

// PartitionOf returns the partition that everything about u belongs to: hash(registrable domain) mod P, so
// that a host and its siblings move together.
func (f *Frontier) PartitionOf(u weburl.URL) store.Partition { return f.opt.partitionOf(u.Domain()) }

// PoliteKey returns the key of those who must not be disturbed by a contact with u.
func (f *Frontier) PoliteKey(u weburl.URL) string { return f.opt.PoliteKey(u) }

// Hosts calls yield for every host that has a record, with its state as of the last commit, until yield returns
// false. It reads the whole table of hosts: for summaries, not for screens.
func (f *Frontier) Hosts(yield func(HostState) bool) error {
	more := true
	for p := range store.Partition(f.opt.Partitions) {
		var bad error
		err := f.opt.DB.Scan(store.Range{Partition: p, Space: store.Host}, func(id, value []byte) bool {
			r, err := decodeRecord(value)
			if err != nil {
				bad = fmt.Errorf("frontier: host %q: %w", id, err)
				return false
			}
			st := r.manners.state(string(id))
			st.Queued = r.count
			more = yield(st)
			return more
		})
		if err = errors.Join(err, bad); err != nil || !more {
			return err
		}
	}
	return nil
}
