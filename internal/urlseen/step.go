package urlseen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"decorum/internal/store"
)

// Step returns the indices of the keys that are new, also among themselves, in ascending order, and records
// them in b. They become known with Applied, after b was committed; a later Step with the same b knows
// them already, a later Step with another b without Applied in between forgets them. It waits for the
// background when URLs arrive faster than runs can be written.
//
// An error means that a run could not be read or written, or that the batch must not be committed.
func (s *Sieve) Step(b *store.Batch, keys []Key) (fresh []int, err error) {
	if s.o.ReadOnly {
		return nil, errors.New("seen-set: step: opened read-only")
	}
	if err := s.begin(b); err != nil {
		s.drop()
		return nil, fmt.Errorf("seen-set: step: %w", err)
	}
	size := s.stepSize()
	for at := 0; at < len(keys); at += size {
		if fresh, err = s.sift(keys[at:min(at+size, len(keys))], at, fresh); err != nil {
			s.drop()
			return nil, fmt.Errorf("seen-set: step: %w", err)
		}
	}
	s.record(b, keys, fresh)
	return fresh, nil
}

// stepSize is how many keys are sifted at a time, which bounds the scratch memory.
func (s *Sieve) stepSize() int { return int(s.o.Memory / scratchShare / candidateSize) }

// sift appends to fresh the indices of those of keys that are new; keys begins at index `from` of the step.
//
// Memory answers first: what the tables hold is known, and what no filter knows is new. Only the others are sorted
// and looked up on disk, so that each block is read once.
func (s *Sieve) sift(keys []Key, from int, fresh []int) ([]int, error) {
	if err := s.spread(keys); err != nil {
		return nil, err
	}
	s.isNew = append(s.isNew[:0], make([]uint64, (len(keys)+63)/64)...)
	s.siftMemory()
	if err := s.siftRuns(); err != nil {
		return nil, err
	}
	s.pend.keys.reserve(len(s.cands))
	for _, c := range s.cands {
		s.enter(c)
	}
	for w, word := range s.isNew {
		for ; word != 0; word &= word - 1 {
			fresh = append(fresh, from+64*w+bits.TrailingZeros64(word))
		}
	}
	return fresh, nil
}

// siftMemory enters the candidates that memory knows to be new, and leaves those that a run may hold.
func (s *Sieve) siftMemory() {
	unknown, fresh := s.cands[:0], 0
	for _, c := range s.cands {
		e := c.entry()
		if s.active.has(e) || s.frozen.has(e) {
			continue
		}
		if c.run = s.firstRun(e); c.run == noRun {
			fresh++
		}
		unknown = append(unknown, c)
	}
	s.pend.keys.reserve(fresh)
	s.cands = unknown[:0]
	for _, c := range unknown {
		if c.run != noRun {
			s.cands = append(s.cands, c)
		} else {
			s.enter(c)
		}
	}
}

// enter takes c for new, unless the batch has it already.
func (s *Sieve) enter(c candidate) {
	if s.pend.keys.add(c.entry()) {
		s.isNew[c.i/64] |= 1 << (c.i % 64)
	}
}

const (
	// spreadBits gives large batches 512 buckets: a 512th of tables and filters fits the processor's cache, and
	// scattering to more buckets than it can address at once (TLB) costs more than they gain.
	spreadBits = 9
	// spreadFrom is the least batch worth the effort.
	spreadFrom = 4096
)

// spread makes candidates of keys. Those of a large batch are put in the rough order of their hash, by a counting
// sort, which keeps equal keys in their order: tables and filters are larger than the processor's cache, and this saves
// a third of what a check of a new URL costs at 20 million keys (BenchmarkChecks).
func (s *Sieve) spread(keys []Key) error {
	var start [1<<spreadBits + 1]int32
	large := len(keys) >= spreadFrom
	for _, k := range keys {
		if int(k.Partition) >= s.o.Partitions {
			return fmt.Errorf("partition %d of %d", k.Partition, s.o.Partitions)
		}
		if large {
			start[entryOf(k).hash()>>(64-spreadBits)+1]++
		}
	}
	for i := 1; large && i < len(start); i++ {
		start[i] += start[i-1]
	}
	s.cands = slices.Grow(s.cands[:0], len(keys))[:len(keys)]
	for i, k := range keys {
		at, e := int32(i), entryOf(k)
		if large {
			bucket := &start[e.hash()>>(64-spreadBits)]
			at = *bucket
			*bucket++
		}
		s.cands[at] = candidate{host: e.host, url: e.url, part: e.part, i: uint32(i)}
	}
	return nil
}

// noRun is the number of no run.
const noRun = 1<<16 - 1

// firstRun returns the first run that may hold e, or noRun.
func (s *Sieve) firstRun(e entry) uint16 {
	for i, r := range s.runs {
		if f := r.filter.Load(); f == nil || f.mayHave(e) {
			return uint16(i)
		}
	}
	return noRun
}

// siftRuns leaves those candidates that no run holds, each key once, at its first index.
func (s *Sieve) siftRuns() error {
	if len(s.cands) == 0 {
		return nil
	}
	slices.SortFunc(s.cands, candidate.compare)
	s.cands = slices.CompactFunc(s.cands, func(a, b candidate) bool { return a.entry() == b.entry() })
	p := &s.prober
	p.probes, p.reads = 0, 0
	for i, r := range s.runs {
		var err error
		if s.cands, err = p.sift(r, i, s.cands); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.stats.Probes += p.probes
	s.stats.BlockReads += p.reads
	s.mu.Unlock()
	return nil
}

// record writes the fresh keys to b, a chunk for each partition.
func (s *Sieve) record(b *store.Batch, keys []Key, fresh []int) {
	if len(fresh) == 0 {
		return
	}
	for _, i := range fresh {
		p := keys[i].Partition
		s.chunks[p] = append(s.chunks[p], keys[i].FP[:]...)
	}
	for p, c := range s.chunks {
		if len(c) > 0 {
			b.Set(chunkKey(store.Partition(p), s.seq), c)
		}
		if cap(c) > keepChunk {
			c = nil
		}
		s.chunks[p] = c[:0]
	}
	s.seq++
}

// keepChunk is the most bytes kept for a partition between steps.
const keepChunk = 16 << 10

func chunkSeq(id []byte) uint64 { return binary.BigEndian.Uint64(id) }

// begin prepares b, when it is a new batch, and puts in it what the background finished.
func (s *Sieve) begin(b *store.Batch) error {
	if s.pend.batch == b {
		return nil
	}
	s.drop()
	s.pend.batch = b
	if err := s.collect(); err != nil {
		return err
	}
	if s.created && len(s.finished) == 0 {
		return nil
	}
	p := &s.pend
	p.runs, p.installed, p.manifest = slices.Clone(s.runs), s.finished, true
	cut := s.flushedTo()
	for _, r := range s.finished {
		p.runs = slices.DeleteFunc(p.runs, func(o *run) bool { return slices.Contains(r.inputs, o) })
		p.runs = append(p.runs, r.run)
		if r.inputs == nil {
			for _, part := range r.run.parts {
				b.DeleteRange(chunks(store.Partition(part.part-1), cut))
			}
		}
	}
	m := manifest{partitions: uint64(s.o.Partitions), seq: cut, next: s.next}
	for _, r := range p.runs {
		m.runs = append(m.runs, runInfo{r.number, r.keys, uint64(r.bytes)})
	}
	b.Set(manifestKey(), m.append(nil))
	return nil
}

// drop forgets a batch that was not committed. What the background finished waits for the next one.
func (s *Sieve) drop() {
	s.pend.keys.reset(int(s.o.Memory / pendingShare / entrySize))
	s.pend = pending{keys: s.pend.keys}
}

// Applied says that the batch of the Steps since the last Applied was committed: its keys are known now, and the files
// that it replaced are removed. It may start a write or a merge in the background.
func (s *Sieve) Applied() error {
	if s.pend.batch == nil {
		return nil
	}
	old := s.apply()
	s.drop()
	var errs []error
	for _, r := range old {
		errs = append(errs, r.f.Close(), s.o.FS.Remove(r.path))
	}
	s.schedule()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("seen-set: remove merged runs: %w", err)
	}
	return nil
}

// apply makes the pending batch part of the set and returns the runs that left it.
func (s *Sieve) apply() (old []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active.reserve(s.pend.keys.n)
	for e := range s.pend.keys.all {
		s.active.add(e)
	}
	if !s.pend.manifest {
		return nil
	}
	s.created = true
	s.runs = s.pend.runs
	for _, r := range s.pend.installed {
		old = append(old, r.inputs...)
		if r.inputs == nil {
			s.frozen.reset(4 * s.o.RecentKeys)
			s.installed = s.cut
			s.stats.Flushes++
		} else {
			s.stats.Merges++
		}
	}
	s.finished = nil
	return old
}
