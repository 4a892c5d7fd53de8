package fetch

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"decorum/internal/outcome"
)

// run is one exchange under way.
type run struct {
	t   *Transport
	ctx context.Context
	req *Request
	key string
	x   *Exchange
	c   *conn

	maxBody, maxWire int64
	reusable         bool // the response ended by its own framing and the server keeps the connection

	deadline time.Time // of the whole exchange
	sent     time.Time // the request is on its way
	first    time.Time // first byte of the response being read; zero while waiting
	got      int64     // bytes since first
	inBody   bool
	armed    time.Time // read deadline set on c
	limit    limit     // which limit armed is
}

// limit is a reason for a read deadline.
type limit uint8

const (
	limitTotal limit = iota
	limitTTFB
	limitRate
)

// perform runs the exchange. The host is busy from here to the end, its connection with it.
func (r *run) perform() error {
	kept, err := r.t.pool.acquire(r.key)
	if err != nil {
		return err
	}
	if kept != nil && !(kept.serves(r.req) && kept.quiet()) {
		kept.close()
		kept = nil
	}
	c, err := r.attempt(kept)
	r.t.pool.release(r.key, c, r.keepFor())
	return r.conclude(err)
}

// attempt tries on the kept connection, then once on a new one if that died without a word. It returns the
// connection if it can be used again.
func (r *run) attempt(kept *conn) (*conn, error) {
	if kept != nil {
		r.x.Reused = true
		c, err := r.on(kept, false)
		if f := (*failure)(nil); !errors.As(err, &f) || f.outcome != outcome.Reset || r.x.WireBytes > 0 {
			return c, err
		}
		r.x.Reused = false
	}
	c, err := r.dial()
	if err != nil {
		return nil, err
	}
	return r.on(c, r.req.URL.Scheme() == "https")
}

// on talks on c: handshake if asked, request, response. It closes c unless it can be used again.
func (r *run) on(c *conn, handshake bool) (*conn, error) {
	r.c, r.armed = c, time.Time{}
	stop := context.AfterFunc(r.ctx, c.close)
	err := r.talk(handshake)
	if !stop() || err != nil || !r.reusable {
		c.close()
		return nil, err
	}
	c.raw.SetDeadline(time.Time{})
	return c, nil
}

func (r *run) talk(handshake bool) error {
	if handshake {
		if err := r.handshake(r.c); err != nil {
			return err
		}
	}
	r.x.TLS = r.c.tls
	if err := r.send(); err != nil {
		return err
	}
	return r.receive()
}

// send writes the request. An error other than a timeout is left for the read to find: the server may have
// answered before it hung up.
func (r *run) send() error {
	now := time.Now()
	r.c.raw.SetWriteDeadline(earlier(r.deadline, now.Add(r.t.opt.TTFBTimeout)))
	_, err := r.c.rw.Write(r.x.RequestBytes)
	r.sent = now
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fail(outcome.Timeout, "the server did not take the request within %v", time.Since(now).Round(time.Millisecond))
	}
	return nil
}

// read reads from the connection within the time limits.
func (r *run) read(p []byte) (int, error) {
	r.arm()
	n, err := r.c.rw.Read(p)
	if n > 0 {
		r.x.WireBytes += int64(n)
		r.got += int64(n)
		if r.first.IsZero() {
			r.first = time.Now()
			r.x.TTFB = r.first.Sub(r.sent)
		}
		return n, nil
	}
	switch {
	case r.ctx.Err() != nil:
		return 0, r.ctx.Err()
	case err == io.EOF, err == nil:
		return 0, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, r.timeout()
	}
	return 0, fail(outcome.Reset, "connection failed %s: %s", r.where(), cause(err))
}

// arm sets the read deadline to the nearest limit. The rate limit needs no clock: byte n is late after
// grace + n/rate, a time known in advance.
func (r *run) arm() {
	d, limit := r.deadline, limitTotal
	if r.first.IsZero() {
		if t := r.sent.Add(r.t.opt.TTFBTimeout); t.Before(d) {
			d, limit = t, limitTTFB
		}
	} else if rate := r.t.opt.MinRate; rate > 0 {
		late := r.t.opt.MinRateGrace + time.Duration(float64(r.got)/float64(rate)*float64(time.Second))
		if t := r.first.Add(late); t.Before(d) {
			d, limit = t, limitRate
		}
	}
	r.limit = limit
	if !d.Equal(r.armed) {
		r.c.raw.SetReadDeadline(d)
		r.armed = d
	}
}

// timeout names the limit that the last read ran into.
func (r *run) timeout() error {
	switch {
	case r.limit == limitTTFB:
		return fail(outcome.Timeout, "no answer within %v of the request", r.t.opt.TTFBTimeout)
	case r.limit == limitRate && r.inBody:
		return fail(outcome.TooSlow, "body slower than %d bytes/s: %d bytes in %v", r.t.opt.MinRate, r.got, time.Since(r.first).Round(time.Second))
	case r.limit == limitRate:
		return fail(outcome.Timeout, "header slower than %d bytes/s", r.t.opt.MinRate)
	}
	return fail(outcome.Timeout, "not done within %v: stopped %s", r.t.opt.Timeout, r.where())
}

func (r *run) where() string {
	switch {
	case r.inBody:
		return "in the body"
	case r.x.WireBytes > 0:
		return "in the header"
	}
	return "before the first byte of the answer"
}

// conclude turns err into the outcome, or returns it when it is ours.
func (r *run) conclude(err error) error {
	x := r.x
	f := (*failure)(nil)
	if err != nil && !errors.As(err, &f) {
		return err
	}
	x.End = time.Now()
	x.Total = x.End.Sub(x.Start)
	if f != nil {
		x.Outcome, x.Detail = f.outcome, f.detail
		if r.inBody {
			x.Truncated = truncation(f.outcome)
		}
	}
	if x.Status == 0 {
		x.wire.release()
		return nil
	}
	r.judge(f != nil)
	return x.deliver()
}

// truncation is the word of WARC-Truncated for a body that ended with the outcome.
func truncation(o outcome.Outcome) string {
	if o == outcome.Timeout || o == outcome.TooSlow {
		return "time"
	}
	return "disconnect"
}
