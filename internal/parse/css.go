package parse

import "bytes"

// CSS finds the references of a style sheet file. Like that of HTML, the page is valid until the next call;
// they resolve against the URL of the sheet.
func (p *Parser) CSS(body []byte) *Page {
	p.reset("")
	p.css(skipBOM(body))
	p.finish()
	return &p.page
}

// css reports the url() references and imports of a style sheet. It is a scan for two words, not a CSS
// parser: comments are not skipped, and escapes in references are dropped with the reference.
func (p *Parser) css(sheet []byte) {
	p.s.examined += 2 * len(sheet)
	paren, at := indexFrom(sheet, 0, '('), indexFrom(sheet, 0, '@')
	for paren < len(sheet) || at < len(sheet) {
		if at < paren {
			if word := len("import"); len(sheet)-at-1 > word && equalFold(sheet[at+1:at+1+word], "import") {
				if arg := trimLeft(sheet[at+1+word:]); len(arg) > 0 && (arg[0] == '"' || arg[0] == '\'') {
					p.cssReference(arg)
				}
			}
			at = indexFrom(sheet, at+1, '@')
			continue
		}
		if paren >= 3 && equalFold(sheet[paren-3:paren], "url") {
			p.cssReference(sheet[paren+1:])
		}
		paren = indexFrom(sheet, paren+1, '(')
	}
}

// indexFrom returns the offset of the first c at or after i, or len(b).
func indexFrom(b []byte, i int, c byte) int {
	n := bytes.IndexByte(b[i:], c)
	if n < 0 {
		return len(b)
	}
	return i + n
}

// cssReference adds the reference that begins at arg. A quoted one ends at its quote, another before a
// parenthesis, quote or white space; so no byte is in the way of more than two of them.
func (p *Parser) cssReference(arg []byte) {
	arg = trimLeft(arg)
	if len(arg) == 0 {
		return
	}
	n := 0
	if arg[0] == '"' || arg[0] == '\'' {
		quote := arg[0]
		arg = arg[1:]
		n = bytes.IndexByte(arg, quote)
	} else {
		n = bytes.IndexAny(arg, cssEnd)
		if rest := trimLeft(arg[max(n, 0):]); len(rest) == 0 || rest[0] != ')' {
			return
		}
	}
	p.s.examined += max(n, 0)
	if n < 0 || bytes.ContainsAny(arg[:n], "\\\n") {
		return
	}
	p.embed(arg[:n], Embed, tagStyle)
}

// cssEnd are the bytes that end an unquoted reference.
const cssEnd = ")('\" \t\r\n\f"

func trimLeft(b []byte) []byte {
	for len(b) > 0 && class[b[0]]&isSpace != 0 {
		b = b[1:]
	}
	return b
}
