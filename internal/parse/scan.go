package parse

import "bytes"

// scanner is the tokenization stage of the HTML Standard, reduced to what decides where text, tags,
// attributes and comments begin and end. It allocates nothing: tokens are offsets into src.
//
// After a start or end tag the caller must call attr until it returns false; then the tag counts only
// if !s.eof, because a tag that the document cuts off is never emitted. To enter a raw text element the
// caller sets raw and rawTag before the next call of next.
type scanner struct {
	src     []byte
	pos     int
	foreign bool // the current node is SVG or MathML, where CDATA sections exist; set by the caller
	raw     rawKind
	rawTag  string // lower-case name whose end tag ends the raw text

	tok       token
	eof       bool // the document ended inside the last tag
	name, val span // of the last attribute
	hasVal    bool
	closed    bool // the last tag was self-closing

	examined int // bytes looked at, some more than once: the cost that tests bound
}

// span is a range of src.
type span struct{ start, end int }

type tokenKind uint8

const (
	tokText tokenKind = iota // characters
	tokRaw                   // characters of a raw text element or CDATA section: without character references
	tokStart
	tokEnd
	tokComment // comment, doctype, processing instruction and other markup declarations
)

// token is the last thing scanned.
type token struct {
	kind tokenKind
	tag  tag
	span // the characters, the name of the tag, or the whole comment with its delimiters
}

// Classes of bytes, in class.
const (
	isSpace   = 1 << iota // tab, line feed, form feed, carriage return, space
	endsName              // ends a tag name
	endsAttr              // ends an attribute name
	endsValue             // ends an unquoted attribute value
)

// class has the classes of every byte. Carriage returns count as white space because the input stream
// is normalised to line feeds before tokenization.
var class = [256]uint8{
	'\t': isSpace | endsName | endsAttr | endsValue,
	'\n': isSpace | endsName | endsAttr | endsValue,
	'\f': isSpace | endsName | endsAttr | endsValue,
	'\r': isSpace | endsName | endsAttr | endsValue,
	' ':  isSpace | endsName | endsAttr | endsValue,
	'/':  endsName | endsAttr,
	'>':  endsName | endsAttr | endsValue,
	'=':  endsAttr,
}

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }

// next scans one token and reports whether there was one.
func (s *scanner) next() bool {
	if s.raw != rawNone {
		if s.rawContent() {
			return true
		}
	}
	start := s.pos
	for i := start; i < len(s.src); i++ {
		if s.src[i] != '<' {
			n := bytes.IndexByte(s.src[i:], '<')
			if n < 0 {
				break
			}
			i += n
		}
		if i+1 < len(s.src) && s.opens(s.src[i+1], i) {
			if i > start {
				return s.emit(tokText, start, i)
			}
			return s.markup()
		}
	}
	return len(s.src) > start && s.emit(tokText, start, len(s.src))
}

// opens reports whether '<' at i, followed by c, begins markup rather than text.
func (s *scanner) opens(c byte, i int) bool {
	return isLetter(c) || c == '!' || c == '?' || c == '/' && i+2 < len(s.src)
}

// emit makes a token that ends at end.
func (s *scanner) emit(kind tokenKind, start, end int) bool {
	s.examined += end - start
	s.tok = token{kind: kind, span: span{start, end}}
	s.pos = end
	return true
}

// markup scans the markup that begins at pos.
func (s *scanner) markup() bool {
	switch c := s.src[s.pos+1]; {
	case c == '!':
		return s.declaration()
	case c == '?':
		return s.bogus()
	case c != '/':
		return s.tagName(tokStart, s.pos+1)
	case isLetter(s.src[s.pos+2]):
		return s.tagName(tokEnd, s.pos+2)
	case s.src[s.pos+2] == '>': // "</>" is nothing at all
		return s.emit(tokComment, s.pos, s.pos+3)
	}
	return s.bogus()
}

// tagName scans the name that begins at i.
func (s *scanner) tagName(kind tokenKind, i int) bool {
	start, key, shift := i, uint64(0), 0
	for ; i < len(s.src); i++ {
		c := s.src[i]
		if class[c]&endsName != 0 {
			break
		}
		if shift < 64 {
			key |= uint64(lower(c)) << shift
			shift += 8
		}
	}
	s.emit(kind, start, i)
	s.tok.tag = tag(tagNames.get(key, s.src[start:i]))
	s.closed, s.eof = false, false
	return true
}

// attr scans the next attribute of the tag, or its end, and reports which.
func (s *scanner) attr() bool {
	src, i := s.src, s.pos
	s.closed = false
	for ; i < len(src); i++ { // before attribute name
		c := src[i]
		if c == '>' {
			s.examined += i + 1 - s.pos
			s.pos = i + 1
			return false
		}
		if c == '/' {
			s.closed = i+1 < len(src) && src[i+1] == '>'
		} else if class[c]&isSpace == 0 {
			break
		}
	}
	start := i
	for i++; i < len(src) && class[src[i]]&endsAttr == 0; i++ {
		// The first byte belongs to the name even if it is "=".
	}
	s.name = span{start, min(i, len(src))}
	s.val, s.hasVal = span{}, false
	for i < len(src) && class[src[i]]&isSpace != 0 { // after attribute name
		i++
	}
	if i < len(src) && src[i] == '=' {
		i = s.value(i + 1)
	}
	s.examined += min(i, len(src)) - s.pos
	s.pos = min(i, len(src))
	s.eof = s.pos == len(src)
	return !s.eof
}

// value scans the attribute value that begins at i, after the equals sign, and returns its end.
func (s *scanner) value(i int) int {
	src := s.src
	for i < len(src) && class[src[i]]&isSpace != 0 {
		i++
	}
	if i == len(src) {
		return i
	}
	s.hasVal = true
	if c := src[i]; c == '"' || c == '\'' {
		n := bytes.IndexByte(src[i+1:], c)
		if n < 0 {
			return len(src)
		}
		s.val = span{i + 1, i + 1 + n}
		return i + n + 2
	}
	start := i
	for i < len(src) && class[src[i]]&endsValue == 0 {
		i++
	}
	s.val = span{start, i}
	return i
}

// skip passes over the attributes. Most tags that do not matter have none, or have no quotes.
func (s *scanner) skip() {
	if s.pos < len(s.src) && s.src[s.pos] == '>' {
		s.pos++
		return
	}
	for s.attr() {
	}
}

// declaration scans what begins with "<!".
func (s *scanner) declaration() bool {
	rest := s.src[s.pos+2:]
	if bytes.HasPrefix(rest, []byte("--")) {
		return s.emit(tokComment, s.pos, s.commentEnd(s.pos+4))
	}
	if s.foreign && bytes.HasPrefix(rest, []byte("[CDATA[")) {
		return s.cdata(s.pos + len("<![CDATA["))
	}
	return s.bogus() // a doctype ends at the first ">" too, even inside its quotes
}

// bogus scans a comment that ends at the first ">".
func (s *scanner) bogus() bool {
	n := bytes.IndexByte(s.src[s.pos:], '>')
	if n < 0 {
		return s.emit(tokComment, s.pos, len(s.src))
	}
	return s.emit(tokComment, s.pos, s.pos+n+1)
}

// commentEnd returns the offset after the comment whose text begins at i: after "-->", "--!>", or at
// once after ">" and "->".
func (s *scanner) commentEnd(i int) int {
	start := i
	for {
		n := bytes.IndexByte(s.src[i:], '>')
		if n < 0 {
			return len(s.src)
		}
		i += n + 1
		switch text := s.src[start : i-1]; {
		case bytes.HasSuffix(text, []byte("--")), bytes.HasSuffix(text, []byte("--!")):
			return i
		case len(text) == 0, len(text) == 1 && text[0] == '-':
			return i
		}
	}
}

// cdata scans a CDATA section whose text begins at i.
func (s *scanner) cdata(i int) bool {
	n := bytes.Index(s.src[i:], []byte("]]>"))
	if n < 0 {
		return s.emit(tokRaw, i, len(s.src))
	}
	s.emit(tokRaw, i, i+n)
	s.pos += len("]]>")
	return true
}
