package jobdir

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of sorting.
const (
	// DefaultSortMemory in bytes: a run of this size, about 250,000 lines of index.
	DefaultSortMemory = 64 << 20
	minSortMemory     = 1 << 16
	// mergeWidth is how many runs are merged at once: 64 open files and 64 buffers.
	mergeWidth  = 64
	mergeBuffer = 64 << 10

	partSuffix = ".part"
	runSuffix  = ".run"
)

// SortIndex makes the sorted file path from the unsorted path.part, using about memory bytes (0 = 64 MiB)
// and temporary files beside it. Lines are ordered by their bytes, as index readers expect (LC_ALL=C). The
// old file stays until the new one is whole and durable; the part is not touched. A last line without an
// end is left out.
func SortIndex(ctx context.Context, path string, memory int64) error {
	return sortFile(ctx, osFS{}, path, memory, Sum{})
}

// SortIndex makes indexes/index.cdxj, as the function of that name does. When the part is not what its Sum says, the
// error is ErrAltered and the old file stays.
func (d *Dir) SortIndex(ctx context.Context, memory int64, part Sum) error {
	return sortFile(ctx, d.fs, d.Index(), memory, part)
}

func sortFile(ctx context.Context, fsys FS, path string, memory int64, part Sum) error {
	s := sorter{ctx: ctx, fs: fsys, path: path, memory: max(memory, minSortMemory), part: part}
	if memory == 0 {
		s.memory = DefaultSortMemory
	}
	err := s.removeRuns() // of a sort that was interrupted
	if err == nil {
		err = s.sort()
	}
	if err = errors.Join(err, s.removeRuns()); err != nil {
		return fmt.Errorf("sort index %s: %w", path, err)
	}
	return nil
}

// sorter is one external merge sort: sorted runs of as much as fits into memory, then merges.
type sorter struct {
	ctx    context.Context
	fs     FS
	path   string
	memory int64
	part   Sum
	runs   []string
	serial int

	// Of all lines, in any order: what was read of the part, and what came out at the end. They differ when a bit
	// changed on its way through the runs.
	in, out tally
}

// tally is a sum over lines that does not depend on their order.
type tally struct{ lines, sum uint64 }

func (t *tally) add(line []byte) {
	t.lines++
	t.sum += uint64(crc32.Checksum(line, castagnoli))
}

func (s *sorter) sort() error {
	in, err := s.fs.OpenFile(s.path+partSuffix, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	part := &summed{r: in, left: s.part.End}
	err = s.makeRuns(part)
	switch {
	case err != nil:
	case part.left > 0:
		err = fmt.Errorf("%s%s: %w", s.path, partSuffix, ErrShort)
	case part.crc != s.part.CRC:
		err = fmt.Errorf("%s%s: %w", s.path, partSuffix, ErrAltered)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	for len(s.runs) > mergeWidth {
		group := s.runs[:mergeWidth]
		name, err := s.writeRun(func(w io.Writer) error { return s.merge(w, group, new(tally)) })
		if err != nil {
			return err
		}
		for _, run := range group {
			if err := s.fs.Remove(run); err != nil {
				return err
			}
		}
		s.runs = append(s.runs[mergeWidth:], name)
	}
	tmp, err := s.writeRun(func(w io.Writer) error { return s.merge(w, s.runs, &s.out) })
	if err == nil && s.in != s.out {
		err = fmt.Errorf("%s: a temporary file beside it: %w", s.path, ErrAltered)
	}
	if err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, s.path); err != nil {
		return err
	}
	return s.fs.SyncDir(filepath.Dir(s.path))
}

// summed is a reader that sums up its first bytes.
type summed struct {
	r    io.Reader
	left int64 // bytes still to come
	crc  uint32
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	k := min(int64(n), s.left)
	s.crc, s.left = crc32.Update(s.crc, castagnoli, p[:k]), s.left-k
	return n, err
}

// makeRuns cuts the input into sorted runs. A third of the memory is for the bytes of the lines and the
// rest for finding them: a slice header is 24 bytes, a short line not much more.
func (s *sorter) makeRuns(in io.Reader) error {
	br := bufio.NewReaderSize(in, MaxLine)
	text := make([]byte, 0, s.memory/3)
	var lines [][]byte
	flush := func() error {
		slices.SortFunc(lines, bytes.Compare)
		name, err := s.writeRun(func(w io.Writer) error { return writeLines(w, lines) })
		s.runs = append(s.runs, name)
		text, lines = text[:0], lines[:0]
		return err
	}
	for {
		line, err := br.ReadSlice('\n')
		if err != nil && err != io.EOF {
			return err
		}
		full := len(text)+len(line) > cap(text) || int64(len(lines))*24 > s.memory/3
		if err == io.EOF || full {
			if len(lines) > 0 {
				if err := flush(); err != nil {
					return err
				}
			}
			if err == io.EOF {
				return nil
			}
		}
		if len(line) > cap(text) {
			text = make([]byte, 0, len(line)) // one line larger than the whole buffer
		}
		s.in.add(line)
		text = append(text, line...)
		lines = append(lines, text[len(text)-len(line):])
	}
}

func writeLines(w io.Writer, lines [][]byte) error {
	for _, line := range lines {
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// writeRun writes a new run and syncs it.
func (s *sorter) writeRun(write func(io.Writer) error) (string, error) {
	if err := s.ctx.Err(); err != nil {
		return "", err
	}
	s.serial++
	name := fmt.Sprintf("%s.%d%s", s.path, s.serial, runSuffix)
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, mergeBuffer)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return name, errors.Join(err, f.Close())
}

// merge writes the lines of the named runs in order, and counts them.
func (s *sorter) merge(w io.Writer, names []string, out *tally) (err error) {
	var h runHeap
	for _, name := range names {
		f, openErr := s.fs.OpenFile(name, os.O_RDONLY, 0)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		r := &run{br: bufio.NewReaderSize(f, mergeBuffer)}
		if more, readErr := r.next(); readErr != nil {
			return readErr
		} else if more {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	for n := 0; len(h) > 0; n++ {
		if n%ctxEvery == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		out.add(h[0].line)
		if _, err := w.Write(h[0].line); err != nil {
			return err
		}
		if more, err := h[0].next(); err != nil {
			return err
		} else if !more {
			heap.Pop(&h)
			continue
		}
		heap.Fix(&h, 0)
	}
	return nil
}

// ctxEvery is how many lines are merged between two looks at the context: about a millisecond.
const ctxEvery = 4096

// removeRuns removes the runs of this or an earlier sort.
func (s *sorter) removeRuns() error {
	dir, base := filepath.Split(s.path)
	entries, err := s.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+".") && strings.HasSuffix(e.Name(), runSuffix) {
			err = errors.Join(err, s.fs.Remove(dir+e.Name()))
		}
	}
	return err
}

// run is a sorted file being read.
type run struct {
	br   *bufio.Reader
	line []byte
}

// next reads the next line into its own memory: the buffer of the reader may be shorter than a line.
func (r *run) next() (more bool, err error) {
	r.line = r.line[:0]
	for {
		part, err := r.br.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch err {
		case bufio.ErrBufferFull:
		case nil:
			return true, nil
		case io.EOF:
			return false, nil
		default:
			return false, err
		}
	}
}

type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
