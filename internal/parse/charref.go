package parse

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longestName is the longest name of a character reference, CounterClockwiseContourIntegral.
const longestName = 31

// longestLegacy is the longest name that works without a semicolon.
const longestLegacy = 6

// legacyNames are the character references that work without a semicolon
// (https://html.spec.whatwg.org/#named-character-references), each with its code point.
const legacyNames = `
AElig c6 AMP 26 Aacute c1 Acirc c2 Agrave c0 Aring c5 Atilde c3 Auml c4 COPY a9 Ccedil c7 ETH d0 Eacute c9
Ecirc ca Egrave c8 Euml cb GT 3e Iacute cd Icirc ce Igrave cc Iuml cf LT 3c Ntilde d1 Oacute d3 Ocirc d4
Ograve d2 Oslash d8 Otilde d5 Ouml d6 QUOT 22 REG ae THORN de Uacute da Ucirc db Ugrave d9 Uuml dc Yacute dd
aacute e1 acirc e2 acute b4 aelig e6 agrave e0 amp 26 aring e5 atilde e3 auml e4 brvbar a6 ccedil e7 cedil b8
cent a2 copy a9 curren a4 deg b0 divide f7 eacute e9 ecirc ea egrave e8 eth f0 euml eb frac12 bd frac14 bc
frac34 be gt 3e iacute ed icirc ee iexcl a1 igrave ec iquest bf iuml ef laquo ab lt 3c macr af micro b5
middot b7 nbsp a0 not ac ntilde f1 oacute f3 ocirc f4 ograve f2 ordf aa ordm ba oslash f8 otilde f5 ouml f6
para b6 plusmn b1 pound a3 quot 22 raquo bb reg ae sect a7 shy ad sup1 b9 sup2 b2 sup3 b3 szlig df thorn fe
times d7 uacute fa ucirc fb ugrave f9 uml a8 uuml fc yacute fd yen a5 yuml ff`

var legacy = buildLegacy()

func buildLegacy() map[string]rune {
	m := make(map[string]rune)
	f := strings.Fields(legacyNames)
	for i := 0; i+1 < len(f); i += 2 {
		code, _ := strconv.ParseUint(f[i+1], 16, 32)
		m[f[i]] = rune(code)
	}
	return m
}

// windows1252 has what the numeric references 0x80 to 0x9f mean (numeric character reference end state).
var windows1252 = [32]rune{
	0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
}

// appendCharRef decodes the character reference that raw begins with ("&...") and returns how many bytes
// it took; 0 means that raw begins with a plain ampersand. In attribute values a reference without a
// semicolon does not count before "=" or an alphanumeric (named character reference state).
func appendCharRef(dst, raw []byte, inAttr bool) ([]byte, int) {
	if len(raw) > 1 && raw[1] == '#' {
		return appendNumeric(dst, raw)
	}
	end := 1
	for end < len(raw) && end <= longestName && isAlnum(raw[end]) {
		end++
	}
	name := raw[1:end]
	if end < len(raw) && raw[end] == ';' {
		if r, ok := legacy[string(name)]; ok {
			return utf8.AppendRune(dst, r), end + 1
		}
		if text := unescape(string(raw[:end+1])); text != "" {
			return append(dst, text...), end + 1
		}
	}
	if inAttr {
		if r, ok := legacy[string(name)]; ok && (end == len(raw) || raw[end] != '=' && !isAlnum(raw[end])) {
			return utf8.AppendRune(dst, r), end
		}
		return dst, 0
	}
	for n := min(len(name), longestLegacy); n > 1; n-- {
		if r, ok := legacy[string(name[:n])]; ok {
			return utf8.AppendRune(dst, r), n + 1
		}
	}
	return dst, 0
}

// unescape returns what the reference stands for, or "" when there is no such name. The standard library
// has the table, but it also accepts a name that only begins like ref; then the semicolon is left over.
func unescape(ref string) string {
	switch ref { // longer than their names, so the library, which works in place, leaves them
	case "&nGt;":
		return "\u226b\u20d2"
	case "&nLt;":
		return "\u226a\u20d2"
	}
	text := html.UnescapeString(ref)
	if text == ref || len(text) > 1 && text[len(text)-1] == ';' {
		return ""
	}
	return text
}

// appendNumeric decodes "&#" followed by a number.
func appendNumeric(dst, raw []byte) ([]byte, int) {
	i, base := 2, rune(10)
	if i < len(raw) && raw[i]|0x20 == 'x' {
		i, base = 3, 16
	}
	first, code := i, rune(0)
	for ; i < len(raw); i++ {
		d := digit(raw[i])
		if d >= base {
			break
		}
		code = min(code*base+d, utf8.MaxRune+1) // saturates: the number may have any length
	}
	if i == first {
		return dst, 0
	}
	if i < len(raw) && raw[i] == ';' {
		i++
	}
	switch {
	case code == 0: // AppendRune replaces surrogates and what is beyond Unicode, but not this
		code = utf8.RuneError
	case code >= 0x80 && code < 0xa0:
		code = windows1252[code-0x80]
	}
	return utf8.AppendRune(dst, code), i
}

// digit returns the value of a hexadecimal digit, or 16.
func digit(c byte) rune {
	switch {
	case c-'0' < 10:
		return rune(c - '0')
	case (c|0x20)-'a' < 6:
		return rune((c|0x20)-'a') + 10
	}
	return 16
}

func isAlnum(c byte) bool { return isLetter(c) || c-'0' < 10 }
