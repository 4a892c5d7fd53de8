package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
)

// Body is a sequence of bytes in memory or, when large, in a file. The zero Body is empty. It is a
// value that refers to its Exchange's memory: valid until Exchange.Close.
type Body struct {
	mem  []byte
	file *os.File
	n    int64
}

// Len returns the length in bytes.
func (b Body) Len() int64 { return b.n }

// Bytes returns the bytes without a copy, and whether they are in memory at all.
func (b Body) Bytes() ([]byte, bool) { return b.mem, b.file == nil }

// Reader returns a new reader from the start. Readers are independent.
func (b Body) Reader() io.ReadSeeker {
	if b.file == nil {
		return bytes.NewReader(b.mem)
	}
	return io.NewSectionReader(b.file, 0, b.n)
}

// Buffers come in powers of two from 4 KiB, which holds any usual head and is all that an exchange
// waiting for its answer needs, to 4 MiB; larger ones are not pooled.
const (
	minBuffer     = 4 << 10
	bufferClasses = 11
)

// memory owns pooled buffers and the folder of spool files.
type memory struct {
	pools [bufferClasses]sync.Pool

	mu      sync.Mutex
	dir     string // guarded by mu; "" until first needed when own
	own     bool   // dir is ours to remove
	created bool
}

type buffer struct{ b []byte }

func class(n int) int {
	if n <= minBuffer {
		return 0
	}
	return bits.Len(uint((n - 1) / minBuffer))
}

// get returns an empty buffer with room for n bytes at least.
func (m *memory) get(n int) *buffer {
	c := class(n)
	if c >= bufferClasses {
		return &buffer{make([]byte, 0, n)}
	}
	if b, ok := m.pools[c].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, minBuffer<<c)}
}

func (m *memory) put(b *buffer) {
	c := class(cap(b.b))
	if c < bufferClasses && cap(b.b) == minBuffer<<c {
		b.b = b.b[:0]
		m.pools[c].Put(b)
	}
}

// spoolPattern names spool files; New removes leftovers of that name.
const spoolPattern = "body-*.spool"

func (m *memory) open(dir string) error {
	m.dir, m.own = dir, dir == ""
	if m.own {
		return nil
	}
	old, err := filepath.Glob(filepath.Join(escapeGlob(dir), spoolPattern))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// escapeGlob makes dir literal in a pattern.
func escapeGlob(dir string) string {
	var b bytes.Buffer
	for _, c := range []byte(dir) {
		if bytes.IndexByte([]byte(`*?[`), c) >= 0 {
			b.WriteString("[" + string(c) + "]")
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (m *memory) createFile() (*os.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.created {
		if err := m.createDir(); err != nil {
			return nil, err
		}
		m.created = true
	}
	return os.CreateTemp(m.dir, spoolPattern)
}

func (m *memory) createDir() (err error) {
	if m.own {
		m.dir, err = os.MkdirTemp("", "decorum-spool-")
		return err
	}
	return os.MkdirAll(m.dir, 0o700)
}

func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.own || !m.created {
		return nil
	}
	m.created = false
	return os.RemoveAll(m.dir)
}

// errSpool marks a fault of our disk; the cause, such as ENOSPC, is wrapped with it.
var errSpool = errors.New("spool")

// spool collects a body: in memory up to threshold bytes, in a file past it. The body begins at off in the
// buffer; what is before it (the head of a response) stays in memory. Bytes not yet scanned by the
// framing are in the buffer, never only in the file.
type spool struct {
	mem       *memory
	threshold int64
	buf       *buffer
	off       int // start of the body, or of the window when there is a file
	scan      int // start of the bytes not scanned
	file      *os.File
	flushed   int64 // bytes in file
}

// reserve prepares for a body of n bytes, so that it is received without a copy.
func (s *spool) reserve(n int64) error {
	if n > s.threshold {
		return s.spill()
	}
	if need := s.off + int(n); need > cap(s.buf.b) {
		s.grow(need)
	}
	return nil
}

// free returns room to write into, which commit then counts. All bytes must have been scanned.
func (s *spool) free() ([]byte, error) {
	end := cap(s.buf.b)
	if s.file == nil {
		end = int(min(int64(end), int64(s.off)+s.threshold))
	}
	if n := len(s.buf.b); n < end {
		return s.buf.b[n:end], nil
	}
	if err := s.extend(); err != nil {
		return nil, err
	}
	return s.free()
}

// extend makes room: a larger buffer, a file, or an emptied window.
func (s *spool) extend() error {
	switch {
	case s.file != nil:
		return s.flush()
	case int64(len(s.buf.b)-s.off) >= s.threshold:
		return s.spill()
	}
	// Four times: a body of unknown length is copied 1/4 + 1/16 + ... times.
	s.grow(int(max(int64(2*cap(s.buf.b)), min(int64(4*cap(s.buf.b)), int64(s.off)+s.threshold))))
	return nil
}

// commit counts n bytes written into free's room; scanned marks n more bytes as understood.
func (s *spool) commit(n int)  { s.buf.b = s.buf.b[:len(s.buf.b)+n] }
func (s *spool) scanned(n int) { s.scan += n }

func (s *spool) unscanned() []byte { return s.buf.b[s.scan:] }

// unwrite drops the last n bytes, all of them still in the buffer.
func (s *spool) unwrite(n int) {
	s.buf.b = s.buf.b[:len(s.buf.b)-n]
	s.scan -= n
}

// append copies p to the end.
func (s *spool) append(p []byte) error {
	for len(p) > 0 {
		room, err := s.free()
		if err != nil {
			return err
		}
		n := copy(room, p)
		s.commit(n)
		s.scanned(n)
		p = p[n:]
	}
	return nil
}

func (s *spool) grow(n int) {
	b := s.mem.get(n)
	b.b = append(b.b, s.buf.b...)
	s.mem.put(s.buf)
	s.buf = b
}

// spoolWindow is the room for reading once a body is in its file: a few TLS records, one write.
const spoolWindow = 64 << 10

// spill opens the file and makes the buffer behind the head a window onto its end.
func (s *spool) spill() (err error) {
	if s.file, err = s.mem.createFile(); err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	if err := s.flush(); err != nil {
		return err
	}
	if cap(s.buf.b)-s.off < spoolWindow {
		s.grow(s.off + spoolWindow)
	}
	return nil
}

// flush moves what was scanned to the file.
func (s *spool) flush() error {
	n, err := s.file.Write(s.buf.b[s.off:s.scan])
	s.flushed += int64(n)
	rest := copy(s.buf.b[s.off:], s.buf.b[s.scan:])
	s.buf.b = s.buf.b[:s.off+rest]
	s.scan = s.off
	if err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	return nil
}

func (s *spool) len() int64 { return s.flushed + int64(len(s.buf.b)-s.off) }

// trim drops the bytes that the framing did not scan.
func (s *spool) trim() { s.buf.b = s.buf.b[:s.scan] }

// body ends the collection.
func (s *spool) body() (Body, error) {
	if s.buf == nil {
		return Body{}, nil
	}
	if s.file == nil {
		n := len(s.buf.b)
		return Body{mem: s.buf.b[s.off:n:n], n: int64(n - s.off)}, nil
	}
	if err := s.flush(); err != nil {
		return Body{}, err
	}
	return Body{file: s.file, n: s.flushed}, nil
}

func (s *spool) release() {
	if s.buf != nil {
		s.mem.put(s.buf)
		s.buf = nil
	}
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}
