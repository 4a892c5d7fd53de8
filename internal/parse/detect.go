package parse

import (
	"bytes"
	"unicode/utf8"
)

// detectBytes is how much of a page the detector looks at: enough for a few thousand letters.
const detectBytes = 64 << 10

// detect guesses the charset of text that declares none and is not UTF-8, or returns "". It looks only at
// bytes beyond ASCII, with their neighbours: first whether they pair up as in one of the East Asian
// charsets, then whether they stand in runs (other scripts) or alone among Latin letters.
func detect(body []byte) string {
	b := body[:min(len(body), detectBytes)]
	var freq [256]int
	high, runs := 0, 0
	for i, c := range b {
		if c < utf8.RuneSelf {
			continue
		}
		freq[c]++
		high++
		if i > 0 && b[i-1] >= utf8.RuneSelf {
			runs++
		}
	}
	if high == 0 {
		return ""
	}
	if name, share := best(scripts[:], &freq, high); runs*2 > high && name == "windows-874" && share >= thaiShare {
		return name
	}
	if name := detectPairs(b); name != "" {
		return name
	}
	return detectSingle(&freq, high, runs)
}

// thaiShare is the percentage of its frequent letters that makes text Thai. It is written without spaces,
// so it pairs up like Chinese, where those bytes would be a seventh.
const thaiShare = 40

// pairCount is how well text fits a charset of one and two bytes.
type pairCount struct {
	pairs, bad   int
	common       int // pairs in the rows where most text of the language is
	kana         int // Japanese syllables
	lowTrail     int // pairs whose second byte is below 0xA1
	late         int // lead bytes from 0xC9: in GB 2312 hanzi from "s" on, in EUC-KR hanja
	halfKatakana int
}

// maxBadShare bounds the pairs that do not fit, as 1 in so many; some pages mix charsets.
const maxBadShare = 50

func (c *pairCount) fits() bool { return c.pairs >= 2 && c.bad*maxBadShare <= c.pairs }

// share reports whether n is at least percent of the pairs.
func (c *pairCount) share(n, percent int) bool { return n*100 >= c.pairs*percent }

// detectPairs tells the East Asian charsets apart.
func detectPairs(b []byte) string {
	euc, sjis, big5 := countEUC(b), countShiftJIS(b), countBig5(b)
	gbk := countGBK(b)
	switch {
	case euc.fits() && euc.share(euc.kana, 20):
		return "euc-jp"
	case sjis.fits() && sjis.share(sjis.kana, 20) && sjis.kana > sjis.halfKatakana:
		return "shift_jis"
	case euc.fits() && euc.share(euc.common, 70) && !euc.share(euc.late, 8):
		return "euc-kr"
	case big5.fits() && big5.share(big5.common, 70) && big5.share(big5.lowTrail, 15) && big5.bad <= gbk.bad:
		return "big5"
	case gbk.fits() && gbk.share(gbk.common, 60):
		return "gbk"
	}
	return ""
}

// eachPair calls f with every pair that begins with a byte beyond ASCII; f says how many bytes it took.
func eachPair(b []byte, f func(lead, trail byte) int) {
	for i := 0; i+1 < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		i += f(b[i], b[i+1])
	}
}

// countEUC counts pairs of EUC-JP and EUC-KR: both bytes from 0xA1.
func countEUC(b []byte) (c pairCount) {
	eachPair(b, func(lead, trail byte) int {
		c.pairs++
		switch {
		case lead < 0xa1 && lead != 0x8e && lead != 0x8f || lead == 0xff || trail < 0xa1 || trail == 0xff:
			c.bad++
			return 1
		case lead == 0xa4 || lead == 0xa5: // hiragana, katakana
			c.kana++
		case lead >= 0xb0 && lead <= 0xc8: // hangul
			c.common++
		case lead >= 0xc9:
			c.late++
		}
		return 2
	})
	return c
}

// countShiftJIS counts pairs of Shift_JIS, whose katakana of half width are single bytes.
func countShiftJIS(b []byte) (c pairCount) {
	eachPair(b, func(lead, trail byte) int {
		if lead >= 0xa1 && lead <= 0xdf {
			c.halfKatakana++
			return 1
		}
		c.pairs++
		switch {
		case lead == 0x80 || lead == 0xa0 || lead > 0xfc || trail < 0x40 || trail == 0x7f || trail > 0xfc:
			c.bad++
			return 1
		case lead == 0x82 && trail >= 0x9f && trail <= 0xf1, lead == 0x83 && trail <= 0x96: // hiragana, katakana
			c.kana++
		}
		return 2
	})
	return c
}

// countBig5 counts pairs of Big5: common hanzi have lead bytes 0xA4 to 0xC6, punctuation 0xA1.
func countBig5(b []byte) (c pairCount) {
	eachPair(b, func(lead, trail byte) int {
		c.pairs++
		if lead < 0x81 || lead == 0xff || trail < 0x40 || trail > 0x7e && trail < 0xa1 || trail == 0xff {
			c.bad++
			return 1
		}
		if lead >= 0xa4 && lead <= 0xc6 || lead == 0xa1 {
			c.common++
		}
		if trail < 0xa1 {
			c.lowTrail++
		}
		return 2
	})
	return c
}

// countGBK counts pairs of GBK: common hanzi have lead bytes 0xB0 to 0xF7, punctuation 0xA1 to 0xA3, and
// trail bytes from 0xA1.
func countGBK(b []byte) (c pairCount) {
	eachPair(b, func(lead, trail byte) int {
		c.pairs++
		if lead < 0x81 || lead == 0xff || trail < 0x40 || trail == 0x7f || trail == 0xff {
			c.bad++
			return 1
		}
		if trail >= 0xa1 && (lead >= 0xb0 && lead <= 0xf7 || lead >= 0xa1 && lead <= 0xa3) {
			c.common++
		}
		return 2
	})
	return c
}

// letterSet is a charset of one byte with the bytes of its frequent letters beyond ASCII.
type letterSet struct{ name, letters string }

// scripts are charsets whose letters stand in runs; the letters are the seven or so most frequent of the
// language, in lower case.
var scripts = [...]letterSet{
	{"windows-1251", "\xee\xe5\xe0\xe8\xed\xf2\xf1\xf0"}, // оеаинтср
	{"koi8-r", "\xcf\xc5\xc1\xc9\xce\xd4\xd3\xd2"},
	{"ibm866", "\xae\xa5\xa0\xa8\xad\xe2\xe1\xe0"},
	{"iso-8859-5", "\xde\xd5\xd0\xd8\xdd\xe2\xe1\xe0"},
	{"windows-1253", "\xe1\xef\xe9\xe5\xf4\xf3\xed\xe7"},                        // αοιετσνη
	{"windows-1255", "\xe9\xe5\xe4\xec\xe0\xf8\xfa\xee\xf9"},                    // יוהלארתמש
	{"windows-1256", "\xc7\xe1\xed\xe3\xe4\xd1\xe6\xca"},                        // المنروت
	{"windows-874", "\xd2\xb9\xc3\xcd\xa1\xe0\xc7\xe9\xe8\xca\xc1\xd5\xd1\xd4"}, // านรอกเวสม, vowels, tone marks
}

// latins are charsets whose letters stand alone. The first is the default and wins ties.
var latins = [...]letterSet{
	{"windows-1252", "\xe9\xe8\xe0\xe4\xf6\xfc\xdf\xf1\xe7\xe5\xf8\xe6\xea\xe3\xf5\xf3\xed\xe1\xfa\xf4\xee\xe2\x92\x93\x94\x96\xa0\xab\xbb\xa9"},
	{"windows-1250", "\xb9\xea\xb3\x9c\xe6\xbf\x9f\xf1\xf3\xec\x9a\xe8\xf8\x9e\xfd\xed\xe1\xe9\xf9\xfa\xef\xf2\xbe\xf5\xfb\xe3\xfe\xe2\xba"},
	{"windows-1254", "\xfd\xfe\xf0\xdd\xde\xd0\xfc\xf6\xe7"},
}

// detectSingle tells the charsets of one byte apart.
func detectSingle(freq *[256]int, high, runs int) string {
	if runs*2 > high {
		name, share := best(scripts[:], freq, high)
		if share >= scriptShare {
			return name
		}
		return ""
	}
	if name, _ := best(latins[:], freq, high); name != defaultName {
		return name
	}
	return ""
}

// scriptShare is the percentage of a script's letters that its frequent ones must make up. In running text
// they are about half; letters taken at random would be 8 of 64.
const scriptShare = 25

// best returns the charset whose frequent letters make up most of the bytes beyond ASCII, and their percentage.
func best(list []letterSet, freq *[256]int, high int) (name string, share int) {
	top := -1
	for _, s := range list {
		n := 0
		for i := range len(s.letters) {
			n += freq[s.letters[i]]
		}
		if n > top {
			name, top = s.name, n
		}
	}
	return name, top * 100 / high
}

// hasEscapes reports whether ASCII bytes are really ISO-2022-JP, by its escapes to two-byte sets.
func hasEscapes(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))
}
