package warc

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"strconv"
	"time"
)

// Type is the kind of a record (ISO 28500:2017 §6).
type Type string

// The types of record. The last two are read, never written.
const (
	Warcinfo     Type = "warcinfo"
	Response     Type = "response"
	Request      Type = "request"
	Revisit      Type = "revisit"
	Metadata     Type = "metadata"
	Resource     Type = "resource"
	Conversion   Type = "conversion"
	Continuation Type = "continuation"
)

// Profiles of a revisit record (§6.7).
const (
	IdenticalPayload  = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	ServerNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// Content types of blocks. Request, response, revisit, warcinfo and metadata records get theirs when
// Record.ContentType is empty.
const (
	ContentTypeRequest  = "application/http; msgtype=request"
	ContentTypeResponse = "application/http; msgtype=response"
	ContentTypeFields   = "application/warc-fields"
	ContentTypeDNS      = "text/dns" // RFC 4027
	contentTypeUnknown  = "application/octet-stream"
)

// Reasons of Record.Truncated (§5.13).
const (
	TruncatedLength     = "length"
	TruncatedTime       = "time"
	TruncatedDisconnect = "disconnect"
)

// Field is one named field of a record's header or of an application/warc-fields block.
type Field struct{ Name, Value string }

// Record is one record to write. Empty fields are left out of the header.
type Record struct {
	Type Type
	ID   string    // "urn:uuid:...", without angle brackets; empty = NewID()
	Date time.Time // when the exchange began; required; written in UTC with milliseconds

	TargetURI string // bare, as 1.1 wants it; required by all but warcinfo and metadata
	IPAddress string // of the server

	ContentType  string   // of the block; empty = the type's own
	ConcurrentTo []string // ids of records of the same exchange
	WarcinfoID   string   // only when the record does not belong to the warcinfo that precedes it
	Filename     string   // of the file; warcinfo only

	RefersTo          string    // id of the record that a revisit repeats
	RefersToTargetURI string    // its target URI
	RefersToDate      time.Time // its date, exactly
	Profile           string    // of a revisit; required there

	Truncated     string // why the block is not whole
	PayloadDigest string // given, or computed for responses, resources and requests with a body
	BlockDigest   string // given, or computed
	PayloadType   string // media type found by looking at the payload
	Extra         []Field

	// The block is HTTPHead, then Body or BodyLength bytes of BodyReader. A BodyReader that can seek is
	// read twice, first for the digests; of one that cannot, only given digests are written.
	HTTPHead   []byte // status line, fields and the empty line, unchanged
	Body       []byte
	BodyReader io.Reader
	BodyLength int64
}

// blockLength returns the value of Content-Length.
func (r *Record) blockLength() int64 {
	n := int64(len(r.HTTPHead) + len(r.Body))
	if r.BodyReader != nil {
		n += r.BodyLength
	}
	return n
}

// NewID returns a fresh random record id (UUID version 4, RFC 9562) as a URN.
func NewID() string {
	const prefix = "urn:uuid:"
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var b [len(prefix) + 36]byte
	copy(b[:], prefix)
	at := len(prefix)
	for i, part := range [][]byte{u[0:4], u[4:6], u[6:8], u[8:10], u[10:16]} {
		if i > 0 {
			b[at] = '-'
			at++
		}
		at += hex.Encode(b[at:], part)
	}
	return string(b[:])
}

// Info describes the crawl in the warcinfo record (§6.2 and its annex). Empty fields are left out.
type Info struct {
	Software    string  // name and version
	Operator    string  // who runs the crawl, and how to reach them
	Hostname    string  // of the machine
	UserAgent   string  // as sent
	Robots      string  // the policy, e.g. "obey"
	IsPartOf    string  // name of the crawl
	Description string  // free text
	Extra       []Field // options that matter to a reader, such as hosts whose robots.txt is ignored
}

// Fields returns the fields of the warcinfo block.
func (i Info) Fields() []Field {
	fields := []Field{
		{"software", i.Software},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"operator", i.Operator},
		{"hostname", i.Hostname},
		{"http-header-user-agent", i.UserAgent},
		{"robots", i.Robots},
		{"isPartOf", i.IsPartOf},
		{"description", i.Description},
	}
	return append(fields, i.Extra...)
}

// AppendFields appends fields in the form of application/warc-fields, leaving out those without a value.
// Line ends and other control characters inside a value become spaces.
func AppendFields(dst []byte, fields ...Field) []byte {
	for _, f := range fields {
		if f.Value == "" {
			continue
		}
		dst = append(dst, f.Name...)
		dst = append(dst, ": "...)
		for i := 0; i < len(f.Value); i++ {
			c := f.Value[i]
			if isControl(c) {
				c = ' '
			}
			dst = append(dst, c)
		}
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// ResourceRecord is one answer of a name server in the block of a "dns:" record.
type ResourceRecord struct {
	Name  string // with or without the final dot
	TTL   time.Duration
	Type  string // A, AAAA, CNAME
	Value string
}

// DNS returns the record of a name look-up: a resource with target "dns:host" whose block is text/dns
// (RFC 4027), that is lines of a master file (RFC 1035 §5). server is the address that answered, or "".
func DNS(host, server string, at time.Time, answers []ResourceRecord) Record {
	var b []byte
	for _, a := range answers {
		b = append(b, a.Name...)
		if n := len(a.Name); n == 0 || a.Name[n-1] != '.' {
			b = append(b, '.')
		}
		b = append(b, '\t')
		b = strconv.AppendInt(b, int64(a.TTL/time.Second), 10)
		b = append(b, "\tIN\t"...)
		b = append(b, a.Type...)
		b = append(b, '\t')
		b = append(b, a.Value...)
		b = append(b, "\r\n"...)
	}
	return Record{Type: Resource, Date: at, TargetURI: "dns:" + host, IPAddress: server, ContentType: ContentTypeDNS, Body: b}
}
