package parse

// What follows keeps track of SVG and MathML content, where raw text elements are ordinary elements and
// CDATA sections exist. It is the part of the tree construction stage that the tokenizer depends on,
// without the tree: HTML elements inside of integration points are not followed, and annotation-xml is
// an ordinary element.

// maxForeign bounds the nesting that is followed; deeper elements are treated as part of the last.
const maxForeign = 64

// foreignStart follows a start tag and reports whether its element is an SVG or MathML element other than
// the outermost.
func (p *Parser) foreignStart(t tag) (foreign bool) {
	if p.s.foreign && (elements[t].breakout || t == tagFont && p.has&(1<<attrColor|1<<attrFace|1<<attrSize) != 0) {
		p.breakOut()
	}
	foreign = p.s.foreign
	switch t {
	case tagSvg, tagMath:
	case tagForeignObject, tagDesc, tagTitle:
		if !p.s.foreign || p.stack[len(p.stack)-1] != tagSvg {
			return foreign
		}
	case tagMi, tagMn, tagMo, tagMs, tagMtext:
		if !p.s.foreign || p.stack[len(p.stack)-1] != tagMath {
			return foreign
		}
	default:
		return foreign
	}
	if !p.s.closed && len(p.stack) < maxForeign {
		p.stack = append(p.stack, t)
	}
	p.s.foreign = p.inForeign()
	return foreign
}

// foreignEnd follows an end tag. One that belongs to an HTML element outside ends foreign content.
func (p *Parser) foreignEnd(t tag) {
	if len(p.stack) == 0 {
		return
	}
	if p.s.foreign && elements[t].breakout {
		p.breakOut()
		return
	}
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.stack[i] == t {
			p.stack = p.stack[:i]
			p.s.foreign = p.inForeign()
			return
		}
	}
}

// breakOut leaves SVG and MathML for the integration point or document around it.
func (p *Parser) breakOut() {
	for p.inForeign() {
		p.stack = p.stack[:len(p.stack)-1]
	}
	p.s.foreign = false
}

// inForeign reports whether the innermost element followed is not an integration point.
func (p *Parser) inForeign() bool {
	if len(p.stack) == 0 {
		return false
	}
	top := p.stack[len(p.stack)-1]
	return top == tagSvg || top == tagMath
}
