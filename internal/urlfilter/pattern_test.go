package urlfilter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"decorum/internal/weburl"
)

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return u
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not string // URLs, separated by spaces
	}{
		{"http://h.example/a*", "http://h.example/a http://h.example/ab/c?d http://u:p@h.example/a", "https://h.example/a http://h.example/b http://h.example:81/a"},
		{"*://h.example:81/*", "http://h.example:81/ https://h.example:81/x", "http://h.example/"},
		{"https://h.example", "https://h.example/ https://h.example/x?y", "http://h.example/ https://h.example:81/"},
		{"HTTP://H.Example/A", "http://h.example/A", "http://h.example/a"},

		{"/private/*", "http://h.example/private/ https://x.example:81/private/a?b", "http://h.example/a/private/ http://private/x"},
		{"/index.php", "http://h.example/index.php http://h.example/index.php?page=2", "http://h.example/index.php/x http://h.example/a/index.php"},
		{"/*?page=2", "http://h.example/a?page=2 http://h.example/?page=2", "http://h.example/a?page=1 http://h.example/a?page=22"},
		{"*replytocom=*", "http://h.example/a?replytocom=5 http://h.example/replytocom=", "http://h.example/a"},
		{"/a?c", "http://h.example/abc http://h.example/a-c?q http://h.example/a?c", "http://h.example/ac http://h.example/abbc"},
		{"/stra\u00dfe/a b", "http://h.example/stra%C3%9Fe/a%20b", "http://h.example/strasse/a%20b"},
		{"/", "http://h.example/ http://h.example/?q", "http://h.example/a"},
		{"/*a*b?d*e", "http://h.example/xaxbcdxe http://h.example/abbbxdee", "http://h.example/xbcdxae http://h.example/abd"},

		{"*.h.example/private/*", "http://www.h.example/private/x https://a.b.h.example:81/private/", "http://h.example/private/x http://www.h.example/x"},
		{"H.example/Docs/*", "http://h.example/Docs/a http://h.example./Docs/a", "http://h.example/docs/a"},
		{"h.example:81/*", "http://h.example:81/x", "http://h.example/x http://h.example:82/x"},
		{"b\u00fccher.example/*", "http://b\u00fccher.example/ http://xn--bcher-kva.example/x", "http://bucher.example/"},

		{"ads.example", "http://ads.example/ https://ads.example:81/x?y", "http://x.ads.example/ http://h.example/ads.example"},
		{"*.ads.example", "http://x.ads.example/y", "http://ads.example/"},
		{"*.pdf", "http://h.example/a.pdf http://h.example/a.pdf?dl=1 http://h.pdf/", "http://h.example/a.pdfx http://h.example/a.PDF"},
		{"*.PDF", "http://h.example/a.PDF", "http://h.example/a.pdf"},
		{"*", "http://h.example/", ""},

		{"re:[?&]print=1", "http://h.example/a?print=1 http://h.example/?x&print=12", "http://h.example/print=1"},
		{"re:^https://", "https://h.example/", "http://h.example/?https://"},
	} {
		var set patternSet
		if _, err := set.add(c.pattern, &rule{}, ""); err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for _, raw := range strings.Fields(c.yes) {
			if !set.matches(parse(t, raw)) {
				t.Errorf("%q does not match %s", c.pattern, raw)
			}
		}
		for _, raw := range strings.Fields(c.not) {
			if set.matches(parse(t, raw)) {
				t.Errorf("%q matches %s", c.pattern, raw)
			}
		}
	}
}

func TestBadPatternsAreNamed(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.txt")
	write(t, bad, "fine.example\nre:(\n")
	for pattern, want := range map[string]string{
		"re:(":                                  "re:(",
		"":                                      `""`,
		"*.b\u00fccher.example/":                "b\u00fccher",
		"a b\u00fc c/x":                         "a b\u00fc c/x",
		strings.Repeat("x", maxPatternLength+1): "xxx",
		"@" + bad:                               "re:(",
		"@" + dir + "/absent":                   "absent",
	} {
		_, err := New(Options{Exclude: []string{pattern}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exclude") {
			t.Errorf("exclude %.40q: %v; want an error with %q", pattern, err, want)
		}
		if _, err := New(Options{Include: []string{pattern}}); err == nil || !strings.Contains(err.Error(), "include") {
			t.Errorf("include %.40q: %v", pattern, err)
		}
		f := newFilter(t, Options{})
		if err := f.AddExclude(pattern); err == nil {
			t.Errorf("AddExclude(%.40q) accepts it", pattern)
		}
		if _, err := f.WouldExclude(pattern); err == nil {
			t.Errorf("WouldExclude(%.40q) accepts it", pattern)
		}
		if err := f.AddExclude("*.ok"); err != nil {
			t.Errorf("after the bad pattern %.40q a good one fails: %v", pattern, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzPattern: no pattern panics, and a pattern without wildcards that is a path matches just itself.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"*", "?", "**", "*?*", "/a*b", "http://", "://", "h:", "re:a", "re:(", "\u00fc", "*\u00fc", "@x", "/\xff", "h/?", "*://*"} {
		f.Add(p, "http://h.example:81/a/b?c")
	}
	f.Fuzz(func(t *testing.T, text, raw string) {
		u, err := weburl.Parse(raw)
		if err != nil || strings.HasPrefix(text, filePrefix) {
			return
		}
		p, err := compilePattern(text)
		if err != nil {
			return
		}
		matched := p.matches(&candidate{url: u.WithoutUserinfo().String(), u: u})
		if strings.HasPrefix(text, "/") && !strings.ContainsAny(text, "*?") {
			if want := encodePath(text) == u.RequestTarget() || encodePath(text) == u.Path(); matched != want {
				t.Errorf("%q on %v = %v, want %v", text, u, matched, want)
			}
		}
	})
}
