package jobdir

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// Errors of a Stream. Test with errors.Is.
var (
	// ErrShort: the file is shorter than the offset, so lines that the state knows are gone.
	ErrShort = errors.New("file is shorter than its committed length")
	// ErrAltered: what is read is not what was written.
	ErrAltered = errors.New("damaged: not what was written")
	// ErrPoisoned: an earlier fsync or clean-up failed, so what is on disk is not known. Open again.
	ErrPoisoned = errors.New("stream failed earlier and must be opened again")
	errTorn     = errors.New("lines must end with a line end")
)

// Sum is what a stream held up to End: the CRC-32C of it. The zero Sum says nothing.
type Sum struct {
	End int64  `json:"end"`
	CRC uint32 `json:"crc"`
}

// castagnoli is CRC-32C (RFC 3720), which processors compute; it never changes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pagesHeader is the first line of pages.jsonl (WACZ 1.1.1, pages).
const pagesHeader = `{"format":"json-pages-1.0","id":"pages","title":"All Pages"}` + "\n"

// header returns the first line of a stream, for those whose format asks for one.
func header(name string) string {
	if name == PagesName {
		return pagesHeader
	}
	return ""
}

// Stream is a file of lines that only grows.
type Stream struct {
	fs     FS
	path   string
	file   File
	offset int64
	crc    uint32 // of what is before offset
	dirty  bool   // bytes that are not synced
	bad    error
}

// OpenStream opens a stream of the folder, such as PagesName, at a committed offset: what lies behind it is
// cut off. At 0 it begins afresh, with the header line where the format has one. All of that is durable when it
// returns, so any offset it gives may be committed. When the file is shorter than the offset the error is
// ErrShort and nothing was changed. known is the Sum committed with the offset; without it the file is read.
func (d *Dir) OpenStream(name string, at int64, known Sum) (*Stream, error) {
	s := &Stream{fs: d.fs, path: d.Path(name), offset: at, crc: known.CRC}
	err := s.open()
	if err == nil && at != known.End {
		s.crc, err = s.sum()
	}
	if err == nil && at == 0 {
		err = s.begin(header(name))
	}
	if err == nil {
		err = s.Sync()
	}
	if err != nil {
		if s.file != nil {
			err = errors.Join(err, s.file.Close())
		}
		return nil, fmt.Errorf("open stream %s at %d: %w", s.path, at, err)
	}
	return s, nil
}

func (s *Stream) open() error {
	size := int64(0)
	info, err := s.fs.Stat(s.path)
	switch {
	case err == nil:
		size = info.Size()
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if size < s.offset {
		return fmt.Errorf("%w: %d bytes", ErrShort, size)
	}
	if size > s.offset {
		if err := s.fs.Truncate(s.path, s.offset); err != nil {
			return err
		}
		s.dirty = true
	}
	s.file, err = s.fs.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	return err
}

// begin makes the name durable, whoever made the file, and writes the first line.
func (s *Stream) begin(header string) error {
	if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	_, err := s.Append([]byte(header))
	return err
}

// sum reads the file.
func (s *Stream) sum() (uint32, error) {
	f, err := s.fs.OpenFile(s.path, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	h := crc32.New(castagnoli)
	_, err = io.CopyN(h, f, s.offset)
	return h.Sum32(), errors.Join(err, f.Close())
}

// Append writes whole lines and returns the offset after them. Nothing is durable before Sync. When writing
// fails (a full disk) the file is cut back: the stream is as before and the lines can be tried again.
func (s *Stream) Append(lines []byte) (end int64, err error) {
	switch {
	case s.bad != nil:
		return s.offset, s.bad
	case len(lines) == 0:
		return s.offset, nil
	case lines[len(lines)-1] != '\n':
		return s.offset, fmt.Errorf("append to %s: %w", s.path, errTorn)
	}
	s.dirty = true
	if _, err := s.file.Write(lines); err != nil {
		if cut := s.fs.Truncate(s.path, s.offset); cut != nil {
			s.poison(cut)
		}
		return s.offset, fmt.Errorf("append to %s: %w", s.path, err)
	}
	s.offset, s.crc = s.offset+int64(len(lines)), crc32.Update(s.crc, castagnoli, lines)
	return s.offset, nil
}

// Sync makes everything appended so far durable. After an error the stream is of no more use.
func (s *Stream) Sync() error {
	if s.bad != nil {
		return s.bad
	}
	if s.dirty {
		if err := s.file.Sync(); err != nil {
			s.poison(err)
			return fmt.Errorf("sync %s: %w", s.path, err)
		}
		s.dirty = false
	}
	return nil
}

func (s *Stream) poison(cause error) {
	if s.bad == nil {
		s.bad = fmt.Errorf("%w: %w", ErrPoisoned, cause)
	}
}

// Offset returns the end of what was appended: what to commit after Sync.
func (s *Stream) Offset() int64 { return s.offset }

// Sum returns the Sum up to Offset.
func (s *Stream) Sum() Sum { return Sum{s.offset, s.crc} }

// Close syncs and closes the file.
func (s *Stream) Close() error {
	err := errors.Join(s.Sync(), s.file.Close())
	s.poison(os.ErrClosed)
	return err
}
