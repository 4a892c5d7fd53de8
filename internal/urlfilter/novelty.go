package urlfilter

import (
	"bytes"
	"hash/maphash"
	"strings"

	"decorum/internal/weburl"
)

// Look collects what a page says and shows, piece by piece, and knows which pieces earlier pages of its kind had: those of the
// same registrable domain and path, but for numbers and identifiers. A page without a new piece is barren,
// however it puts the old ones together: that is how the pages of a calendar, of a list under yet another
// session id, or of a search with yet another filter differ from those of an archive.
//
// What a page repeats of its own URL (the year of a calendar, a session id, a page number), or of the URLs of its neighbours
// of the same kind, to which it links, is not counted as news. Everything else is: one new line or one new
// picture makes a page novel, since a page lost is worse than a visit wasted.
//
// Feed all links first, then the text; Novel ends it. A nil Look takes everything and finds it novel. Not safe for concurrent use.
type Look struct {
	t    *traps
	host string
	root string // registrable domain of the host
	kind []byte // pattern of the pages that are compared
	seed uint64 // hash of kind
	own  map[string]struct{}
	bare bool // own has words without digits

	raw, rough []byte // scratch: a piece, and the same with numbers and identifiers made equal
	pieces     int
	added      int  // pieces remembered
	fresh      bool // a piece was new
	freshWords bool // a piece was new not by its numbers alone
}

const (
	// maxNews is how many pieces are remembered, over all hosts: about 20 bytes each. What is forgotten is new.
	maxNews = 1 << 20
	// newsSample is the share of pieces that are looked at, drawn by their hash: one in four. Memory reaches four times as far,
	// to the last 10,000 pages of a usual size, and it costs honest sites nothing: that each of 200 pages in a row
	// has one new line, and none of these is drawn, does not happen (once in 10^25), and when only one
	// page in ten has a new line, 200 pages seem barren once in 150 times.
	newsSample = 4
	// maxAdded bounds the pieces of one page that are remembered.
	maxAdded = 64
	// maxPieces bounds the pieces of one page that are looked at; a page with more is novel.
	maxPieces = 1 << 14
	// maxOwn bounds the words of URLs that a page may repeat: those of a page that lists hundreds of neighbours.
	maxOwn = 1 << 10
)

// Look begins to look at the page at u. It returns nil if there is nothing to learn: u is the only one of its kind.
func (f *Filter) Look(u weburl.URL) *Look {
	t := f.traps
	if t.opts.PatternVisits < 0 && t.opts.DomainHosts < 0 {
		return nil
	}
	domain := u.Domain()
	l, ok := t.looks.Get().(*Look)
	if !ok {
		l = &Look{t: t, own: map[string]struct{}{}}
	}
	kind, varies := appendWords(append(l.kind[:0], domain...), u.Path())
	l.kind = kind
	if !varies && u.Query() == "" && !isSubdomain(u, domain) {
		t.looks.Put(l)
		return nil
	}
	clear(l.own)
	l.host, l.root, l.seed, l.bare = u.Host(), domain, maphash.Bytes(t.seed, kind), false
	l.pieces, l.added, l.fresh, l.freshWords = 0, 0, false, false
	l.disown(u, domain)
	return l
}

// isSubdomain reports whether the host is below its registrable domain, and not by www alone.
func isSubdomain(u weburl.URL, domain string) bool {
	return len(u.Host()) > len(domain) && u.Host()[:len(u.Host())-len(domain)] != "www."
}

// disown notes the words of a URL that a page may repeat without saying anything: numbers, identifiers, values
// of the query, and labels of the host.
func (l *Look) disown(u weburl.URL, domain string) {
	note := func(word string) {
		if len(l.own) < maxOwn {
			l.own[word] = struct{}{}
			l.bare = l.bare || !hasDigit(word)
		}
	}
	eachWord(u.Host()[:len(u.Host())-len(domain)], note)
	eachWord(u.Path(), func(word string) {
		if hasDigit(word) {
			note(word)
			eachNumber(word, note)
		}
	})
	eachWord(u.Query(), func(word string) {
		note(word)
		eachNumber(word, note)
	})
}

// Link takes a link of the page. part says that its target is a part of the page, as an image or a frame is.
func (l *Look) Link(u weburl.URL, part bool) {
	if l == nil || l.full() {
		return
	}
	domain := l.root
	if u.Host() != l.host {
		domain = u.Domain()
	}
	l.raw, _ = appendWords(append(l.raw[:0], domain...), u.Path())
	switch {
	case bytes.Equal(l.raw, l.kind):
		l.disown(u, domain)
		return
	case part || isFile(u):
		l.raw = append(l.raw[:0], u.String()...)
	default:
		l.raw, _ = appendPattern(l.raw[:0], u)
	}
	l.piece(maphash.Bytes(l.t.seed, l.raw), nil)
}

// isFile reports whether the URL names something to be downloaded rather than a page.
func isFile(u weburl.URL) bool {
	name := fileName(u)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || dot == len(name)-1 || len(name)-dot > len(".webmanifest") {
		return false
	}
	switch ext := name[dot+1:]; ext {
	case "html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "do", "cgi", "pl", "cfm":
		return false
	default:
		return !isNumber(ext)
	}
}

// Text takes text of the page, each line of which is a piece.
func (l *Look) Text(s string) {
	if l == nil {
		return
	}
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" && !l.full() {
			l.line(line)
		}
	}
}

func (l *Look) full() bool {
	l.pieces++
	if l.pieces > maxPieces {
		l.fresh, l.freshWords = true, true
	}
	return l.pieces > maxPieces
}

// line takes a line without the words of the page's own URL.
func (l *Look) line(s string) {
	if !l.bare && !hasDigit(s) {
		l.piece(maphash.String(l.t.seed, s), nil)
		return
	}
	raw, rough, numbers := l.raw[:0], l.rough[:0], false
	for i := 0; i < len(s); {
		if !isLetterOrDigit(s[i]) {
			raw, rough = append(raw, s[i]), append(rough, s[i])
			i++
			continue
		}
		end := i + 1
		for end < len(s) && isLetterOrDigit(s[end]) {
			end++
		}
		word := s[i:end]
		digits := hasDigit(word)
		_, own := l.own[word]
		switch {
		case own:
			raw, rough = append(raw, 0), append(rough, 0)
		case digits:
			numbers = true
			raw = l.appendNumbers(raw, word)
			rough, _ = appendWord(rough, word)
		default:
			raw, rough = append(raw, word...), append(rough, word...)
		}
		i = end
	}
	l.raw, l.rough = raw, rough
	if !numbers {
		rough = nil
	}
	l.piece(maphash.Bytes(l.t.seed, raw), rough)
}

// appendNumbers appends a word without those of its numbers that are the URL's.
func (l *Look) appendNumbers(b []byte, word string) []byte {
	for i := 0; i < len(word); {
		end := i + 1
		if !isDigit(word[i]) {
			b = append(b, word[i])
			i++
			continue
		}
		for end < len(word) && isDigit(word[end]) {
			end++
		}
		if _, own := l.own[withoutZeros(word[i:end])]; own {
			b = append(b, 0)
		} else {
			b = append(b, word[i:end]...)
		}
		i = end
	}
	return b
}

// piece looks a piece up by its hash, and remembers it. rough is nil when it is the same.
func (l *Look) piece(raw uint64, rough []byte) {
	fresh := l.isNews(l.seed ^ raw)
	l.fresh = l.fresh || fresh
	if rough != nil {
		fresh = l.isNews(l.seed + maphash.Bytes(l.t.seed, rough))
	}
	l.freshWords = l.freshWords || fresh
}

// isNews reports whether the piece is drawn and was not remembered, and remembers it.
func (l *Look) isNews(key uint64) (fresh bool) {
	if key%l.t.sample != 0 || l.added == maxAdded {
		return false
	}
	l.t.news.update(key/l.t.sample, func(known bool) bool {
		fresh = !known
		return true
	})
	if fresh {
		l.added++
	}
	return fresh
}

// Novel reports whether the page had something new. Of a page whose text is nearly that of another page new numbers do not
// count: a clock and a counter are no news.
func (l *Look) Novel(near bool) bool {
	if l == nil {
		return !near
	}
	defer l.t.looks.Put(l)
	if near {
		return l.freshWords
	}
	return l.fresh
}

// eachWord calls f with each run of letters and digits.
func eachWord(s string, f func(string)) {
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isLetterOrDigit(s[end]) {
			end++
		}
		if end > i {
			f(s[i:end])
		}
		i = end + 1
	}
}

// eachNumber calls f with each run of digits, without leading zeros.
func eachNumber(s string, f func(string)) {
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if end > i {
			f(withoutZeros(s[i:end]))
		}
		i = end + 1
	}
}

func withoutZeros(number string) string {
	for len(number) > 1 && number[0] == '0' {
		number = number[1:]
	}
	return number
}

func hasDigit(s string) bool {
	for i := 0; i < len(s); i++ {
		if isDigit(s[i]) {
			return true
		}
	}
	return false
}

// isLetterOrDigit takes all that is not ASCII for letters.
func isLetterOrDigit(c byte) bool { return isAlnum(c) || c >= 0x80 }
