package urlseen

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"sort"
)

// candidate is a key of a step that some run may hold.
type candidate struct {
	host, url uint64
	part      uint16 // as in entry, whose padding holds the rest
	run       uint16 // the first run whose filter does not deny it
	i         uint32 // its index among the keys of the step
}

// candidateSize is the bytes of a candidate.
const candidateSize = 24

func (c candidate) entry() entry { return entry{c.host, c.url, c.part} }

// compare is the order of runs, equal keys in the order of the step.
func (c candidate) compare(o candidate) int {
	switch {
	case c.part != o.part:
		return cmp.Compare(c.part, o.part)
	case c.host != o.host:
		return cmp.Compare(c.host, o.host)
	case c.url != o.url:
		return cmp.Compare(c.url, o.url)
	default:
		return cmp.Compare(c.i, o.i)
	}
}

// prober looks keys up in runs. Its buffer is reused; it belongs to one goroutine.
type prober struct {
	buf         []byte // blocks [first, last) of the run
	first, last int
	block       cursor
	probes      uint64
	reads       uint64
}

// sift removes from cs, which is sorted, what r holds, the run at index `number`. Where there is at least a key for each block that
// remains, blocks are read ahead (a large batch streams); otherwise only blocks that may hold a key are read.
func (p *prober) sift(r *run, number int, cs []candidate) ([]candidate, error) {
	p.first, p.last = 0, 0
	f := r.filter.Load()
	kept := cs[:0]
	cur, in := -1, partRange{}
	for i, c := range cs {
		if int(c.run) > number || f != nil && int(c.run) < number && !f.mayHave(c.entry()) {
			kept = append(kept, c)
			continue
		}
		if c.part != in.part {
			in, cur = r.partition(c.part), -1
			in.part = c.part
		}
		p.probes++
		b := r.find(c.entry(), max(cur, in.first), in.end)
		if b < 0 {
			kept = append(kept, c)
			continue
		}
		if b != cur {
			ahead := len(cs)-i >= len(r.index)-b
			if err := p.load(r, b, ahead); err != nil {
				return nil, err
			}
			cur = b
		}
		found, ok := p.block.seek(c.host, c.url)
		if !ok {
			return nil, fmt.Errorf("run %s: block %d: %w", r.path, b, ErrCorrupt)
		}
		if !found {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// load puts the cursor at the start of block b.
func (p *prober) load(r *run, b int, ahead bool) error {
	if b < p.first || b >= p.last {
		n := 1
		if ahead {
			for b+n < len(r.index) && r.blockEnd(b+n)-r.index[b].offset <= writeSize {
				n++
			}
		}
		if err := p.read(r, b, n); err != nil {
			return err
		}
	}
	base := r.index[p.first].offset
	block := p.buf[r.index[b].offset-base : r.blockEnd(b)-base]
	data, ok := checked(block)
	if !ok {
		return fmt.Errorf("run %s: block %d: %w: checksum", r.path, b, ErrCorrupt)
	}
	p.block = cursor{rest: data}
	return nil
}

func (p *prober) read(r *run, b, n int) error {
	from, to := r.index[b].offset, r.blockEnd(b+n-1)
	if int64(cap(p.buf)) < to-from {
		p.buf = make([]byte, max(to-from, minBlock))
	}
	p.buf = p.buf[:to-from]
	if k, err := r.f.ReadAt(p.buf, from); k < len(p.buf) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read run %s: %w", r.path, err)
	}
	p.first, p.last = b, b+n
	p.reads++
	return nil
}

// checked returns a block without its checksum, and whether that is right.
func checked(block []byte) ([]byte, bool) {
	if len(block) < crcSize {
		return nil, false
	}
	data := block[:len(block)-crcSize]
	return data, checksum(data) == binary.LittleEndian.Uint32(block[len(data):])
}

// cursor goes through the groups of a block.
type cursor struct {
	rest []byte // groups after the current one
	host uint64
	urls []byte // of the current group, from the last URL sought
}

// next goes to the next group. It returns false at the end of the block, or when the block is malformed; then
// rest is not empty.
func (c *cursor) next() bool {
	if len(c.rest) < 9 {
		return false
	}
	n, w := binary.Uvarint(c.rest[8:])
	at := 8 + w
	if w <= 0 || n == 0 || n > uint64(len(c.rest)-at)/8 {
		return false
	}
	c.host = binary.BigEndian.Uint64(c.rest)
	c.urls = c.rest[at : at+int(n)*8]
	c.rest = c.rest[at+int(n)*8:]
	return true
}

// seek reports whether the block holds the key. Keys must be sought in ascending order. ok is false when the
// block is malformed.
func (c *cursor) seek(host, url uint64) (found, ok bool) {
	for c.urls == nil || c.host < host {
		if !c.next() {
			c.urls, c.host = nil, 0
			return false, len(c.rest) == 0
		}
	}
	if c.host != host {
		return false, true
	}
	n := len(c.urls) / 8
	i := sort.Search(n, func(i int) bool { return binary.BigEndian.Uint64(c.urls[8*i:]) >= url })
	c.urls = c.urls[8*i:]
	return i < n && binary.BigEndian.Uint64(c.urls) == url, true
}
