package robots

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestNamedAgentWithEmptyDisallow is the example of the Information Retrieval book, §20.2.1.
func TestNamedAgentWithEmptyDisallow(t *testing.T) {
	file := []byte("User-agent: *\nDisallow: /yoursite/temp/\n\nUser-agent: searchengine\nDisallow:\n")
	if v := Parse(file, "decorum").Check("/yoursite/temp/a.html"); v.Allowed || v.Line != 2 {
		t.Errorf("any agent: %+v", v)
	}
	if v := Parse(file, "decorum").Check("/yoursite/a.html"); !v.Allowed {
		t.Errorf("any agent, elsewhere: %+v", v)
	}
	if v := Parse(file, "SearchEngine").Check("/yoursite/temp/a.html"); !v.Allowed {
		t.Errorf("searchengine: %+v", v)
	}
}

// TestVerdicts prints what each file of a table says about each target, with rule and line.
func TestVerdicts(t *testing.T) {
	files := []struct{ name, body, targets string }{
		{"longest match, allow wins ties", "user-agent: *\ndisallow: /a\nallow: /a\nallow: /a/b # open\ndisallow: /a/b/c",
			"/ /a /a/b /a/b/c /a/b/cd /robots.txt"},
		{"wildcards", "user-agent: *\ndisallow: /*.gif$\ndisallow: *private\nallow: /x/*/y\ndisallow: /x$y\ndisallow: /*?s=*&t=$",
			"/a.gif /a.gif?x /deep/private/ /x/1/2/yprivate /x$y /x$ /q?s=1&t= /q?s=1&t=2"},
		{"groups merge", "user-agent: decorum\ndisallow: /a\n\nuser-agent: other\nuser-agent: Decorum/1.0\ndisallow: /b\nuser-agent:*\ndisallow: /",
			"/ /a /b"},
		{"no group for us", "user-agent: other\ndisallow: /\ndisallow: /x", "/ /x"},
		{"misspelt", "useragent *\nDisalow: /a\ndissallow : /b\ndisallow /c\ndisallow /d e\n: /f\ndisallow", "/a /b /c /d /f"},
		{"line endings", "\xef\xbb\xbfuser-agent: *\r\rdisallow: /a\r\ndisallow: /b\n\rdisallow: /c\x00x", "/a /b /c /d"},
		{"escapes: either reading", "user-agent: *\ndisallow: /%7euser\ndisallow: /caf\u00e9\ndisallow: /star-%2A\ndisallow: /cash-%24\ndisallow: /b%2fc",
			"/~user /%7Euser /%7euser /caf%c3%a9 /caf%C3%A9 /star-* /star-x /cash-$ /b/c /b%2Fc /%62%2fc"},
		{"escapes: an allow must hold in both", "user-agent: *\ndisallow: /\nallow: /b%61z", "/baz /b%61z"},
		{"a web page", "<html><body>\n<a href=\"/x\">disallow: /</a>\nuser-agent: *</p>\n<p>disallow: /</p></body>", "/ /x"},
		{"a longer rule of a shorter prefix", "user-agent: *\ndisallow: /a*23456\nallow: /ab\nallow: /abc", "/abc /abc123456 /ab_3456"},
		{"dollar inside", "user-agent: *\ndisallow: /\nallow: /x$y", "/x$y /x%24y /x"},
		{"index page", "user-agent: *\ndisallow: /\nallow: /a/index.html", "/a/ /a/index.html /a/b"},
	}
	var out strings.Builder
	for _, f := range files {
		fmt.Fprintf(&out, "# %s\n", f.name)
		r := Parse([]byte(f.body), "decorum")
		for target := range strings.FieldsSeq(f.targets) {
			v := r.Check(target)
			fmt.Fprintf(&out, "%-22s %-5v %d %q\n", target, v.Allowed, v.Line, v.Rule)
		}
	}
	golden(t, "testdata/verdicts.txt", out.String())
}

func golden(t *testing.T, name, got string) {
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs, rewrite it with -update if this is right:\n%s", name, got)
	}
}

func TestDelay(t *testing.T) {
	for _, c := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"2", 2 * time.Second, true},
		{"0.25", 250 * time.Millisecond, true},
		{"0", 0, true},
		{"86400", 24 * time.Hour, true},
		{"9223372036", 9223372036 * time.Second, true},
		{"9223372037", math.MaxInt64, true},
		{strings.Repeat("9", 400), math.MaxInt64, true},
		{"5 # seconds", 5 * time.Second, true},
		{"-1", 0, false}, {"10s", 0, false}, {"", 0, false}, {".", 0, false}, {"1.2.3", 0, false},
		{"inf", 0, false}, {"NaN", 0, false}, {"1e3", 0, false}, {"0x10", 0, false},
	} {
		got, ok := Parse([]byte("user-agent: *\ncrawl-delay: "+c.value), "decorum").Delay()
		if got != c.want || ok != c.ok {
			t.Errorf("%.20q: %v, %v; want %v, %v", c.value, got, ok, c.want, c.ok)
		}
	}
}

// TestDelayOfGroup: the delay belongs to the agents named before it, and the largest counts.
func TestDelayOfGroup(t *testing.T) {
	file := []byte("user-agent: a\ncrawl-delay: 3\nuser-agent: b\ncrawl-delay: 7\ndisallow: /x\n" +
		"user-agent: b\ncrawl-delay: 5\nallow: /\nuser-agent: *\ncrawl-delay: 9")
	for agent, want := range map[string]time.Duration{"a": 7, "b": 7, "c": 9} {
		if d, _ := Parse(file, agent).Delay(); d != want*time.Second {
			t.Errorf("agent %s: %v", agent, d)
		}
	}
	if _, ok := Parse([]byte("user-agent: *\ncrawl-delay: 9\ndisallow:\nuser-agent: a\ndisallow: /x"), "a").Delay(); ok {
		t.Error("the delay of `*` leaked into the group of the agent")
	}
}

func TestSitemaps(t *testing.T) {
	r := Parse([]byte("sitemap: /a.xml\nuser-agent: x\ndisallow: /\nSite-map: https://h.example/B.xml\nSITEMAP: /a.xml\nsitemap:"), "decorum")
	if got := strings.Join(r.Sitemaps(), " "); got != "/a.xml https://h.example/B.xml" {
		t.Errorf("sitemaps %q", got)
	}
}

func TestFixedRules(t *testing.T) {
	if !AllowAll().Check("/x").Allowed || DenyAll().Check("/x").Allowed || !DenyAll().Check("/robots.txt").Allowed {
		t.Error("AllowAll or DenyAll is wrong")
	}
	if AllowAll().Hash() == DenyAll().Hash() || AllowAll().Version() == DenyAll().Version() {
		t.Error("the versions do not tell them apart")
	}
}

func TestVersionFollowsBody(t *testing.T) {
	a, b := Parse([]byte("user-agent: *\n"), "decorum"), Parse([]byte("user-agent: *"), "decorum")
	if a.Version() == b.Version() || a.Hash() == b.Hash() || len(a.Version()) != 16 {
		t.Errorf("versions %s and %s", a.Version(), b.Version())
	}
}

// TestCutBody: what does not fit is ignored, and so is the line it was cut in, whoever cut it.
func TestCutBody(t *testing.T) {
	const head, tail = "user-agent: *\ndisallow: /\n#", "\nallow: /open"
	filler := strings.Repeat("x", MaxBytes-len(head)-len(tail))
	body := []byte(head + filler + tail + "-to-all-of-these\nallow: /late\n")
	for _, b := range [][]byte{body, body[:MaxBytes]} {
		for _, target := range []string{"/open", "/open-to-all-of-these", "/late"} {
			if Parse(b, "decorum").Check(target).Allowed {
				t.Errorf("%s is allowed by a line beyond the limit", target)
			}
		}
	}
}

// slowMatch is the definition of a match: the set of places in target where each prefix of the pattern
// can end.
func slowMatch(target, pattern string) bool {
	at := map[int]bool{0: true}
	for i := range len(pattern) {
		next := map[int]bool{}
		for p := range at {
			switch {
			case pattern[i] == '$' && i == len(pattern)-1:
				if p == len(target) {
					next[p] = true
				}
			case pattern[i] == '*':
				for q := p; q <= len(target); q++ {
					next[q] = true
				}
			case p < len(target) && target[p] == pattern[i]:
				next[p+1] = true
			}
		}
		at = next
	}
	return len(at) > 0
}

// TestIndexFindsLongest compares the index with a test of every rule.
func TestIndexFindsLongest(t *testing.T) {
	text := rapid.StringMatching(`/[ab*$/]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		var rules []rule
		for i, p := range rapid.SliceOfN(text, 0, 12).Draw(t, "patterns") {
			rules = append(rules, rule{pattern: p, line: i + 1, text: p, allow: rapid.Bool().Draw(t, "allow")})
		}
		target := rapid.StringMatching(`/[ab$/]{0,8}`).Draw(t, "target")
		want := Verdict{Allowed: true}
		var best *rule
		for i, r := range rules {
			if slowMatch(target, r.pattern) && (best == nil || precedence(r, *best) < 0) {
				best = &rules[i]
				want = Verdict{r.allow, r.text, r.line}
			}
		}
		if got := newIndex(rules).check(target); got != want {
			t.Fatalf("%q with %+v: got %+v, want %+v", target, rules, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("user-agent: *\ndisallow: /*a*b$\ncrawl-delay: .5"), "/xaxb")
	f.Add([]byte("\xff\xfeu\x00s"), "/%")
	f.Add([]byte("\xef\xbbuseragent decorum\rallow: %e3%zz*$\r\nsitemap: x\x00"), "/%E3%zz%2")
	f.Fuzz(func(t *testing.T, body []byte, target string) {
		r := Parse(body, "decorum")
		v := r.Check(target)
		if v.Line != 0 && !bytes.Contains(r.bodyForTest(), []byte(v.Rule)) {
			t.Errorf("rule %q is no text of the file", v.Rule)
		}
		if d, ok := r.Delay(); d < 0 || d > 0 && !ok {
			t.Errorf("delay %v, %v", d, ok)
		}
	})
}

// bodyForTest returns the text that rules quote: the body, decoded if it is UTF-16.
func (r *Rules) bodyForTest() []byte { return []byte(decode(whole(r.text))) }
