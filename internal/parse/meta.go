package parse

import "strings"

// meta handles a meta element: robots, refresh, and the configuration file of a pinned site.
func (p *Parser) meta() {
	if p.has&(1<<attrContent) == 0 {
		return
	}
	switch {
	case p.is(attrEquiv, "refresh"):
		p.refresh()
	case p.is(attrName, "robots"), p.agent != "" && p.is(attrName, strings.ToLower(p.agent)):
		p.robots()
	case p.is(attrName, "msapplication-config"):
		if !p.is(attrContent, "none") {
			p.reference(source{attrContent, Embed, single}, tagMeta)
		}
	}
}

// maxRobotsText bounds RobotsText; no real one is longer.
const maxRobotsText = 1 << 10

func (p *Parser) robots() {
	if p.nested {
		return
	}
	content := p.value(attrContent)
	p.page.Robots |= parseRobots(content)
	text := content
	if text == "" || len(p.page.RobotsText)+len(text)+2 > maxRobotsText {
		return
	}
	if p.page.RobotsText != "" {
		text = p.page.RobotsText + ", " + text
	}
	p.page.RobotsText = text
}

func (p *Parser) refresh() {
	ref, ok := ParseRefresh(p.value(attrContent))
	if !ok {
		return
	}
	i := p.add([]byte(ref), Refresh, 0, "meta")
	if i >= 0 && p.page.Refresh == "" && !p.nested {
		p.page.Refresh = p.ref(i)
	}
}

// ParseRefresh returns the target of a Refresh header or a meta refresh, as found, and whether it names
// one (https://html.spec.whatwg.org/#shared-declarative-refresh-steps). A refresh of the page itself has none.
func ParseRefresh(value string) (ref string, ok bool) {
	const space = " \t\n\f\r"
	s := strings.TrimLeft(value, space)
	rest := strings.TrimLeft(s, "0123456789.")
	if rest == s || rest == "" || !strings.ContainsRune(";,"+space, rune(rest[0])) {
		return "", false
	}
	rest = strings.TrimLeft(rest, space)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], space)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if r := strings.TrimLeft(rest[3:], space); r != "" && r[0] == '=' {
			rest = strings.TrimLeft(r[1:], space)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	rest = strings.Trim(rest, space)
	return rest, rest != ""
}
