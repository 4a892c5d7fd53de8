package frontier

import (
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
