package parse

import "bytes"

// css reports the url() references and imports of a style sheet. It is a scan for two words, not a CSS
// parser: comments are not skipped, and escapes in references are dropped with the reference.
func (p *Parser) css(sheet []byte) {
	p.s.examined += 2 * len(sheet)
	for rest := sheet; ; {
		n := bytes.IndexByte(rest, '(')
		if n < 0 {
			break
		}
		name, args := rest[:n], rest[n+1:]
		rest = args
		if len(name) >= 3 && equalFold(name[len(name)-3:], "url") {
			p.cssReference(args)
		}
	}
	for rest := sheet; ; {
		n := bytes.IndexByte(rest, '@')
		if n < 0 {
			return
		}
		rest = rest[n+1:]
		if word := len("import"); len(rest) > word && equalFold(rest[:word], "import") {
			if arg := trimLeft(rest[word:]); len(arg) > 0 && (arg[0] == '"' || arg[0] == '\'') {
				p.cssReference(arg)
			}
		}
	}
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
