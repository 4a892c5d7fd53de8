package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// coding is a content coding that can be undone.
type coding string

const (
	codingGzip    coding = "gzip"
	codingDeflate coding = "deflate"
	codingBrotli  coding = "br"
	codingZstd    coding = "zstd"
)

const (
	// maxCodings bounds stacked codings: more than one is a mistake already, and each costs MaxBody of work.
	maxCodings = 3
	// maxEmptyMembers bounds empty gzip members in a row: bgzip ends with one, nothing has hundreds.
	maxEmptyMembers = 100
	// maxZstdWindow is what RFC 9659 allows a zstd content coding to need.
	maxZstdWindow = 8 << 20
)

var (
	errEmptyMembers = fmt.Errorf("more than %d empty gzip members in a row", maxEmptyMembers)
	errDictionary   = errors.New("deflate: preset dictionary")
)

// codings returns the codings of a body in the order they are undone, and a word on what cannot be undone:
// then there are none, and the payload is left as it came.
func codings(h Header) (cs []coding, problem string) {
	for _, v := range h.Values("Content-Encoding") {
		for name := range strings.SplitSeq(v, ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			switch name {
			case "", "identity":
			case "gzip", "x-gzip":
				cs = append(cs, codingGzip)
			case "deflate", "br", "zstd":
				cs = append(cs, coding(name))
			default:
				return nil, "content coding " + quote(name) + " is unknown; body left as it came"
			}
		}
	}
	if len(cs) > maxCodings {
		return nil, fmt.Sprintf("more than %d content codings; body left as it came", maxCodings)
	}
	for i, j := 0, len(cs)-1; i < j; i, j = i+1, j-1 {
		cs[i], cs[j] = cs[j], cs[i]
	}
	return cs, ""
}

// decoders are pooled: a gzip decoder is 40 KB, a zstd one up to its window.
type decoders struct{ buffers, gzips, flates, brotlis, zstds sync.Pool }

// decodeBuffer is the read-ahead of a decoder.
const decodeBuffer = 4 << 10

// chain undoes codings one behind the other, and reads as its last one.
type chain struct {
	io.Reader
	releases []func()
	tooLong  bool // a decoder before the last put out more than it may
}

// chain starts decoding src. Every decoder but the last may put out at most max bytes; the last one's
// output is the caller's to bound.
func (d *decoders) chain(src io.Reader, cs []coding, max int64) *chain {
	c := &chain{Reader: src}
	for i, name := range cs {
		if i > 0 {
			c.Reader = &bounded{c, c.Reader, max}
		}
		c.Reader = &stage{d: d, c: c, name: name, in: d.buffer(c, c.Reader)}
	}
	return c
}

func (c *chain) release() {
	for _, f := range c.releases {
		f()
	}
}

func (d *decoders) buffer(c *chain, src io.Reader) *bufio.Reader {
	b, ok := d.buffers.Get().(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(nil, decodeBuffer)
	}
	b.Reset(src)
	c.releases = append(c.releases, func() { b.Reset(nil); d.buffers.Put(b) })
	return b
}

// bounded ends with errTooLong behind left bytes, and tells the chain: the decoder that reads it may not.
type bounded struct {
	c    *chain
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		b.c.tooLong = true
		return 0, errTooLong
	}
	return n, err
}

// stage undoes one coding. It looks at the first bytes before it believes the label: an empty body is
// empty in every coding, and a body without gzip's or zstd's magic number was never coded.
type stage struct {
	d    *decoders
	c    *chain
	name coding
	in   *bufio.Reader
	out  io.Reader
}

func (s *stage) Read(p []byte) (int, error) {
	if s.out == nil {
		if _, err := s.in.Peek(1); err != nil {
			return 0, err
		}
		var err error
		if s.out, err = s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.out.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return n, err
}

// open takes a decoder from its pool, to be returned when the chain is released.
func (s *stage) open() (io.Reader, error) {
	switch s.name {
	case codingGzip:
		if !s.begins("\x1f\x8b") {
			return &unlabelled{r: s.in}, nil
		}
		z, ok := s.d.gzips.Get().(*gzip.Reader)
		if !ok {
			z = new(gzip.Reader)
		}
		s.c.releases = append(s.c.releases, func() { s.d.gzips.Put(z) })
		return &members{z: z, src: s.in}, nil
	case codingDeflate:
		return s.openDeflate()
	case codingBrotli:
		z, ok := s.d.brotlis.Get().(*brotli.Reader)
		if !ok {
			z = brotli.NewReader(nil)
		}
		s.c.releases = append(s.c.releases, func() { s.d.brotlis.Put(z) })
		return z, z.Reset(s.in)
	}
	if !s.begins("\x28\xb5\x2f\xfd") && !s.skippable() {
		return &unlabelled{r: s.in}, nil
	}
	return s.openZstd()
}

func (s *stage) begins(magic string) bool {
	b, _ := s.in.Peek(len(magic))
	return string(b) == magic
}

// skippable reports whether the body begins with a skippable zstd frame (RFC 8878 §3.1.2).
func (s *stage) skippable() bool {
	b, _ := s.in.Peek(4)
	return len(b) == 4 && b[0]&0xf0 == 0x50 && string(b[1:]) == "\x2a\x4d\x18"
}

func (s *stage) openZstd() (io.Reader, error) {
	z, ok := s.d.zstds.Get().(*zstd.Decoder)
	if !ok {
		var err error
		// Concurrency 1 decodes in the caller's goroutine, so a decoder that the pool drops leaks nothing.
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
	}
	s.c.releases = append(s.c.releases, func() { z.Reset(nil); s.d.zstds.Put(z) })
	return z, z.Reset(s.in)
}

// openDeflate takes the zlib format, as the RFC says, or raw deflate, as some servers send (RFC 9110 §8.4.1.2).
// The checksum of zlib is not looked at.
func (s *stage) openDeflate() (io.Reader, error) {
	if b, err := s.in.Peek(2); err == nil && b[0]&0x0f == 8 && (int(b[0])<<8|int(b[1]))%31 == 0 {
		if b[1]&0x20 != 0 {
			return nil, errDictionary
		}
		s.in.Discard(2)
	}
	z, ok := s.d.flates.Get().(io.ReadCloser)
	if !ok {
		z = flate.NewReader(s.in)
	}
	s.c.releases = append(s.c.releases, func() { s.d.flates.Put(z) })
	return z, z.(flate.Resetter).Reset(s.in, nil)
}

var errUnlabelled = errors.New("the body is not in this coding; left as it came")

// unlabelled passes a body that is not what its label says, and says so at the end.
type unlabelled struct{ r io.Reader }

func (u *unlabelled) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err == io.EOF {
		err = errUnlabelled
	}
	return n, err
}

// members reads a gzip stream of several members (RFC 1952 §2.2). What follows the last one and is not a
// member is ignored, as browsers do.
type members struct {
	z       *gzip.Reader
	src     *bufio.Reader
	open    bool // within a member
	n       int  // members begun
	empties int  // in a row
}

func (m *members) Read(p []byte) (int, error) {
	for {
		if !m.open {
			if err := m.begin(); err != nil {
				return 0, err
			}
		}
		n, err := m.z.Read(p)
		if n > 0 {
			m.empties = 0
		}
		if err == io.EOF {
			m.open, err = false, nil
		}
		if n > 0 || err != nil || m.open {
			return n, err
		}
	}
}

func (m *members) begin() error {
	if m.empties > maxEmptyMembers {
		return errEmptyMembers
	}
	err := m.z.Reset(m.src)
	switch {
	case err != nil && m.n > 0:
		return io.EOF
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	m.z.Multistream(false)
	m.open = true
	m.n++
	m.empties++
	return nil
}
