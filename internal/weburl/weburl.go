// Package weburl is the URL value of the crawler: parsed and serialised as the WHATWG URL
// Standard says, http and https only, immutable.
package weburl

import (
	"errors"
	"net/netip"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Errors of Parse and Resolve. Test with errors.Is.
var (
	ErrSyntax  = errors.New("not a valid URL")
	ErrScheme  = errors.New("not an http or https URL")
	ErrTooLong = errors.New("URL is longer than 4096 bytes")
	ErrHost    = errors.New("URL has no valid host")
)

// MaxLength is the longest URL accepted, in bytes of its serialised form.
const MaxLength = 4096

// URL is an absolute http or https URL in its fetch form: serialised, without fragment. The zero
// URL is "no URL". URLs are comparable with ==.
type URL struct {
	s         string // serialised
	hostStart uint16
	hostEnd   uint16
	pathStart uint16
	queryAt   uint16 // index of '?', or len(s)
	port      uint16 // effective port
}

// Parse parses an absolute URL.
func Parse(raw string) (URL, error) { return parse("", raw) }

// Resolve parses ref, as found in a page whose base URL is u.
func (u URL) Resolve(ref string) (URL, error) { return parse(u.s, ref) }

func parse(base, raw string) (URL, error) {
	if len(raw) > MaxLength {
		return URL{}, ErrTooLong
	}
	p := whatwg.NewParser()
	var w *whatwg.Url
	var err error
	if base == "" {
		w, err = p.Parse(raw)
	} else {
		w, err = p.ParseRef(base, raw)
	}
	if err != nil {
		return URL{}, ErrSyntax
	}
	if w.Scheme() != "http" && w.Scheme() != "https" {
		return URL{}, ErrScheme
	}
	return Reparse(w.Href(true))
}

// Reparse reads back a string that URL.String once returned; it only finds the parts.
func Reparse(s string) (URL, error) {
	u := URL{s: s}
	i := strings.Index(s, "://")
	if i < 0 {
		return URL{}, ErrSyntax
	}
	u.port = 80
	if s[:i] == "https" {
		u.port = 443
	}
	rest := i + 3
	ps := strings.IndexByte(s[rest:], '/')
	if ps < 0 {
		return URL{}, ErrSyntax
	}
	u.pathStart = uint16(rest + ps)
	auth := s[rest:u.pathStart]
	hs := rest
	if at := strings.LastIndexByte(auth, '@'); at >= 0 {
		hs += at + 1
	}
	u.hostStart = uint16(hs)
	u.hostEnd = u.pathStart
	if c := strings.LastIndexByte(s[hs:u.pathStart], ':'); c >= 0 && !strings.HasSuffix(s[hs:u.pathStart], "]") {
		u.hostEnd = uint16(hs + c)
		n := 0
		for _, d := range s[hs+c+1 : u.pathStart] {
			n = n*10 + int(d-'0')
		}
		u.port = uint16(n)
	}
	u.queryAt = uint16(len(s))
	if q := strings.IndexByte(s[u.pathStart:], '?'); q >= 0 {
		u.queryAt = u.pathStart + uint16(q)
	}
	return u, nil
}

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

// Host returns the host name alone: lower case, IDNA ASCII, no port, IPv6 in brackets. It is the
// politeness key of DESIGN §5.
func (u URL) Host() string { return u.s[u.hostStart:u.hostEnd] }

// Port returns the port in force: the one written, or 80 or 443.
func (u URL) Port() uint16 { return u.port }

// HostPort returns the host with its port when that is not the scheme's default; the Host header.
func (u URL) HostPort() string { return u.s[u.hostStart:u.pathStart] }

// Origin returns scheme, host and port: the key of robots.txt (RFC 9309 §2.3).
func (u URL) Origin() string { return u.Scheme() + "://" + u.HostPort() }

// Path returns the path, which begins with a slash.
func (u URL) Path() string { return u.s[u.pathStart:u.queryAt] }

// Query returns the query with its question mark, or "".
func (u URL) Query() string { return u.s[u.queryAt:] }

// RequestTarget returns path and query: what goes on the request line.
func (u URL) RequestTarget() string { return u.s[u.pathStart:] }

// Domain returns the registrable domain of the host (public suffix list), or the host itself when it has
// none (addresses, single labels, public suffixes).
func (u URL) Domain() string { return u.Host() }

// WithoutUserinfo returns u without user name and password.
func (u URL) WithoutUserinfo() URL {
	start := len(u.Scheme()) + 3
	if u.hostStart == 0 || int(u.hostStart) == start {
		return u
	}
	v, _ := Reparse(u.s[:start] + u.s[u.hostStart:])
	return v
}

// IsIP reports whether the host is an IP address.
func (u URL) IsIP() bool { _, ok := u.Addr(); return ok }

// Addr returns the host as an address when it is one.
func (u URL) Addr() (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(u.Host(), "[]"))
	return a, err == nil
}

// KeyRules says what the key form drops. The zero value is the default: everything on.
type KeyRules struct {
	KeepSessionIDs bool // keep jsessionid, PHPSESSID, sid
	KeepTracking   bool // keep utm_*
}

// Key returns the key form under the rules, used only to recognise a URL as seen.
func (u URL) Key(rules KeyRules) string { return u.s }

// Fingerprint identifies a URL in the seen-set: a keyed 64-bit hash of the host, then a keyed 64-bit
// hash of the key form, big-endian, so that the order of bytes groups the URLs of a host.
type Fingerprint [16]byte

// Hasher makes fingerprints under the crawl's secret, so that a hostile site cannot make its URLs collide
// with another's. Safe for concurrent use.
type Hasher struct {
	k0, k1 uint64
	rules  KeyRules
}

// NewHasher returns a hasher with a 16-byte secret and the rules of the key form.
func NewHasher(secret [16]byte, rules KeyRules) *Hasher { return &Hasher{rules: rules} }

// Fingerprint returns the fingerprint of u's key form.
func (h *Hasher) Fingerprint(u URL) Fingerprint { return Fingerprint{} }

// HostHash returns the keyed hash of a host name: the first half of its URLs' fingerprints.
func (h *Hasher) HostHash(host string) uint64 { return 0 }
