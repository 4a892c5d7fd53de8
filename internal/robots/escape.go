package robots

// form says which of two spellings of a path is wanted. Hex digits of escapes are upper case in each.
type form struct {
	octets     bool // escape octets beyond ASCII
	unreserved bool // decode escapes of unreserved characters (RFC 3986 §2.3)
	special    bool // escape `*` and `$`, as a pattern must to name them (RFC 9309 §2.2.3)
	pattern    bool // s is a pattern: its `*` and its last `$` keep their meaning
}

// The wire forms are what Google compares; a target is taken as it goes over the wire. The meaning forms
// are what RFC 9309 §2.2.2 compares.
var (
	wireTarget     = form{}
	wirePattern    = form{octets: true}
	meaningTarget  = form{octets: true, unreserved: true, special: true}
	meaningPattern = form{octets: true, unreserved: true, special: true, pattern: true}
)

const upperHex = "0123456789ABCDEF"

// apply rewrites s. Most paths need no change and come back as they are.
func (f form) apply(s string) string {
	i := 0
	for i < len(s) && !f.touches(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	var buffer [512]byte // longer paths cost an allocation
	out := append(buffer[:0], s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out = f.escaped(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		case c >= 0x80 && f.octets, f.special && f.isLiteral(s, i):
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		default:
			out = append(out, c)
		}
	}
	if string(out) == s {
		return s
	}
	return string(out)
}

// touches reports whether c could need a change.
func (f form) touches(c byte) bool {
	return c == '%' || c >= 0x80 || f.special && (c == '*' || c == '$')
}

// isLiteral reports whether s[i] is a `*` or `$` that means itself.
func (f form) isLiteral(s string, i int) bool {
	switch s[i] {
	case '*':
		return !f.pattern
	case '$':
		return !f.pattern || i < len(s)-1
	}
	return false
}

// escaped appends the octet c, which came escaped.
func (f form) escaped(out []byte, c byte) []byte {
	if f.unreserved && isUnreserved(c) {
		return append(out, c)
	}
	return append(out, '%', upperHex[c>>4], upperHex[c&15])
}

func isUnreserved(c byte) bool {
	switch {
	case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
