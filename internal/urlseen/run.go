package urlseen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"decorum/internal/store"
)

// ErrCorrupt says that a run file or the manifest is not what was written.
var ErrCorrupt = errors.New("damaged")

// run is an open run file: its index in memory, its blocks on disk. Immutable, except that a filter may come and go.
type run struct {
	number uint64
	path   string
	f      store.File
	keys   uint64
	bytes  int64 // of the file
	end    int64 // of the last block
	parts  []partRange
	index  []blockIndex
	filter atomic.Pointer[filter]
}

// partRange is the blocks of a partition: index[first:end].
type partRange struct {
	part       uint16 // partition + 1
	first, end int
	keys       uint64
}

// blockIndex is the first key of a block and where the block is.
type blockIndex struct {
	host, url uint64
	offset    int64
}

// indexSize is the bytes of memory a block costs.
const indexSize = 24

func (b blockIndex) after(e entry) bool {
	return b.host > e.host || b.host == e.host && b.url > e.url
}

func (r *run) blockEnd(i int) int64 {
	if i+1 < len(r.index) {
		return r.index[i+1].offset
	}
	return r.end
}

// openRun opens a run file and reads its footer.
func openRun(fs store.FS, path string, number uint64) (*run, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	r := &run{number: number, path: path, f: f}
	if err := r.readFooter(); err != nil {
		return nil, errors.Join(fmt.Errorf("open run %s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *run) readFooter() error {
	info, err := r.f.Stat()
	if err != nil {
		return err
	}
	r.bytes = info.Size()
	var t [trailerSize]byte
	if r.bytes < int64(len(runMagic)+trailerSize) {
		return fmt.Errorf("%w: too short", ErrCorrupt)
	}
	if _, err := r.f.ReadAt(t[:], r.bytes-trailerSize); err != nil {
		return err
	}
	if string(t[32:]) != runMagic {
		return fmt.Errorf("%w: not a run file", ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(t[:]); v != runVersion {
		return fmt.Errorf("%w: run format %d, this program knows %d", store.ErrNewer, v, runVersion)
	}
	offset, length := binary.LittleEndian.Uint64(t[8:]), binary.LittleEndian.Uint64(t[16:])
	size := uint64(r.bytes - trailerSize)
	if offset > size || length != size-offset || offset < uint64(len(runMagic)) {
		return fmt.Errorf("%w: footer outside of the file", ErrCorrupt)
	}
	footer := make([]byte, length)
	if _, err := r.f.ReadAt(footer, int64(offset)); err != nil {
		return err
	}
	if checksum(footer) != binary.LittleEndian.Uint32(t[4:]) {
		return fmt.Errorf("%w: footer checksum", ErrCorrupt)
	}
	r.end, r.keys = int64(offset), binary.LittleEndian.Uint64(t[24:])
	return r.parseFooter(footer)
}

// parseFooter reads what appendFooter wrote, and checks that it describes bytes [8, end) of the file.
func (r *run) parseFooter(b []byte) error {
	p := parser{b: b}
	var blocks, keys, part uint64
	for range p.count(3) {
		delta, n, k := p.uvarint(), p.uvarint(), p.uvarint()
		if part += delta; delta == 0 || part > uint64(store.Global) || n == 0 || n > uint64(len(b)) {
			p.bad = true
			break
		}
		r.parts = append(r.parts, partRange{uint16(part), int(blocks), int(blocks + n), k})
		blocks, keys = blocks+n, keys+k
	}
	if p.uvarint() != blocks || keys != r.keys || blocks > uint64(len(b))/17 {
		p.bad = true
	}
	if p.bad {
		return fmt.Errorf("%w: partitions in the footer", ErrCorrupt)
	}
	r.index = make([]blockIndex, blocks)
	at := int64(len(runMagic))
	for i := range r.index {
		r.index[i] = blockIndex{p.uint64(), p.uint64(), at}
		n := p.uvarint()
		if n > maxBlock {
			p.bad = true
			break
		}
		at += int64(n)
	}
	if p.bad || len(p.b) != 0 || at != r.end {
		return fmt.Errorf("%w: block index in the footer", ErrCorrupt)
	}
	return nil
}

// partition returns the blocks of a partition, or none.
func (r *run) partition(part uint16) partRange {
	i := sort.Search(len(r.parts), func(i int) bool { return r.parts[i].part >= part })
	if i < len(r.parts) && r.parts[i].part == part {
		return r.parts[i]
	}
	return partRange{}
}

// find returns the block of index[lo:hi] that holds e if the run does, or -1. Nearby keys are found in few
// steps: it doubles its stride from lo.
func (r *run) find(e entry, lo, hi int) int {
	if lo >= hi || r.index[lo].after(e) {
		return -1
	}
	stride := 1
	for lo+stride < hi && !r.index[lo+stride].after(e) {
		lo += stride
		stride *= 2
	}
	hi = min(hi, lo+stride)
	return lo + sort.Search(hi-lo-1, func(i int) bool { return r.index[lo+1+i].after(e) })
}

// parser reads bytes that may be anything; after the first defect bad is set and it returns zeros.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) uint64() uint64 {
	if len(p.b) < 8 {
		p.b, p.bad = nil, true
		return 0
	}
	v := binary.BigEndian.Uint64(p.b)
	p.b = p.b[8:]
	return v
}

// count reads a number of items of at least size bytes each.
func (p *parser) count(size int) uint64 {
	n := p.uvarint()
	if n > uint64(len(p.b)/size) {
		p.bad = true
		return 0
	}
	return n
}
