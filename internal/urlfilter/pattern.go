package urlfilter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"decorum/internal/weburl"
)

// maxPatternLength bounds a pattern in bytes: the longest URL.
const maxPatternLength = weburl.MaxLength

// Prefixes of patterns that are not globs.
const (
	regexpPrefix = "re:"
	filePrefix   = "@"
	noTrapPrefix = "no-trap:"
)

// target is the part of a URL that a glob is held against.
type target uint8

const (
	wholeURL target = iota
	hostAndPath
	hostPortAndPath
	pathOnly
)

// pattern is one compiled include or exclude pattern.
type pattern struct {
	text   string // as written
	re     *regexp.Regexp
	target target
	glob   glob
	site   glob   // a pattern without a slash, also tried on the host alone; empty otherwise
	host   string // the only host it can match, when it names one
	rule   *rule
	detail string // Verdict.Rule
}

// compilePattern reads a glob or regular expression.
func compilePattern(text string) (*pattern, error) {
	if text == "" || len(text) > maxPatternLength {
		return nil, fmt.Errorf("pattern %.60q: want 1 to %d bytes", text, maxPatternLength)
	}
	if expr, ok := strings.CutPrefix(text, regexpPrefix); ok {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", text, err)
		}
		return &pattern{text: text, re: re}, nil
	}
	p := &pattern{text: text}
	if err := p.compileGlob(); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	return p, nil
}

func (p *pattern) compileGlob() error {
	scheme, rest := "", p.text
	if i := strings.Index(p.text, "://"); i >= 0 && !strings.Contains(p.text[:i], "/") {
		scheme, rest = strings.ToLower(p.text[:i+3]), p.text[i+3:]
	}
	slash := strings.IndexByte(rest, '/')
	if scheme == "" && slash == 0 {
		p.target, p.glob = pathOnly, newGlob(encodePath(rest))
		return nil
	}
	host, path := rest, ""
	if slash >= 0 {
		host, path = rest[:slash], rest[slash:]
	}
	ascii, err := asciiHost(host)
	switch {
	case err != nil && (slash >= 0 || scheme != ""):
		return err
	case err == nil && slash < 0:
		p.site = newGlob(scheme + ascii)
	}
	if slash >= 0 {
		p.glob = newGlob(scheme + ascii + encodePath(path))
	} else {
		p.glob = newGlob(scheme + encodePath(rest)) // such as *.PDF: this host is no host
	}
	switch {
	case scheme != "":
		p.target = wholeURL
	case strings.Contains(host, ":"):
		p.target = hostPortAndPath
	default:
		p.target = hostAndPath
		if err == nil && !strings.ContainsAny(ascii, "*?") {
			p.host = ascii
		}
	}
	return nil
}

var errHostPattern = errors.New("a host with other than ASCII characters cannot have wildcards: write it as xn--")

// asciiHost returns the host part of a pattern as it is in URLs.
func asciiHost(host string) (string, error) {
	if isASCII(host) {
		return strings.ToLower(host), nil
	}
	if strings.ContainsAny(host, "*?") {
		return "", errHostPattern
	}
	u, err := weburl.Parse("http://" + host + "/")
	if err != nil {
		return "", err
	}
	return u.HostPort(), nil
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// encodePath escapes what never is in a URL, so that /straße matches /stra%C3%9Fe.
func encodePath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// candidate is a URL with the texts that patterns are held against, none of which is a copy as long as the URL has
// no user name and no port.
type candidate struct {
	url  string // without user name
	u    weburl.URL
	site string // host, path and query; "" until asked for
}

func (c *candidate) text(t target) string {
	switch t {
	case wholeURL:
		return c.url
	case pathOnly:
		return c.u.RequestTarget()
	case hostPortAndPath:
		return c.url[len(c.u.Scheme())+len("://"):]
	}
	if c.site == "" {
		if len(c.u.Host()) == len(c.u.HostPort()) {
			c.site = c.text(hostPortAndPath)
		} else {
			c.site = c.u.Host() + c.u.RequestTarget()
		}
	}
	return c.site
}

func (p *pattern) matches(c *candidate) bool {
	if p.re != nil {
		return p.re.MatchString(c.url)
	}
	text := c.text(p.target)
	query := len(c.u.Query())
	if p.glob.matches(text) || query > 0 && p.glob.matches(text[:len(text)-query]) {
		return true
	}
	return p.site.chunks != nil && p.site.matches(text[:len(text)-len(c.u.RequestTarget())])
}

// glob is a pattern cut at its stars.
type glob struct{ chunks []string }

func newGlob(text string) glob { return glob{strings.Split(text, "*")} }

// matches takes each middle chunk at the first place it fits, which is enough: time is linear in the
// text for each chunk without question marks.
func (g glob) matches(s string) bool {
	first, last := g.chunks[0], g.chunks[len(g.chunks)-1]
	if len(s) < len(first) || !fits(first, s[:len(first)]) {
		return false
	}
	s = s[len(first):]
	if len(g.chunks) == 1 {
		return s == ""
	}
	if len(s) < len(last) || !fits(last, s[len(s)-len(last):]) {
		return false
	}
	s = s[:len(s)-len(last)]
	for _, chunk := range g.chunks[1 : len(g.chunks)-1] {
		i := indexChunk(s, chunk)
		if i < 0 {
			return false
		}
		s = s[i+len(chunk):]
	}
	return true
}

// fits compares a chunk with a text of its length.
func fits(chunk, s string) bool {
	if chunk == s {
		return true
	}
	for i := 0; i < len(chunk); i++ {
		if chunk[i] != s[i] && chunk[i] != '?' {
			return false
		}
	}
	return true
}

func indexChunk(s, chunk string) int {
	if strings.IndexByte(chunk, '?') < 0 {
		return strings.Index(s, chunk)
	}
	for i := 0; i+len(chunk) <= len(s); i++ {
		if fits(chunk, s[i:i+len(chunk)]) {
			return i
		}
	}
	return -1
}
