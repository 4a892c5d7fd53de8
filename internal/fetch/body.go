package fetch

import (
	"errors"
	"fmt"
	"io"

	"decorum/internal/outcome"
)

// reserveMax is how much of an announced length is believed before it arrives: more than nearly any page,
// so that a page is received without a copy, and too little to exhaust memory with promises.
const reserveMax = 256 << 10

// decodedStart is the first buffer of a decoded body: a usual page fits.
const decodedStart = 64 << 10

// body receives one body: wire bytes into Exchange.wire, decoded ones into Exchange.decoded.
type body struct {
	r          *run
	framer     framer
	payload    int64 // payload bytes so far
	maxPayload int64 // cut there when the payload is the decoded body
	full       bool  // maxPayload was reached with more to come
	byEOF      bool  // the end of the connection ended the body
}

// receive reads the body to its end. It returns errCut, a *failure, or an error of ours.
func (b *body) receive(cs []coding) error {
	x := b.r.x
	b.maxPayload = b.r.maxBody
	if b.framer.kind == framedLength {
		if err := x.wire.reserve(min(b.framer.left, reserveMax)); err != nil {
			return err
		}
	}
	switch {
	case len(cs) > 0:
		b.maxPayload = b.r.maxWire
		return b.decode(cs)
	case b.framer.kind == framedChunks:
		return b.copy()
	}
	return b.drain()
}

// next returns more payload, valid until the following call, or io.EOF.
func (b *body) next() ([]byte, error) {
	wire := &b.r.x.wire
	for !b.framer.finished() {
		if b.full {
			return nil, b.cut("body of more than %d bytes", b.maxPayload)
		}
		in := wire.unscanned()
		if len(in) == 0 {
			if err := b.fill(); err != nil {
				return nil, err
			}
			continue
		}
		payload, used, err := b.framer.step(in)
		if err != nil {
			wire.scanned(used)
			return nil, fail(outcome.BadHTTP, "%v", err)
		}
		if over := b.payload + int64(len(payload)) - b.maxPayload; over > 0 {
			payload, used, b.full = payload[:len(payload)-int(over)], used-int(over), true
			b.framer.left += over
		}
		wire.scanned(used)
		if b.payload += int64(len(payload)); len(payload) > 0 {
			return payload, nil
		}
	}
	return nil, io.EOF
}

// fill reads from the connection.
func (b *body) fill() error {
	wire := &b.r.x.wire
	if wire.len() >= b.r.maxWire {
		return b.cut("more than %d bytes on the wire", b.r.maxWire)
	}
	room, err := wire.free()
	if err != nil {
		return err
	}
	n, err := b.r.read(room[:min(int64(len(room)), b.r.maxWire-wire.len())])
	wire.commit(n)
	if err == io.EOF {
		b.byEOF = true
		return b.framer.end(b.payload)
	}
	return err
}

// cut notes why a body is cut.
func (b *body) cut(format string, args ...any) error {
	b.r.x.Truncated, b.r.x.Detail = "length", fmt.Sprintf(format, args...)
	return errCut
}

// drain reads what is left; wire bytes are kept, payload is not.
func (b *body) drain() error {
	for {
		if _, err := b.next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// copy keeps the payload as the decoded body.
func (b *body) copy() error {
	out := b.output()
	for {
		p, err := b.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.append(p); err != nil {
			return err
		}
	}
}

// output opens the decoded body.
func (b *body) output() *spool {
	out := &b.r.x.decoded
	out.mem, out.threshold = &b.r.t.mem, b.r.t.opt.SpoolThreshold
	out.buf = out.mem.get(decodedStart)
	return out
}

// maxIdleReads is how often in a row a decoder may return nothing; bufio has the same number.
const maxIdleReads = 100

// decode undoes the content codings while the body arrives. A decoder that fails ends the decoded body; the
// rest is still received, for the archive.
func (b *body) decode(cs []coding) error {
	src := &payloadReader{b: b}
	chain := b.r.t.dec.chain(src, cs, b.r.maxBody)
	defer chain.release()
	err := b.pump(chain)
	switch {
	case src.err != nil && src.err != io.EOF:
		return src.err
	case errors.Is(err, errTooLong), chain.tooLong:
		return b.cut("body of more than %d bytes when decoded", b.r.maxBody)
	case errors.Is(err, errSpool):
		return err
	case err != nil:
		b.r.x.Detail = "content coding: " + err.Error()
	}
	return b.drain()
}

// errTooLong ends decoding at MaxBody.
var errTooLong = errors.New("too long")

// pump moves what the chain decodes to the decoded body.
func (b *body) pump(chain io.Reader) error {
	out := b.output()
	for idle := 0; idle < maxIdleReads; idle++ {
		room, err := out.free()
		if err != nil {
			return err
		}
		n, err := chain.Read(room[:min(int64(len(room)), b.r.maxBody+1-out.len())])
		out.commit(n)
		out.scanned(n)
		if out.len() > b.r.maxBody {
			out.unwrite(1)
			return errTooLong
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n > 0 {
			idle = 0
		}
	}
	return io.ErrNoProgress
}

// payloadReader reads the payload of a body and remembers the error that ended it.
type payloadReader struct {
	b   *body
	cur []byte
	err error
}

func (p *payloadReader) Read(to []byte) (int, error) {
	for len(p.cur) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.cur, p.err = p.b.next()
	}
	n := copy(to, p.cur)
	p.cur = p.cur[n:]
	return n, nil
}
