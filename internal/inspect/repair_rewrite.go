package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"decorum/internal/jobdir"
)

// lines calls visit for each line of a stream up to its committed end, and broken for each stretch without line ends: what a
// crash leaves at the end, or more than jobdir.MaxLine anywhere.
func (m *mending) lines(name string, visit func(line), broken func(from, to int64)) (*stream, error) {
	s, err := m.f.open(name)
	if err != nil {
		return nil, err
	}
	s.SectionReader = io.NewSectionReader(s.SectionReader, 0, min(s.Size(), max(s.end, 0)))
	lines := newLineReader(s)
	for {
		l, err := lines.read()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, errors.Join(err, s.Close())
		}
		if !l.torn {
			visit(l)
			continue
		}
		end, err := lineEnd(s, l.at)
		if err != nil {
			return s, errors.Join(err, s.Close())
		}
		broken(l.at, end)
		lines = newLineReader(io.NewSectionReader(s, end, s.Size()-end))
		lines.next.at, lines.next.number = end, l.number
	}
}

// lineEnd returns where the line ends that an offset lies in, or the end of the stream.
func lineEnd(s *stream, from int64) (int64, error) {
	buf := make([]byte, jobdir.MaxLine)
	for from < s.Size() {
		n, err := s.ReadAt(buf, from)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		from += int64(n)
	}
	return s.Size(), nil
}

// eachLine calls visit for each line of a stream up to its committed end.
func (m *mending) eachLine(name string, visit func(line)) error {
	s, err := m.lines(name, visit, func(int64, int64) {})
	if err != nil {
		return err
	}
	return s.Close()
}

// rewrite makes a stream anew, line by line: decide says what becomes of each, and after, unless nil, what follows the
// last one. A stream that stays as it is is not touched.
func (m *mending) rewrite(name string, decide func(line, *rewriter), after func(*rewriter)) error {
	src, err := os.Open(m.f.Path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w := &rewriter{m: m, name: name, src: src, dropped: map[string]int64{}}
	defer w.close()
	s, err := m.lines(name, func(l line) { decide(l, w) }, w.broken)
	if err != nil {
		return err
	}
	if after != nil {
		after(w)
	}
	return errors.Join(w.finish(s.end), s.Close())
}

// rewriter is a stream being made anew. As long as all lines are kept, nothing is written.
type rewriter struct {
	m       *mending
	name    string
	src     *os.File // nil: there is none
	same    int64    // bytes kept before the first change
	out     *os.File // nil before the first change
	w       *bufio.Writer
	size    int64
	aside   *os.File         // lines that were dropped; nil: none
	dropped map[string]int64 // by reason
	lost    int64            // numbers that took the place of lines
	marked  int64            // lines with a mark
	err     error            // the first
}

// keep takes a line over as it is.
func (w *rewriter) keep(l line) {
	if w.out == nil {
		w.same = l.at + int64(len(l.text)) + 1
		return
	}
	w.write(l.text)
	w.write([]byte("\n"))
}

func (w *rewriter) keepIf(l line, whole bool, why string) {
	if whole {
		w.keep(l)
	} else {
		w.drop(l, why)
	}
}

// add writes a line of its own.
func (w *rewriter) add(text []byte) {
	w.change()
	w.write(text)
}

// drop leaves a line out, and keeps it aside.
func (w *rewriter) drop(l line, why string) {
	w.change()
	w.dropped[why]++
	w.keepAside(l.text)
	w.keepAside([]byte("\n"))
}

// broken leaves out a stretch that is no line, and keeps it aside.
func (w *rewriter) broken(from, to int64) {
	w.change()
	if w.err == nil {
		w.err = w.m.keepBytes(w.name, from, to)
	}
	w.m.act(w.name, jobdir.Known(from), to-from, "no whole line; dropped and kept aside")
}

// change begins the new file with what was kept so far.
func (w *rewriter) change() {
	if w.out != nil || w.err != nil {
		return
	}
	if w.out, w.err = w.create(preparedName + "/" + w.name); w.err != nil {
		return
	}
	w.w = bufio.NewWriter(w.out)
	if w.same > 0 {
		w.size, w.err = io.Copy(w.w, io.NewSectionReader(w.src, 0, w.same))
	}
}

func (w *rewriter) create(name string) (*os.File, error) {
	path := w.m.f.Path(w.m.tmp + "/" + name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}

func (w *rewriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
		w.size += int64(len(b))
	}
}

func (w *rewriter) keepAside(b []byte) {
	if w.err == nil && w.aside == nil {
		w.aside, w.err = w.create(w.name + ".dropped")
	}
	if w.err == nil {
		_, w.err = w.aside.Write(b)
	}
}

// finish plans what becomes of the stream; end is where it ended.
func (w *rewriter) finish(end int64) error {
	switch {
	case w.err != nil:
		return w.err
	case w.out != nil:
		if err := errors.Join(w.w.Flush(), w.out.Sync()); err != nil {
			return err
		}
		if w.aside != nil {
			if err := w.aside.Sync(); err != nil {
				return err
			}
		}
		w.m.step(step{Do: doReplace, Name: w.name})
		w.m.setEnd(w.name, w.size)
		w.tell()
	case w.same < end: // it ends with a whole line, but too early
		w.m.act(w.name, jobdir.Known(w.same), end-w.same, "shorter than the state says: what followed is gone")
		w.m.setEnd(w.name, w.same)
	default:
		return w.behind(end)
	}
	return nil
}

// tell reports what was dropped.
func (w *rewriter) tell() {
	for _, why := range slices.Sorted(maps.Keys(w.dropped)) {
		w.m.act(w.name, jobdir.Int{}, 0, "%s dropped and kept aside: %s", count(w.dropped[why], "line"), why)
	}
	if w.lost > 0 {
		w.m.act(w.name, jobdir.Int{}, 0, "of %s the number alone is left", count(w.lost, "exchange"))
	}
	if w.marked > 0 {
		w.m.act(w.name, jobdir.Int{}, 0, "%s marked: their record or page is lost", count(w.marked, "exchange"))
	}
}

// behind cuts what lies behind the end of a stream, and moves aside one that the state does not know at all.
func (w *rewriter) behind(end int64) error {
	if _, known := w.m.f.progress.Streams[w.name]; known {
		return w.m.tail(w.name, end)
	}
	if w.src != nil && w.m.f.clean {
		w.m.step(step{Do: doKeep, Name: w.name})
		w.m.act(w.name, jobdir.Int{}, 0, "unknown to the state; moved aside")
	}
	return nil
}

func (w *rewriter) close() {
	for _, f := range [...]*os.File{w.src, w.out, w.aside} {
		if f != nil {
			f.Close() // what matters was synced
		}
	}
}
