package contentseen

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func simHash(text string) (uint64, int) {
	h := NewSimHasher()
	h.AddString(text)
	return h.Sum()
}

// plain is a SimHash written for clarity: the same features, 64 counters. It goes through the text rune by rune.
type plain struct {
	votes  [64]int
	words  int
	w1, w2 uint64
}

func (p *plain) add(text string) {
	var word []byte
	end := func() {
		if len(word) > 0 {
			p.word(word)
		}
		word = word[:0]
	}
	for _, r := range text {
		switch {
		case r >= firstSpaceless && unicode.In(r, spaceless...):
			end()
			p.word([]byte(string(r)))
		case isWord(r):
			word = append(word, string(unicode.ToLower(r))...)
		default:
			end()
		}
	}
	end()
}

func (p *plain) word(word []byte) {
	var one SimHasher
	one.w1, one.w2 = p.w1, p.w2
	one.whole(word)
	f := one.batch[0]
	p.w1, p.w2 = one.w1, one.w2
	p.words++
	for i := range p.votes {
		if f>>i&1 == 1 {
			p.votes[i]++
		}
	}
}

func (p *plain) sum() (sim uint64, words int) {
	for i, v := range p.votes {
		if 2*v > p.words {
			sim |= 1 << i
		}
	}
	return sim, p.words
}

func TestMatchesThePlainWay(t *testing.T) {
	alphabet := rapid.SampledFrom([]rune("abcxyzABCXYZ0189 \t\n.,-@[`{/:éÉßñ’“—  日本語かなไทยЖж\u0301😀"))
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(alphabet, 0, 400).Draw(t, "text"))
		if rapid.Bool().Draw(t, "spaced") {
			text = strings.ReplaceAll(text, "a", " and ")
		}
		for w := range strings.FieldsSeq(text) {
			if len(w) > maxWord {
				t.Skip("longer than a word")
			}
		}
		var p plain
		p.add(text)
		wantSim, wantWords := p.sum()
		sim, words := simHash(text)
		if sim != wantSim || words != wantWords {
			t.Fatalf("%q: %x of %d words, want %x of %d", text, sim, words, wantSim, wantWords)
		}
	})
}

func TestWords(t *testing.T) {
	for text, want := range map[string]int{
		"":                               0,
		" \n.,;":                         0,
		"a":                              1,
		"eightchr":                       1,
		"eightchr sixteencharacter":      2,
		"sixteencharacter":               1,
		"one two, three—four":            4,
		"don't":                          2,
		"L’été à Paris":                  4,
		"日本語":                            3,
		"internationalisée":              1,
		"nbsp\u00a0separates":            2,
		"bad \xff\xfe bytes\xc3":         2,
		strings.Repeat("x", 1000):        1,
		strings.Repeat("é", 1000) + " z": 2,
	} {
		if _, n := simHash(text); n != want {
			t.Errorf("%.40q: %d words, want %d", text, n, want)
		}
	}
}

func TestCaseAndSpacingDoNotMatter(t *testing.T) {
	a, _ := simHash("The quick Brown fox JUMPED over the Écluse")
	b, _ := simHash("the  quick\nbrown fox, jumped over (the) écluse.")
	c, _ := simHash("the brown quick fox jumped over the écluse")
	if a != b {
		t.Errorf("%x and %x differ", a, b)
	}
	if a == c {
		t.Error("the order of words does not matter")
	}
}

func TestReset(t *testing.T) {
	h := NewSimHasher()
	h.AddString("something else entirely")
	h.Reset()
	h.AddString("a text of five words")
	got, n := h.Sum()
	if want, _ := simHash("a text of five words"); got != want || n != 5 {
		t.Errorf("after Reset %x of %d, want %x of 5", got, n, want)
	}
}

// author writes texts with the word frequencies of language (Zipf).
type author struct {
	r *rand.Rand
	z *rand.Zipf
}

func newAuthor(seed uint64) author {
	r := rand.New(rand.NewPCG(seed, 0))
	return author{r, rand.NewZipf(r, 1.1, 3, 30000)}
}

func (a author) words(n int) []string {
	ws := make([]string, n)
	for i := range ws {
		ws[i] = lexeme(a.z.Uint64())
	}
	return ws
}

// lexeme spells a number in letters, short for frequent words.
func lexeme(n uint64) string {
	const letters = "etaoinshrdlucmfwypvbgkjqxz"
	w := []byte{letters[n%7]}
	for n += 5; n > 0; n /= 26 {
		w = append(w, letters[n%26])
	}
	return string(w)
}

func join(parts ...[]string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strings.Join(p, " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// S4-13 on labelled pairs. Near: an article of 500 to 900 words again, with another date and view counter. Not near: two
// articles under the same menu and footer.
func TestPrecisionAndRecall(t *testing.T) {
	a := newAuthor(1)
	const pairs = 500
	found, wrong := 0, 0
	near := func(x, y string) bool {
		s, n := simHash(x)
		u, m := simHash(y)
		return n >= MinWords && m >= MinWords && bits.OnesCount64(s^u) <= maxDistance
	}
	for i := range pairs {
		menu, footer := a.words(60), a.words(40)
		body, other := a.words(500+a.r.IntN(400)), a.words(500+a.r.IntN(400))
		date := func(d int) []string { return []string{fmt.Sprintf("2026-03-%02d", d), fmt.Sprint(1000 + d*i)} }
		page := join(menu, date(3), body, footer)
		if near(page, join(menu, date(17), body, footer)) {
			found++
		}
		if near(page, join(menu, date(3), other, footer)) {
			wrong++
		}
	}
	recall := float64(found) / pairs
	precision := float64(found) / float64(max(found+wrong, 1))
	t.Logf("recall %.3f, precision %.3f over %d pairs of each kind", recall, precision, pairs)
	if recall < 0.75 || precision < 0.99 { // Manku et al. 2007 §4.1 report 0.75 for both at distance 3
		t.Errorf("recall %.3f, precision %.3f; want at least 0.75 and 0.99", recall, precision)
	}
}

func FuzzSimHasher(f *testing.F) {
	f.Add("plain words", "and more")
	f.Add("", "\xff\xfe")
	f.Add("日本語 mixed été", "eightchr")
	f.Fuzz(func(t *testing.T, a, b string) {
		h := NewSimHasher()
		h.AddString(a)
		h.AddString(b)
		one, n := h.Sum()
		h.Reset()
		h.Add([]byte(a + "\n" + b))
		if two, m := h.Sum(); !strings.HasSuffix(a, "\xff") && (one != two || n != m) && validEnd(a) {
			t.Errorf("in two parts %x of %d, in one %x of %d", one, n, two, m)
		}
	})
}

// validEnd reports that a does not end within a character, which joining would complete or not.
func validEnd(a string) bool { return strings.ToValidUTF8(a, "") == a }

func BenchmarkSimHash(b *testing.B) {
	text := join(newAuthor(2).words(4000))
	b.Run("sliced", func(b *testing.B) {
		h := NewSimHasher()
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.AddString(text)
			h.Sum()
		}
	})
	b.Run("counters", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var h counters
			h.AddString(text)
		}
	})
}

// counters is the hasher with 64 counters per feature, for comparison.
type counters struct {
	SimHasher
	votes [64]int32
}

func (c *counters) AddString(text string) {
	for w := range strings.FieldsSeq(text) {
		c.n = 0
		c.whole([]byte(w))
		f := c.batch[0]
		for i := range c.votes {
			c.votes[i] += int32(f >> i & 1)
		}
	}
}
