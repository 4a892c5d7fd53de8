package parse

import "strings"

// maxHeaderLinks bounds the links of the Link headers of one response.
const maxHeaderLinks = 1000

// ParseLinkHeader returns the links of Link headers (RFC 8288 §3), as found, with Tag "header": Canonical
// for rel=canonical, Feed for feeds, otherwise LinkElement. Links with an anchor parameter are about another
// resource and left out, and so are those that only name an origin to connect to.
func ParseLinkHeader(values []string) []Link {
	var links []Link
	for _, value := range values {
		for rest := value; len(links) < maxHeaderLinks; {
			start := strings.IndexByte(rest, '<')
			if start < 0 {
				break
			}
			end := strings.IndexByte(rest[start:], '>')
			if end < 0 {
				break
			}
			ref := strings.TrimSpace(rest[start+1 : start+end])
			var params linkParams
			params, rest = parseParams(rest[start+end+1:])
			if params.anchor || originOnly([]byte(params.rel)) {
				continue
			}
			links = append(links, Link{Ref: strings.ToValidUTF8(ref, "\uFFFD"), Kind: params.kind(), Rel: parseRel([]byte(params.rel)),
				Tag: "header", Position: len(links)})
		}
	}
	return links
}

// linkParams are the parameters of one link value; of two with one name the first counts.
type linkParams struct {
	rel, media string
	anchor     bool
}

func (l linkParams) kind() Kind {
	rel := parseRel([]byte(l.rel))
	switch {
	case rel&RelCanonical != 0:
		return Canonical
	case rel&RelAlternate != 0 && (strings.EqualFold(l.media, "application/rss+xml") || strings.EqualFold(l.media, "application/atom+xml")):
		return Feed
	}
	return LinkElement
}

// parseParams reads the parameters at the start of s, up to the comma that ends the link value, and
// returns the rest.
func parseParams(s string) (l linkParams, rest string) {
	const space = " \t"
	for {
		s = strings.TrimLeft(s, space)
		if s == "" || s[0] != ';' {
			break
		}
		s = strings.TrimLeft(s[1:], space)
		n := strings.IndexAny(s, "=;,")
		if n < 0 {
			return l, ""
		}
		name, value := strings.TrimRight(s[:n], space), ""
		if s = s[n:]; s[0] == '=' {
			value, s = paramValue(strings.TrimLeft(s[1:], space))
		}
		l.set(strings.ToLower(name), value)
	}
	if n := strings.IndexByte(s, ','); n >= 0 {
		return l, s[n+1:]
	}
	return l, ""
}

func (l *linkParams) set(name, value string) {
	switch {
	case name == "rel" && l.rel == "":
		l.rel = value
	case name == "type" && l.media == "":
		l.media = value
	case name == "anchor":
		l.anchor = true
	}
}

// paramValue reads a token or a quoted string at the start of s.
func paramValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		n := strings.IndexAny(s, ";,")
		if n < 0 {
			n = len(s)
		}
		return strings.TrimSpace(s[:n]), s[n:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
