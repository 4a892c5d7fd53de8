package urlseen

import (
	"context"
	"fmt"
	"slices"
)

// result is what a background job made: a run of the frozen keys, a run that replaces its inputs, or (run is nil) only a
// filter, which is in its run already.
type result struct {
	run    *run
	inputs []*run // nil when the run was written from memory
	err    error
}

const (
	// mergeFan is the most runs merged at a time; each takes a read-ahead buffer.
	mergeFan = 16
	// lagRuns times MaxRuns is how many runs of the lowest tier may wait for a merge before Step does.
	lagRuns = 4
)

// schedule starts what there is to do in the background, at most one job of each kind.
func (s *Sieve) schedule() {
	if s.o.ReadOnly {
		return
	}
	if s.flushing == nil && s.frozen.n == 0 && s.active.n >= s.o.RecentKeys {
		s.startFlush()
	}
	if s.merging == nil && len(s.finished) == 0 {
		if inputs := s.pickMerge(); inputs != nil {
			s.startMerge(inputs)
		} else if r, f := s.pickFilter(); r != nil {
			s.startFilter(r, f)
		}
	}
}

// startFlush freezes the active table and writes it as a run.
func (s *Sieve) startFlush() {
	s.mu.Lock()
	s.active, s.frozen = s.frozen, s.active
	s.mu.Unlock()
	s.cut = s.seq
	s.writeFrozen()
}

func (s *Sieve) writeFrozen() {
	number, size, f := s.newRun(uint64(s.frozen.n))
	frozen := s.frozen
	s.building[0] = f
	s.flushing = s.start(func(ctx context.Context) result {
		r, err := s.write(number, size, f, func(add func(entry)) error {
			for _, e := range frozen.sorted() {
				add(e)
			}
			return ctx.Err()
		})
		return result{run: r, err: err}
	})
}

func (s *Sieve) startMerge(inputs []*run) {
	var keys uint64
	for _, r := range inputs {
		keys += r.keys
	}
	number, size, f := s.newRun(keys)
	s.building[1] = f
	s.merging = s.start(func(ctx context.Context) result {
		r, err := s.write(number, size, f, func(add func(entry)) error { return merge(ctx, inputs, add) })
		return result{run: r, inputs: inputs, err: err}
	})
}

// startFilter fills f from r, which lacks one since the start or since memory was short.
func (s *Sieve) startFilter(r *run, f *filter) {
	s.building[1] = f
	s.merging = s.start(func(ctx context.Context) result {
		if err := merge(ctx, []*run{r}, f.add); err != nil {
			return result{err: err}
		}
		r.filter.Store(f)
		return result{}
	})
}

// start runs a job. Its result must be received: by collect, or by Close, which ends ctx first.
func (s *Sieve) start(job func(context.Context) result) chan result {
	c := make(chan result, 1)
	go func() { c <- job(s.ctx) }()
	return c
}

// write makes a run file of what fill adds.
func (s *Sieve) write(number uint64, blockSize int, f *filter, fill func(add func(entry)) error) (*run, error) {
	w, err := createRun(s.o.FS, s.path(number), blockSize, f)
	if err != nil {
		return nil, err
	}
	if err := fill(w.add); err != nil {
		w.abort()
		return nil, err
	}
	return w.finish(number)
}

// newRun decides on file number, block size and filter of a run of that many keys.
func (s *Sieve) newRun(keys uint64) (number uint64, blockSize int, f *filter) {
	number = s.next
	s.next++
	return number, s.blockSize(), newFilter(keys, s.filterBits(keys, true))
}

// blockSize is the smallest that lets the index of all runs fit its share of memory, twice over because a merge holds
// old and new.
func (s *Sieve) blockSize() int {
	size := minBlock
	need := int64(s.known()) * 9 * indexSize * 2 / max(s.o.Memory/indexShare, 1)
	for int64(size) < need && size < maxBlock {
		size *= 2
	}
	return size
}

// filterBits returns how many bits per key memory allows for the filter of a run; 0 means none. With evict,
// larger runs lose their filters for it: a probe costs the same in any run, so memory goes to the runs that need
// least of it. A quarter of the budget stays free for small runs to come.
func (s *Sieve) filterBits(keys uint64, evict bool) int {
	budget := s.o.Memory / filterShare
	for {
		free := budget - s.building[0].size() - s.building[1].size()
		var largest *run
		for _, r := range s.runs {
			if f := r.filter.Load(); f != nil {
				free -= f.size()
				if largest == nil || r.keys > largest.keys {
					largest = r
				}
			}
		}
		if evict {
			free = min(free, budget-budget/4)
		} else {
			free -= budget / 4
		}
		if bits := free * 8 / int64(max(keys, 1)); bits >= minFilterBits {
			return int(min(bits, maxFilterBits))
		}
		if !evict || largest == nil || largest.keys <= keys {
			return 0
		}
		largest.filter.Store(nil)
	}
}

// pickMerge returns the runs of the lowest size tier that has too many, or nil. The runs of tier t have at least
// RecentKeys * MaxRuns^t keys.
func (s *Sieve) pickMerge() []*run {
	tiers := map[int][]*run{}
	for _, r := range s.runs {
		t := s.tier(r)
		tiers[t] = append(tiers[t], r)
	}
	lowest := -1
	for t, rs := range tiers {
		if len(rs) >= s.o.MaxRuns && (lowest < 0 || t < lowest) {
			lowest = t
		}
	}
	rs := tiers[lowest]
	return rs[:min(len(rs), mergeFan)]
}

func (s *Sieve) tier(r *run) (t int) {
	for k := r.keys / uint64(s.o.MaxRuns); k >= uint64(s.o.RecentKeys); k /= uint64(s.o.MaxRuns) {
		t++
	}
	return t
}

// pickFilter returns the smallest run that lacks a filter and can have one.
func (s *Sieve) pickFilter() (*run, *filter) {
	var least *run
	for _, r := range s.runs {
		if r.filter.Load() == nil && (least == nil || r.keys < least.keys) {
			least = r
		}
	}
	if least == nil {
		return nil, nil
	}
	f := newFilter(least.keys, s.filterBits(least.keys, false))
	if f == nil {
		return nil, nil
	}
	return least, f
}

// collect takes the results of finished jobs. It waits for them when active is full, or when merges lag behind.
func (s *Sieve) collect() error {
	if s.frozen.n > 0 && s.flushing == nil && !s.flushFinished() {
		s.writeFrozen() // an earlier attempt failed
	}
	full := s.active.n >= s.o.RecentKeys
	if err := s.take(&s.flushing, 0, full); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	low := 0
	for _, r := range s.runs {
		if s.tier(r) == 0 {
			low++
		}
	}
	if err := s.take(&s.merging, 1, low >= lagRuns*s.o.MaxRuns); err != nil {
		return fmt.Errorf("merge runs: %w", err)
	}
	return nil
}

// take receives the result of a job, if there is one.
func (s *Sieve) take(c *chan result, kind int, wait bool) error {
	if *c == nil {
		return nil
	}
	var r result
	select {
	case r = <-*c:
	default:
		if !wait {
			return nil
		}
		s.mu.Lock()
		s.stats.Waits++
		s.mu.Unlock()
		r = <-*c
	}
	*c, s.building[kind] = nil, nil
	if r.err != nil {
		return r.err
	}
	if r.run != nil {
		s.finished = append(s.finished, r)
	}
	return nil
}

// flushedTo is the sequence number below which all chunks are in runs once the finished jobs are installed.
func (s *Sieve) flushedTo() uint64 {
	if s.flushFinished() {
		return s.cut
	}
	return s.installed
}

// flushFinished reports whether the run of the frozen keys waits to be installed.
func (s *Sieve) flushFinished() bool {
	return slices.ContainsFunc(s.finished, func(r result) bool { return r.inputs == nil })
}
