package jobdir

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"decorum/internal/weburl"
)

// SURT returns the key under which replay tools look a URL up: the host's labels in reverse, then the
// path and query in a loose canonical form ("org,example)/a?b=1"). Scheme, user, www prefix, letter
// case, session ids, order of parameters and a final slash make no difference. It agrees with what pywb
// and the Internet Archive's tools compute, oddities included, since a key that differs is not found.
func SURT(u weburl.URL) string { return string(AppendSURT(nil, u)) }

// AppendSURT appends the SURT of u.
func AppendSURT(dst []byte, u weburl.URL) []byte {
	dst = appendSURTHost(dst, u.Host())
	if !isDefaultPort(u) {
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, uint64(u.Port()), 10)
	}
	dst = append(dst, ')')
	dst = append(dst, surtPath(u.Path())...)
	if q := surtQuery(strings.TrimPrefix(u.Query(), "?")); len(q) > 0 {
		dst = append(dst, '?')
		dst = append(dst, q...)
	}
	return dst
}

func isDefaultPort(u weburl.URL) bool {
	return u.Port() == 80 && u.Scheme() == "http" || u.Port() == 443 && u.Scheme() == "https"
}

func appendSURTHost(dst []byte, host string) []byte {
	host = trimWWW(strings.Trim(strings.ReplaceAll(strings.Trim(host, "[]"), "..", "."), "."))
	for {
		dot := strings.LastIndexByte(host, '.')
		dst = append(dst, host[dot+1:]...)
		if dot < 0 {
			return dst
		}
		dst = append(dst, ',')
		host = host[:dot]
	}
}

// trimWWW drops a leading www, with or without a number: www. and www2. alike.
func trimWWW(host string) string {
	rest, ok := strings.CutPrefix(host, "www")
	if !ok {
		return host
	}
	if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "."); ok {
		return rest
	}
	return host
}

func surtPath(path string) []byte {
	b := surtEscape(normalPath(unescapeAll([]byte(path))))
	lower(b)
	b = dropPathSession(b)
	if len(b) > 1 && b[len(b)-1] == '/' {
		b = b[:len(b)-1]
	}
	return b
}

func surtQuery(query string) []byte {
	b := surtEscape(unescapeAll([]byte(query)))
	lower(b)
	return sortParameters(dropQuerySessions(b))
}

// querySessions match session ids in a lower-case query; what the first and the last group hold is kept.
// pathSession does the same for the cookieless sessions of ASP.NET.
var (
	querySessions = [...]*regexp.Regexp{
		regexp.MustCompile(`^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
	}
	pathSession = regexp.MustCompile(`^(.*/)\((?:(?:[a-z]\([0-9a-z]{24}\))+|[0-9a-z]{24})\)/([^?]+\.aspx.*)$`)
)

// dropQuerySessions takes out session ids. The test in front spares nearly every query the expressions.
func dropQuerySessions(query []byte) []byte {
	if !bytes.Contains(query, []byte("sid=")) && !bytes.Contains(query, []byte("session")) && !bytes.Contains(query, []byte("cfid=")) {
		return query
	}
	for _, re := range querySessions {
		if m := re.FindSubmatch(query); m != nil {
			query = slices.Concat(m[1], m[2])
		}
	}
	return query
}

func dropPathSession(path []byte) []byte {
	if !bytes.Contains(path, []byte(".aspx")) {
		return path
	}
	if m := pathSession.FindSubmatch(path); m != nil {
		return slices.Concat(m[1], m[2])
	}
	return path
}

// maxUnescape bounds how often percent-encoding is taken off: each round shortens the text, and nobody
// means more than three layers.
const maxUnescape = 16

// unescapeAll takes off percent-encoding until there is none left.
func unescapeAll(b []byte) []byte {
	for range maxUnescape {
		out := b[:0]
		for i := 0; i < len(b); i++ {
			if b[i] == '%' && i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2]) {
				out = append(out, unhex(b[i+1])<<4|unhex(b[i+2]))
				i += 2
				continue
			}
			out = append(out, b[i])
		}
		if len(out) == len(b) {
			return b
		}
		b = out
	}
	return b
}

// normalPath drops dot segments and empty segments, once more after unescaping.
func normalPath(path []byte) []byte {
	var kept [][]byte
	for segment := range bytes.SplitSeq(bytes.TrimPrefix(path, []byte("/")), []byte("/")) {
		switch {
		case string(segment) == ".":
		case string(segment) == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, segment)
		}
	}
	out := []byte{'/'}
	for i, segment := range kept {
		last := i == len(kept)-1
		out = append(out, segment...)
		if len(segment) > 0 && !last {
			out = append(out, '/')
		}
	}
	return out
}

// surtEscape percent-encodes what is not printable ASCII, and # and %.
func surtEscape(b []byte) []byte {
	const upper = "0123456789ABCDEF"
	out := make([]byte, 0, len(b)+8)
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || c == '#' || c == '%' {
			out = append(out, '%', upper[c>>4], upper[c&15])
			continue
		}
		out = append(out, c)
	}
	return out
}

func lower(b []byte) {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// sortParameters orders the parameters of a query by name, then by value; one without "=" comes before
// one with.
func sortParameters(query []byte) []byte {
	if len(query) <= 1 {
		return query
	}
	type parameter struct {
		name, value []byte
		hasValue    bool
	}
	var ps []parameter
	for p := range bytes.SplitSeq(query, []byte("&")) {
		name, value, ok := bytes.Cut(p, []byte("="))
		ps = append(ps, parameter{name, value, ok})
	}
	slices.SortStableFunc(ps, func(a, b parameter) int {
		return cmp.Or(bytes.Compare(a.name, b.name), bytes.Compare(a.value, b.value), order(a.hasValue, b.hasValue))
	})
	var out []byte
	for i, p := range ps {
		if i > 0 {
			out = append(out, '&')
		}
		out = append(out, p.name...)
		if p.hasValue {
			out = append(out, '=')
			out = append(out, p.value...)
		}
	}
	return out
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
