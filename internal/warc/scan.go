package warc

import (
	"bytes"
	"io"
)

// Extent is a stretch of a file, in bytes.
type Extent struct{ Offset, Length int64 }

// End returns the offset after the extent.
func (x Extent) End() int64 { return x.Offset + x.Length }

// ScanOptions are what CheckAt does beside checking. The zero value is nothing.
type ScanOptions struct {
	// Visit is told of each record without faults, in order, with the bytes it takes in the file and the beginning
	// of its block. Both arguments are valid during the call only.
	Visit func(e *Entry, length int64, head []byte)
	// Head is how many bytes of the block Visit is given. Default 0.
	Head int
	// End returns where the record that begins at an offset ends, for records that something beside the file
	// knows, and 0 for others. It is asked about records that cannot be read. Default: nothing is known.
	End func(offset int64) int64
}

// CheckAt reads every byte of the next file of the archive, like Check. Behind what cannot be read it goes on with the next
// gzip member that begins with a record; Report.Damaged lists what lies between, and records with faults.
func (c *Checker) CheckAt(r io.ReaderAt, size int64, o ScanOptions) Report {
	c.begin(o)
	rep := c.rep
	rep.Bytes = size
	for at := int64(0); at < size; {
		z := NewReader(io.NewSectionReader(r, at, size-at))
		z.file.n = at
		err := c.records(z)
		if err == nil {
			break
		}
		bad := rep.broken(err)
		at = c.resume(r, bad, size)
		rep.damaged(Extent{bad, at - bad})
	}
	return *rep
}

// scanned passes a record on that was read to its end.
func (c *Checker) scanned(e *Entry, sound bool) {
	length, _ := e.Length() // known: it was read
	switch {
	case !sound:
		c.rep.damaged(Extent{e.Offset, length})
	case c.scan.Visit != nil:
		c.scan.Visit(e, length, c.head.b)
	}
}

// damaged adds an extent, to the last one if they touch.
func (r *Report) damaged(x Extent) {
	if n := len(r.Damaged); n > 0 && r.Damaged[n-1].End() >= x.Offset {
		last := &r.Damaged[n-1]
		last.Length = max(last.End(), x.End()) - last.Offset
		return
	}
	r.Damaged = append(r.Damaged, x)
}

// resume returns where reading goes on after a record that cannot be read, or size. The end that something beside the file
// knows is asked first: a body may itself hold members that look like records of this file.
func (c *Checker) resume(r io.ReaderAt, bad, size int64) int64 {
	from := bad + 1
	if c.scan.End != nil {
		from = max(from, c.scan.End(bad))
	}
	for from < size {
		at := findMember(r, from, size)
		if at == size || isRecord(r, at, size) {
			return at
		}
		from = at + 1
	}
	return size
}

// memberMagic begins every gzip member in use: magic number and the method deflate (RFC 1952 §2.3).
var memberMagic = []byte{gzipMagic, 0x8b, 8}

// scanBlock is how much is searched, or copied, at once.
const scanBlock = 64 << 10

// findMember returns where the next gzip member may begin, or size. What the disk does not give is passed over.
func findMember(r io.ReaderAt, from, size int64) int64 {
	buf := make([]byte, scanBlock+len(memberMagic)-1)
	for ; from < size; from += scanBlock {
		n, _ := r.ReadAt(buf[:min(int64(len(buf)), size-from)], from)
		if i := bytes.Index(buf[:n], memberMagic); i >= 0 {
			return from + int64(i)
		}
	}
	return size
}

// isRecord reports whether a record can be read at an offset, at least its header.
func isRecord(r io.ReaderAt, at, size int64) bool {
	e, err := ReadAt(r, at, size-at)
	return err == nil && e.Type() != ""
}

// head keeps the first bytes of what is written to it.
type head struct {
	b    []byte
	room int
}

func (h *head) reset(room int) { h.b, h.room = h.b[:0], room }

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.room)
	h.b, h.room = append(h.b, p[:n]...), h.room-n
	return len(p), nil
}
