package contentseen

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// SimHasher makes the SimHash of a text (Charikar 2002): each feature votes on each of 64 bits. Features are
// shingles of three consecutive words, lower-cased, hashed to 64 bits. A word is a run of letters and digits; in scripts
// written without spaces each character is a word.
//
// Votes are counted bit-sliced: plane i holds bit i of all 64 counters, and features enter eight at a time
// through carry-save adders (Harley-Seal), about five operations each instead of 64. BenchmarkSimHash measures it next to
// the plain way.
type SimHasher struct {
	planes [counterBits]uint64
	batch  [8]uint64 // features not yet in planes
	n      int       // features in batch
	words  int
	w1, w2 uint64 // hashes of the two words before
}

// counterBits is how many votes fit: 2^32 words are beyond any limit on bodies.
const counterBits = 32

// NewSimHasher returns an empty hasher.
func NewSimHasher() *SimHasher { return &SimHasher{} }

// Reset empties the hasher.
func (h *SimHasher) Reset() { *h = SimHasher{} }

// AddString is Add of a string.
func (h *SimHasher) AddString(text string) {
	h.Add(unsafe.Slice(unsafe.StringData(text), len(text))) // Add only reads
}

// Sum returns the SimHash of the text added so far, and its number of words. Ties vote 0.
func (h *SimHasher) Sum() (sim uint64, words int) {
	p := h.planes
	for _, f := range h.batch[:h.n] {
		ripple(p[:], f)
	}
	// Bit-sliced comparison with half of the votes, from the highest bit down.
	half, equal := uint64(h.words/2), ^uint64(0)
	for i := counterBits - 1; i >= 0; i-- {
		t := -(half >> i & 1)
		sim |= equal & p[i] &^ t
		equal &^= p[i] ^ t
	}
	return sim, h.words
}

// ripple adds one vote to each counter whose bit is set in x.
func ripple(planes []uint64, x uint64) {
	for i := 0; x != 0 && i < len(planes); i++ {
		planes[i], x = planes[i]^x, planes[i]&x
	}
}

// csa adds three bits in each lane: a carry-save adder.
func csa(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

// fold empties a full batch into the planes.
func (h *SimHasher) fold() {
	f, p := &h.batch, &h.planes
	s, c1 := csa(p[0], f[0], f[1])
	s, c2 := csa(s, f[2], f[3])
	t, d1 := csa(p[1], c1, c2)
	s, c1 = csa(s, f[4], f[5])
	p[0], c2 = csa(s, f[6], f[7])
	p[1], c1 = csa(t, c1, c2)
	var e uint64
	p[2], e = csa(p[2], d1, c1)
	ripple(p[3:], e)
	h.n = 0
}

const (
	k1 = 0x9E3779B97F4A7C15
	k2 = 0xD6E8FEB86659FD93
	k3 = 0xA0761D6478BD642F
)

// word ends a word, whose hash is w: its shingle with the two before is a feature. The first two words have none
// before them, which counts as zero.
func (h *SimHasher) word(w uint64) {
	h.batch[h.n%8] = shingle(h.w2, h.w1, w)
	h.w1, h.w2 = w, h.w1
	h.words++
	if h.n++; h.n == len(h.batch) {
		h.fold()
	}
}

// shingle is the hash of three words.
func shingle(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(c^k1, bits.RotateLeft64(b, 32)^a*k2^k3)
	return hi ^ lo
}

// mix adds up to eight bytes to the hash of a word.
func mix(hash, chunk uint64) uint64 {
	hash = (hash ^ chunk) * k2
	return hash ^ hash>>29
}

const (
	ones = 0x0101010101010101
	high = 0x80 * ones
)

// Add adds text in UTF-8; what is not counts as separators. The end of text ends a word.
//
// Eight bytes are looked at together. From the start of a word they are classified at once, and the word's length is
// where the first separator is.
func (h *SimHasher) Add(text []byte) {
	hash, start := uint64(0), 0 // of the current word; it began at start
	for i := 0; i < len(text); {
		c := load(text, i)
		alnum, foreign := classify(c)
		n := bits.TrailingZeros64(^alnum&high) / 8
		switch {
		case n == 8:
			hash = mix(hash, c|0x20*ones)
			i += 8
			continue
		case foreign>>(8*n)&0x80 != 0:
			i = h.addForeign(text, start)
		case i+n > start:
			h.word(mix(hash, (c|0x20*ones)&(1<<(8*n)-1)))
			i += n + 1
		default:
			i += bits.TrailingZeros64(alnum|foreign) / 8
		}
		hash, start = 0, i
	}
	if start < len(text) { // it ended at a multiple of eight
		h.word(mix(hash, 0))
	}
}

// load returns eight bytes from i on, little-endian; spaces follow the end.
func load(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	last := [8]byte{' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '}
	copy(last[:], text[i:])
	return binary.LittleEndian.Uint64(last[:])
}

// classify sets the high bit of each byte that is an ASCII letter or digit, and of each that is not ASCII. Bits of
// 0x20 make letters lower case and are set in digits.
func classify(c uint64) (alnum, foreign uint64) {
	foreign = c & high
	low := c &^ high // no carry leaves a byte
	letter := low | 0x20*ones
	alnum = (letter + (0x80-'a')*ones) &^ (letter + (0x7F-'z')*ones)
	alnum |= (low + (0x80-'0')*ones) &^ (low + (0x7F-'9')*ones)
	return alnum & high &^ foreign, foreign
}

// maxWord is the most bytes of a word with foreign letters that are told apart; no language has longer ones.
const maxWord = 64

// addForeign adds the word at i, which holds or begins with a byte beyond ASCII, and returns where it ends. It hashes
// an ASCII word just as Add does.
func (h *SimHasher) addForeign(text []byte, i int) int {
	var buf [maxWord + utf8.UTFMax]byte
	n := 0
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		if alone := r >= firstSpaceless && unicode.In(r, spaceless...); alone || !isWord(r) {
			h.whole(buf[:n])
			if alone {
				h.whole(text[i : i+size])
			}
			return i + size
		}
		if n < maxWord {
			n += utf8.EncodeRune(buf[n:], unicode.ToLower(r))
		}
		i += size
	}
	h.whole(buf[:n])
	return i
}

// whole adds a complete word in lower case.
func (h *SimHasher) whole(w []byte) {
	if len(w) == 0 {
		return
	}
	hash := uint64(0)
	for ; len(w) >= 8; w = w[8:] {
		hash = mix(hash, binary.LittleEndian.Uint64(w))
	}
	var last [8]byte
	copy(last[:], w)
	h.word(mix(hash, binary.LittleEndian.Uint64(last[:])))
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

// firstSpaceless is the first character of a script in spaceless.
const firstSpaceless = 0x0E00

// spaceless are scripts written without spaces between words; it never changes.
var spaceless = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer, unicode.Han, unicode.Hiragana, unicode.Katakana,
}
