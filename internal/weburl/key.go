package weburl

import "bytes"

// KeyRules says what the key form drops. The zero value is the default: everything on.
type KeyRules struct {
	// KeepSessionIDs keeps ;jsessionid= in the path and, in the query, the names that a server platform
	// reserves for its sessions: PHPSESSID, jsessionid, ASPSESSIONID and eight letters, CFID, CFTOKEN,
	// osCsid, zenid, and sid when its value looks random.
	KeepSessionIDs bool
	// KeepTracking keeps utm_* and the click identifiers gclid, fbclid and msclkid.
	KeepTracking bool
}

// Key returns the key form under the rules, used only to recognise a URL as seen: no user name, no root
// dot, every escape in upper case and only where RFC 3986 needs it (§6.2.2), no session id, no tracking
// parameter, and no question mark without a query. The order of the query stays. When nothing
// changes it returns the fetch form and allocates nothing.
func (u URL) Key(rules KeyRules) string {
	if u.IsZero() {
		return ""
	}
	var buf [typicalLength]byte
	if b := u.appendKey(buf[:0], rules); string(b) != u.s {
		return string(b)
	}
	return u.s
}

// appendKey appends the key form of a URL that is not zero. Names are looked at after their escapes are
// normalised, so that the key form of a key form is itself.
func (u URL) appendKey(b []byte, rules KeyRules) []byte {
	b = append(b, u.Scheme()...)
	b = append(b, "://"...)
	b = append(b, u.Host()...)
	port := u.s[u.hostEnd:u.pathStart]
	if port != "" && port[0] == '.' {
		port = port[1:]
	}
	b = append(b, port...)
	path := len(b)
	b = appendNormal(b, u.Path())
	if !rules.KeepSessionIDs {
		b = b[:path+len(dropPathSession(b[path:]))]
	}
	if query := u.Query(); len(query) > 1 {
		b = appendQueryKey(b, query[1:], rules)
	}
	return b
}

func appendQueryKey(b []byte, query string, rules KeyRules) []byte {
	separator := byte('?')
	for begin, end := 0, 0; begin <= len(query); begin = end + 1 {
		for end = begin; end < len(query) && query[end] != '&'; {
			end++
		}
		mark := len(b)
		b = appendNormal(append(b, separator), query[begin:end])
		name, value, _ := bytes.Cut(b[mark+1:], []byte("="))
		if !rules.KeepSessionIDs && isSession(name, value) || !rules.KeepTracking && isTracking(name) {
			b = b[:mark]
			continue
		}
		separator = '&'
	}
	return b
}

// normal marks the bytes that stay as they are in a key form: unreserved and reserved of RFC 3986 §2.2
// without the brackets, which may only be in an IPv6 address.
var normal = func() (t [256]bool) {
	for c := range t {
		t[c] = isUnreserved(byte(c))
	}
	for _, c := range "!$&'()*+,;=:@/?" {
		t[c] = true
	}
	return t
}()

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// appendNormal appends s with its percent-encoding normalised. A percent sign that begins no escape stands
// for itself and is encoded.
func appendNormal(b []byte, s string) []byte {
	for {
		n := 0
		for n < len(s) && normal[s[n]] {
			n++
		}
		b = append(b, s[:n]...)
		if n == len(s) {
			return b
		}
		c := s[n]
		s = s[n+1:]
		if c == '%' && len(s) >= 2 {
			if high, low := unhex(s[0]), unhex(s[1]); high < 16 && low < 16 {
				c = high<<4 | low
				s = s[2:]
				if isUnreserved(c) {
					b = append(b, c)
					continue
				}
			}
		}
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
	}
}

// unhex returns the value of a hexadecimal digit, or 16.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}

// dropPathSession removes ;jsessionid= and its value from a path, in place.
func dropPathSession(path []byte) []byte {
	for from := 0; ; {
		i := bytes.IndexByte(path[from:], ';')
		if i < 0 {
			return path
		}
		from += i
		if !hasPrefixFold(path[from+1:], "jsessionid=") {
			from++
			continue
		}
		end := from + 1
		for end < len(path) && path[end] != ';' && path[end] != '/' {
			end++
		}
		path = append(path[:from], path[end:]...)
	}
}

// isSession knows the parameters that are session ids whatever the site.
func isSession(name, value []byte) bool {
	switch len(name) {
	case len("sid"):
		return hasPrefixFold(name, "sid") && looksRandom(value)
	case len("cfid"):
		return hasPrefixFold(name, "cfid")
	case len("zenid"):
		return hasPrefixFold(name, "zenid")
	case len("oscsid"):
		return hasPrefixFold(name, "oscsid")
	case len("cftoken"):
		return hasPrefixFold(name, "cftoken")
	case len("phpsessid"):
		return hasPrefixFold(name, "phpsessid")
	case len("jsessionid"):
		return hasPrefixFold(name, "jsessionid")
	case len("aspsessionid") + 8:
		return hasPrefixFold(name, "aspsessionid")
	}
	return false
}

// isTracking knows the parameters that only say where a visitor came from.
func isTracking(name []byte) bool {
	return hasPrefixFold(name, "utm_") || len(name) == len("gclid") && hasPrefixFold(name, "gclid") ||
		len(name) == len("fbclid") && hasPrefixFold(name, "fbclid") || len(name) == len("msclkid") && hasPrefixFold(name, "msclkid")
}

// looksRandom tells a session id from the number of a story or section: sixteen or more letters
// and digits, both present. Session ids of 64 bits have at least sixteen hexadecimal digits.
func looksRandom(value []byte) bool {
	digits := 0
	for _, c := range value {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		default:
			return false
		}
	}
	return len(value) >= 16 && 0 < digits && digits < len(value)
}

// hasPrefixFold reports whether b begins with prefix, which is in lower case, whatever the case of b.
func hasPrefixFold(b []byte, prefix string) bool {
	if len(b) < len(prefix) {
		return false
	}
	for i := 0; i < len(prefix); i++ {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}
