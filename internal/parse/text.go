package parse

import (
	"bytes"
	"unicode/utf8"
)

// prose collects text: character references decoded, white space collapsed to single separators,
// invalid UTF-8 replaced, cut at max bytes.
type prose struct {
	b       []byte
	max     int
	words   int
	pending byte // separator to write before the next word: 0, ' ' or '\n'
	inWord  bool
	full    bool
}

func (p *prose) reset(limit int) { *p = prose{b: p.b[:0], max: limit} }

// Classes of bytes in text.
const (
	inkByte   uint8 = iota // part of a word
	spaceByte              // white space
	refByte                // "&"
	nullByte               // ignored, as the tree construction stage does
)

var textClass = [256]uint8{'\t': spaceByte, '\n': spaceByte, '\f': spaceByte, '\r': spaceByte, ' ': spaceByte, '&': refByte, 0: nullByte}

// add appends characters of the document; refs says whether character references count.
func (p *prose) add(raw []byte, refs bool) {
	for i := 0; i < len(raw) && !p.full; {
		switch c := textClass[raw[i]]; {
		case c == inkByte || c == refByte && !refs:
			i += p.run(raw[i:])
		case c == spaceByte:
			p.separate(' ')
			i++
		case c == refByte:
			i += p.ref(raw[i:])
		default:
			i++
		}
	}
}

// run appends the words at the start of raw, up to what needs a closer look, and returns their length.
// Words with single spaces between are taken at once: that halves the time of most text
// (BenchmarkLinksAndText).
func (p *prose) run(raw []byte) int {
	high, spaces, i := raw[0], 0, 1
	for ; i < len(raw); i++ {
		c := raw[i]
		if textClass[c] != inkByte {
			if c != ' ' || i+1 == len(raw) || textClass[raw[i+1]] != inkByte {
				break
			}
			spaces++
		}
		high |= c
	}
	if high >= utf8.RuneSelf {
		p.wide(raw[:i])
	} else {
		p.write(raw[:i], spaces)
	}
	return i
}

// ref appends the character reference that raw begins with and returns its length.
func (p *prose) ref(raw []byte) int {
	var buf [8]byte
	text, n := appendCharRef(buf[:0], raw, false)
	switch {
	case n == 0:
		p.write(raw[:1], 0)
		return 1
	case len(text) == 1 && textClass[text[0]] == spaceByte:
		p.separate(' ')
	default:
		p.wide(text)
	}
	return n
}

// wide appends words with bytes beyond ASCII, among which no-break and ideographic spaces separate too.
func (p *prose) wide(raw []byte) {
	for len(raw) > 0 {
		n, width := nextSpace(raw)
		if n > 0 {
			p.wideWord(raw[:n])
		}
		if width > 0 {
			p.separate(' ')
		}
		raw = raw[n+width:]
	}
}

// nextSpace finds the first space, U+00A0 or U+3000 and returns its offset and length, or len(raw) and 0.
func nextSpace(raw []byte) (int, int) {
	for i, c := range raw {
		switch {
		case c == ' ':
			return i, 1
		case c == 0xc2 && i+1 < len(raw) && raw[i+1] == 0xa0:
			return i, 2
		case c == 0xe3 && i+2 < len(raw) && raw[i+1] == 0x80 && raw[i+2] == 0x80:
			return i, 3
		}
	}
	return len(raw), 0
}

// wideWord appends a word with bytes beyond ASCII. Scripts written without spaces count every character
// from U+3000 to U+9FFF (lead bytes 0xE3 to 0xE9) as a word.
func (p *prose) wideWord(raw []byte) {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	cjk := 0
	for _, c := range raw {
		if c >= 0xe3 && c <= 0xe9 {
			cjk++
		}
	}
	p.write(raw, max(cjk-1, 0))
}

// write appends text that goes on with a word, and has more words besides.
func (p *prose) write(raw []byte, more int) {
	if !p.inWord {
		p.words++
		p.inWord = true
	}
	p.words += more
	p.flush()
	if room := p.max - len(p.b); len(raw) > room {
		for room > 0 && !utf8.RuneStart(raw[room]) {
			room--
		}
		raw = raw[:max(room, 0)]
		p.full = true
	}
	p.b = append(p.b, raw...)
}

// separate notes white space: ' ', or '\n' between blocks, which is stronger.
func (p *prose) separate(c byte) {
	p.inWord = false
	n := len(p.b)
	switch {
	case n == 0:
	case p.pending != '\n' && (p.b[n-1] != '\n' && p.b[n-1] != ' '):
		p.pending = c
	case c == '\n' && p.b[n-1] == ' ':
		p.b[n-1] = c
	}
}

// flush writes the pending separator.
func (p *prose) flush() {
	if p.pending != 0 && len(p.b) < p.max {
		p.b = append(p.b, p.pending)
	}
	p.pending = 0
}

// mark is the end of a span of text in the making.
type mark struct {
	tag        string
	start, end int
}

// maxSpans bounds the spans of a page; what follows joins the last one. A span costs 56 bytes here and
// can hold a single character.
const maxSpans = 1 << 16

// retag starts a span when the tag of the text changes, and closes the one before.
func (p *Parser) retag() {
	if tag := p.currentTag(); tag != p.spanTag {
		p.closeSpan()
		p.spanTag = tag
	}
}

// closeSpan ends the span in the making, or extends the last one if only a separator is between, or tags
// that change nothing.
func (p *Parser) closeSpan() {
	p.text.flush()
	start, end := p.spanStart, len(p.text.b)
	p.spanStart = end
	if start == end {
		return
	}
	if n := len(p.marks); n > 0 {
		same := p.marks[n-1].tag == p.spanTag && p.text.b[start-1] != '\n'
		blank := end-start == 1 && textClass[p.text.b[start]] == spaceByte
		if same || blank || n == maxSpans {
			p.marks[n-1].end = end
			return
		}
	}
	p.marks = append(p.marks, mark{p.spanTag, start, end})
}

var headingNames = [...]string{"", "h1", "h2", "h3", "h4", "h5", "h6"}

// currentTag returns the strongest tag that is open.
func (p *Parser) currentTag() string {
	switch {
	case p.rawTag == tagTitle:
		return "title"
	case p.heading > 0:
		return headingNames[p.heading]
	case p.bold > 0:
		return "b"
	case p.inAnchor:
		return "a"
	}
	return ""
}

// textTag follows a tag in the text: blocks separate, and some tags name the span.
func (p *Parser) textTag(t tag, end bool) {
	if elements[t].silent && elements[t].raw == rawNone { // noscript, template
		step(&p.silent, end)
	}
	if !p.opts.Text {
		return
	}
	if elements[t].block {
		p.text.separate('\n')
	}
	switch {
	case t >= tagH1 && t <= tagH6:
		p.heading = 0
		if !end {
			p.heading = int(t-tagH1) + 1
		}
	case t == tagB || t == tagStrong:
		step(&p.bold, end)
	}
	p.retag()
}

// step counts open elements; an end tag without a start tag is nothing.
func step(open *int, end bool) {
	if !end {
		*open++
	} else if *open > 0 {
		*open--
	}
}

// finishText closes the last span and makes the strings: all share one allocation.
func (p *Parser) finishText() {
	p.text.pending = 0
	p.closeSpan()
	all := string(p.text.b)
	for _, m := range p.marks {
		p.spans = append(p.spans, Span{m.tag, all[m.start:m.end]})
	}
	p.page.Text, p.page.Words = p.spans, p.text.words
}

// shellText is how much visible text tells a page from a shell that scripts would fill: a few sentences.
const shellText = 256

// seeText counts visible bytes until there are enough.
func (p *Parser) seeText(raw []byte) {
	for _, c := range raw {
		if textClass[c] != spaceByte {
			if p.visible++; p.visible >= shellText {
				return
			}
		}
	}
}
