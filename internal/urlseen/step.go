package urlseen

import (
	"encoding/binary"
	"errors"
	"fmt"
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
		if fresh, err = s.sift(keys[:min(at+size, len(keys))], at, fresh); err != nil {
			s.drop()
			return nil, fmt.Errorf("seen-set: step: %w", err)
		}
	}
	s.record(b, keys, fresh)
	return fresh, nil
}

// stepSize is how many keys are sifted at a time, which bounds the scratch memory: a candidate takes 32 bytes.
func (s *Sieve) stepSize() int { return int(s.o.Memory / scratchShare / 32) }

// sift appends to fresh the indices from `from` on of keys that are new.
//
// Memory answers first: what the tables hold is known, and what no filter knows is new. Only the others are sorted
// and looked up on disk, so that each block is read once.
func (s *Sieve) sift(keys []Key, from int, fresh []int) ([]int, error) {
	s.cands = s.cands[:0]
	had := len(fresh)
	for i := from; i < len(keys); i++ {
		if int(keys[i].Partition) >= s.o.Partitions {
			return nil, fmt.Errorf("partition %d of %d", keys[i].Partition, s.o.Partitions)
		}
		e := entryOf(keys[i])
		if s.active.has(e) || s.frozen.has(e) {
			continue
		}
		if s.mayBeOnDisk(e) {
			s.cands = append(s.cands, candidate{e, i})
		} else if s.pend.keys.add(e) {
			fresh = append(fresh, i)
		}
	}
	if len(s.cands) == 0 {
		return fresh, nil
	}
	if err := s.siftRuns(); err != nil {
		return nil, err
	}
	for _, c := range s.cands {
		if s.pend.keys.add(c.entry) {
			fresh = append(fresh, c.i)
		}
	}
	slices.Sort(fresh[had:])
	return fresh, nil
}

func (s *Sieve) mayBeOnDisk(e entry) bool {
	for _, r := range s.runs {
		if f := r.filter.Load(); f == nil || f.mayHave(e) {
			return true
		}
	}
	return false
}

// siftRuns leaves those candidates that no run holds, each key once, at its first index.
func (s *Sieve) siftRuns() error {
	sortCandidates(s.cands)
	s.cands = slices.CompactFunc(s.cands, func(a, b candidate) bool { return a.entry == b.entry })
	p := &s.prober
	p.probes, p.reads = 0, 0
	for _, r := range s.runs {
		var err error
		if s.cands, err = p.sift(r, s.cands); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.stats.Probes += p.probes
	s.stats.BlockReads += p.reads
	s.mu.Unlock()
	return nil
}

func sortCandidates(cs []candidate) {
	slices.SortFunc(cs, func(a, b candidate) int {
		if c := a.compare(b.entry); c != 0 {
			return c
		}
		return a.i - b.i
	})
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
	s.pend.keys.reset(keepSlots)
	s.pend = pending{keys: s.pend.keys}
}

// keepSlots is the most slots kept for pending keys between steps: 768 KiB.
const keepSlots = 1 << 15

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
