package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// maxLine is where a line is cut: eight times the longest URL browsers took, as Google's parser has it.
const maxLine = 2083*8 - 1

// rule is one Allow or Disallow line.
type rule struct {
	pattern string // as written, or in wire or meaning form
	text    string // the line, trimmed, without comment
	line    int
	allow   bool
}

// groups collects what concerns one agent while the lines of a file go by. Rules of `*` are kept apart,
// as any group that names the agent replaces them (RFC 9309 §2.2.1).
type groups struct {
	agent string

	inNamed, inAny bool // the current group is for the agent, for `*`
	closed         bool // a rule was read, so the next user-agent line begins a new group
	everNamed      bool

	named, any           []rule
	namedDelay, anyDelay delay
	sitemaps             []string
	seenSitemap          map[string]bool
}

type delay struct {
	value time.Duration
	set   bool
}

// Parse compiles the rules of body for agent, the product token of the crawler, compared without regard to
// case. It never fails: lines that mean nothing are skipped. Google's tolerance is followed: a byte order
// mark, any line ending, missing colons, known misspellings of keys, `index.html` standing for its
// directory. What is beyond MaxBytes is ignored, with the line cut there.
func Parse(body []byte, agent string) *Rules {
	text := string(body[:min(len(body), MaxBytes)])
	hash := digest([]byte(text))
	g := groups{agent: agent}
	n := 0
	for line := range lines(decode(whole(text))) {
		n++
		g.add(line, n)
	}
	return g.compile(text, hash)
}

// whole drops the last line of a text that fills MaxBytes and so was probably cut: half a rule could allow
// more than the whole one.
func whole(text string) string {
	if len(text) < MaxBytes {
		return text
	}
	return text[:strings.LastIndexAny(text, "\r\n")+1]
}

// decode removes what Google skips of a UTF-8 byte order mark, and decodes UTF-16 that declares itself:
// the RFC wants UTF-8, but the owner's wish is plain enough.
func decode(text string) string {
	if len(text) >= 2 && (text[:2] == "\xff\xfe" || text[:2] == "\xfe\xff") {
		return decodeUTF16(text[2:], text[0] == 0xff)
	}
	for _, c := range []byte("\xef\xbb\xbf") {
		if text == "" || text[0] != c {
			break
		}
		text = text[1:]
	}
	return text
}

func decodeUTF16(text string, little bool) string {
	units := make([]uint16, len(text)/2)
	for i := range units {
		hi, lo := text[2*i], text[2*i+1]
		if little {
			hi, lo = lo, hi
		}
		units[i] = uint16(hi)<<8 | uint16(lo)
	}
	return string(utf16.Decode(units))
}

// lines yields the lines of text, which end in CR, LF or CRLF.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			i := strings.IndexAny(text, "\r\n")
			if i < 0 {
				yield(text)
				return
			}
			if !yield(text[:i]) {
				return
			}
			if strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
			text = text[i+1:]
		}
	}
}

// add takes in one line.
func (g *groups) add(line string, n int) {
	line = clean(line)
	key, value, ok := split(line)
	if !ok {
		return
	}
	switch {
	case hasAnyPrefix(key, "user-agent", "useragent", "user agent"):
		g.userAgent(value)
	case hasAnyPrefix(key, "allow"):
		g.rule(rule{pattern: value, text: line, line: n, allow: true})
	case hasAnyPrefix(key, "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
		g.rule(rule{pattern: value, text: line, line: n})
	case hasAnyPrefix(key, "sitemap", "site-map"):
		g.sitemap(value)
	case hasAnyPrefix(key, "crawl-delay"):
		g.crawlDelay(value)
	}
}

// clean cuts a line at its comment, at a NUL and at maxLine, and trims it.
func clean(line string) string {
	line = line[:min(len(line), maxLine)]
	if i := strings.IndexAny(line, "#\x00"); i >= 0 {
		line = line[:i]
	}
	return strings.Trim(line, " \t\n\v\f\r")
}

// split parts key and value at the colon, or at white space if the line has no colon and two words.
func split(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	if !ok {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return "", "", false
		}
		key, value = line[:i], strings.TrimLeft(line[i:], " \t")
		if strings.ContainsAny(value, " \t") {
			return "", "", false
		}
	}
	const space = " \t\n\v\f\r"
	key, value = strings.Trim(key, space), strings.Trim(value, space)
	return key, value, key != ""
}

// hasAnyPrefix reports whether s begins with one of the prefixes, in any case. Google takes a key by its
// beginning too.
func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && strings.EqualFold(s[:len(p)], p) {
			return true
		}
	}
	return false
}

func (g *groups) userAgent(value string) {
	if g.closed {
		g.inNamed, g.inAny, g.closed = false, false, false
	}
	if value == "*" || len(value) > 1 && value[0] == '*' && isSpace(value[1]) {
		g.inAny = true
		return
	}
	if strings.EqualFold(productToken(value), g.agent) {
		g.inNamed, g.everNamed = true, true
	}
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// productToken is the head of a user-agent value: letters, hyphen and underscore (RFC 9309 §2.2.1).
func productToken(value string) string {
	for i := range len(value) {
		c := value[i] | 0x20
		if (c < 'a' || c > 'z') && value[i] != '-' && value[i] != '_' {
			return value[:i]
		}
	}
	return value
}

func (g *groups) rule(r rule) {
	if !g.inNamed && !g.inAny {
		return
	}
	g.closed = true
	list := &g.any
	if g.inNamed {
		list = &g.named
	}
	if r.pattern != "" { // an empty pattern matches nothing, but it is a rule: it closes the list of agents
		*list = append(*list, r)
	}
}

// crawlDelay is no rule of RFC 9309: it does not close the list of agents (§2.2.4), and it concerns the
// agents listed so far. The largest of several holds.
func (g *groups) crawlDelay(value string) {
	d, ok := parseDelay(value)
	if !ok {
		return
	}
	if g.inNamed {
		g.namedDelay = delay{max(g.namedDelay.value, d), true}
	} else if g.inAny {
		g.anyDelay = delay{max(g.anyDelay.value, d), true}
	}
}

// parseDelay reads seconds. Values beyond the range of a Duration saturate.
func parseDelay(value string) (time.Duration, bool) {
	if value == "" || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil && !math.IsInf(seconds, 1) {
		return 0, false
	}
	if seconds >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}

func (g *groups) sitemap(value string) {
	if value == "" || g.seenSitemap[value] {
		return
	}
	if g.seenSitemap == nil {
		g.seenSitemap = make(map[string]bool)
	}
	g.seenSitemap[value] = true
	g.sitemaps = append(g.sitemaps, value)
}

func (g *groups) compile(text string, hash uint64) *Rules {
	list, d := g.any, g.anyDelay
	if g.everNamed {
		list, d = g.named, g.namedDelay
	}
	list = withDirectories(list)
	r := &Rules{
		sitemaps: g.sitemaps, delay: d.value, hasDelay: d.set,
		text: text, hash: hash, version: versionOf(hash),
	}
	wire, _ := rewrite(list, wirePattern)
	meaning, differs := rewrite(wire, meaningPattern)
	r.wire = newIndex(wire)
	r.meaning = r.wire
	if differs {
		r.meaning = newIndex(meaning)
	}
	return r
}

// withDirectories adds, for each Allow of an index page, the Allow of its directory: Google reads
// "Allow: /a/index.html" as allowing /a/ too.
func withDirectories(list []rule) []rule {
	for _, r := range list {
		slash := strings.LastIndexByte(r.pattern, '/')
		if r.allow && slash >= 0 && strings.HasPrefix(r.pattern[slash:], "/index.htm") {
			r.pattern = r.pattern[:slash+1] + "$"
			list = append(list, r)
		}
	}
	return list
}

// rewrite returns the rules with their patterns in the form, and whether any differs.
func rewrite(list []rule, f form) (rewritten []rule, differs bool) {
	rewritten = make([]rule, len(list))
	for i, r := range list {
		was := r.pattern
		r.pattern = f.apply(was)
		differs = differs || r.pattern != was
		rewritten[i] = r
	}
	return rewritten, differs
}
