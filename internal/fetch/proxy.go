package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"decorum/internal/outcome"
)

// Errors of Do about the proxy. They are ours, not the web's: nothing was asked of the target, and no other target would fare better.
var (
	// ErrProxyDown says that the proxy could not be reached for ConnectTimeout.
	ErrProxyDown = errors.New("the proxy cannot be reached")
	// ErrProxyRefused says that the proxy wants other credentials (407, SOCKS authentication), or is no such proxy.
	ErrProxyRefused = errors.New("the proxy refuses to serve us")
)

// ProxyTrouble returns what is wrong with the proxy, without the words around it about the URL that happened to be the first to
// meet it; nil if err is about something else.
func ProxyTrouble(err error) error {
	if !errors.Is(err, ErrProxyDown) && !errors.Is(err, ErrProxyRefused) {
		return nil
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil || inner == ErrProxyDown || inner == ErrProxyRefused {
			return err
		}
		err = inner
	}
}

// Proxy is the way that all connections take. The zero value is none. It holds a secret: it prints without it.
type Proxy struct {
	scheme, addr   string // "socks5", "proxy.example:1080"
	user, password string
	secret         bool // there are credentials
}

// ParseProxy reads http://[user:password@]host:port (HTTP CONNECT, RFC 9110 §9.3.6, for http and https pages alike), and
// socks5:// or socks5h:// (RFC 1928). The words of an error never hold the password.
func ParseProxy(text string) (Proxy, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Proxy{}, errors.New("not a URL; write http://host:port, socks5://host:port or socks5h://host:port")
	}
	p := Proxy{scheme: u.Scheme, addr: u.Host}
	switch {
	case u.Scheme != "http" && u.Scheme != "socks5" && u.Scheme != "socks5h":
		return Proxy{}, fmt.Errorf("scheme %s is none of http, socks5 and socks5h", quote(u.Scheme))
	case u.Hostname() == "":
		return Proxy{}, errors.New("names no host")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return Proxy{}, errors.New("has more than scheme, credentials, host and port")
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || n == 0 {
		return Proxy{}, fmt.Errorf("names no port; write %s://%s:1080", u.Scheme, u.Hostname())
	}
	if u.User != nil {
		p.secret, p.user = true, u.User.Username()
		p.password, _ = u.User.Password() // none is empty
	}
	return p, p.validCredentials()
}

// validCredentials holds user and password against what carries them: RFC 7617 §2 and RFC 1929 §2.
func (p *Proxy) validCredentials() error {
	const longest = 255 // RFC 1929 has a length of one byte
	switch {
	case !p.secret:
	case !validFieldValue(p.user + p.password):
		return errors.New("user or password has a control character")
	case p.scheme == "http" && strings.Contains(p.user, ":"):
		return errors.New("the user name has a colon, which Basic authentication cannot carry")
	case p.scheme != "http" && (p.user == "" || p.password == "" || len(p.user) > longest || len(p.password) > longest):
		return fmt.Errorf("SOCKS wants user and password of 1 to %d bytes", longest)
	}
	return nil
}

// IsZero reports whether there is no proxy.
func (p Proxy) IsZero() bool { return p.scheme == "" }

// Resolves reports whether the proxy is given names and finds their addresses itself: http and socks5h. A socks5 proxy is
// given addresses.
func (p Proxy) Resolves() bool { return p.scheme == "http" || p.scheme == "socks5h" }

// String returns the proxy without its credentials.
func (p Proxy) String() string {
	if p.IsZero() {
		return ""
	}
	return p.scheme + "://" + p.addr
}

// GoString keeps the credentials out of %#v too.
func (p Proxy) GoString() string { return p.String() }

// proxyRest is the rest between two attempts to reach the proxy: a restart of it takes seconds, not minutes.
const proxyRest = time.Second

// reach connects to the proxy. It tries until ctx is done: that the proxy is away for a moment is not the target's fault, and no
// contact with it.
func (t *Transport) reach(ctx context.Context) (net.Conn, error) {
	var before error // tells more than that time ran out in the middle of another attempt
	for {
		c, err := t.opt.Dial(ctx, "tcp", t.opt.Proxy.addr)
		if err != nil && before != nil && (ctx.Err() != nil || isTimeout(err)) {
			return nil, before
		}
		if err == nil || ctx.Err() != nil || outOfSockets(err) {
			return c, err
		}
		before = err
		again := time.NewTimer(proxyRest)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, err
		}
	}
}

// patience is for how long a proxy must have been tried before it counts as down: a second dial of an exchange may have but a
// moment left.
func (t *Transport) patience() time.Duration { return min(t.opt.ConnectTimeout, t.opt.Timeout) / 2 }

// dialThrough opens a connection to the target of the exchange through the proxy, all within ctx.
func (r *run) dialThrough(ctx context.Context) (net.Conn, error) {
	p := &r.t.opt.Proxy
	until, _ := ctx.Deadline() // dial set one
	hurried := time.Until(until) < r.t.patience()
	c, err := r.t.reach(ctx)
	switch {
	case r.ctx.Err() != nil:
		if err == nil {
			c.Close()
		}
		return nil, r.ctx.Err()
	case err != nil && outOfSockets(err):
		return nil, err
	case err != nil && hurried:
		return nil, fail(outcome.Timeout, "not done within %v: proxy not reached", r.t.opt.Timeout)
	case err != nil:
		return nil, fmt.Errorf("%w: %v: %s", ErrProxyDown, p, cause(err))
	}
	stop := context.AfterFunc(r.ctx, func() { c.Close() })
	c.SetDeadline(until)
	if p.scheme == "http" {
		err = p.connect(c, r.target(), r.t.opt.MaxHeaderBytes)
	} else {
		err = p.socks(c, r.target())
	}
	if !stop() || err != nil {
		c.Close()
		if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
		return nil, err
	}
	return c, c.SetDeadline(time.Time{})
}

// target is where the proxy shall connect to: the address if it is known, else the name.
func (r *run) target() target {
	return target{addr: r.req.Addr.Addr().Unmap(), name: strings.Trim(r.req.URL.Host(), "[]"), port: r.req.Addr.Port()}
}

// target is an address, or a name whose address the proxy finds, and a port.
type target struct {
	addr netip.Addr // the zero Addr: the name counts
	name string
	port uint16
}

func (t target) String() string {
	if t.addr.IsValid() {
		return netip.AddrPortFrom(t.addr, t.port).String()
	}
	return net.JoinHostPort(t.name, strconv.Itoa(int(t.port)))
}

// connect asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6).
func (p *Proxy) connect(c net.Conn, to target, maxHead int) error {
	b := fmt.Appendf(nil, "CONNECT %v HTTP/1.1\r\nHost: %v\r\n", to, to)
	if p.secret {
		b = appendField(b, "Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)))
	}
	if _, err := c.Write(append(b, "\r\n"...)); err != nil {
		return p.lost(to, err)
	}
	raw, err := readHead(c, maxHead)
	if err != nil {
		return p.lost(to, err)
	}
	if !looksLikeHTTP(raw) {
		return fmt.Errorf("%w: %v does not speak HTTP", ErrProxyRefused, p)
	}
	h, err := parseHead(raw, maxProxyFields)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %v: %w", ErrProxyRefused, p, err)
	case h.status == 407 && p.secret:
		return fmt.Errorf("%w: %v does not accept the user and password given (407)", ErrProxyRefused, p)
	case h.status == 407:
		return fmt.Errorf("%w: %v wants a user and password (407)", ErrProxyRefused, p)
	case h.status < 200 || h.status > 299:
		line, _ := cutLine(string(raw))
		return fail(outcome.ConnectFailed, "proxy %v does not connect to %v: %s", p, to, quote(line))
	}
	return nil
}

// maxProxyFields bounds the fields of a proxy's answer, which has a handful.
const maxProxyFields = 100

var (
	errEarly = errors.New("it sent more than its answer")
	errLong  = errors.New("its answer has no end")
)

// readHead reads an answer's head and not a byte more: what follows belongs to the target.
func readHead(c net.Conn, limit int) ([]byte, error) {
	b := make([]byte, 0, 1<<10)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := c.Read(b[len(b):cap(b)])
		seen := len(b)
		b = b[:len(b)+n]
		switch end := headEnd(b, seen); {
		case end == len(b) && end > 0:
			return b, nil
		case end > 0:
			return nil, errEarly // the client speaks first on every connection that we make
		case !looksLikeHTTP(b):
			return b, nil // whoever talks like that is no HTTP proxy
		case len(b) > limit:
			return nil, errLong
		case err != nil:
			return nil, err
		}
	}
}

// lost is the failure of a tunnel that ended before it began. A proxy that gives up on a target may say so by hanging up, so it
// counts against the target.
func (p *Proxy) lost(to target, err error) error {
	if isTimeout(err) {
		return fail(outcome.ConnectFailed, "proxy %v: no connection to %v in time", p, to)
	}
	return fail(outcome.ConnectFailed, "proxy %v: no connection to %v: %s", p, to, cause(err))
}
