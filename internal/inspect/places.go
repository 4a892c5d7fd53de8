package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/zeebo/xxh3"

	"decorum/internal/jobdir"
	"decorum/internal/warc"
)

// places is where the responses and revisits of an archive lie, noted as its files are read from end to end: whatever else
// names a place is compared with it, and no record need be read twice. It takes 40 bytes of memory for each.
type places struct {
	seed  uint64 // of the hashes: drawn for each use, so that no site can make its URLs collide
	files map[string]*filePlaces
}

// filePlaces are the places in one file, in order.
type filePlaces struct {
	list []place
	next int // where the last look-up found its place, and one: index and pages go through the archive in order
}

type place struct {
	offset, length int64
	url, id        uint64 // hashes
	revisit        bool
}

func newPlaces() *places { return &places{seed: rand.Uint64(), files: map[string]*filePlaces{}} }

func (p *places) hash(s string) uint64 { return xxh3.HashStringSeed(s, p.seed) }

// note returns what notes the places of a file while it is read.
func (p *places) note(file string) func(*warc.Entry, int64, []byte) {
	f := &filePlaces{}
	p.files[file] = f
	return func(e *warc.Entry, length int64, _ []byte) {
		if t := e.Type(); t == warc.Response || t == warc.Revisit {
			f.list = append(f.list, place{e.Offset, length, p.hash(e.TargetURI()), p.hash(e.ID()), t == warc.Revisit})
		}
	}
}

// find returns the place of a record of a URL, which must be whole, of that length, and of that URL.
func (p *places) find(file string, offset, length int64, url string) (place, error) {
	f := p.files[file]
	if f == nil {
		return place{}, fmt.Errorf("%s: no such file in the archive", file)
	}
	at, ok := f.at(offset)
	switch {
	case !ok:
		return at, fmt.Errorf("%s offset %d: no whole response begins there", file, offset)
	case at.url != p.hash(url):
		return at, fmt.Errorf("%s offset %d: a record of another URL than %s", file, offset, url)
	case at.length != length:
		return at, fmt.Errorf("%s offset %d: the record has %d bytes, not %d", file, offset, at.length, length)
	}
	return at, nil
}

func (f *filePlaces) at(offset int64) (place, bool) {
	i, ok := f.next, f.next < len(f.list) && f.list[f.next].offset == offset
	if !ok {
		i, ok = slices.BinarySearchFunc(f.list, offset, func(p place, offset int64) int { return cmp.Compare(p.offset, offset) })
	}
	if !ok {
		return place{}, false
	}
	f.next = i + 1
	return f.list[i], true
}

// ends returns where the records of one file end according to the index, by where they begin.
func (f *folder) ends(file string) (map[int64]int64, error) {
	ends := map[int64]int64{}
	err := f.indexLines(func(e *indexEntry) {
		if e.File == file {
			ends[e.Offset] = e.Offset + e.Length
		}
	})
	return ends, err
}

// indexLines calls visit for each line of the index in the order of fetching that can be read.
func (f *folder) indexLines(visit func(*indexEntry)) error {
	s, err := f.open(jobdir.IndexPartName)
	if err != nil {
		return err
	}
	defer s.Close()
	for lines := newLineReader(s); ; {
		l, err := lines.read()
		if errors.Is(err, io.EOF) || l.torn {
			return nil
		}
		if err != nil {
			return err
		}
		if e, err := parseIndexLine(l.text); err == nil {
			visit(&e)
		}
	}
}

// endOf asks the index where a record ends that cannot be read. The index is read when it is first asked.
func (f *folder) endOf(file string) func(offset int64) int64 {
	var ends map[int64]int64
	return func(offset int64) int64 {
		if ends == nil {
			ends, _ = f.ends(file) // without it, the next record is searched for
		}
		return ends[offset]
	}
}
