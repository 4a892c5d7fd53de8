package warc

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// digest is a labelled digest taken apart.
type digest struct {
	label string // as written
	sum   []byte
	hash  hash.Hash
}

// parseDigest reads "algorithm:value" with the value in base16, base32 or base64, which its length tells.
func parseDigest(label string) (*digest, error) {
	algorithm, value, ok := strings.Cut(label, ":")
	if !ok {
		return nil, fmt.Errorf("digest %q has no algorithm", label)
	}
	d := &digest{label: label}
	switch strings.ReplaceAll(strings.ToLower(algorithm), "-", "") {
	case "md5":
		d.hash = md5.New()
	case "sha1":
		d.hash = sha1.New()
	case "sha256":
		d.hash = sha256.New()
	case "sha512":
		d.hash = sha512.New()
	default:
		return nil, fmt.Errorf("digest algorithm %q is not known", algorithm)
	}
	d.sum = decodeSum(value, d.hash.Size())
	if d.sum == nil {
		return nil, fmt.Errorf("digest %q is not %d bytes in base16, base32 or base64", label, d.hash.Size())
	}
	return d, nil
}

func decodeSum(value string, size int) []byte {
	value = strings.TrimRight(value, "=")
	var sum []byte
	var err error
	switch len(value) {
	case hex.EncodedLen(size):
		sum, err = hex.DecodeString(value)
	case base32.StdEncoding.WithPadding(base32.NoPadding).EncodedLen(size):
		sum, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(value))
	case base64.RawStdEncoding.EncodedLen(size):
		sum, err = base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(value))
	}
	if err != nil || len(sum) != size {
		return nil
	}
	return sum
}

func (d *digest) matches() bool { return bytes.Equal(d.hash.Sum(nil), d.sum) }

// maxHTTPHead is how far the empty line after an HTTP head is looked for; servers and crawlers allow
// much less.
const maxHTTPHead = 1 << 20

// payload is a writer that takes an HTTP message and passes on what follows its head.
type payload struct {
	wire   io.Writer // gets the body as it is
	entity io.Writer // gets the body without chunk framing, if it has any
	head   []byte
	inBody bool
}

func (p *payload) Write(b []byte) (int, error) {
	if p.inBody {
		p.body(b)
		return len(b), nil
	}
	from := max(len(p.head)-3, 0)
	p.head = append(p.head, b...)
	end := headEnd(p.head, from)
	if end < 0 && len(p.head) < maxHTTPHead {
		return len(b), nil
	}
	if end < 0 {
		end = len(p.head) // no head at all: no payload to speak of
	}
	p.inBody = true
	if isChunked(p.head[:end]) {
		p.entity = &dechunker{w: p.entity}
	} else {
		p.entity = nil
	}
	p.body(p.head[end:])
	p.head = p.head[:0] // its memory serves the next record
	return len(b), nil
}

func (p *payload) body(b []byte) {
	p.wire.Write(b)
	if p.entity != nil {
		p.entity.Write(b)
	}
}

// headEnd returns the index after the empty line that ends an HTTP head, or -1. It looks from an index on.
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if b[i] != '\n' {
			continue
		}
		if i+1 < len(b) && b[i+1] == '\n' {
			return i + 2
		}
		if i+2 < len(b) && b[i+1] == '\r' && b[i+2] == '\n' {
			return i + 3
		}
	}
	return -1
}

// isChunked tells whether an HTTP head says that the body is chunked.
func isChunked(head []byte) bool {
	for line := range bytes.Lines(head) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(bytes.TrimSpace(name), []byte("transfer-encoding")) {
			return bytes.Contains(bytes.ToLower(value), []byte("chunked"))
		}
	}
	return false
}

// dechunker is a writer that takes a chunked body (RFC 9112 §7.1) and passes on the data. After the first
// thing that is not chunking it passes on nothing.
type dechunker struct {
	w     io.Writer
	state chunkState
	left  int64 // of the chunk
}

type chunkState uint8

const (
	chunkSize chunkState = iota // in the digits of the size
	chunkExt                    // after them, up to the end of the line
	chunkData
	chunkEnd // the line end after the data
	chunkDone
)

// maxChunk keeps the size of a chunk from overflowing.
const maxChunk = 1 << 50

func (d *dechunker) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && d.state != chunkDone {
		if d.state == chunkData {
			part := b[:min(int64(len(b)), d.left)]
			d.w.Write(part)
			b = b[len(part):]
			if d.left -= int64(len(part)); d.left == 0 {
				d.state = chunkEnd
			}
			continue
		}
		d.framing(b[0])
		b = b[1:]
	}
	return n, nil
}

func (d *dechunker) framing(c byte) {
	switch {
	case d.state == chunkEnd:
		if c == '\n' {
			d.state, d.left = chunkSize, 0
		} else if c != '\r' {
			d.state = chunkDone
		}
	case c == '\n' && d.left > 0:
		d.state = chunkData
	case c == '\n':
		d.state = chunkDone
	case d.state == chunkSize:
		v, ok := hexDigit(c)
		if !ok {
			d.state = chunkExt
		} else if d.left = d.left<<4 | v; d.left > maxChunk {
			d.state = chunkDone
		}
	}
}

func hexDigit(c byte) (int64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int64(c|0x20-'a') + 10, true
	}
	return 0, false
}
