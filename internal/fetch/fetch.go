package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Errors of Do. Test with errors.Is.
var (
	ErrHostBusy = errors.New("another exchange with the host is under way")
	ErrClosed   = errors.New("transport is closed")
)

// curves leaves out the post-quantum key exchange: what is public needs no secrecy decades from now, and without
// it a handshake costs about a quarter less CPU (BenchmarkHandshake).
var curves = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// Transport performs exchanges and keeps connections between them. Safe for concurrent use.
type Transport struct {
	opt  Options
	tls  *tls.Config
	pool pool
	mem  memory
	dec  decoders
}

// New returns a Transport and removes leftover files from Options.SpoolDir.
func New(opt Options) (*Transport, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("fetch options: %w", err)
	}
	t := &Transport{opt: opt}
	if err := t.mem.open(opt.SpoolDir); err != nil {
		return nil, fmt.Errorf("fetch spool %s: %w", opt.SpoolDir, err)
	}
	t.tls = &tls.Config{
		RootCAs:            opt.RootCAs,
		MinVersion:         tls.VersionTLS12,
		CurvePreferences:   curves,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(opt.TLSSessions),
	}
	t.pool.open(opt.MaxIdle)
	return t, nil
}

// Close closes the kept connections. Exchanges under way end as they would; their connections are not kept.
func (t *Transport) Close() error {
	t.pool.close()
	return t.mem.close()
}

// Request is one GET.
type Request struct {
	URL weburl.URL
	// Addr is where to connect; the caller resolved the name. When a proxy does that, the address may be zero, the port not.
	Addr netip.AddrPort

	// HostKey is the politeness key of the connection. Default URL.Host().
	HostKey string
	// Header holds extra fields, sent in order. One named like a default field (User-Agent, Accept,
	// Accept-Encoding) replaces it; the fields that frame a message are refused.
	Header []Field
	// IfNoneMatch and IfModifiedSince make the request conditional when not empty.
	IfNoneMatch, IfModifiedSince string
	// MaxBody replaces Options.MaxBody when not zero; bytes.
	MaxBody int64
	// KeepFor is how long the connection is worth keeping for the next contact with the host; zero
	// closes it, and the request says so.
	KeepFor time.Duration
}

// Exchange is what came of a Request. Byte slices and bodies are valid until Close; Header is for keeps.
type Exchange struct {
	// Outcome is outcome.FromStatus for a complete response (Redirect when Location is usable), or what
	// stopped it: Timeout, TooSlow, ConnectFailed, TLSFailed, Reset, BadHTTP, AddressRefused. A redirect
	// with a usable Location stays a Redirect when its body, which nobody needs, is broken.
	Outcome outcome.Outcome
	Detail  string // one line for people; empty when all went well

	Status int    // of the final response; 0 if its head never came
	Proto  string // "HTTP/1.1"
	Header Header

	RequestBytes []byte // exactly what was sent
	HeadBytes    []byte // status line, fields, blank line of the final response as received
	WireBody     Body   // the bytes after HeadBytes as received, chunk framing and content coding included
	Body         Body   // without framing and content coding; shares WireBody's memory when there is neither

	// Truncated says why WireBody is not the whole body, in the words of WARC-Truncated (WARC 1.1 §5.13):
	// "", "length", "time" or "disconnect".
	Truncated string

	Addr   netip.AddrPort // of the request; never that of a proxy
	Reused bool           // on a kept connection
	TLS    *TLSInfo       // nil for http

	Start, End   time.Time
	Connect      time.Duration // 0 when reused
	TLSHandshake time.Duration
	TTFB         time.Duration // from sending the request to the first byte of the final response
	Total        time.Duration // End - Start
	WireBytes    int64         // bytes of response received, all heads and the body, inside TLS

	Location   weburl.URL    // target of a 301, 302, 303, 307 or 308, resolved; zero if unusable
	RetryAfter time.Duration // Retry-After from now; zero if absent, past or garbage

	wire, decoded spool
}

// IP returns the address of the server as text, or "" when only the proxy knows it.
func (x *Exchange) IP() string {
	if !x.Addr.IsValid() {
		return ""
	}
	return x.Addr.Addr().String()
}

// TLSInfo describes the connection's TLS session.
type TLSInfo struct {
	Version     string // "TLS 1.3"
	CipherSuite string // "TLS_AES_128_GCM_SHA256"
	Resumed     bool   // the session was resumed when the connection was made
}

// Close returns the buffers and removes spool files. A second Close does nothing.
func (x *Exchange) Close() {
	x.wire.release()
	x.decoded.release()
	x.HeadBytes, x.WireBody, x.Body = nil, Body{}, Body{}
}

// Do performs one exchange. What the web did is in Exchange.Outcome; an error is ours: the context is
// done (the connection is closed at once), the spool cannot be written, the request is not sendable,
// ErrHostBusy, ErrClosed, ErrProxyDown, ErrProxyRefused.
func (t *Transport) Do(ctx context.Context, req *Request) (*Exchange, error) {
	r, err := t.newRun(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", req.URL, err)
	}
	if err := r.perform(); err != nil {
		r.x.Close()
		return nil, fmt.Errorf("fetch %s: %w", req.URL, err)
	}
	return r.x, nil
}
