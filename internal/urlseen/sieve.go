package urlseen

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Key identifies a URL: the partition of its host, and its fingerprint, whose first half is the host's.
type Key struct {
	Partition store.Partition
	FP        weburl.Fingerprint
}

// Options says where the sieve is and how much memory it may take.
type Options struct {
	DB         *store.DB
	FS         store.FS // file layer of the run files; nil means the operating system's
	Dir        string   // folder of the run files; created if absent
	Partitions int      // partitions of the crawl, fixed at its creation; default 64
	Memory     int64    // bytes for recent keys, filters, block indexes and scratch; default 128 MiB, at least 1 MiB
	RecentKeys int      // keys in memory before they are written as a run; default Memory / 512
	MaxRuns    int      // runs of a size tier before they are merged; default 4
	ReadOnly   bool     // change nothing on disk; Step is refused
}

// Shares of Options.Memory. The rest, a quarter, is for the recent keys: two tables of 24 bytes a slot, twice as many
// slots as RecentKeys, and the sorted copy of one of them while it is written.
const (
	filterShare  = 2 // one half
	indexShare   = 8
	scratchShare = 8
	pendingShare = 16  // of what is kept for the keys of a batch; a larger batch takes more while it lasts
	recentShare  = 512 // bytes of Memory per recent key
)

// EnsureDefaults fills zero fields.
func (o *Options) EnsureDefaults() {
	if o.FS == nil {
		o.FS = store.OS()
	}
	if o.Partitions == 0 {
		o.Partitions = 64
	}
	if o.Memory == 0 {
		o.Memory = 128 << 20
	}
	if o.RecentKeys == 0 {
		o.RecentKeys = int(o.Memory / recentShare)
	}
	if o.MaxRuns == 0 {
		o.MaxRuns = 4
	}
}

// Validate reports the first option that cannot work.
func (o *Options) Validate() error {
	switch {
	case o.DB == nil:
		return errors.New("urlseen: no store given")
	case o.Dir == "":
		return errors.New("urlseen: no folder given")
	case o.Partitions < 1 || o.Partitions > int(store.Global):
		return fmt.Errorf("urlseen: %d partitions; 1 to %d are possible", o.Partitions, store.Global)
	case o.Memory < 1<<20:
		return fmt.Errorf("urlseen: %d bytes of memory; at least 1 MiB is needed", o.Memory)
	case o.RecentKeys < 1:
		return fmt.Errorf("urlseen: %d recent keys; at least 1 is needed", o.RecentKeys)
	case o.MaxRuns < 2 || o.MaxRuns > mergeFan:
		return fmt.Errorf("urlseen: %d runs per tier; 2 to %d are possible", o.MaxRuns, mergeFan)
	}
	return nil
}

// Stats is what the sieve holds and did since Open.
type Stats struct {
	Known       uint64  // URLs known
	Runs        int     // run files
	RunKeys     uint64  // URLs in run files
	Bytes       int64   // bytes of run files
	BytesPerURL float64 // of the URLs in run files
	FilterBytes int64   // memory of filters
	IndexBytes  int64   // memory of block indexes
	Probes      uint64  // keys looked up in a run's blocks
	BlockReads  uint64  // reads of one or more blocks for that
	Flushes     uint64  // runs written from memory
	Merges      uint64  // runs written by merging others
	Waits       uint64  // steps that waited for the background
}

// Sieve is the set of URLs known. See the package comment for its parts.
type Sieve struct {
	o Options

	// Written by the step side under mu; the step side reads them without.
	mu     sync.RWMutex
	active *table
	frozen *table // being written, or written and not yet installed; empty otherwise
	runs   []*run
	stats  Stats // the counters only

	// Of the step side alone.
	seq       uint64 // of the next chunk
	cut       uint64 // chunks below are frozen or in runs
	installed uint64 // chunks below are in runs
	next      uint64 // file number
	created   bool   // the manifest is in the store
	pend      pending
	finished  []result // of the background, not yet installed
	prober    prober
	cands     []candidate
	isNew     []uint64 // bit i: key i of those being sifted is new
	chunks    [][]byte // of the step being recorded, by partition

	// The background: at most one job of each kind, whose result comes through the channel.
	ctx      context.Context
	cancel   context.CancelFunc
	flushing chan result
	merging  chan result
	building [2]*filter // of the flush and the merge in flight
}

// pending is what a batch holds that is not yet committed.
type pending struct {
	batch     *store.Batch
	keys      table
	installed []result
	runs      []*run // after the batch
	manifest  bool   // the batch holds a manifest
}

// Open opens or creates the sieve. It removes run files that no manifest lists.
func Open(o Options) (*Sieve, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Sieve{o: o, chunks: make([][]byte, o.Partitions)}
	s.active = &table{filter: newFilter(uint64(o.RecentKeys), maxFilterBits)}
	s.frozen = &table{filter: newFilter(uint64(o.RecentKeys), maxFilterBits)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open seen-set %s: %w", o.Dir, err), s.Close())
	}
	s.schedule()
	return s, nil
}

func (s *Sieve) load() error {
	m, err := readManifest(s.o.DB)
	if err != nil {
		return err
	}
	if s.created = m != nil; !s.created {
		m = &manifest{partitions: uint64(s.o.Partitions)}
	}
	if m.partitions != uint64(s.o.Partitions) {
		return fmt.Errorf("it has %d partitions, not %d", m.partitions, s.o.Partitions)
	}
	s.seq, s.cut, s.installed, s.next = m.seq, m.seq, m.seq, m.next
	if !s.o.ReadOnly {
		if err := s.removeStrays(m); err != nil {
			return err
		}
	}
	for _, i := range m.runs {
		r, err := openRun(s.o.FS, s.path(i.number), i.number)
		if err != nil {
			return err
		}
		s.runs = append(s.runs, r)
		if r.keys != i.keys || uint64(r.bytes) != i.bytes {
			return fmt.Errorf("run %s: %w: not the file in the manifest", r.path, ErrCorrupt)
		}
	}
	return s.loadRecent()
}

// loadRecent fills active from the chunks in the store.
func (s *Sieve) loadRecent() error {
	for p := range store.Partition(s.o.Partitions) {
		var bad error
		err := s.o.DB.Scan(store.Range{Partition: p, Space: store.Seen}, func(id, value []byte) bool {
			bad = parseChunk(p, id, value, func(k Key) { s.active.add(entryOf(k)) })
			if bad == nil {
				s.seq = max(s.seq, chunkSeq(id)+1)
			}
			return bad == nil
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
	}
	return nil
}

const runSuffix = ".run"

func (s *Sieve) path(number uint64) string {
	return s.o.FS.PathJoin(s.o.Dir, fmt.Sprintf("%08d%s", number, runSuffix))
}

// removeStrays creates the folder, and removes the run files in it that were not installed before a crash, or
// not removed after their merge.
func (s *Sieve) removeStrays(m *manifest) error {
	if err := s.o.FS.MkdirAll(s.o.Dir, 0o755); err != nil {
		return err
	}
	// A run may be in the manifest as soon as its folder was synced, so the folder must be as durable.
	if err := syncDir(s.o.FS, s.o.FS.PathDir(s.o.Dir)); err != nil {
		return err
	}
	names, err := s.o.FS.List(s.o.Dir)
	if err != nil {
		return err
	}
	listed := map[uint64]bool{}
	for _, r := range m.runs {
		listed[r.number] = true
	}
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, runSuffix)
		if number, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && !listed[number] {
			if err := s.o.FS.Remove(s.o.FS.PathJoin(s.o.Dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Contains reports whether the URL is known: emitted by a Step whose batch was committed and applied.
func (s *Sieve) Contains(k Key) (bool, error) {
	e := entryOf(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.active.has(e) || s.frozen.has(e) {
		return true, nil
	}
	var p prober
	cs := []candidate{{host: e.host, url: e.url, part: e.part}}
	for i, r := range s.runs {
		if f := r.filter.Load(); f != nil && !f.mayHave(e) {
			continue
		}
		cs[0].run = uint16(i)
		kept, err := p.sift(r, i, cs)
		if err != nil {
			return false, fmt.Errorf("seen-set: %w", err)
		}
		if len(kept) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// Known returns the number of URLs known and committed.
func (s *Sieve) Known() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known()
}

func (s *Sieve) known() uint64 {
	n := uint64(s.active.n + s.frozen.n)
	for _, r := range s.runs {
		n += r.keys
	}
	return n
}

// Stats returns what the sieve holds and did.
func (s *Sieve) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.stats
	st.Known, st.Runs = s.known(), len(s.runs)
	for _, r := range s.runs {
		st.RunKeys += r.keys
		st.Bytes += r.bytes
		st.FilterBytes += r.filter.Load().size()
		st.IndexBytes += int64(len(r.index)) * indexSize
	}
	if st.RunKeys > 0 {
		st.BytesPerURL = float64(st.Bytes) / float64(st.RunKeys)
	}
	return st
}

// Keys calls yield for each known URL of a partition until it returns false: the keys of runs in
// ascending order run by run, then the recent ones in no order. It blocks Applied meanwhile.
func (s *Sieve) Keys(p store.Partition, yield func(weburl.Fingerprint) bool) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	part := uint16(p) + 1
	for _, r := range s.runs {
		sc := newPartitionScanner(r, part)
		for sc.next() {
			if !yield(sc.e.fingerprint()) {
				return nil
			}
		}
		if sc.err != nil {
			return fmt.Errorf("seen-set: %w", sc.err)
		}
	}
	for _, t := range []*table{s.active, s.frozen} {
		for e := range t.all {
			if e.part == part && !yield(e.fingerprint()) {
				return nil
			}
		}
	}
	return nil
}

// Verify reads every byte of every run and checks checksums, order, counts and that no key is in two
// runs. It returns the first defect, or the context's error.
func (s *Sieve) Verify(ctx context.Context) error {
	var n uint64
	if err := merge(ctx, s.runs, func(entry) { n++ }); err != nil {
		return fmt.Errorf("verify seen-set: %w", err)
	}
	for _, r := range s.runs {
		n -= r.keys
	}
	if n != 0 {
		return fmt.Errorf("verify seen-set: %w: count of keys", ErrCorrupt)
	}
	return nil
}

// Link gives all run files a second name in dir, which must exist: the sieve's share of a checkpoint. Where links cannot be
// it copies. Call it next to store.DB.Checkpoint, with no batch between Step and Applied, so that both show the same
// instant.
func (s *Sieve) Link(dir string) error {
	for _, r := range s.runs {
		if err := store.LinkOrCopy(s.o.FS, r.path, s.o.FS.PathJoin(dir, s.o.FS.PathBase(r.path))); err != nil {
			return fmt.Errorf("link run %s: %w", r.path, err)
		}
	}
	return syncDir(s.o.FS, dir)
}

// Close ends the background and closes the files. Nothing is lost: what was not written as a run is in the store.
func (s *Sieve) Close() error {
	s.cancel()
	var errs []error
	for _, c := range []chan result{s.flushing, s.merging} {
		if c != nil {
			s.finished = append(s.finished, <-c)
		}
	}
	s.flushing, s.merging = nil, nil
	for _, r := range s.finished {
		if r.run != nil {
			errs = append(errs, r.run.f.Close())
		}
	}
	for _, r := range s.runs {
		errs = append(errs, r.f.Close())
	}
	s.finished, s.runs = nil, nil
	return errors.Join(errs...)
}
