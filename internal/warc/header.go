package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// MaxHeaderBytes is the longest record header that is read. Ours stay below 10 KB (two URLs of 4 KB); the
// standard knows no limit.
const MaxHeaderBytes = 64 << 10

// ErrFormat is wrapped by every error about what a file holds.
var ErrFormat = errors.New("not valid WARC")

// FormatError says what is wrong and where.
type FormatError struct {
	Offset int64 // in the file, of the record or member
	What   string
	Err    error // cause, or nil
}

func (e *FormatError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.describe()) }

func (e *FormatError) describe() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.What, e.Err)
	}
	return e.What
}

// Unwrap makes a FormatError match ErrFormat and its cause.
func (e *FormatError) Unwrap() []error {
	if e.Err != nil {
		return []error{ErrFormat, e.Err}
	}
	return []error{ErrFormat}
}

// Header is the header of a record as it was read. The methods give values of the fields that the
// standard defines, without angle brackets; a field that is absent is "".
type Header struct {
	Version string // "1.1"
	Fields  []Field
}

// Get returns the value of the first field of that name, in any case.
func (h *Header) Get(name string) string {
	for i := range h.Fields {
		if strings.EqualFold(h.Fields[i].Name, name) {
			return h.Fields[i].Value
		}
	}
	return ""
}

// Values returns the values of all fields of that name, in any case.
func (h *Header) Values(name string) []string {
	var vs []string
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// Type returns WARC-Type.
func (h *Header) Type() Type { return Type(strings.ToLower(h.Get("WARC-Type"))) }

// ID returns WARC-Record-ID.
func (h *Header) ID() string { return bare(h.Get("WARC-Record-ID")) }

// TargetURI returns WARC-Target-URI; the brackets that the grammar of 1.0 had are taken off.
func (h *Header) TargetURI() string { return bare(h.Get("WARC-Target-URI")) }

// Date returns WARC-Date.
func (h *Header) Date() (time.Time, error) { return ParseDate(h.Get("WARC-Date")) }

// ContentLength returns the length of the block in bytes.
func (h *Header) ContentLength() (int64, error) {
	v := h.Get("Content-Length")
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("Content-Length %q: %w", v, err)
	}
	return int64(n), nil
}

// Record returns the header as a Record without block: what Encoder would have been given.
func (h *Header) Record() Record {
	r := Record{
		Type: h.Type(), ID: h.ID(), TargetURI: h.TargetURI(), IPAddress: h.Get("WARC-IP-Address"),
		ContentType: h.Get("Content-Type"), WarcinfoID: bare(h.Get("WARC-Warcinfo-ID")), Filename: h.Get("WARC-Filename"),
		RefersTo: bare(h.Get("WARC-Refers-To")), RefersToTargetURI: bare(h.Get("WARC-Refers-To-Target-URI")),
		Profile: h.Get("WARC-Profile"), Truncated: h.Get("WARC-Truncated"), PayloadDigest: h.Get("WARC-Payload-Digest"),
		BlockDigest: h.Get("WARC-Block-Digest"), PayloadType: h.Get("WARC-Identified-Payload-Type"),
	}
	r.Date, _ = h.Date()
	r.RefersToDate, _ = ParseDate(h.Get("WARC-Refers-To-Date"))
	for _, id := range h.Values("WARC-Concurrent-To") {
		r.ConcurrentTo = append(r.ConcurrentTo, bare(id))
	}
	for _, f := range h.Fields {
		if _, known := fieldRules[strings.ToLower(f.Name)]; !known {
			r.Extra = append(r.Extra, f)
		}
	}
	return r
}

// bare takes off one pair of angle brackets.
func bare(uri string) string {
	if len(uri) >= 2 && uri[0] == '<' && uri[len(uri)-1] == '>' {
		return uri[1 : len(uri)-1]
	}
	return uri
}

// dateLayouts are the precisions of the W3C profile of ISO 8601 that 1.1 allows. A fraction after the
// seconds is read by time.Parse without being asked.
var dateLayouts = [...]string{"2006-01-02T15:04:05Z", "2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006"}

// ParseDate reads a WARC-Date of any precision; always UTC.
func ParseDate(s string) (time.Time, error) {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a WARC date", s)
}

// readHeader reads version line and fields up to the empty line. bareLF says that a line ended without CR,
// which a tolerant reader overlooks.
func readHeader(br *bufio.Reader) (h *Header, bareLF bool, err error) {
	lines := lines{br: br, left: MaxHeaderBytes}
	h, err = lines.header()
	return h, lines.bareLF, err
}

// lines reads the lines of one header.
type lines struct {
	br     *bufio.Reader
	left   int // bytes the header may still have
	bareLF bool
}

func (l *lines) header() (*Header, error) {
	line, err := l.next()
	if err != nil {
		return nil, err
	}
	version, ok := bytes.CutPrefix(line, []byte("WARC/"))
	switch {
	case bytes.HasPrefix(line, []byte("filedesc:")):
		return nil, errors.New("an ARC file, not WARC")
	case !ok || len(version) == 0 || len(version) > len("99.99"):
		return nil, fmt.Errorf("a record begins with WARC/ and a version, not with %.40q", line)
	}
	h := &Header{Version: string(version)}
	for {
		if line, err = l.next(); err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return h, nil
		}
		if err = h.add(line); err != nil {
			return nil, err
		}
	}
}

// add takes in one line of the header: a field, or the continuation of the one before.
func (h *Header) add(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		if len(h.Fields) == 0 {
			return fmt.Errorf("header begins with a continuation line %.40q", line)
		}
		last := &h.Fields[len(h.Fields)-1]
		last.Value = strings.TrimSpace(last.Value + " " + string(bytes.TrimSpace(line)))
		return nil
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !isToken(string(name)) {
		return fmt.Errorf("%.40q is not a header field", line)
	}
	h.Fields = append(h.Fields, Field{string(name), string(bytes.TrimSpace(value))})
	return nil
}

// next returns a line without its end. It is valid until the next read.
func (l *lines) next() ([]byte, error) {
	line, err := l.br.ReadSlice('\n')
	l.left -= len(line)
	if err == bufio.ErrBufferFull || l.left < 0 {
		return nil, fmt.Errorf("header is longer than %d bytes", MaxHeaderBytes)
	}
	if err == io.EOF {
		return nil, fmt.Errorf("header is cut short: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1], nil
	}
	l.bareLF = true
	return line, nil
}
