package parse

import "bytes"

var relNames = map[string]Rel{
	"nofollow": RelNofollow, "ugc": RelUGC, "sponsored": RelSponsored, "canonical": RelCanonical, "next": RelNext,
	"prev": RelPrev, "previous": RelPrev, "alternate": RelAlternate, "stylesheet": RelStylesheet, "icon": RelIcon,
	"apple-touch-icon": RelIcon, "mask-icon": RelIcon,
}

// longestRel is the length of the longest name in relNames.
const longestRel = len("apple-touch-icon")

// parseRel reads a set of space-separated link types.
func parseRel(raw []byte) (rel Rel) {
	words(raw, func(word []byte) { rel |= relNames[string(word)] })
	return rel
}

// originOnly reports whether a link element only names an origin to connect to.
func originOnly(rel []byte) (only bool) {
	words(rel, func(word []byte) { only = only || string(word) == "dns-prefetch" || string(word) == "preconnect" })
	return only
}

// words calls f with each space-separated word in lower case; words too long to mean anything are left out.
func words(raw []byte, f func([]byte)) {
	for len(raw) > 0 {
		raw = trimSpace(raw)
		n := 0
		for n < len(raw) && class[raw[n]]&isSpace == 0 {
			n++
		}
		if n > 0 && n <= longestRel {
			var buf [longestRel]byte
			for i, c := range raw[:n] {
				buf[i] = lower(c)
			}
			f(buf[:n])
		}
		raw = raw[n:]
	}
}

// candidates calls f with the URL of each image candidate of a srcset attribute
// (https://html.spec.whatwg.org/#parse-a-srcset-attribute). Descriptors are skipped, not validated.
func candidates(set []byte, f func(url []byte)) {
	for i := 0; i < len(set); {
		if c := set[i]; c == ',' || class[c]&isSpace != 0 {
			i++
			continue
		}
		start := i
		for i < len(set) && class[set[i]]&isSpace == 0 {
			i++
		}
		url := set[start:i]
		if trimmed := bytes.TrimRight(url, ","); len(trimmed) < len(url) {
			f(trimmed) // a comma ends the candidate, and the URL with it
			continue
		}
		f(url)
		i = descriptorsEnd(set, i)
	}
}

// descriptorsEnd returns the offset of the comma that ends the descriptors at i: one outside parentheses.
func descriptorsEnd(set []byte, i int) int {
	for inParens := false; i < len(set) && (set[i] != ',' || inParens); i++ {
		switch set[i] {
		case '(':
			inParens = true
		case ')':
			inParens = false
		}
	}
	return i
}
