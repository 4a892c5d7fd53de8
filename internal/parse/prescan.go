package parse

import (
	"bytes"
	"strings"
)

// prescan looks for a charset declared in a meta element or XML declaration
// (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding) and returns its canonical
// name, or "". Attributes are cut off with b, so a declaration that b does not hold whole does not count.
func prescan(b []byte) string {
	if name := xmlCharset(b); name != "" {
		return name
	}
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return ""
		}
		i += n
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end := bytes.Index(b[i+2:], []byte("-->")) // the dashes may be those of "<!--"
			if end < 0 {
				return ""
			}
			i += 2 + end + 3
		case len(rest) > 5 && equalFold(rest[:5], "<meta") && (class[rest[5]]&isSpace != 0 || rest[5] == '/'):
			var name string
			if name, i = prescanMeta(b, i+5); name != "" {
				return name
			}
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			i = prescanTag(b, i+1)
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			end := bytes.IndexByte(rest, '>')
			if end < 0 {
				return ""
			}
			i += end + 1
		default:
			i++
		}
	}
	return ""
}

// prescanTag passes over the tag whose name begins at i.
func prescanTag(b []byte, i int) int {
	for i < len(b) && class[b[i]]&isSpace == 0 && b[i] != '>' {
		i++
	}
	for ok := true; ok; {
		_, _, i, ok = prescanAttr(b, i)
	}
	return i
}

// prescanMeta reads the attributes of a meta element at i and returns the charset they declare.
func prescanMeta(b []byte, i int) (name string, next int) {
	var seen []string
	var pragma, needPragma, decided bool
	for {
		attribute, value, end, ok := prescanAttr(b, i)
		if i = end; !ok {
			break
		}
		if contains(seen, attribute) {
			continue
		}
		seen = append(seen, attribute)
		switch attribute {
		case "http-equiv":
			pragma = pragma || value == "content-type"
		case "content":
			if found := canonical(charsetIn(value)); found != "" && !decided {
				name, needPragma, decided = found, true, true
			}
		case "charset":
			name, needPragma, decided = canonical(value), false, true
		}
	}
	if !decided || needPragma && !pragma || i >= len(b) {
		return "", i
	}
	return metaCharset(name), i
}

// maxPrescanAttrs bounds the attributes of one meta element that are told apart.
const maxPrescanAttrs = 64

func contains(seen []string, name string) bool {
	for _, s := range seen[:min(len(seen), maxPrescanAttrs)] {
		if s == name {
			return true
		}
	}
	return false
}

// metaCharset corrects what cannot be true: a page whose ASCII could be read is not in UTF-16.
func metaCharset(name string) string {
	switch name {
	case "utf-16be", "utf-16le":
		return utf8Name
	case "x-user-defined":
		return defaultName
	}
	return name
}

// prescanAttr gets the attribute at i, in lower case ("get an attribute"). At the end of the tag ok is
// false and next is the offset of its ">"; at the end of b next is len(b).
func prescanAttr(b []byte, i int) (name, value string, next int, ok bool) {
	for i < len(b) && (class[b[i]]&isSpace != 0 || b[i] == '/') {
		i++
	}
	if i == len(b) || b[i] == '>' {
		return "", "", i, false
	}
	start := i
	for i++; i < len(b) && class[b[i]]&endsAttr == 0; i++ {
		// The first byte belongs to the name even if it is "=".
	}
	name = strings.ToLower(string(b[start:i]))
	for i < len(b) && class[b[i]]&isSpace != 0 {
		i++
	}
	if i == len(b) || b[i] != '=' {
		return name, "", i, i < len(b)
	}
	for i++; i < len(b) && class[b[i]]&isSpace != 0; i++ {
		// White space before the value.
	}
	if i == len(b) {
		return name, "", i, false
	}
	if quote := b[i]; quote == '"' || quote == '\'' {
		n := bytes.IndexByte(b[i+1:], quote)
		if n < 0 {
			return name, "", len(b), false
		}
		return name, strings.ToLower(string(b[i+1 : i+1+n])), i + n + 2, true
	}
	start = i
	for i < len(b) && class[b[i]]&endsValue == 0 {
		i++
	}
	return name, strings.ToLower(string(b[start:i])), i, i < len(b)
}

// charsetIn extracts the charset from a lower-case content attribute
// (https://html.spec.whatwg.org/#algorithm-for-extracting-a-character-encoding-from-a-meta-element).
func charsetIn(s string) string {
	const space = " \t\n\f\r"
	for {
		i := strings.Index(s, "charset")
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i+len("charset"):], space)
		if strings.HasPrefix(s, "=") {
			s = strings.TrimLeft(s[1:], space)
			break
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		value, _, closed := strings.Cut(s[1:], s[:1])
		if !closed {
			return ""
		}
		return value
	}
	if i := strings.IndexAny(s, ";"+space); i >= 0 {
		s = s[:i]
	}
	return s
}

// xmlCharset returns the charset of an XML declaration at the start of b ("xml encoding declaration" of
// the HTML Standard).
func xmlCharset(b []byte) string {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	end := bytes.IndexByte(b, '>')
	if end < 0 {
		return ""
	}
	_, rest, ok := bytes.Cut(b[:end], []byte("encoding"))
	if rest = trimSpace(rest); !ok || len(rest) == 0 || rest[0] != '=' {
		return ""
	}
	if rest = trimSpace(rest[1:]); len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	value, _, closed := bytes.Cut(rest[1:], rest[:1])
	if !closed {
		return ""
	}
	return metaCharset(canonical(string(value)))
}
