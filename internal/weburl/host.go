package weburl

import (
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxOddHost bounds what is given to the library, in bytes of host and port. A name has at most 253 octets in
// the DNS (RFC 1035 §2.3.4), and Punycode takes quadratic time: 26 ms for 4 KiB of Chinese, 0.4 ms for
// this.
const maxOddHost = 512

// appendAuthority appends user name, host and port as serialised.
func appendAuthority(b []byte, authority, scheme string) ([]byte, error) {
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		// More than one is a trick or a broken mail address, and hostile in number.
		if strings.IndexByte(authority, '@') != at {
			return nil, ErrSyntax
		}
		b = appendUserinfo(b, authority[:at])
		authority = authority[at+1:]
	}
	if authority == "" {
		return nil, ErrHost
	}
	if out, ok := appendPlainHost(b, authority, scheme); ok {
		return out, nil
	}
	if len(authority) > maxOddHost {
		return nil, ErrHost
	}
	// The library takes brackets within brackets for an address.
	if strings.Count(authority, "[") > 1 || strings.Count(authority, "]") > 1 {
		return nil, ErrHost
	}
	href, ok := parseByLibrary(scheme + "://" + authority + "/")
	if !ok {
		return nil, ErrHost
	}
	return append(b, href[len(scheme)+len("://"):len(href)-1]...), nil
}

func appendUserinfo(b []byte, userinfo string) []byte {
	user, password, _ := strings.Cut(userinfo, ":")
	if user == "" && password == "" {
		return b
	}
	b = appendEncoded(b, user, encodeInUser)
	if password != "" {
		b = appendEncoded(append(b, ':'), password, encodeInUser)
	}
	return append(b, '@')
}

// parseByLibrary survives a panic of the library, whose input comes from the network.
func parseByLibrary(raw string) (href string, ok bool) {
	defer func() {
		if recover() != nil {
			href, ok = "", false
		}
	}()
	u, err := whatwg.Parse(raw)
	if err != nil {
		return "", false
	}
	href = u.Href(true)
	return href, u.Hostname() != "" && strings.HasSuffix(href, "/")
}

// appendPlainHost handles what nearly every link has: a name of ASCII letters, digits, dots, hyphens
// and underscores, or an IPv4 address in its usual form, with or without a port. The Punycode in an ASCII
// name is not checked, as the standard has it since 2025: nobody can register a name with a wrong one.
func appendPlainHost(b []byte, authority, scheme string) ([]byte, bool) {
	start := len(b)
	name, port := authority, ""
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
			b = append(b, c)
		case 'A' <= c && c <= 'Z':
			b = append(b, c|0x20)
		case c == ':':
			name, port = authority[:i], authority[i+1:]
		default:
			return nil, false
		}
	}
	if !isPlainName(b[start:]) {
		return nil, false
	}
	if port == "" {
		return b, true
	}
	n, ok := parsePort(port)
	if !ok {
		return nil, false
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return b, true
	}
	return strconv.AppendUint(append(b, ':'), uint64(n), 10), true
}

// isPlainName reports whether a host of plain letters is already as the standard serialises it: it does
// not end in a number, or is an address in four decimal parts.
func isPlainName(host []byte) bool {
	if len(host) == 0 {
		return false
	}
	label := host
	for i := len(host) - 2; i >= 0; i-- { // -2 passes the root dot
		if host[i] == '.' {
			label = host[i+1:]
			break
		}
	}
	if label[0] < '0' || label[0] > '9' {
		return true
	}
	return isDottedQuad(string(host))
}

func isDottedQuad(host string) bool {
	for part := 0; part < 4; part++ {
		number, rest, more := strings.Cut(host, ".")
		n, ok := parsePort(number)
		if !ok || n > 255 || more != (part < 3) {
			return false
		}
		host = rest
	}
	return true
}
