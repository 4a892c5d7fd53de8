package parse

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// form says how an attribute holds references.
type form uint8

const (
	single   form = iota
	srcset        // image candidates
	commas        // separated by commas
	document      // an HTML document
)

// source is an attribute that holds references.
type source struct {
	attr attr
	kind Kind
	form form
}

// sources has the references of elements that need no further thought, in the order they are reported.
// The obsolete ones are still found on old pages.
var sources = [...][]source{
	tagApplet:     {{attrCodebase, Embed, single}, {attrArchive, Embed, commas}},
	tagAudio:      {{attrSrc, Embed, single}},
	tagBlockquote: {{attrCite, Anchor, single}},
	tagBody:       {{attrBackground, Embed, single}},
	tagDel:        {{attrCite, Anchor, single}},
	tagEmbed:      {{attrSrc, Embed, single}},
	tagFeImage:    {{attrHref, Embed, single}, {attrXHref, Embed, single}},
	tagFrame:      {{attrSrc, Frame, single}, {attrLongdesc, Anchor, single}},
	tagHTML:       {{attrManifest, Embed, single}},
	tagIframe:     {{attrSrc, Frame, single}, {attrSrcdoc, Frame, document}, {attrLongdesc, Anchor, single}},
	tagImage:      {{attrSrc, Embed, single}, {attrSrcset, Embed, srcset}, {attrHref, Embed, single}, {attrXHref, Embed, single}},
	tagImg: {{attrSrc, Embed, single}, {attrSrcset, Embed, srcset}, {attrLowsrc, Embed, single}, {attrDynsrc, Embed, single},
		{attrLongdesc, Anchor, single}},
	tagImport: {{attrImplementation, Embed, single}},
	tagIns:    {{attrCite, Anchor, single}},
	tagObject: {{attrData, Embed, single}, {attrCodebase, Embed, single}},
	tagQ:      {{attrCite, Anchor, single}},
	tagScript: {{attrSrc, Embed, single}, {attrHref, Embed, single}, {attrXHref, Embed, single}},
	tagSource: {{attrSrc, Embed, single}, {attrSrcset, Embed, srcset}},
	tagTable:  {{attrBackground, Embed, single}},
	tagTbody:  {{attrBackground, Embed, single}},
	tagTd:     {{attrBackground, Embed, single}},
	tagTfoot:  {{attrBackground, Embed, single}},
	tagTh:     {{attrBackground, Embed, single}},
	tagThead:  {{attrBackground, Embed, single}},
	tagTr:     {{attrBackground, Embed, single}},
	tagTrack:  {{attrSrc, Embed, single}},
	tagUse:    {{attrHref, Embed, single}, {attrXHref, Embed, single}},
	tagVideo:  {{attrSrc, Embed, single}, {attrPoster, Embed, single}},
	tagXmp:    nil,
}

// found reports the references of a start tag whose attributes were collected.
func (p *Parser) found(t tag) {
	if !elements[t].attrs {
		return
	}
	switch t {
	case tagA:
		p.openAnchor()
	case tagArea:
		p.area()
	case tagLink:
		p.linkElement()
	case tagMeta:
		p.meta()
	case tagBase:
		if !p.baseSeen && !p.nested && p.has&(1<<attrHref) != 0 {
			p.baseSeen, p.page.Base = true, p.value(attrHref)
		}
	case tagInput:
		if p.is(attrType, "image") {
			p.reference(source{attrSrc, Embed, single}, t)
		}
	case tagParam:
		if paramNames[strings.ToLower(p.value(attrName))] {
			p.reference(source{attrValue, Embed, single}, t)
		}
	case tagScript:
		p.scripts++
	case tagIframe, tagFrame:
		p.frames++
	case tagHTML:
		if p.page.Lang == "" && !p.nested {
			p.page.Lang = p.value(attrLang)
		}
	}
	if int(t) < len(sources) {
		for _, src := range sources[t] {
			p.reference(src, t)
		}
	}
	if t == tagImg && p.anchorLink >= 0 && p.anchorAlt.end == 0 {
		p.anchorAlt = p.keepAlt()
	}
}

// paramNames are the parameters of plug-ins that hold a reference.
var paramNames = map[string]bool{"data": true, "filename": true, "href": true, "movie": true, "ref": true, "src": true, "url": true}

// reference adds the links of one attribute.
func (p *Parser) reference(src source, t tag) {
	v := p.val(src.attr)
	if len(v) == 0 {
		return
	}
	switch src.form {
	case single:
		p.embed(v, src.kind, t)
	case srcset:
		candidates(v, func(url []byte) { p.embed(url, src.kind, t) })
	case commas:
		for url := range bytes.SplitSeq(v, []byte(",")) {
			p.embed(url, src.kind, t)
		}
	case document:
		p.srcdoc(v)
	}
}

// embed adds a link that makes no sense when it is empty, and is no link when it holds the data itself.
func (p *Parser) embed(ref []byte, kind Kind, t tag) {
	ref = trimSpace(ref)
	if len(ref) == 0 || len(ref) >= 5 && equalFold(ref[:5], "data:") {
		return
	}
	p.add(ref, kind, 0, elements[t].name)
}

// add keeps a link and returns its index, or counts it as dropped and returns -1.
func (p *Parser) add(ref []byte, kind Kind, rel Rel, tagName string) int {
	ref = trimSpace(ref)
	p.position++
	if len(p.links) >= p.opts.MaxLinks {
		p.page.LinksDropped++
		return -1
	}
	start := len(p.arena)
	p.arena = appendClean(p.arena, ref[:min(len(ref), p.opts.MaxURL+1)])
	if p.encoder != nil {
		p.arena = p.encodeQuery(p.arena, start)
	}
	if len(p.arena)-start > p.opts.MaxURL {
		p.cut(start)
	}
	p.links = append(p.links, Link{Kind: kind, Rel: rel, Tag: tagName, Position: p.position - 1})
	p.refs = append(p.refs, refSpan{ref: span{start, len(p.arena)}})
	return len(p.links) - 1
}

// cut shortens the reference that begins at start to one byte more than a URL can have, so that whoever resolves it finds it
// too long: unless the rest is a fragment, which does not count. The last byte stays one that does.
func (p *Parser) cut(start int) {
	p.arena = p.arena[:start+p.opts.MaxURL+1]
	for i := len(p.arena) - 1; i >= start; i-- {
		c := p.arena[i]
		if c > ' ' && c < utf8.RuneSelf {
			return
		}
		p.arena[i] = 'x'
		if c <= ' ' || utf8.RuneStart(c) {
			return
		}
	}
}

// encodeQuery percent-encodes what is not ASCII in the query of the reference that begins at start, in
// the charset of the page, as browsers do (URL Standard, query state). Elsewhere in a URL it is UTF-8.
func (p *Parser) encodeQuery(b []byte, start int) []byte {
	q := bytes.IndexByte(b[start:], '?')
	if q < 0 {
		return b
	}
	q += start
	query, fragment := b[q:], []byte(nil)
	if f := bytes.IndexByte(query, '#'); f >= 0 {
		query, fragment = query[:f], bytes.Clone(query[f:])
	}
	if isASCII(query) {
		return b
	}
	text := string(query)
	b = b[:q]
	for _, r := range text {
		b = p.encodeRune(b, r)
	}
	return append(b, fragment...)
}

// encodeRune appends one code point of a query.
func (p *Parser) encodeRune(b []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(b, byte(r))
	}
	raw, err := p.encoder.Bytes([]byte(string(r)))
	if err != nil { // a decimal character reference, percent-encoded
		b = strconv.AppendInt(append(b, "%26%23"...), int64(r), 10)
		return append(b, "%3B"...)
	}
	const hex = "0123456789ABCDEF"
	for _, c := range raw {
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	return b
}

// openAnchor handles an a element. It ends the one before: they do not nest.
func (p *Parser) openAnchor() {
	p.closeAnchor()
	p.inAnchor = true
	href := attrHref
	if p.has&(1<<attrHref) == 0 {
		href = attrXHref
	}
	if p.has&(1<<href) != 0 {
		p.anchors++
		rel := parseRel(p.val(attrRel))
		p.anchorLink = p.add(p.val(href), Anchor, rel, "a")
	}
}

// closeAnchor gives the link of the open a element its text.
func (p *Parser) closeAnchor() {
	p.inAnchor = false
	if p.anchorLink < 0 {
		return
	}
	text := p.anchorAlt
	if len(p.anchor.b) > 0 {
		start := len(p.arena)
		p.arena = append(p.arena, p.anchor.b...)
		text = span{start, len(p.arena)}
	}
	p.refs[p.anchorLink].anchor = text
	p.anchorLink, p.anchorAlt = -1, span{}
	p.anchor.reset(p.opts.MaxAnchor)
}

// keepAlt puts the alt text of the tag into the arena.
func (p *Parser) keepAlt() span {
	var alt prose
	alt.reset(p.opts.MaxAnchor)
	alt.add(p.raw(attrAlt), true)
	start := len(p.arena)
	p.arena = append(p.arena, alt.b...)
	if start == len(p.arena) {
		return span{}
	}
	return span{start, len(p.arena)}
}

func (p *Parser) area() {
	if p.has&(1<<attrHref) == 0 {
		return
	}
	p.anchors++
	rel := parseRel(p.val(attrRel))
	if i := p.add(p.val(attrHref), Anchor, rel, "area"); i >= 0 {
		p.refs[i].anchor = p.keepAlt()
	}
}

// linkElement handles a link element. Those that only name an origin are no links.
func (p *Parser) linkElement() {
	rels := p.val(attrRel)
	if originOnly(rels) {
		return
	}
	rel, kind := parseRel(rels), LinkElement
	switch {
	case rel&RelCanonical != 0:
		kind = Canonical
	case rel&(RelAlternate|RelStylesheet) == RelAlternate && (p.is(attrType, "application/rss+xml") || p.is(attrType, "application/atom+xml")):
		kind = Feed
	}
	p.reference(source{attrImagesrcset, Embed, srcset}, tagLink)
	href := trimSpace(p.val(attrHref))
	if len(href) == 0 {
		return
	}
	i := p.add(href, kind, rel, "link")
	if kind == Canonical && p.page.Canonical == "" && i >= 0 && !p.nested {
		p.page.Canonical = p.ref(i)
	}
}

// ref returns the reference of a link as a string of its own.
func (p *Parser) ref(i int) string { return string(p.arena[p.refs[i].ref.start:p.refs[i].ref.end]) }

// srcdoc scans the document in the attribute of an iframe for links, one level deep. Its title, base and
// text are not those of the page.
func (p *Parser) srcdoc(doc []byte) {
	if p.nested || p.s.foreign {
		return
	}
	outer, stack := p.s, p.stack
	rawTag := p.rawTag
	p.closeAnchor()
	p.stack, p.nested = nil, true
	p.silent++
	p.scan(bytes.Clone(doc))
	p.silent--
	p.closeAnchor()
	outer.examined = p.s.examined
	p.s, p.stack, p.rawTag, p.nested = outer, stack, rawTag, false
}
