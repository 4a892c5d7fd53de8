package warc

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// Reader walks the records of a WARC file, compressed or not, of any version since 0.17. It is lenient
// where archives in the wild differ without harm (line ends, many records in one gzip member, empty
// lines between records) and stops with a FormatError where reading on would be guessing.
type Reader struct {
	file    source // the bytes of the file
	gz      *gzip.Reader
	inner   source // the bytes of the current member
	member  bool   // in a gzip member
	begin   int64  // where the current member began
	records int    // begun in the current member
	entry   *Entry
	err     error // sticky
	onNote  func(offset int64, s Severity, what string)
}

// Entry is one record as it was read.
type Entry struct {
	*Header
	// Block is the block, Content-Length bytes. What is left of it is skipped by the next call of Next.
	Block io.Reader
	// Offset in the file of the record, or of the gzip member that it lies in.
	Offset int64
	// Shared is set when the member holds other records before this one, so that Offset alone does
	// not find it.
	Shared bool

	r      *Reader
	block  block
	length int64
	done   bool
	err    error
}

// block is the limited reader below Entry.Block; it turns a premature end into an error.
type block struct {
	r    *Reader
	at   int64
	left int64
}

// source is a buffered reader that knows its offset.
type source struct {
	r  io.Reader
	n  int64 // bytes taken from r
	br *bufio.Reader
}

// The inner buffer must hold the longest line of a header.
const bufferSize = MaxHeaderBytes

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	return n, err
}

func (s *source) pos() int64 { return s.n - int64(s.br.Buffered()) }

func (s *source) reset(r io.Reader) {
	s.r, s.n = r, 0
	if s.br == nil {
		s.br = bufio.NewReaderSize(s, bufferSize)
		return
	}
	s.br.Reset(s)
}

// NewReader returns a reader of the file in r, from its beginning or from the beginning of any record.
func NewReader(r io.Reader) *Reader {
	z := &Reader{}
	z.file.reset(r)
	return z
}

// ReadAt opens the one record that lies at an offset; length is that of the record (Place.Length), or 0
// when unknown. The entry stays valid as long as r.
func ReadAt(r io.ReaderAt, offset, length int64) (*Entry, error) {
	if length <= 0 {
		length = 1<<63 - 1 - offset
	}
	z := NewReader(io.NewSectionReader(r, offset, length))
	z.file.n = offset
	e, err := z.Next()
	if err == io.EOF {
		err = &FormatError{Offset: offset, What: "no record", Err: io.ErrUnexpectedEOF}
	}
	if err != nil {
		return nil, fmt.Errorf("read record at %d: %w", offset, err)
	}
	return e, nil
}

// Next returns the next record, or io.EOF after the last. The entry before it is no longer valid.
func (z *Reader) Next() (*Entry, error) {
	if z.err != nil {
		return nil, z.err
	}
	e, err := z.next()
	if err != nil {
		z.err = err
		return nil, err
	}
	z.entry = e
	return e, nil
}

func (z *Reader) next() (*Entry, error) {
	if z.entry != nil {
		if _, err := z.entry.Length(); err != nil {
			return nil, err
		}
	}
	if err := z.seekRecord(); err != nil {
		return nil, err
	}
	src := z.source()
	e := &Entry{Offset: z.begin, r: z, Shared: z.member && z.records > 0}
	z.records++
	if e.Shared {
		z.note(z.begin, Fault, "gzip member holds more than one record")
	}
	h, bareLF, err := readHeader(src.br)
	if err != nil {
		return nil, &FormatError{e.Offset, "record header", err}
	}
	if bareLF {
		z.note(e.Offset, Fault, "header lines end with LF alone")
	}
	e.Header = h
	n, err := h.ContentLength()
	if err != nil {
		return nil, &FormatError{e.Offset, "record header", err}
	}
	e.block = block{r: z, at: e.Offset, left: n}
	e.Block = &e.block
	return e, nil
}

// source returns where record bytes come from now.
func (z *Reader) source() *source {
	if z.member {
		return &z.inner
	}
	return &z.file
}

// seekRecord moves to the first byte of a record, opening the next gzip member if need be.
func (z *Reader) seekRecord() error {
	for {
		src := z.source()
		c, err := src.br.Peek(1)
		switch {
		case err == io.EOF && z.member:
			z.member = false // at the end of the member; there may be another
			continue
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return z.broken(err)
		}
		if !z.member {
			z.begin, z.records = src.pos(), 0
			if c[0] == gzipMagic {
				if err := z.openMember(); err != nil {
					return err
				}
				continue
			}
		}
		if c[0] != '\r' && c[0] != '\n' {
			return nil
		}
		z.note(src.pos(), Warning, "empty line before a record")
		src.br.Discard(1)
	}
}

const gzipMagic = 0x1f

func (z *Reader) openMember() error {
	var err error
	if z.gz == nil {
		z.gz, err = gzip.NewReader(z.file.br)
	} else {
		err = z.gz.Reset(z.file.br)
	}
	if err != nil {
		return &FormatError{z.begin, "gzip member", noEOF(err)}
	}
	z.gz.Multistream(false)
	z.inner.reset(z.gz)
	z.member = true
	return nil
}

func (z *Reader) broken(err error) error {
	what := "reading"
	if z.member {
		what = "gzip member"
	}
	return &FormatError{z.begin, what, err}
}

func (z *Reader) note(offset int64, s Severity, what string) {
	if z.onNote != nil {
		z.onNote(offset, s, what)
	}
}

func (b *block) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.source().br.Read(p)
	b.left -= int64(n)
	if err == io.EOF {
		return n, &FormatError{b.at, fmt.Sprintf("block is cut short, %d bytes are missing", b.left), io.ErrUnexpectedEOF}
	}
	if err != nil {
		return n, &FormatError{b.at, "block", err}
	}
	return n, nil
}

// Length skips what is left of the block and returns how many bytes the record takes in the file; 0 when
// it shares a gzip member with others.
func (e *Entry) Length() (int64, error) {
	if !e.done {
		e.done = true
		e.length, e.err = e.r.finish(e)
	}
	return e.length, e.err
}

// finish reads to the end of the record: the block, two line ends, and the end of the gzip member.
func (z *Reader) finish(e *Entry) (int64, error) {
	if _, err := io.Copy(io.Discard, &e.block); err != nil {
		return 0, err
	}
	if err := z.lineEnds(e); err != nil {
		return 0, err
	}
	src := z.source()
	if !z.member {
		return src.pos() - e.Offset, nil
	}
	_, err := src.br.Peek(1) // reaches the checksum of the member
	switch {
	case err == nil || e.Shared:
		return 0, nil
	case err != io.EOF:
		return 0, z.broken(err)
	}
	return z.file.pos() - e.Offset, nil
}

// lineEnds reads the two line ends after a block. Where they are missing at the end of a gzip member, the
// member's checksum still says that the record is whole.
func (z *Reader) lineEnds(e *Entry) error {
	br := z.source().br
	for i := range endOfRecord {
		c, err := br.Peek(1)
		switch {
		case err == io.EOF && z.member:
			z.note(e.Offset, Warning, "block is not followed by two line ends")
			return nil
		case err != nil && err != io.EOF:
			return z.broken(err)
		case err == io.EOF || c[0] != endOfRecord[i]:
			z.note(e.Offset, Fault, "block is not followed by two line ends: Content-Length is wrong, or the file is cut")
			return nil
		}
		br.Discard(1)
	}
	return nil
}
