package robots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Entry is what is known of an origin, in the form that outlives the process. A chain of redirects under
// way is not kept: it starts over.
type Entry struct {
	Origin string // weburl.URL.Origin

	FetchedAt time.Time // end of the contact that gave the copy; zero: there is none
	Status    int       // of that contact: 2xx; 4xx: allow all; 3xx: too many redirects, allow all
	Body      []byte    // of a 2xx, at most MaxBytes

	Errors     int       // contacts that failed in a row since then
	Since      time.Time // the first of them; zero: none
	Until      time.Time // no contact before
	LastStatus int       // of the last failure; 0: no response
}

// ErrCorrupt means that a stored entry cannot be read; the origin counts as unknown.
var ErrCorrupt = errors.New("corrupt robots entry")

// entryVersion is the first byte of a marshalled entry. Then come a CRC-32C of the rest, big-endian, and
// the fields: strings with a varint of their length, numbers as varints, times as two varints: seconds
// since 1970 and nanoseconds.
const entryVersion = 1

// Marshal returns the entry as bytes for Unmarshal.
func (e Entry) Marshal() []byte {
	b := make([]byte, 5, 64+len(e.Origin)+len(e.Body))
	b[0] = entryVersion
	b = appendString(b, e.Origin)
	b = appendTime(b, e.FetchedAt)
	b = binary.AppendVarint(b, int64(e.Status))
	b = binary.AppendVarint(b, int64(e.Errors))
	b = appendTime(b, e.Since)
	b = appendTime(b, e.Until)
	b = binary.AppendVarint(b, int64(e.LastStatus))
	b = appendString(b, string(e.Body))
	putChecksum(b)
	return b
}

func putChecksum(b []byte) { binary.BigEndian.PutUint32(b[1:], checksum(b[5:])) }

// Unmarshal reads what Marshal wrote; any damage is ErrCorrupt.
func Unmarshal(b []byte) (Entry, error) {
	if len(b) < 5 || b[0] != entryVersion {
		return Entry{}, fmt.Errorf("unmarshal: version: %w", ErrCorrupt)
	}
	if binary.BigEndian.Uint32(b[1:]) != checksum(b[5:]) {
		return Entry{}, fmt.Errorf("unmarshal: checksum: %w", ErrCorrupt)
	}
	d := decoder{rest: b[5:]}
	e := Entry{
		Origin:    string(d.bytes()),
		FetchedAt: d.time(),
		Status:    int(d.int()),
		Errors:    int(d.int()),
		Since:     d.time(),
		Until:     d.time(),

		LastStatus: int(d.int()),
		Body:       d.bytes(),
	}
	if d.failed || len(d.rest) > 0 || len(e.Body) > MaxBytes || e.Errors < 0 {
		return Entry{}, fmt.Errorf("unmarshal: fields: %w", ErrCorrupt)
	}
	return e, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, t.Unix()), int64(t.Nanosecond()))
}

// decoder reads fields until one does not fit; then all are zero.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) bytes() []byte {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(len(d.rest)-size) {
		d.failed, d.rest = true, nil
		return nil
	}
	end := size + int(n)
	field := d.rest[size:end:end]
	d.rest = d.rest[end:]
	if n == 0 {
		return nil
	}
	return field
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) time() time.Time {
	seconds, nanos := d.int(), d.int()
	if d.failed {
		return time.Time{}
	}
	return time.Unix(seconds, nanos).UTC()
}
