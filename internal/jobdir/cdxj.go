package jobdir

import (
	"strconv"
	"time"

	"decorum/internal/weburl"
)

// CDXRecord is a line of the CDXJ index: where one capture lies in the archive. Indexers and replay tools
// expect numbers as text, and the MIME type warc/revisit for a revisit record.
type CDXRecord struct {
	URL      weburl.URL
	TS       time.Time // WARC-Date
	MIME     string
	Status   int    // 0 = unknown
	Digest   string // WARC-Payload-Digest
	Length   int64  // of the record, as stored
	Offset   int64
	Filename string // base name in archive/
}

// RevisitMIME is the MIME of a revisit record in an index.
const RevisitMIME = "warc/revisit"

// cdxTimeFormat is a 14-digit timestamp, UTC.
const cdxTimeFormat = "20060102150405"

// AppendLine appends the line: SURT, timestamp, JSON.
func (r *CDXRecord) AppendLine(dst []byte) []byte {
	dst = AppendSURT(dst, r.URL)
	dst = append(dst, ' ')
	dst = r.TS.UTC().AppendFormat(dst, cdxTimeFormat)
	dst = append(dst, ' ')
	o := object{b: append(dst, '{')}
	o.str("url", r.URL.String())
	o.str("mime", r.MIME)
	if r.Status != 0 {
		o.quoted("status", int64(r.Status))
	}
	o.str("digest", r.Digest)
	o.quoted("length", r.Length)
	o.quoted("offset", r.Offset)
	o.str("filename", r.Filename)
	return o.end()
}

// quoted writes a number as text.
func (o *object) quoted(name string, v int64) {
	o.key(name)
	o.b = append(o.b, '"')
	o.b = strconv.AppendInt(o.b, v, 10)
	o.b = append(o.b, '"')
}
