package warc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

// ErrRecord is wrapped by every error about a record that cannot be written as it is.
var ErrRecord = errors.New("record cannot be written")

// EncoderOptions configure an Encoder. The zero value is the default.
type EncoderOptions struct {
	// Level of gzip, 1 (fastest) to 9 (smallest). Default 1: level 6 takes 1.8 times the CPU for a few
	// percent of size (PERF.md).
	Level int
	// Plain leaves records uncompressed, for .warc files and for reading by eye.
	Plain bool
	// EntityDigest takes the digest of a chunked response over its data, without the framing. That is the
	// payload of the standard (§6.3.2), but warcio, pywb and most archives digest the body as received, which
	// is the default.
	EntityDigest bool
	// OmitBlockDigest saves one pass of SHA-256; the CRC of the gzip member still covers the block.
	OmitBlockDigest bool
}

// EnsureDefaults replaces zero values.
func (o *EncoderOptions) EnsureDefaults() {
	if o.Level == 0 {
		o.Level = gzip.BestSpeed
	}
}

// Validate reports an option outside of its range.
func (o *EncoderOptions) Validate() error {
	if o.Level < 0 || o.Level > gzip.BestCompression {
		return fmt.Errorf("gzip level %d is not in 1..9", o.Level)
	}
	return nil
}

// Member is one encoded record.
type Member struct {
	ID            string // of the record, without angle brackets
	Type          Type
	Length        int64  // bytes, as stored
	PayloadDigest string // as in the header, or ""
}

// Encoder turns records into complete gzip members. It belongs to one goroutine at a time; its memory
// is reused from record to record.
type Encoder struct {
	opts EncoderOptions
	gz   *gzip.Writer
	hash hash.Hash
	sum  [sha256.Size]byte
	head []byte
	to   counter
	into slice
}

// NewEncoder returns an encoder. Options outside of their range fall back to the default.
func NewEncoder(o EncoderOptions) *Encoder {
	if o.Validate() != nil {
		o.Level = 0
	}
	o.EnsureDefaults()
	gz, _ := gzip.NewWriterLevel(io.Discard, o.Level) // fails only for a level out of range
	return &Encoder{opts: o, gz: gz, hash: sha256.New()}
}

// Append appends r to dst as one whole member. On error dst is returned as it was.
func (e *Encoder) Append(dst []byte, r *Record) ([]byte, Member, error) {
	e.into.b = dst
	m, err := e.EncodeTo(&e.into, r)
	out := e.into.b
	e.into.b = nil
	if err != nil {
		return dst, Member{}, err
	}
	return out, m, nil
}

// EncodeTo writes r to w as one whole member. After an error w holds part of a member.
func (e *Encoder) EncodeTo(w io.Writer, r *Record) (Member, error) {
	m, err := e.begin(r)
	if err != nil {
		return Member{}, err
	}
	e.to = counter{w: w}
	if e.opts.Plain {
		err = e.writeTo(&e.to, r)
	} else {
		e.gz.Reset(&e.to)
		if err = e.writeTo(e.gz, r); err == nil {
			err = e.gz.Close()
		}
	}
	m.Length = e.to.n
	e.to.w = nil
	if err != nil {
		return Member{}, fmt.Errorf("encode %s %s: %w", r.Type, r.TargetURI, err)
	}
	return m, nil
}

func (e *Encoder) writeTo(w io.Writer, r *Record) error {
	for _, b := range [...][]byte{e.head, r.HTTPHead, r.Body} {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if r.BodyReader != nil {
		if _, err := io.CopyN(w, r.BodyReader, r.BodyLength); err != nil {
			return fmt.Errorf("body of %d bytes: %w", r.BodyLength, noEOF(err))
		}
	}
	_, err := w.Write(endOfRecord)
	return err
}

var endOfRecord = []byte("\r\n\r\n")

// begin checks r, computes what is missing and puts the header into e.head.
func (e *Encoder) begin(r *Record) (Member, error) {
	if err := r.validate(); err != nil {
		return Member{}, err
	}
	m := Member{ID: r.ID, Type: r.Type, PayloadDigest: r.PayloadDigest}
	if m.ID == "" {
		m.ID = NewID()
	}
	if m.PayloadDigest == "" && r.hasPayload() {
		var sink io.Writer = e.hash
		if e.opts.EntityDigest && isChunked(r.HTTPHead) {
			sink = &dechunker{w: e.hash}
		}
		e.hash.Reset()
		if ok, err := hashBody(sink, r); err != nil {
			return Member{}, err
		} else if ok {
			m.PayloadDigest = string(e.appendDigest(e.head[:0]))
		}
	}
	e.head = append(e.head[:0], "WARC/1.1\r\n"...)
	e.head = appendHeader(e.head, r, m)
	if err := e.appendBlockDigest(r); err != nil {
		return Member{}, err
	}
	e.head = appendField(e.head, "Content-Type", r.contentType())
	e.head = append(e.head, "Content-Length: "...)
	e.head = strconv.AppendInt(e.head, r.blockLength(), 10)
	e.head = append(e.head, endOfRecord...)
	return m, nil
}

// hasPayload tells whether a payload digest says something the block digest does not, or is looked for
// by others: revisits refer to the digests of responses and resources. Where readers would not find the end
// of the HTTP head that we found, they would not find the payload either.
func (r *Record) hasPayload() bool {
	hasBody := len(r.Body) > 0 || r.BodyReader != nil
	switch r.Type {
	case Resource:
		return true
	case Response:
		return !hasBody || headEnd(r.HTTPHead, 0) == len(r.HTTPHead)
	case Request:
		return hasBody && headEnd(r.HTTPHead, 0) == len(r.HTTPHead)
	}
	return false
}

func (e *Encoder) appendBlockDigest(r *Record) error {
	if r.BlockDigest != "" {
		e.head = appendField(e.head, "WARC-Block-Digest", r.BlockDigest)
		return nil
	}
	if e.opts.OmitBlockDigest {
		return nil
	}
	e.hash.Reset()
	e.hash.Write(r.HTTPHead)
	ok, err := hashBody(e.hash, r)
	if err != nil || !ok {
		return err
	}
	e.head = append(e.head, "WARC-Block-Digest: "...)
	e.head = e.appendDigest(e.head)
	e.head = append(e.head, "\r\n"...)
	return nil
}

// hashBody feeds the body to sink; a body that cannot be read twice it leaves alone and returns false.
func hashBody(sink io.Writer, r *Record) (bool, error) {
	sink.Write(r.Body)
	if r.BodyReader == nil {
		return true, nil
	}
	s, ok := r.BodyReader.(io.ReadSeeker)
	if !ok {
		return false, nil
	}
	at, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, nil // a pipe, say
	}
	if _, err = io.CopyN(sink, s, r.BodyLength); err == nil {
		_, err = s.Seek(at, io.SeekStart)
	}
	if err != nil {
		return false, fmt.Errorf("digest of body of %s: %w", r.TargetURI, noEOF(err))
	}
	return true, nil
}

func (e *Encoder) appendDigest(dst []byte) []byte {
	dst = append(dst, "sha256:"...)
	return hex.AppendEncode(dst, e.hash.Sum(e.sum[:0]))
}

func appendHeader(dst []byte, r *Record, m Member) []byte {
	dst = appendField(dst, "WARC-Type", string(r.Type))
	dst = appendID(dst, "WARC-Record-ID", m.ID)
	dst = appendDate(dst, "WARC-Date", r.Date)
	dst = appendField(dst, "WARC-Target-URI", r.TargetURI)
	dst = appendField(dst, "WARC-IP-Address", r.IPAddress)
	for _, id := range r.ConcurrentTo {
		dst = appendID(dst, "WARC-Concurrent-To", id)
	}
	dst = appendID(dst, "WARC-Warcinfo-ID", r.WarcinfoID)
	dst = appendField(dst, "WARC-Filename", r.Filename)
	dst = appendID(dst, "WARC-Refers-To", r.RefersTo)
	dst = appendField(dst, "WARC-Refers-To-Target-URI", r.RefersToTargetURI)
	dst = appendDate(dst, "WARC-Refers-To-Date", r.RefersToDate)
	dst = appendField(dst, "WARC-Profile", r.Profile)
	dst = appendField(dst, "WARC-Truncated", r.Truncated)
	dst = appendField(dst, "WARC-Identified-Payload-Type", r.PayloadType)
	for _, f := range r.Extra {
		dst = appendField(dst, f.Name, f.Value)
	}
	return appendField(dst, "WARC-Payload-Digest", m.PayloadDigest)
}

func appendField(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

func appendID(dst []byte, name, id string) []byte {
	if id == "" {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": <"...)
	dst = append(dst, id...)
	return append(dst, ">\r\n"...)
}

// DateFormat is how dates are written: UTC, milliseconds, as 1.1 allows. All records of one exchange
// carry the same date, and a revisit repeats that of its original to the letter.
const DateFormat = "2006-01-02T15:04:05.000Z"

func appendDate(dst []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = t.UTC().AppendFormat(dst, DateFormat)
	return append(dst, "\r\n"...)
}

func (r *Record) contentType() string {
	if r.ContentType != "" {
		return r.ContentType
	}
	switch r.Type {
	case Request:
		return ContentTypeRequest
	case Response, Revisit:
		return ContentTypeResponse
	case Warcinfo, Metadata:
		return ContentTypeFields
	}
	return contentTypeUnknown
}

// counter counts what passes to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// slice is a growing slice as a writer.
type slice struct{ b []byte }

func (s *slice) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Pool lends encoders to any number of goroutines. An encoder is 0.8 MB (BenchmarkNewEncoder) and busy only with CPU work,
// so more of them than cores would cost memory and gain nothing.
type Pool struct{ free chan *Encoder }

// NewPool makes a pool of size encoders, at least one.
func NewPool(size int, o EncoderOptions) *Pool {
	p := &Pool{free: make(chan *Encoder, max(size, 1))}
	for range cap(p.free) {
		p.free <- NewEncoder(o)
	}
	return p
}

// Get waits for a free encoder.
func (p *Pool) Get() *Encoder { return <-p.free }

// Put gives back an encoder that Get returned.
func (p *Pool) Put(e *Encoder) { p.free <- e }
