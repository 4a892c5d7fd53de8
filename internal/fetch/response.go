package fetch

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"decorum/internal/outcome"
)

// receive reads heads up to the final one, then the body.
func (r *run) receive() error {
	s := &r.x.wire
	s.mem, s.threshold = &r.t.mem, r.t.opt.SpoolThreshold
	if s.buf == nil { // else a kept connection failed before it filled it
		s.buf = r.t.mem.get(minBuffer)
	}
	for informational := 0; ; informational++ {
		n, err := r.readHead()
		if err != nil {
			return err
		}
		h, err := parseHead(s.buf.b[:n], r.t.opt.MaxHeaders)
		if err != nil {
			return fail(outcome.BadHTTP, "%v", err)
		}
		if h.status/100 != 1 {
			return r.receiveBody(&h, n)
		}
		if h.status == 101 {
			return fail(outcome.BadHTTP, "the server switched protocols unasked (101)")
		}
		if informational == r.t.opt.MaxInformational {
			return fail(outcome.BadHTTP, "more than %d informational responses", r.t.opt.MaxInformational)
		}
		r.dropHead(n)
	}
}

// dropHead forgets an informational response. Unless more came with it, the wait for an answer goes on.
func (r *run) dropHead(n int) {
	b := r.x.wire.buf
	b.b = b.b[:copy(b.b, b.b[n:])]
	if len(b.b) == 0 {
		r.first, r.got = time.Time{}, 0
	}
}

// readHead reads until the buffer holds a complete head and returns its length.
func (r *run) readHead() (int, error) {
	s, seen := &r.x.wire, 0
	for {
		if !looksLikeHTTP(s.buf.b) {
			return 0, fail(outcome.BadHTTP, "not an HTTP/1 response: %s", quote(string(s.buf.b)))
		}
		if n := headEnd(s.buf.b, seen); n > 0 && n <= r.t.opt.MaxHeaderBytes {
			return n, nil
		} else if n > 0 || len(s.buf.b) >= r.t.opt.MaxHeaderBytes {
			return 0, fail(outcome.BadHTTP, "header of more than %d bytes", r.t.opt.MaxHeaderBytes)
		}
		seen = len(s.buf.b)
		if seen == cap(s.buf.b) {
			s.grow(2 * seen)
		}
		n, err := r.read(s.buf.b[seen:cap(s.buf.b)])
		if err == io.EOF {
			return 0, fail(outcome.Reset, "connection closed %s", r.where())
		}
		if err != nil {
			return 0, err
		}
		s.commit(n)
	}
}

// receiveBody reads the body of the final response, whose head is the first n bytes of the buffer.
func (r *run) receiveBody(h *head, n int) error {
	x := r.x
	x.Status, x.Proto, x.Header = h.status, h.proto, h.fields
	f, err := frame(h, r.t.opt.MaxHeaderBytes)
	x.wire.off, x.wire.scan = n, n
	x.Outcome = outcome.FromStatus(h.status)
	r.inBody = true
	if err != nil {
		x.wire.trim()
		return err
	}
	cs, problem := codings(h.fields)
	x.Detail = problem
	b := &body{r: r, framer: f}
	if err = b.receive(cs); errors.Is(err, errCut) {
		err = nil
	} else if err == nil {
		r.reusable = r.req.KeepFor > 0 && h.keepsAlive() && f.closes == "" && !b.byEOF && len(x.wire.unscanned()) == 0
	}
	x.wire.trim()
	return err
}

// errCut ends a body at a size limit. It is neither failure nor fault: the status decides the outcome.
var errCut = errors.New("cut")

// frame decides how the body ends (RFC 9112 §6.3).
func frame(h *head, maxTrailer int) (framer, error) {
	f := framer{maxTrailer: maxTrailer}
	length, err := contentLength(h.fields)
	if err != nil {
		return f, err
	}
	if h.status == 204 || h.status == 304 {
		f.kind, f.left = framedLength, 0
		if length > 0 {
			f.closes = "a body was announced that must not come"
		}
		return f, nil
	}
	te := h.fields.Values("Transfer-Encoding")
	switch {
	case len(te) > 0 && (h.major > 1 || h.major == 1 && h.minor >= 1):
		if len(te) > 1 || !strings.EqualFold(te[0], "chunked") {
			return f, fail(outcome.BadHTTP, "transfer encoding %s", quote(strings.Join(te, ", ")))
		}
		f.kind = framedChunks
		if length >= 0 {
			f.closes = "Content-Length beside Transfer-Encoding"
		}
	case length >= 0:
		f.kind, f.left = framedLength, length
	default:
		f.kind = framedClose
	}
	return f, nil
}

// contentLength returns the announced length, or -1. Repeated equal values count once, as in net/http.
func contentLength(h Header) (int64, error) {
	vs := h.Values("Content-Length")
	if len(vs) == 0 {
		return -1, nil
	}
	for _, v := range vs[1:] {
		if v != vs[0] {
			return 0, fail(outcome.BadHTTP, "Content-Length is both %s and %s", quote(vs[0]), quote(v))
		}
	}
	n, err := strconv.ParseUint(vs[0], 10, 63)
	if err != nil {
		return 0, fail(outcome.BadHTTP, "Content-Length is %s", quote(vs[0]))
	}
	return int64(n), nil
}

// deliver hands out what was collected.
func (x *Exchange) deliver() (err error) {
	x.HeadBytes = x.wire.buf.b[:x.wire.off:x.wire.off]
	if x.WireBody, err = x.wire.body(); err != nil {
		return err
	}
	x.Body = x.WireBody
	if x.decoded.buf != nil {
		x.Body, err = x.decoded.body()
	}
	return err
}

// judge reads the fields of the final head that decide what happens next.
func (r *run) judge(failed bool) {
	x := r.x
	if loc := x.Header.Get("Location"); loc != "" && redirects(x.Status) {
		if u, err := r.req.URL.Resolve(loc); err == nil {
			x.Location = u
			x.Outcome = outcome.Redirect
		} else if !failed {
			x.Detail = "Location " + quote(loc) + ": " + err.Error()
		}
	}
	x.RetryAfter = retryAfter(x.Header.Get("Retry-After"), x.End)
}

// keepFor is how long the connection is worth keeping: as asked, and no longer than the server keeps it.
func (r *run) keepFor() time.Duration {
	d := r.req.KeepFor
	for v := range strings.SplitSeq(r.x.Header.Get("Keep-Alive"), ",") {
		if s, ok := strings.CutPrefix(strings.Trim(v, " \t"), "timeout="); ok {
			if n, err := strconv.ParseUint(s, 10, 31); err == nil {
				d = min(d, time.Duration(n)*time.Second)
			}
		}
	}
	return d
}

func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// retryAfter reads a Retry-After value, seconds or a date (RFC 9110 §10.2.3). Too large saturates.
func retryAfter(v string, now time.Time) time.Duration {
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n > int64(math.MaxInt64/time.Second) {
			return math.MaxInt64
		}
		return time.Duration(n) * time.Second
	}
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, v); err == nil {
			return max(0, t.Sub(now)) // Sub saturates
		}
	}
	return 0
}
