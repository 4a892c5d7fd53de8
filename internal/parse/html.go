package parse

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// Parser scans documents. It reuses its buffers, so it is for one goroutine; each worker has one.
type Parser struct {
	opts  Options
	agent string
	page  Page

	s      scanner
	vals   [numAttrs]span // values of the attributes of the last collected tag; valid where has has a bit
	has    uint32
	rawTag tag   // element whose raw text comes next
	stack  []tag // open SVG and MathML elements and their integration points, see foreign.go

	links    []Link
	refs     []refSpan // strings of links, as offsets into arena, until finish
	arena    []byte
	position int
	encoder  *encoding.Encoder // of a legacy page, for the queries of its references
	buf      []byte            // of val
	decoded  []byte            // the body in UTF-8 where it was not

	inAnchor   bool  // an a element is open
	anchorLink int   // index of its link, or -1
	anchor     prose // its text so far
	anchorAlt  span  // alt text of the first image in it, in arena

	title     prose
	titleSeen bool
	baseSeen  bool

	text      prose
	marks     []mark
	spans     []Span
	spanTag   string
	spanStart int
	heading   int // level of the open heading, or 0
	bold      int
	silent    int // open noscript and template elements

	visible int // bytes of visible text, counted up to shellText
	scripts int
	anchors int
	frames  int
	nested  bool // scanning a srcdoc
}

// refSpan are the strings of one link.
type refSpan struct{ ref, anchor span }

// NewParser returns a parser; zero options mean their defaults.
func NewParser(o Options) *Parser {
	o.EnsureDefaults()
	return &Parser{opts: o}
}

// HTML scans an HTML or XHTML document. contentType is the value of its Content-Type header, or "";
// agent the product token whose own meta robots elements count, such as "decorum", or "". The page is
// valid until the next call on p; its strings may be kept.
func (p *Parser) HTML(body []byte, contentType, agent string) *Page {
	p.reset(agent)
	src := p.decode(body, contentType)
	p.scan(src)
	p.finish()
	return &p.page
}

// keepBuffer is the largest buffer kept for the next page. Pages are mostly below 64 KiB of text and
// links; ten thousand workers must not each hold the largest page they ever saw.
const keepBuffer = 256 << 10

// recycle returns b empty, or nil if it is too large to keep.
func recycle[T any](b []T, size int) []T {
	if cap(b)*size > keepBuffer {
		return nil
	}
	return b[:0]
}

func (p *Parser) reset(agent string) {
	clear(p.links) // so that the strings of the last page are not held
	clear(p.spans)
	*p = Parser{
		opts: p.opts, agent: agent, anchorLink: -1,
		stack: p.stack[:0],
		links: recycle(p.links, 128), refs: recycle(p.refs, 32), arena: recycle(p.arena, 1), buf: recycle(p.buf, 1), decoded: recycle(p.decoded, 1),
		anchor: p.anchor, title: p.title, text: p.text,
		marks: recycle(p.marks, 32), spans: recycle(p.spans, 32),
	}
	p.anchor.reset(p.opts.MaxAnchor)
	p.title.reset(p.opts.MaxTitle)
	p.text.b = recycle(p.text.b, 1)
	p.text.reset(p.opts.MaxText)
}

// scan goes through the tokens of src.
func (p *Parser) scan(src []byte) {
	p.s = scanner{src: src, examined: p.s.examined}
	for p.s.next() {
		switch p.s.tok.kind {
		case tokText:
			p.chars(true)
		case tokRaw:
			p.chars(false)
		case tokStart:
			p.startTag()
		case tokEnd:
			p.endTag()
		}
	}
}

// chars takes the characters of a token to where they belong.
func (p *Parser) chars(refs bool) {
	raw := p.s.src[p.s.tok.start:p.s.tok.end]
	if elements[p.rawTag].silent {
		if p.rawTag == tagStyle {
			p.css(raw)
		}
		return
	}
	if p.rawTag == tagTitle {
		p.titleText(raw)
		return
	}
	if p.anchorLink >= 0 {
		p.anchor.add(raw, refs)
	}
	if p.silent > 0 {
		return
	}
	if p.visible < shellText {
		p.seeText(raw)
	}
	if p.opts.Text {
		p.text.add(raw, refs)
	}
}

// titleText takes the text of a title element; the first counts.
func (p *Parser) titleText(raw []byte) {
	if p.titleSeen || p.nested {
		return
	}
	p.titleSeen = true
	p.title.add(raw, true)
	if p.opts.Text {
		words := p.text.words
		p.text.add(raw, true)
		p.text.separate('\n')
		p.text.words = words
	}
}

func (p *Parser) startTag() {
	t := p.s.tok.tag
	info := &elements[t]
	p.rawTag = tagOther
	if info.attrs {
		p.collect()
	} else {
		p.skip()
	}
	if p.s.eof {
		return
	}
	if foreign := p.foreignStart(t); !foreign && info.raw != rawNone {
		p.s.raw, p.s.rawTag, p.rawTag = info.raw, info.name, t
	}
	p.found(t)
	if p.has&(1<<attrStyle) != 0 {
		p.css(bytes.Clone(p.val(attrStyle)))
	}
	p.textTag(t, false)
}

func (p *Parser) endTag() {
	t := p.s.tok.tag
	p.rawTag = tagOther
	p.s.skip()
	if p.s.eof {
		return
	}
	p.foreignEnd(t)
	if t == tagA {
		p.closeAnchor()
	}
	p.textTag(t, true)
}

// collect reads the attributes of the tag. Of two with one name the first wins.
func (p *Parser) collect() {
	s := &p.s
	p.has = 0
	for s.attr() {
		name := s.src[s.name.start:s.name.end]
		a := attrTable.get(packName(name), name)
		if bit := uint32(1) << a; a != uint8(attrOther) && p.has&bit == 0 {
			p.has |= bit
			p.vals[a] = s.val
		}
	}
}

// skip passes over the attributes of a tag that has no references but those of its style.
func (p *Parser) skip() {
	s := &p.s
	p.has = 0
	for s.attr() {
		if s.name.end-s.name.start == len("style") && s.val.end > s.val.start && p.has == 0 &&
			equalFold(s.src[s.name.start:s.name.end], "style") && bytes.IndexByte(s.src[s.val.start:s.val.end], '(') >= 0 {
			p.has, p.vals[attrStyle] = 1<<attrStyle, s.val
		}
	}
}

// raw returns the undecoded value of an attribute of the tag, or nil when it is absent or empty.
func (p *Parser) raw(a attr) []byte {
	if p.has&(1<<a) == 0 {
		return nil
	}
	return p.s.src[p.vals[a].start:p.vals[a].end]
}

// val returns the value of an attribute with its character references decoded; valid until the next call.
func (p *Parser) val(a attr) []byte {
	raw := p.raw(a)
	if bytes.IndexByte(raw, '&') < 0 {
		return raw
	}
	p.buf = appendValue(p.buf[:0], raw)
	return p.buf
}

// is reports whether the attribute has the lower-case value, in any case.
func (p *Parser) is(a attr, value string) bool { return equalFold(trimSpace(p.val(a)), value) }

// value returns the value of an attribute as a string that may be kept.
func (p *Parser) value(a attr) string { return string(trimSpace(appendClean(nil, p.val(a)))) }

// appendValue decodes the character references of an attribute value.
func appendValue(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '&')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i:]
		var n int
		if dst, n = appendCharRef(dst, raw, true); n == 0 {
			dst, n = append(dst, '&'), 1
		}
		raw = raw[n:]
	}
}

// appendClean appends raw, with U+FFFD for invalid UTF-8 and for NUL.
func appendClean(dst, raw []byte) []byte {
	if utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0 {
		return append(dst, raw...)
	}
	for _, r := range string(raw) {
		if r == 0 {
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// trimSpace removes ASCII white space around b.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && class[b[0]]&isSpace != 0 {
		b = b[1:]
	}
	for len(b) > 0 && class[b[len(b)-1]]&isSpace != 0 {
		b = b[:len(b)-1]
	}
	return b
}

// finish makes the strings of the links: all share one allocation.
func (p *Parser) finish() {
	p.closeAnchor()
	all := string(p.arena)
	for i, r := range p.refs {
		p.links[i].Ref = all[r.ref.start:r.ref.end]
		p.links[i].Anchor = all[r.anchor.start:r.anchor.end]
	}
	p.page.Links = p.links
	p.page.Title = string(p.title.b)
	p.page.NeedsJS = p.scripts > 0 && p.visible < shellText && p.anchors <= shellAnchors && p.frames == 0 && p.page.Refresh == ""
	if p.opts.Text {
		p.finishText()
	}
}

// shellAnchors is how many links a page that needs scripts may have of its own, for example to a help page.
const shellAnchors = 2
