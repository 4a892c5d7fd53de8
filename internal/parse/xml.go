package parse

import (
	"bytes"
	"strings"
)

// xmlScanner goes through markup that is meant to be XML and does not insist. It knows tags, text,
// comments, CDATA sections, processing instructions and doctypes, and never fails.
type xmlScanner struct {
	src []byte
	pos int

	kind    xmlKind
	name    string // of a tag, lower case with its prefix
	attrs   []byte // raw attributes of a start tag
	closed  bool   // the start tag is its own end
	content []byte // text
}

type xmlKind uint8

const (
	xmlText xmlKind = iota
	xmlCDATA
	xmlStart
	xmlEnd
)

// maxXMLName bounds the names of elements that are told apart; longer ones are cut.
const maxXMLName = 64

// next scans the next tag or text and reports whether there was one.
func (x *xmlScanner) next() bool {
	for x.pos < len(x.src) {
		rest := x.src[x.pos:]
		if rest[0] != '<' || len(rest) == 1 {
			n := bytes.IndexByte(rest[1:], '<') + 1
			if n == 0 {
				n = len(rest)
			}
			x.kind, x.content = xmlText, rest[:n]
			x.pos += n
			return true
		}
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			x.pass(rest, len("<!--"), "-->")
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			x.kind, x.content = xmlCDATA, x.pass(rest, len("<![CDATA["), "]]>")
			return true
		case rest[1] == '?':
			x.pass(rest, 2, "?>")
		case rest[1] == '!':
			x.pass(rest, 2, ">")
		default:
			x.tag(rest)
			return true
		}
	}
	return false
}

// pass moves behind markup that ends with end and returns its content. What does not end reaches to the end.
func (x *xmlScanner) pass(rest []byte, start int, end string) []byte {
	n := bytes.Index(rest[start:], []byte(end))
	if n < 0 {
		x.pos = len(x.src)
		return rest[start:]
	}
	x.pos += start + n + len(end)
	return rest[start : start+n]
}

// tag scans a start or end tag.
func (x *xmlScanner) tag(rest []byte) {
	x.kind = xmlStart
	i := 1
	if rest[1] == '/' {
		x.kind, i = xmlEnd, 2
	}
	s := scanner{src: rest, pos: i}
	s.tagName(tokStart, i)
	x.name = strings.ToLower(string(rest[i:min(s.pos, i+maxXMLName)]))
	start := s.pos
	s.skip()
	x.attrs, x.closed = rest[start:s.pos], s.closed
	x.pos += s.pos
}

// attr returns the decoded value of the attribute with the lower-case name, or "".
func (x *xmlScanner) attr(name string) string {
	s := scanner{src: x.attrs}
	for s.attr() {
		if equalFold(x.attrs[s.name.start:s.name.end], name) {
			return string(trimSpace(appendClean(nil, appendValue(nil, x.attrs[s.val.start:s.val.end]))))
		}
	}
	return ""
}

// field says where the text of an element goes.
func (e *entry) field(name string) *string {
	switch name {
	case "loc", "link":
		return &e.loc
	case "guid":
		return &e.guid
	case "lastmod", "pubdate", "updated", "dc:date":
		return &e.date
	case "changefreq":
		return &e.freq
	case "priority":
		return &e.priority
	}
	return nil
}

// xmlReader reads the entries of a sitemap or feed. It looks only for the elements of an entry, not at how
// they nest: with end tags missing or wrong, entries still begin where one begins.
type xmlReader struct {
	x      xmlScanner
	out    *Sitemap
	prefix string // of the root element, with its colon; elements with another one are extensions
	item   string // name of the elements that are entries
	index  bool

	open  bool // in an entry
	ended bool // the root element has ended
	cur   entry
	field *string
	buf   []byte // text of field so far
}

// readXML reads the entries of body, whose root element is known.
func readXML(body []byte, out *Sitemap) {
	r := xmlReader{x: xmlScanner{src: body}, out: out, index: out.Type == TypeSitemapIndex}
	for r.x.next() {
		if !r.token() {
			return
		}
	}
	r.buf = r.buf[:0] // text that the end cut off may be half a location
	if r.close(); !r.ended && out.Truncated == "" {
		out.Truncated = "ends before its root element does"
	}
}

// token handles one token and reports whether there may be more entries.
func (r *xmlReader) token() bool {
	switch r.x.kind {
	case xmlText, xmlCDATA:
		if r.open {
			r.text(r.x.content, r.x.kind == xmlText)
		}
	case xmlStart:
		return r.start()
	case xmlEnd:
		return r.end()
	}
	return true
}

// text collects text, as far as it can be a location; longer text is not one.
func (r *xmlReader) text(raw []byte, refs bool) {
	for i := 0; i < len(raw) && len(r.buf) <= maxLoc; {
		if refs && raw[i] == '&' {
			if out, n := appendCharRef(r.buf, raw[i:], false); n > 0 {
				r.buf = out
				i += n
				continue
			}
		}
		r.buf = append(r.buf, raw[i])
		i++
	}
}

// take returns the text collected and starts anew.
func (r *xmlReader) take() string {
	b := r.buf
	r.buf = r.buf[:0]
	if len(b) > maxLoc {
		return ""
	}
	return string(appendClean(nil, trimSpace(b)))
}

func (r *xmlReader) start() bool {
	name := r.x.name
	if r.item == "" {
		r.root(name)
		return true
	}
	if name == r.prefix+r.item || r.item == "item" && localName([]byte(name)) == "item" {
		more := r.close()
		r.open, r.cur, r.buf = !r.x.closed, entry{}, r.buf[:0]
		return more
	}
	if !r.open {
		return true
	}
	r.settle()
	local, ours := strings.CutPrefix(name, r.prefix)
	if name == "dc:date" {
		local, ours = name, true
	}
	if !ours {
		local = ""
	}
	if local == "link" && r.item == "entry" {
		if rel := strings.ToLower(r.x.attr("rel")); rel == "" || rel == "alternate" {
			r.atomLink(r.x.attr("href"))
		}
		return true
	}
	if !r.x.closed {
		r.field = r.cur.field(local)
		if r.field == nil {
			r.field = new(string) // text of no interest
		}
	}
	return true
}

// maxAtomLinks bounds the links of one Atom entry.
const maxAtomLinks = 16

func (r *xmlReader) atomLink(href string) {
	if href != "" && len(href) <= maxLoc && len(r.cur.links) < maxAtomLinks {
		r.cur.links = append(r.cur.links, href)
	}
}

// root learns from the root element what entries are called.
func (r *xmlReader) root(name string) {
	i := strings.LastIndexByte(name, ':') + 1
	r.prefix = name[:i]
	switch name[i:] {
	case "urlset":
		r.item = "url"
	case "sitemapindex":
		r.item = "sitemap"
	case "feed":
		r.item = "entry"
	case "rdf":
		r.prefix, r.item = "", "item"
	default:
		r.item = "item"
	}
}

// settle puts the text collected where it belongs. The first of several counts.
func (r *xmlReader) settle() {
	text := r.take()
	f := r.field
	if f == nil {
		f = &r.cur.text
	}
	if *f == "" {
		*f = text
	}
	r.field = nil
}

func (r *xmlReader) end() bool {
	if r.open {
		r.settle()
	}
	local, ours := strings.CutPrefix(r.x.name, r.prefix)
	switch {
	case ours && local == r.item, r.item == "item" && localName([]byte(r.x.name)) == "item":
		return r.close()
	case rootType(localName([]byte(r.x.name))) == r.out.Type:
		r.ended = true
	}
	return true
}

// close ends the entry and reports whether there may be more.
func (r *xmlReader) close() bool {
	if !r.open {
		return true
	}
	r.settle()
	r.open = false
	return r.cur.add(r.out, r.index)
}
