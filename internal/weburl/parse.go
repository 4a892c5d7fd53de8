package weburl

import (
	"strings"
	"unicode/utf8"
)

// Byte classes of a reference, or-ed over its bytes by classify.
const (
	tabOrNewline  = 1 << iota // dropped before parsing
	backslash                 // separates like a slash, except in a query
	encodeInPath              // must be percent-encoded in a path
	encodeInQuery             // must be percent-encoded in the query of an http URL
	percent                   // may hide a dot segment
	notPrintable              // never in a serialised URL
	encodeInUser              // must be percent-encoded in a user name or password
)

// classes gives the class of each byte: the path, special-query and userinfo percent-encode sets of the
// standard.
var classes = func() (t [256]uint8) {
	for c := range t {
		if c <= ' ' || c >= 0x7f {
			t[c] = encodeInPath | encodeInQuery | encodeInUser | notPrintable
		}
	}
	for _, c := range "\"#<>" {
		t[c] = encodeInPath | encodeInQuery | encodeInUser
	}
	for _, c := range "`{}" { // and the question mark, which never is in a path
		t[c] = encodeInPath | encodeInUser
	}
	for _, c := range ":;=@[\\]^|" {
		t[c] = encodeInUser
	}
	t['\''] = encodeInQuery
	t['\t'] |= tabOrNewline
	t['\n'] |= tabOrNewline
	t['\r'] |= tabOrNewline
	t['\\'] |= backslash
	t['%'] = percent
	return t
}()

func classify(s string) (class uint8) {
	for i := 0; i < len(s); i++ {
		class |= classes[s[i]]
	}
	return class
}

// reference is a link taken apart as far as that is possible without its base.
type reference struct {
	scheme string // "http", "https" or "" when it has none
	rest   string // what follows the scheme; no fragment, tabs or newlines
	class  uint8  // of the whole reference
}

// typicalLength sizes the stack buffers a URL is built in. Longer URLs cost an allocation more.
const typicalLength = 256

// resolve is the basic URL parser of the WHATWG standard, for http and https alone. base may be zero.
func resolve(base URL, raw string) (URL, error) {
	ref, err := read(raw)
	if err != nil {
		return URL{}, err
	}
	if base.IsZero() {
		if ref.scheme == "" {
			return URL{}, ErrSyntax
		}
		return ref.absolute(ref.scheme, ref.rest)
	}
	switch scheme, rest := base.Scheme(), ref.rest; {
	case ref.scheme != "" && ref.scheme != scheme:
		return ref.absolute(ref.scheme, rest)
	case len(rest) >= 2 && isSlash(rest[0]) && isSlash(rest[1]):
		return ref.absolute(scheme, rest)
	case rest == "":
		return base, nil
	case isSlash(rest[0]):
		return ref.within(base, int(base.pathStart), rest)
	case rest[0] == '?':
		return ref.within(base, int(base.queryAt), rest)
	}
	directory := strings.LastIndexByte(base.s[:base.queryAt], '/') + 1
	return ref.within(base, directory, ref.rest)
}

// read strips what does not count and finds the scheme. The scheme is looked at before the length: most
// links beyond MaxLength are data: URLs.
func read(raw string) (reference, error) {
	raw = trim(raw)
	scheme, n, err := cutScheme(raw)
	if err != nil {
		return reference{}, err
	}
	if hash := strings.IndexByte(raw[:min(len(raw), MaxLength+1)], '#'); hash >= 0 {
		raw = raw[:hash]
	}
	if len(raw) > MaxLength {
		return reference{}, ErrTooLong
	}
	class := classify(raw)
	if class&tabOrNewline != 0 {
		raw = dropTabs(raw)
		if scheme, n, err = cutScheme(raw); err != nil {
			return reference{}, err
		}
	}
	return reference{scheme, raw[n:], class}, nil
}

func trim(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func dropTabs(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, s)
}

// cutScheme returns the scheme, in lower case, and where the rest begins. A reference without scheme
// gives "" and 0; a scheme other than http and https is ErrScheme.
func cutScheme(s string) (scheme string, rest int, err error) {
	for i := 0; i < min(len(s), MaxLength); i++ {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			if strings.EqualFold(s[:i], "https") {
				return "https", i + 1, nil
			}
			if strings.EqualFold(s[:i], "http") {
				return "http", i + 1, nil
			}
			return "", 0, ErrScheme
		default:
			return "", 0, nil
		}
	}
	return "", 0, nil
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// absolute builds a URL with its own authority, which rest begins with, after any number of slashes.
func (ref reference) absolute(scheme, rest string) (URL, error) {
	for rest != "" && isSlash(rest[0]) {
		rest = rest[1:]
	}
	end := 0
	for end < len(rest) && !isSlash(rest[end]) && rest[end] != '?' {
		end++
	}
	var buf [typicalLength]byte
	b := append(buf[:0], scheme...)
	b, err := appendAuthority(append(b, "://"...), rest[:end], scheme)
	if err != nil {
		return URL{}, err
	}
	root := len(b)
	if rest = rest[end:]; rest != "" && isSlash(rest[0]) {
		rest = rest[1:]
	}
	b, _ = ref.appendTarget(append(b, '/'), root, rest)
	if len(b) > MaxLength {
		return URL{}, ErrTooLong
	}
	return locate(string(b))
}

// within builds a URL on the host of base from its first keep bytes and rest.
func (ref reference) within(base URL, keep int, rest string) (URL, error) {
	var buf [typicalLength]byte
	b := append(buf[:0], base.s[:keep]...)
	if isSlash(rest[0]) {
		b, rest = append(b, '/'), rest[1:]
	}
	b, queryAt := ref.appendTarget(b, int(base.pathStart), rest)
	if len(b) > MaxLength {
		return URL{}, ErrTooLong
	}
	base.s, base.queryAt = string(b), uint16(queryAt)
	return base, nil
}

// appendTarget appends a path, without its first slash, and a query to b, whose path begins at root. It
// returns where the query begins.
func (ref reference) appendTarget(b []byte, root int, target string) (out []byte, queryAt int) {
	path, query, hasQuery := target, "", false
	if q := strings.IndexByte(target, '?'); q >= 0 {
		path, query, hasQuery = target[:q], target[q+1:], true
	}
	if ref.class&(encodeInPath|backslash|percent) == 0 && !hasDotSegment(path) {
		b = append(b, path...)
	} else {
		b = appendPath(b, root, path)
	}
	queryAt = len(b)
	if !hasQuery {
		return b, queryAt
	}
	b = append(b, '?')
	if ref.class&encodeInQuery == 0 {
		return append(b, query...), queryAt
	}
	return appendEncoded(b, query, encodeInQuery), queryAt
}

// hasDotSegment may be wrong about names that begin with a dot, but not about dot segments.
func hasDotSegment(path string) bool {
	return path != "" && path[0] == '.' || strings.Contains(path, "/.")
}

// appendPath appends path segment by segment. b ends in a slash, or path is empty.
func appendPath(b []byte, root int, path string) []byte {
	for {
		end := 0
		for end < len(path) && !isSlash(path[end]) {
			end++
		}
		segment, last := path[:end], end == len(path)
		switch dots(segment) {
		case 1:
		case 2:
			b = parent(b, root)
		default:
			b = appendEncoded(b, segment, encodeInPath)
			if !last {
				b = append(b, '/')
			}
		}
		if last {
			return b
		}
		path = path[end+1:]
	}
}

// dots returns 1 or 2 for a single or double dot segment, which may be written with %2e, otherwise 0.
func dots(segment string) (n int) {
	if len(segment) > len("%2e%2e") {
		return 0
	}
	for segment != "" {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[0] == '%' && segment[1] == '2' && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return 0
		}
		n++
	}
	if n > 2 {
		return 0
	}
	return n
}

// parent drops the last segment of the path that begins at root and ends in a slash.
func parent(b []byte, root int) []byte {
	end := len(b) - 1
	for end > root && b[end-1] != '/' {
		end--
	}
	return b[:max(end, root+1)]
}

const upperHex = "0123456789ABCDEF"

// appendEncoded appends s with the bytes of the class percent-encoded. What is not UTF-8 becomes U+FFFD.
func appendEncoded(b []byte, s string, class uint8) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			var utf [utf8.UTFMax]byte
			for _, c := range utf[:utf8.EncodeRune(utf[:], r)] {
				b = append(b, '%', upperHex[c>>4], upperHex[c&15])
			}
			i += n
			continue
		}
		if classes[c]&class != 0 {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
		i++
	}
	return b
}
