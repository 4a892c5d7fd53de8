package simweb

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	vocabulary = 2048 // words, used by Zipf's law
	blockCount = 1024 // prepared pieces of HTML, about 0.5 MB; a page takes a random walk through them
)

// Phrases that return, as in real prose, bring the gzip ratio from 3.3 to 4.0 (TestCompressionRatio).
const (
	phraseCount = 512
	phraseWords = 4
	phraseShare = 3 // every third choice is a phrase
)

// text is the prose of a web: words by frequency and blocks of HTML made of them.
type text struct {
	words   []string
	phrases []string // of phraseWords words
	blocks  [][]byte
	filler  []byte // bare words, for padding to an exact size
}

var syllables = [...]string{"ba", "co", "de", "fi", "gu", "la", "me", "ni", "po", "ra", "se", "ti", "vu", "ka", "lo", "mi",
	"na", "or", "pe", "ri", "so", "ta", "ul", "ve", "wi", "an", "el", "in", "os", "un", "ber", "cal", "dor", "fen", "gar",
	"hol", "lin", "mar", "ner", "per", "ron", "sel", "tor", "ven", "ster", "tion", "ment", "ing"}

// makeText makes the prose of a seed: about 10 ms, once per web.
func makeText(seed uint64) text {
	r := rng(mix(seed ^ uint64(saltText)))
	var t text
	used := map[string]bool{}
	for len(t.words) < vocabulary {
		word := ""
		for n := 1 + len(t.words)/400 + r.intn(2); n > 0; n-- {
			word += syllables[r.intn(len(syllables))]
		}
		if !used[word] {
			used[word] = true
			t.words = append(t.words, word)
		}
	}
	for range phraseCount {
		var words []string
		for range phraseWords {
			words = append(words, t.word(r.next()))
		}
		t.phrases = append(t.phrases, strings.Join(words, " "))
	}
	for i := range blockCount {
		t.blocks = append(t.blocks, t.block(nil, &r, i))
	}
	for len(t.filler) < 1<<16 {
		t.filler = append(t.sentence(t.filler, &r, 12), ' ')
	}
	return t
}

// word returns a word by Zipf's law.
func (t *text) word(x uint64) string { return t.words[zipf(unit(x), len(t.words))] }

// sentence appends about n words, among them common phrases, with capital and full stop.
func (t *text) sentence(b []byte, r *rng, n int) []byte {
	start := len(b)
	for i := 0; i < n; i++ {
		if i > 0 {
			b = append(b, ' ')
		}
		if x := r.next(); x%phraseShare == 0 && len(t.phrases) > 0 && n > phraseWords {
			b = append(b, t.phrases[zipf(unit(mix(x)), len(t.phrases))]...)
			i += phraseWords - 1
		} else {
			b = append(b, t.word(x)...)
		}
		if i > 0 && i < n-1 && r.intn(9) == 0 {
			b = append(b, ',')
		}
	}
	b[start] -= 'a' - 'A'
	return append(b, '.')
}

// prose appends sentences, some words bold, emphasised or written with entities.
func (t *text) prose(b []byte, r *rng, sentences int) []byte {
	for range sentences {
		b = t.sentence(b, r, 6+r.intn(12))
		switch r.intn(6) {
		case 0:
			b = append(append(append(b, " <b>"...), t.word(r.next())...), "</b> "...)
		case 1:
			b = append(append(append(b, " <em>"...), t.word(r.next())...), "</em> "...)
		case 2:
			b = append(b, " &mdash; caf&eacute; &amp; "...)
		default:
			b = append(b, ' ')
		}
	}
	return b
}

// block appends the i-th piece of HTML, without links.
func (t *text) block(b []byte, r *rng, i int) []byte {
	switch r.intn(12) {
	case 0, 1:
		b = append(b, "<h2 class=\"section-title\" id=\"s"...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(t.sentence(append(b, "\">"...), r, 4), "</h2>\n"...)
	case 2:
		b = append(b, "<ul class=\"content-list\">\n"...)
		for range 3 + r.intn(4) {
			b = append(t.sentence(append(b, "  <li class=\"content-list-item\">"...), r, 5), "</li>\n"...)
		}
		b = append(b, "</ul>\n"...)
	case 3:
		b = fmt.Appendf(b, "<figure class=\"content-figure\"><img src=\"/img/%d.png\" width=\"640\" height=\"480\" loading=\"lazy\" alt=\"", i)
		b = append(t.sentence(b, r, 4), "\"><figcaption class=\"content-caption\">"...)
		b = append(t.sentence(b, r, 8), "</figcaption></figure>\n"...)
	case 4:
		b = append(t.sentence(append(b, "<!-- "...), r, 10), " -->\n"...)
	case 5:
		b = append(b, "<table class=\"content-table\"><tbody>\n"...)
		for range 3 {
			b = append(t.sentence(append(b, "<tr class=\"content-row\"><td class=\"content-cell\">"...), r, 2), "</td><td class=\"content-cell\">"...)
			b = append(strconv.AppendUint(b, r.next()%10000, 10), "</td></tr>\n"...)
		}
		b = append(b, "</tbody></table>\n"...)
	default:
		b = append(b, "<div class=\"content-block\"><p class=\"content-text\">"...)
		b = append(t.prose(b, r, 2+r.intn(5)), "</p></div>\n"...)
	}
	return b
}
