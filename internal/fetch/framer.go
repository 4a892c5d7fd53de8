package fetch

import (
	"errors"
	"fmt"
	"io"

	"decorum/internal/outcome"
)

type framing uint8

const (
	framedLength framing = iota // Content-Length
	framedChunks                // Transfer-Encoding: chunked
	framedClose                 // until the connection ends
)

// framer finds the payload in the bytes of a body and the end of the body. It is an automaton that never
// looks back, so it needs no buffer of its own.
type framer struct {
	kind   framing
	left   int64  // payload bytes to come: of the body, or of the chunk
	closes string // why the connection must not be used again; "" if it may

	maxTrailer int
	state      chunkState
	digits     int  // of the chunk size so far
	line       int  // bytes of the line so far
	trailer    int  // bytes of all trailers so far
	last       bool // the chunk of size zero was seen
	done       bool
}

type chunkState uint8

const (
	chunkSize    chunkState = iota // hexadecimal digits
	chunkBlank                     // blanks behind them: only an extension may follow
	chunkExt                       // an extension, ignored up to the end of line
	chunkSizeEnd                   // CR was seen, LF must come
	chunkData
	chunkDataEnd // CR or LF behind the data
	chunkDataLF  // LF behind the CR behind the data
	chunkTrailer // lines up to an empty one
)

const (
	maxChunkLine   = 4 << 10 // as in net/http: extensions are never used in practice
	maxChunkDigits = 15      // a size below 2^60 cannot overflow
)

var (
	errChunkSize = errors.New("bad chunk size")
	errChunkLine = fmt.Errorf("chunk line of more than %d bytes", maxChunkLine)
	errChunkEnd  = errors.New("chunk is longer than its size")
	errTrailer   = errors.New("trailer is too long")
)

// finished reports whether the body has ended by its own framing.
func (f *framer) finished() bool { return f.done || f.kind == framedLength && f.left == 0 }

// step takes some of in: used bytes, of which payload is the last part. It takes at least one byte.
func (f *framer) step(in []byte) (payload []byte, used int, err error) {
	switch f.kind {
	case framedClose:
		return in, len(in), nil
	case framedLength:
		payload = f.take(in)
		return payload, len(payload), nil
	}
	for used < len(in) && !f.done {
		if f.state == chunkData {
			payload = f.take(in[used:])
			if f.left == 0 {
				f.state = chunkDataEnd
			}
			return payload, used + len(payload), nil
		}
		if err := f.control(in[used]); err != nil {
			return nil, used, err
		}
		used++
	}
	return nil, used, nil
}

func (f *framer) take(in []byte) []byte {
	in = in[:min(int64(len(in)), f.left)]
	f.left -= int64(len(in))
	return in
}

// control takes one byte that is not payload. LF alone ends a line as CRLF does: it can only spoil this
// server's own response.
func (f *framer) control(c byte) error {
	switch f.state {
	case chunkDataEnd, chunkDataLF:
		switch {
		case c == '\n':
			f.state = chunkSize
		case c == '\r' && f.state == chunkDataEnd:
			f.state = chunkDataLF
		default:
			return errChunkEnd
		}
		return nil
	case chunkTrailer:
		return f.inTrailer(c)
	}
	if f.line++; f.line > maxChunkLine {
		return errChunkLine
	}
	return f.inSize(c)
}

// inSize takes one byte of a line "1a2b;extension".
func (f *framer) inSize(c byte) error {
	switch {
	case c == '\n' && f.digits > 0:
		f.endSize()
	case f.state == chunkExt:
	case f.state == chunkSizeEnd:
		return errChunkSize
	case c == '\r' && f.digits > 0:
		f.state = chunkSizeEnd
	case c == ';' && f.digits > 0:
		f.state = chunkExt
	case isBlank(c) && f.digits > 0:
		f.state = chunkBlank
	case f.state == chunkSize:
		d, ok := hexDigit(c)
		if f.digits++; !ok || f.digits > maxChunkDigits {
			return errChunkSize
		}
		f.left = f.left<<4 | int64(d)
	default:
		return errChunkSize
	}
	return nil
}

func (f *framer) endSize() {
	f.state = chunkData
	if f.left == 0 {
		f.state, f.last = chunkTrailer, true
	}
	f.digits, f.line = 0, 0
}

// inTrailer takes one byte of the trailer section, which is kept on the wire and not looked at.
func (f *framer) inTrailer(c byte) error {
	if f.trailer++; f.trailer > f.maxTrailer {
		return errTrailer
	}
	switch c {
	case '\n':
		f.done = f.line == 0
		f.line = 0
	case '\r':
	default:
		f.line++
	}
	return nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// end says what the end of the connection means here: io.EOF when the body is whole. Many servers leave out
// the empty line behind the last chunk, so nothing is missing once that was seen.
func (f *framer) end(received int64) error {
	switch {
	case f.kind == framedClose, f.last:
		return io.EOF
	case f.kind == framedLength:
		return fail(outcome.Reset, "connection closed after %d of %d bytes", received, received+f.left)
	}
	return fail(outcome.Reset, "connection closed before the last chunk, after %d bytes", received)
}
