// Package credentials says which request carries what secret: header fields (-H), user and password (--auth) and cookies
// (--cookies) that the operator gave, each bound to its hosts.
//
// # Invariants
//
//   - Nothing is sent to a host it was not given for: fields go to the hosts of the seeds, a password to the host (and port, if
//     it was named) behind its @, a cookie to where RFC 6265 §5.4 sends it. What a page says, a user name in a link among
//     it, never becomes a credential; nor does a redirect carry one along, since each target is looked at anew.
//   - A host whose seeds are all https gets fields and passwords over https alone: a link to http would give them away.
//   - The set is read once and never changes: a Set-Cookie is archived with its response, but neither stored nor sent back.
//     A session that a site renews by itself therefore ends when the cookies given do.
//   - No error and no printed form holds a secret value. Nothing is written anywhere.
//
// A Set is safe for concurrent use.
//
// # Not here
//
// Credentials of a proxy (fetch), logging in, forms, Digest and other schemes than Basic (RFC 7617).
package credentials

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"decorum/internal/fetch"
	"decorum/internal/weburl"
)

// Options name the secrets as they are given on the command line.
type Options struct {
	Seeds   []weburl.URL
	Fields  []string // "Name: value", for the hosts of the seeds
	Auth    []string // "user:password@host" or "user:password@host:port"
	Cookies string   // file in the Netscape format; "" for none
}

// Set is all credentials of a crawl.
type Set struct {
	fields []fetch.Field
	seeds  map[string]binding // by host
	logins map[string][]Login // by host
	jar    *Jar
}

// binding is what is known of a host from its seeds.
type binding struct{ http bool } // a seed is http: the operator does not mind clear text

// New reads the credentials.
func New(o Options) (*Set, error) {
	s := &Set{seeds: map[string]binding{}, logins: map[string][]Login{}, jar: &Jar{}}
	for _, u := range o.Seeds {
		b := s.seeds[u.Host()]
		b.http = b.http || u.Scheme() == "http"
		s.seeds[u.Host()] = b
	}
	for _, text := range o.Fields {
		f, err := ParseField(text)
		if err != nil {
			return nil, fmt.Errorf("header field: %w", err)
		}
		s.fields = append(s.fields, f)
	}
	for _, text := range o.Auth {
		l, err := ParseLogin(text)
		if err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		s.logins[l.host] = append(s.logins[l.host], l)
	}
	if o.Cookies == "" {
		return s, nil
	}
	var err error
	s.jar, err = ReadCookieFile(o.Cookies)
	return s, err
}

// For returns the fields that a request for u carries besides the usual ones. A field given by the operator wins over one of
// the same name that would come from a password or a cookie.
func (s *Set) For(u weburl.URL) []fetch.Field {
	var fields []fetch.Field
	if _, bound := s.seeds[u.Host()]; bound && s.secure(u) {
		fields = s.fields[:len(s.fields):len(s.fields)]
	}
	if l, ok := s.login(u); ok && !has(fields, authorization) {
		fields = append(fields, fetch.Field{Name: authorization, Value: l.value})
	}
	if cookies := s.jar.Header(u, time.Now()); cookies != "" && !has(fields, cookie) {
		fields = append(fields, fetch.Field{Name: cookie, Value: cookies})
	}
	return fields
}

// Field names of credentials.
const (
	authorization      = "Authorization"
	proxyAuthorization = "Proxy-Authorization"
	cookie             = "Cookie"
)

// Names returns the names of all fields that may hold a secret.
func (s *Set) Names() []string {
	names := []string{authorization, proxyAuthorization, cookie}
	for _, f := range s.fields {
		if !has([]fetch.Field{{Name: authorization}, {Name: proxyAuthorization}, {Name: cookie}}, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// secure reports whether the URL's scheme is one that the operator gave for its host, or https.
func (s *Set) secure(u weburl.URL) bool {
	b, isSeed := s.seeds[u.Host()]
	return u.Scheme() == "https" || !isSeed || b.http
}

// login finds the password for u: one for the very port before one for the host.
func (s *Set) login(u weburl.URL) (Login, bool) {
	var best Login
	for _, l := range s.logins[u.Host()] {
		switch {
		case l.port == u.Port():
			return l, true
		case l.port == 0 && s.secure(u):
			best = l
		}
	}
	return best, best.host != ""
}

func has(fields []fetch.Field, name string) bool {
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return true
		}
	}
	return false
}

// ParseField reads "Name: value". The error does not hold the value.
func ParseField(text string) (fetch.Field, error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return fetch.Field{}, errors.New("there is no colon; write 'Name: value'")
	}
	f := fetch.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
	return f, fetch.CheckField(f)
}

// Login is a user and password for a host. It prints without them.
type Login struct {
	host  string
	port  uint16 // 0 for all
	value string // of the Authorization field
}

// String returns where the login is for.
func (l Login) String() string {
	if l.port == 0 {
		return l.host
	}
	return net.JoinHostPort(strings.Trim(l.host, "[]"), strconv.Itoa(int(l.port)))
}

// GoString keeps the password out of %#v too.
func (l Login) GoString() string { return l.String() }

// ParseLogin reads "user:password@host[:port]": the host is behind the last @, the password behind the first colon (RFC 7617
// §2). The error holds neither user nor password.
func ParseLogin(text string) (Login, error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return Login{}, errors.New("names no host; write USER:PASS@HOST or USER:PASS@HOST:PORT")
	}
	pair, place := text[:at], text[at+1:]
	user, password, ok := strings.Cut(pair, ":")
	switch {
	case !ok || user == "":
		return Login{}, errors.New("has no user or no colon before the password; write USER:PASS@HOST")
	case strings.ContainsFunc(user+password, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Login{}, errors.New("user or password has a control character")
	}
	l := Login{value: "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}
	return l, l.bind(place)
}

// bind reads the place of a login. Where the host was forgotten, that is the tail of the password, so errors do not repeat it.
func (l *Login) bind(place string) error {
	host := place
	if i := strings.LastIndexByte(place, ':'); i >= 0 && !strings.HasSuffix(place, "]") {
		port, err := strconv.ParseUint(place[i+1:], 10, 16)
		if err != nil || port == 0 {
			return errors.New("what follows the last @ is not HOST or HOST:PORT: the port is no number from 1 to 65535")
		}
		host, l.port = place[:i], uint16(port)
	}
	var err error
	if l.host, err = canonicalHost(host); err != nil {
		return errors.New("what follows the last @ is not HOST or HOST:PORT: that is no host")
	}
	return nil
}

var errNoHost = errors.New("not a host")

// canonicalHost returns a host as URLs have it: lower case, IDNA, addresses in their one form.
func canonicalHost(host string) (string, error) {
	if host == "" || strings.ContainsAny(host, "/?#@\\ ") {
		return "", errNoHost
	}
	if strings.Count(host, ":") > 1 && host[0] != '[' {
		host = "[" + host + "]"
	}
	u, err := weburl.Parse("https://" + host + "/")
	if err != nil || u.Port() != 443 {
		return "", errNoHost
	}
	return u.Host(), nil
}

// ReadCookieFile reads a file of cookies.
func ReadCookieFile(path string) (*Jar, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	jar, err := ReadCookies(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return jar, nil
}
