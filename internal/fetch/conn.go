package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"decorum/internal/outcome"
)

// conn is an open connection to one scheme, host name and address.
type conn struct {
	raw          net.Conn
	rw           net.Conn // raw, or TLS over it
	scheme, host string
	addr         netip.AddrPort
	tls          *TLSInfo

	key     string    // politeness host; set while kept
	expires time.Time // set while kept
}

// close closes the connection at once. TLS sends no close_notify: every response was complete by its
// own framing or is marked as cut, and a write could block.
func (c *conn) close() { c.raw.Close() }

// serves reports whether the connection can carry the request.
func (c *conn) serves(req *Request) bool {
	return c.addr == req.Addr && c.scheme == req.URL.Scheme() && c.host == req.URL.Host()
}

// probeWait is how long a connection that is no socket is watched for an unasked byte before reuse.
const probeWait = time.Millisecond

// quiet reports whether a kept connection is still open with nothing to read. An unasked byte is the end of
// the connection, a smuggled response, or (rarely, under TLS) a late session ticket; none is worth the doubt.
func (c *conn) quiet() bool {
	if sc, ok := c.raw.(syscall.Conn); ok {
		if quiet, known := socketQuiet(sc); known {
			return quiet
		}
	}
	var b [1]byte
	c.raw.SetReadDeadline(time.Now().Add(probeWait))
	n, err := c.raw.Read(b[:])
	c.raw.SetReadDeadline(time.Time{})
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// dial opens a connection for the exchange. A *failure is the web's doing, any other error ours.
func (r *run) dial() (*conn, error) {
	addr := netip.AddrPortFrom(r.req.Addr.Addr().Unmap(), r.req.Addr.Port())
	if control := r.t.opt.Control; control != nil && addr.IsValid() {
		if err := control(addr); err != nil {
			return nil, fail(outcome.AddressRefused, "%v: %v", addr, err)
		}
	}
	start := time.Now()
	until := earlier(r.deadline, start.Add(r.t.opt.ConnectTimeout))
	ctx, cancel := context.WithDeadline(r.ctx, until)
	defer cancel()
	raw, err := r.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	r.x.Connect = time.Since(start)
	c := &conn{raw: raw, rw: raw, scheme: r.req.URL.Scheme(), host: r.req.URL.Host(), addr: r.req.Addr}
	return c, nil
}

// open connects to addr, or through the proxy.
func (r *run) open(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	if !r.t.opt.Proxy.IsZero() {
		return r.dialThrough(ctx)
	}
	start := time.Now()
	raw, err := r.t.opt.Dial(ctx, "tcp", addr.String())
	if err != nil {
		return nil, r.dialFailure(err, addr, time.Since(start))
	}
	return raw, nil
}

func (r *run) dialFailure(err error, addr netip.AddrPort, after time.Duration) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case outOfSockets(err):
		return err
	case isTimeout(err):
		return fail(outcome.ConnectFailed, "%v: no connection within %v", addr, after.Round(time.Millisecond))
	}
	return fail(outcome.ConnectFailed, "%v: %s", addr, cause(err))
}

// outOfSockets reports whether we have no file or port left for a connection.
func outOfSockets(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// handshake puts TLS on a new connection. r.c is watched by then, so a done context ends it.
func (r *run) handshake(c *conn) error {
	cfg := r.t.tls.Clone()
	cfg.ServerName = strings.Trim(c.host, "[]")
	start := time.Now()
	until := earlier(r.deadline, start.Add(r.t.opt.TLSTimeout))
	c.raw.SetDeadline(until)
	tc := tls.Client(c.raw, cfg)
	err := tc.Handshake()
	r.x.TLSHandshake = time.Since(start)
	r.armed = until
	switch {
	case err == nil:
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(outcome.Timeout, "TLS handshake not done within %v", r.x.TLSHandshake.Round(time.Millisecond))
	default:
		return fail(outcome.TLSFailed, "TLS: %s", tlsReason(err))
	}
	state := tc.ConnectionState()
	c.rw = tc
	c.tls = &TLSInfo{tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite), state.DidResume}
	return nil
}

// tlsReason says in a few words why a handshake failed.
func tlsReason(err error) string {
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "certificate is expired or not yet valid: " + strings.TrimPrefix(invalid.Detail, "x509: ")
	case errors.As(err, &invalid):
		return "certificate is invalid: " + invalid.Error()
	case errors.As(err, &host):
		return "certificate is for another host: " + host.Error()
	case errors.As(err, &unknown):
		return "certificate is signed by an unknown authority"
	case errors.As(err, &record):
		return "the server does not speak TLS"
	case errors.As(err, &alert):
		return "the server refused the handshake: " + alert.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the server closed the connection during the handshake"
	}
	return err.Error()
}

// cause strips the address and operation that net wraps around an error.
func cause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		err = sys.Err
	}
	return err.Error()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// failure is what the web did wrong, on its way to Exchange.Outcome.
type failure struct {
	outcome outcome.Outcome
	detail  string
}

func (f *failure) Error() string { return f.detail }

func fail(o outcome.Outcome, format string, args ...any) error {
	return &failure{o, fmt.Sprintf(format, args...)}
}
