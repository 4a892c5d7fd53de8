// Package weburl is the URL value of the crawler: parsed and serialised as the WHATWG URL Standard
// says, http and https only.
//
// A URL has two forms (DESIGN §2). The fetch form, String, is the serialised URL without fragment: it goes
// on the wire and into the archive. The key form, Key, has its percent-encoding normalised and its
// session ids and tracking parameters dropped: it only decides whether a URL was seen.
//
// Invariants:
//   - A URL is an immutable, comparable value: equal URLs are == and the zero URL is "no URL".
//   - The fetch form is printable ASCII without space or fragment, at most MaxLength bytes.
//   - Reparse(u.String()) == u, and u.Key(rules) is a fetch form whose own key form is itself.
//   - No input makes a function panic or take time beyond a few passes over MaxLength bytes.
//   - A URL owns its memory, so that keeping a link does not keep the page it was found in. Only Reparse
//     keeps the string it was given.
//
// Everything is safe for concurrent use. Structure, path and query are handled here; hosts that are not
// plain ASCII names go to whatwg-url, which costs about twenty times as much (BenchmarkResolveUnicodeHost).
// The encoding of the page is not looked at: a query is always encoded as UTF-8, where a browser would
// use the encoding of a legacy page.
package weburl

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Errors of Parse, Resolve and Reparse. Test with errors.Is.
var (
	ErrSyntax  = errors.New("not a valid URL")
	ErrScheme  = errors.New("not an http or https URL")
	ErrTooLong = errors.New("URL is longer than 4096 bytes")
	ErrHost    = errors.New("URL has no valid host")
)

// MaxLength is the longest URL accepted, in bytes: as found without its fragment, and as serialised.
// Servers commonly stop at 8 KiB; of real links longer than 4 KiB hardly any is a page.
const MaxLength = 4096

// URL is an absolute http or https URL in its fetch form: serialised, without fragment. The zero
// URL is "no URL". URLs are comparable with ==.
type URL struct {
	s         string // serialised
	hostStart uint16 // after "://" and the user name
	hostEnd   uint16 // before the root dot and the port
	pathStart uint16
	queryAt   uint16 // index of '?', or len(s)
	port      uint16 // the port in force
}

// Parse parses an absolute URL, as a browser parses what is typed or found without a base.
func Parse(raw string) (URL, error) { return resolve(URL{}, raw) }

// Resolve parses ref, as found in a page whose base URL is u. A reference to a place in the same page gives
// u itself.
func (u URL) Resolve(ref string) (URL, error) { return resolve(u, ref) }

// IsZero reports whether u is no URL.
func (u URL) IsZero() bool { return u.s == "" }

// String returns the fetch form.
func (u URL) String() string { return u.s }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	if strings.HasPrefix(u.s, "https:") {
		return "https"
	}
	return "http"
}

// Host returns the host name alone: lower case, IDNA ASCII, no port, no root dot ("example.org." is
// the same machine as "example.org"), IPv6 in brackets. It is the politeness key of DESIGN §5.
func (u URL) Host() string { return u.s[u.hostStart:u.hostEnd] }

// Port returns the port in force: the one written, or 80 or 443.
func (u URL) Port() uint16 { return u.port }

// HostPort returns the host with its port when that is not the scheme's default; the Host header.
func (u URL) HostPort() string { return u.s[u.hostStart:u.pathStart] }

// Origin returns scheme, host and port: the key of robots.txt (RFC 9309 §2.3).
func (u URL) Origin() string {
	if !u.hasUserinfo() {
		return u.s[:u.pathStart]
	}
	return u.Scheme() + "://" + u.HostPort()
}

// Path returns the path, which begins with a slash.
func (u URL) Path() string { return u.s[u.pathStart:u.queryAt] }

// Query returns the query with its question mark, or "".
func (u URL) Query() string { return u.s[u.queryAt:] }

// RequestTarget returns path and query: what goes on the request line.
func (u URL) RequestTarget() string { return u.s[u.pathStart:] }

// Domain returns the registrable domain of the host (public suffix list), or the host itself when it has
// none (addresses, single labels, public suffixes).
func (u URL) Domain() string {
	host := u.Host()
	if u.looksLikeAddress() {
		return host
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	dot := len(host) - len(suffix) - 1
	if dot <= 0 || suffix == "" {
		return host
	}
	return host[strings.LastIndexByte(host[:dot], '.')+1:]
}

// IsIP reports whether the host is an IP address.
func (u URL) IsIP() bool {
	_, ok := u.Addr()
	return ok
}

// Addr returns the host as an address when it is one.
func (u URL) Addr() (netip.Addr, bool) {
	if !u.looksLikeAddress() {
		return netip.Addr{}, false
	}
	host := u.Host()
	if host[0] == '[' {
		host = host[1 : len(host)-1]
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

// looksLikeAddress is exact for parsed URLs: the standard takes every host whose last label is a number
// as an IPv4 address or refuses it.
func (u URL) looksLikeAddress() bool {
	host := u.Host()
	if len(host) < len("[::]") {
		return false
	}
	if host[0] == '[' {
		return host[len(host)-1] == ']'
	}
	return isDecimal(host[strings.LastIndexByte(host, '.')+1:])
}

// WithoutUserinfo returns u without user name and password.
func (u URL) WithoutUserinfo() URL {
	if !u.hasUserinfo() {
		return u
	}
	start := uint16(len(u.Scheme()) + len("://"))
	cut := u.hostStart - start
	u.s = u.s[:start] + u.s[u.hostStart:]
	u.hostStart, u.hostEnd, u.pathStart, u.queryAt = start, u.hostEnd-cut, u.pathStart-cut, u.queryAt-cut
	return u
}

func (u URL) hasUserinfo() bool { return int(u.hostStart) > len("https://") }

// Reparse reads back a string that URL.String once returned. It finds the parts, checks that they are
// where they must be and that every byte may be on a request line, and nothing more: damage that leaves
// a well-formed string passes. The URL keeps s.
func Reparse(s string) (URL, error) {
	if len(s) > MaxLength {
		return URL{}, ErrTooLong
	}
	if classify(s)&notPrintable != 0 || strings.IndexByte(s, '#') >= 0 {
		return URL{}, ErrSyntax
	}
	return locate(s)
}

// locate finds the parts of a serialised URL.
func locate(s string) (URL, error) {
	u := URL{s: s, port: 443}
	start := len("https://")
	if !strings.HasPrefix(s, "https://") {
		u.port, start = 80, len("http://")
		if !strings.HasPrefix(s, "http://") {
			return URL{}, ErrScheme
		}
	}
	slash := strings.IndexByte(s[start:], '/')
	if slash <= 0 {
		return URL{}, ErrHost
	}
	path := start + slash
	u.pathStart, u.queryAt = uint16(path), uint16(len(s))
	if q := strings.IndexByte(s[path:], '?'); q >= 0 {
		u.queryAt = uint16(path + q)
	}
	host := start + strings.LastIndexByte(s[start:path], '@') + 1
	if host == start+1 {
		return URL{}, ErrHost // an empty user name is never serialised
	}
	end, port, ok := cutPort(s[host:path])
	if !ok || end == 0 {
		return URL{}, ErrHost
	}
	if port != 0 {
		u.port = port
	}
	u.hostStart, u.hostEnd = uint16(host), uint16(host+end)
	return u, nil
}

// cutPort returns where the name in a host with an optional port ends, and the port or 0.
func cutPort(hostPort string) (end int, port uint16, ok bool) {
	end = len(hostPort)
	if colon := strings.LastIndexByte(hostPort, ':'); colon >= 0 && hostPort[end-1] != ']' {
		if port, ok = parsePort(hostPort[colon+1:]); !ok {
			return 0, 0, false
		}
		end = colon
	}
	if end > 1 && hostPort[end-1] == '.' && hostPort[end-2] != '.' {
		end-- // the root dot
	}
	return end, port, true
}

// parsePort reads a port as serialised: decimal, without leading zeros.
func parsePort(s string) (port uint16, ok bool) {
	if len(s) > len("65535") || !isDecimal(s) || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return uint16(n), n <= 65535
}

func isDecimal(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
