package web

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(31207), "31,207"}, {Count(1234567), "1,234,567"},
		{Bytes(0), "0 B"}, {Bytes(999), "999 B"}, {Bytes(1000), "1.0 kB"}, {Bytes(9_940), "9.9 kB"}, {Bytes(9_960), "10 kB"}, {Bytes(182_400_000), "182 MB"},
		{Bytes(999_600), "1.0 MB"}, {Bytes(61_000_000_000), "61 GB"}, {Bytes(1 << 63), "9223 PB"},
		{Rate(0), "0"}, {Rate(0.04), "0"}, {Rate(6.94), "6.9"}, {Rate(99.94), "99.9"}, {Rate(99.96), "100"}, {Rate(12345.6), "12,346"},
		{Elapsed(0), "0s"}, {Elapsed(59_400 * time.Millisecond), "59s"}, {Elapsed(724 * time.Second), "12m04s"}, {Elapsed(3 * time.Hour), "3h00m"}, {Elapsed(51 * time.Hour), "2d03h"},
		{Brief(-time.Second), "0ms"}, {Brief(210 * time.Millisecond), "210ms"}, {Brief(1900 * time.Millisecond), "1.9s"}, {Brief(43 * time.Second), "43s"},
		{Brief(27 * time.Minute), "27m"}, {Brief(5*time.Hour + 12*time.Minute), "5h12m"},
		{seconds(-time.Second), "0.0s"}, {seconds(200 * time.Millisecond), "0.2s"}, {seconds(95 * time.Second), "1m35s"}, {seconds(20 * time.Minute), "20m"},
		{plural(1, "host"), "1 host"}, {plural(uint64(2000), "host"), "2,000 hosts"},
		{Clean("a\x1b[2Jb"), `a\x1b[2Jb`}, {Clean("tab\tnew\n"), `tab\x09new\x0a`}, {Clean("rtl \u202e!"), `rtl \u202e!`}, {Clean("bad \xff"), `bad \xff`}, {Clean("grüß 日本"), "grüß 日本"},
		{Cut("abcdef", 6), "abcdef"}, {Cut("abcdef", 5), "abcd…"}, {Cut("ab     cdef", 6), "ab…"}, {Cut("日本語", 5), "日本…"}, {Cut("日本語", 4), "日…"}, {Cut("abc", 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

func TestCutFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 60).Draw(t, "columns")
		cut := Cut(s, n)
		if Columns(cut) > n {
			t.Fatalf("%q has %d columns, not %d", cut, Columns(cut), n)
		}
		if Columns(s) <= n && cut != s {
			t.Fatalf("%q fits and became %q", s, cut)
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "https://example.org/", "\x1b]0;title\x07", "\u202ereversed", "\xff\xfe", "\u0085", "日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if !utf8.ValidString(c) || strings.ContainsFunc(c, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q became %q", s, c)
		}
		if Clean(c) != c {
			t.Errorf("%q is cleaned again to %q", c, Clean(c))
		}
	})
}
