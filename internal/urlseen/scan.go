package urlseen

import (
	"context"
	"encoding/binary"
	"fmt"
)

// scanner reads a run from one end to the other and checks what it reads: checksums, order and counts.
type scanner struct {
	r    *run
	p    prober
	c    cursor
	b    int    // next block
	part int    // index into r.parts
	left uint64 // keys of the partition still to come
	end  int    // block to stop before
	e    entry
	err  error
}

func newScanner(r *run) *scanner { return &scanner{r: r, part: -1, end: len(r.index)} }

// newPartitionScanner reads one partition, a slice of the file.
func newPartitionScanner(r *run, part uint16) *scanner {
	s := &scanner{r: r, part: -1}
	for i, p := range r.parts {
		if p.part == part {
			s.b, s.end, s.part = p.first, p.end, i-1
		}
	}
	return s
}

// next goes to the next entry, s.e. At the end or after an error it returns false.
func (s *scanner) next() bool {
	for s.err == nil {
		if len(s.c.urls) > 0 {
			e := entry{s.c.host, binary.BigEndian.Uint64(s.c.urls), s.r.parts[s.part].part}
			s.c.urls = s.c.urls[8:]
			if !s.e.less(e) || s.left == 0 {
				s.fail("order or count of keys")
				return false
			}
			s.e = e
			s.left--
			return true
		}
		if s.c.next() {
			continue
		}
		if len(s.c.rest) > 0 {
			s.fail("malformed group")
			return false
		}
		if !s.nextBlock() {
			return false
		}
	}
	return false
}

func (s *scanner) nextBlock() bool {
	if s.part < 0 || s.b == s.r.parts[s.part].end {
		if s.left > 0 {
			s.fail("count of keys")
		}
		if s.left > 0 || s.b == s.end {
			return false
		}
		s.part++
		s.left = s.r.parts[s.part].keys
	}
	if s.err = s.p.load(s.r, s.b, true); s.err != nil {
		return false
	}
	s.c = s.p.block
	if first := s.r.index[s.b]; len(s.c.rest) < 9 || binary.BigEndian.Uint64(s.c.rest) != first.host || firstURL(s.c.rest) != first.url {
		s.fail("block differs from its index")
		return false
	}
	s.b++
	return true
}

// firstURL returns the first URL of a block's first group, or 0.
func firstURL(block []byte) uint64 {
	c := cursor{rest: block}
	if !c.next() {
		return 0
	}
	return binary.BigEndian.Uint64(c.urls)
}

func (s *scanner) fail(what string) {
	s.err = fmt.Errorf("run %s: block %d: %w: %s", s.r.path, s.b, ErrCorrupt, what)
}

// checkEvery is how many entries pass between looks at the context: about a millisecond.
const checkEvery = 1 << 15

// merge calls add for the entries of all runs in order. Runs are disjoint; a key in two of them is damage.
func merge(ctx context.Context, runs []*run, add func(entry)) error {
	var ss []*scanner
	for _, r := range runs {
		if s := newScanner(r); s.next() {
			ss = append(ss, s)
		} else if s.err != nil {
			return s.err
		}
	}
	for n := 0; len(ss) > 0; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		least := 0
		for i := 1; i < len(ss); i++ {
			if ss[i].e.less(ss[least].e) {
				least = i
			} else if ss[i].e == ss[least].e {
				return fmt.Errorf("runs %s and %s share a key: %w", ss[i].r.path, ss[least].r.path, ErrCorrupt)
			}
		}
		add(ss[least].e)
		if !ss[least].next() {
			if ss[least].err != nil {
				return ss[least].err
			}
			ss = append(ss[:least], ss[least+1:]...)
		}
	}
	return nil
}
