package parse

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"decorum/internal/weburl"
)

// TestGolden reads a page with a bit of everything: links in order, text with tags.
func TestGolden(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := NewParser(Options{Text: true}).HTML(body, "text/html", "decorum")
	var b strings.Builder
	fmt.Fprintf(&b, "title %q\nlang %q\nbase %q\ncanonical %q\nrobots %v (%s)\nrefresh %q\ncharset %s by %s\nwords %d\nneeds scripts %v\ndropped %d\n\n", page.Title,
		page.Lang, page.Base, page.Canonical, page.Robots, page.RobotsText, page.Refresh, page.Charset, page.CharsetSource, page.Words, page.NeedsJS, page.LinksDropped)
	for _, l := range page.Links {
		fmt.Fprintf(&b, "%2d %-9s %-10s %-30q %q", l.Position, l.Kind, l.Tag, l.Ref, l.Anchor)
		if l.Rel != 0 {
			fmt.Fprintf(&b, " rel %09b", l.Rel)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for _, s := range page.Text {
		fmt.Fprintf(&b, "%-5s %q\n", s.Tag, s.Text)
	}
	golden(t, "page.txt", b.String())
}

// TestRelativeReference is the example of the IR book (20.2.1): on the main page of Wikipedia, a relative
// reference points at the disclaimers.
func TestRelativeReference(t *testing.T) {
	page := NewParser(Options{}).HTML([]byte(`<a href="/wiki/Wikipedia:General_disclaimer" title="Wikipedia:General disclaimer">Disclaimers</a>`), "text/html", "")
	base, err := weburl.Parse("http://en.wikipedia.org/wiki/Main_Page")
	if err != nil {
		t.Fatal(err)
	}
	full, err := base.Resolve(page.Links[0].Ref)
	if err != nil || full.String() != "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer" || page.Links[0].Anchor != "Disclaimers" {
		t.Errorf("%v, %v, %+v", full, err, page.Links[0])
	}
}

func TestWhereLinksAre(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"quotes of all kinds", `<a href="1"><a href='2'><a href=3><a href = "4"><A HREF=5><a href="a'b"><a href='a"b'><a x="y"href=8>`, "1 2 3 4 5 a'b a\"b 8"},
		{"first of two", `<a href=1 href=2><a HREF=3 href=4>`, "1 3"},
		{"unquoted with slash", `<a href=x/><a href=/y/>`, "x/ /y/"},
		{"white space", "<a href=' \n x y\t'>", "x y"},
		{"references", `<a href="?a&amp;b&#38;c&#x26;d&lt;e&copy=1&copy;&notit;&unknown;&amp">`, "?a&b&c&d<e&copy=1\u00a9&notit;&unknown;&"},
		{"greater in a value", `<a title="a>b" href=x>`, "x"},
		{"quote in a name", `<a " href=x>`, "x"},
		{"cut tag", `<a href=1><a href=2`, "1"},
		{"cut value", `<a href=1><a href="2>`, "1"},
		{"no name", `< a href=1><1 href=2></ a href=3>`, ""},
		{"comments", `<!-- <a href=1> --><!--><a href=2><!---><a href=3><!-- --!><a href=4><!-- <!-- --><a href=5>`, "2 3 4 5"},
		{"unclosed comment", `<a href=1><!-- <a href=2>`, "1"},
		{"scripts", `<script><a href=1></script><a href=2><script><!-- <script></script><a href=3> --></script><a href=4>`, "2 4"},
		{"script without end", `<a href=1><script><a href=2>`, "1"},
		{"raw text", `<style><a href=1></style><textarea><a href=2></textarea><title><a href=3></title><xmp><a href=4></xmp><iframe><a href=5></iframe>` +
			`<noembed><a href=6></noembed><noframes><a href=7></noframes><a href=8><plaintext><a href=9></plaintext><a href=10>`, "8"},
		{"end tags of raw text", `<style></styles><a href=1></STYLE ><a href=2><title></title/><a href=3>`, "2 3"},
		{"noscript and template", `<noscript><a href=1></noscript><template><a href=2></template>`, "1 2"},
		{"CDATA", `<![CDATA[<a href=1>]]><svg><![CDATA[<a href=2>]]><a href=3></svg>`, "3"},
		{"foreign scripts", `<svg><script><a href=1></script><style><a href=2></style></svg>`, "1 2"},
		{"integration points", `<svg><foreignObject><style><a href=1></style></foreignObject><style><a href=2></svg>`, "2"},
		{"out of foreign content", `<svg><p><style><a href=1></style></svg><div><svg></div><style><a href=2></style>`, ""},
		{"forms", `<form action=1><input formaction=2><button formaction=3></form><isindex action=4>`, ""},
		{"srcset", `<img srcset="a 1x, b 2x,c,d, (x,y), e(1,2) 3x ,,f"><source srcset="g&amp;h 10w">`, "a b c,d (x,y) e(1,2) f g&h"},
		{"descriptors", `<img srcset="a (1, 2) 3x, b">`, "a b"},
		{"data", `<img src="data:image/png;base64,xx"><img src=" DATA:,"><img src=""><img>`, ""},
		{"origins", `<link rel=dns-prefetch href=//a><link rel="PRECONNECT" href=//b><link href=c><link rel=x>`, "c"},
		{"nested frames", `<iframe srcdoc="<iframe srcdoc='<a href=1>'></iframe><a href=2>"></iframe><a href=3>`, "2 3"},
	} {
		page := NewParser(Options{}).HTML([]byte(c.html), "text/html; charset=utf-8", "")
		if got := strings.Join(refs(page), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnchors(t *testing.T) {
	for html, want := range map[string]string{
		"<a href=x> a  <b>b</b>\n c </a>d":              "a b c",
		"<a href=x>a<a href=y>b":                        "a",
		"<a href=x>a&amp;b &#8364;&nbsp;c</a>":          "a&b \u20ac c",
		"<a href=x><img alt='the  alt'><img alt=2></a>": "the alt",
		"<a href=x>text<img alt='the alt'></a>":         "text",
		"<a href=x><script>no</script>yes</a>":          "yes",
		"<noscript><a href=x>yes</a></noscript>":        "yes",
		"<a href=x>a<p>b</p></a>":                       "ab",
		"<area href=x alt=' left  half '>":              "left half",
		"<a href=x><![CDATA[x]]></a>":                   "",
	} {
		page := NewParser(Options{}).HTML([]byte(html), "text/html; charset=utf-8", "")
		if got := page.Links[0].Anchor; got != want {
			t.Errorf("%s: %q, want %q", html, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for html, want := range map[string]string{
		"a<br>b<p>c<i>d</i>e":                            `"a\nb\ncde"`,
		"<b>a</b><b>b</b> <strong>c</strong>":            `b"ab c"`,
		"<h1>A</h1><h1>B</h1>":                           `h1"A\n" h1"B\n"`,
		"<h2>A <b>B</b> <a href=x>C</a></h2>d":           `h2"A B C\n" "d"`,
		"a <a href=x>b</a> c":                            `"a " a"b" " c"`,
		"<title> T </title><title>U</title>v":            `title"T\n" "v"`,
		"a<script>b</script><style>c</style><noscript>d": `"a"`,
		"<template>a</template>b<textarea>c</textarea>d": `"bd"`,
		"<xmp>&amp;<b></xmp>a":                           `"&amp;<b>\na"`,
		"</b></b>a<b><b>b</b>c</b>d":                     `"a" b"bc" "d"`,
		"a &lt;b&gt; &#32; c &nbsp;d":                    `"a <b> c d"`,
		"<svg><title>a</title><text>b</text></svg>":      `"ab"`,
	} {
		page := NewParser(Options{Text: true}).HTML([]byte(html), "text/html; charset=utf-8", "")
		var spans []string
		for _, s := range page.Text {
			spans = append(spans, fmt.Sprintf("%s%q", s.Tag, s.Text))
		}
		if got := strings.Join(spans, " "); got != want {
			t.Errorf("%s: %s, want %s", html, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for html, want := range map[string]int{
		"": 0, "one": 1, " one  two\nthree ": 3, "caf&eacute; au&nbsp;lait": 3, "<p>one<p>two": 2, "o<b>n</b>e": 1,
		"<title>no words</title>one": 1, "日本語": 3, "Go 言語": 3, "na\u00efve": 1,
	} {
		if got := NewParser(Options{Text: true}).HTML([]byte(html), "text/html; charset=utf-8", "").Words; got != want {
			t.Errorf("%q has %d words, want %d", html, got, want)
		}
	}
}

func TestNeedsJS(t *testing.T) {
	long := strings.Repeat("plenty of text to read ", 20)
	for html, want := range map[string]bool{
		`<title>App</title><div id=root></div><script src=app.js></script><noscript>` + long + `</noscript>`: true,
		`<div id=app>Loading...</div><script>` + long + `</script>`:                                          true,
		`<p>` + long + `<script src=x></script>`:                                                             false,
		`<p>Nothing here.`:                                                                                   false,
		`<script src=x></script><a href=1>a</a><a href=2>b</a><a href=3>c</a>`:                               false,
		`<script src=x></script><iframe src=x></iframe>`:                                                     false,
	} {
		if got := NewParser(Options{}).HTML([]byte(html), "", "").NeedsJS; got != want {
			t.Errorf("%.60s: %v", html, got)
		}
	}
}

func TestParseRefresh(t *testing.T) {
	for value, want := range map[string]string{
		"5": "", "": "", "x; url=/a": "", "5; url=/a": "/a", "5;url=/a": "/a", "5,/a": "/a", "5 /a": "/a", " 0.5 ; URL = '/a' x": "/a", "5; url=\"/a b\"": "/a b",
		"5; url='/a": "/a", ".;/a": "/a", "5; urlx": "urlx", "5; url": "url", "5;": "", "5; url=": "", "5x;/a": "", "-1;/a": "",
	} {
		if got, ok := ParseRefresh(value); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", value, got, ok, want)
		}
	}
}

func TestMetaRobots(t *testing.T) {
	for html, want := range map[string]Robots{
		`<meta name=robots content="NoIndex,NoFollow">`:                                            None,
		`<meta name=robots content=none><meta name=robots content=all>`:                            None,
		`<meta name=Decorum content=nofollow><meta name=robots content="noindex noarchive">`:       NoFollow | NoIndex | NoArchive,
		`<meta name=googlebot content=none><meta name=robots content="index,follow">`:              0,
		`<meta content=noindex name=" robots ">`:                                                   NoIndex,
		`<!-- <meta name=robots content=none> --><script><meta name=robots content=none></script>`: 0,
		`<iframe srcdoc="<meta name=robots content=none>">`:                                        0,
	} {
		if got := NewParser(Options{}).HTML([]byte(html), "", "decorum").Robots; got != want {
			t.Errorf("%s: %v, want %v", html, got, want)
		}
	}
}

func TestParseRobotsHeader(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   Robots
	}{
		{nil, 0}, {[]string{""}, 0}, {[]string{"noindex"}, NoIndex}, {[]string{"noindex, NOFOLLOW"}, None}, {[]string{"none", "noarchive"}, None | NoArchive},
		{[]string{"googlebot: nofollow"}, 0}, {[]string{"Decorum: nofollow, noindex"}, None}, {[]string{"googlebot: none, decorum: noindex, nofollow"}, None},
		{[]string{"decorum: noindex, googlebot: nofollow"}, NoIndex}, {[]string{"googlebot: none", "noindex"}, NoIndex},
		{[]string{"unavailable_after: 25 Jun 2010 15:00:00 PST"}, 0}, {[]string{"unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noindex"}, NoIndex},
		{[]string{"max-snippet:20, nofollow, max-image-preview:large"}, NoFollow}, {[]string{"*: none"}, None},
	} {
		if got := ParseRobotsHeader(c.values, "decorum"); got != c.want {
			t.Errorf("%q: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestHeaderLinks(t *testing.T) {
	for value, want := range map[string]string{
		`</test/headers/link.found>; rel="prefetch"`:            "link /test/headers/link.found 0",
		`<https://a.example/?a,b;c>; rel=canonical`:             fmt.Sprintf("canonical https://a.example/?a,b;c %d", RelCanonical),
		`<2>; rel="next"; title="a, b; c", <0> ;REL = prev`:     fmt.Sprintf("link 2 %d|link 0 %d", RelNext, RelPrev),
		`<de>; rel="alternate nofollow"; rel=next; hreflang=de`: fmt.Sprintf("link de %d", RelAlternate|RelNofollow),
		`<feed>; rel=alternate; type="application/rss+xml"`:     fmt.Sprintf("feed feed %d", RelAlternate),
		`<x>; rel=next; anchor="#other", <y>`:                   "link y 0",
		`<//cdn.example>; rel=preconnect`:                       "",
		`<a>; title="quoted \" quote, <no>", <b>`:               "link a 0|link b 0",
		`<unclosed`: "", `no link`: "", ``: "", `<a>;`: "link a 0", `<a>; rel`: "link a 0", `<a>; rel="open`: "link a 0", `< a >`: "link a 0",
	} {
		var got []string
		for _, l := range ParseLinkHeader([]string{value}) {
			got = append(got, fmt.Sprintf("%v %s %d", l.Kind, l.Ref, l.Rel))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s: %q, want %q", value, s, want)
		}
	}
	if got := ParseLinkHeader([]string{strings.Repeat("<a>,", 1<<16), "<b>"}); len(got) != maxHeaderLinks {
		t.Errorf("%d links", len(got))
	}
}

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		body, header string
		want         Type
	}{
		{"", "text/html", TypeUnknown},
		{"<p>x", "text/html; charset=x", TypeHTML},
		{"text without a tag", "text/html", TypeHTML},
		{"  <!DOCTYPE html><p>", "application/octet-stream", TypeHTML},
		{"<!-- x --><html>", "", TypeHTML},
		{"<HTML>", "", TypeHTML},
		{"<html>", "text/plain", TypeText},
		{"<abbr>", "", TypeText},
		{"%PDF-1.4", "text/html", TypePDF},
		{"\x89PNG\r\n\x1a\n", "text/html", TypeImage},
		{"\x00\x01\x02binary", "text/html", TypeBinary},
		{"\x00\x01\x02binary", "", TypeBinary},
		{"<p>stray \x00 byte", "text/html", TypeHTML},
		{"\xff\xfe<\x00p\x00", "text/html", TypeHTML},
		{"PK\x03\x04", "text/html", TypeBinary},
		{"\x1f\x8b\x08", "application/xml", TypeGzip},
		{`<?xml version="1.0"?><!-- x --><urlset xmlns="x">`, "text/xml", TypeSitemap},
		{`<urlset>`, "text/html", TypeSitemap},
		{`<?xml version="1.0"?><sit:sitemapindex>`, "text/plain", TypeSitemapIndex},
		{`<?xml version="1.0"?><rss version="2.0">`, "application/rss+xml", TypeFeed},
		{`<feed xmlns="http://www.w3.org/2005/Atom">`, "", TypeFeed},
		{`<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html>`, "application/xhtml+xml", TypeXHTML},
		{`<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html>`, "text/html", TypeHTML},
		{`<?xml version="1.0"?><html>`, "", TypeXHTML},
		{`<?xml version="1.0"?><x/>`, "", TypeXML},
		{`<svg/>`, "image/svg+xml", TypeXML},
		{"{}", "application/ld+json", TypeJSON}, {"p{}", "text/css", TypeCSS}, {"x()", "application/javascript", TypeScript},
		{"anything", "image/x-unknown", TypeImage},
		{"<!doctype html><title>404", "image/png", TypeHTML},
		{"plain", "", TypeText},
	} {
		if got := Sniff([]byte(c.body), c.header); got != c.want {
			t.Errorf("%q as %q: %v, want %v", c.body, c.header, got, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	var o Options
	if o.EnsureDefaults(); o != (Options{MaxLinks: 10000, MaxURL: 4096, MaxAnchor: 120, MaxTitle: 1024, MaxText: 1 << 20}) || o.Validate() != nil {
		t.Errorf("%+v, %v", o, o.Validate())
	}
	if err := (&Options{MaxURL: -1}).Validate(); err == nil {
		t.Error("a negative limit is accepted")
	}
}

func TestKindsHaveNames(t *testing.T) {
	var all []string
	for k := Anchor; k <= Feed; k++ {
		all = append(all, k.String())
	}
	for k := TypeUnknown; k <= TypeBinary; k++ {
		all = append(all, "type "+k.String())
	}
	slices.Sort(all)
	if n := len(all); len(slices.Compact(all)) != n || Kind(99).String() != "unknown" || Type(99).String() != "unknown" || Robots(0).String() != "all" {
		t.Errorf("%q", all)
	}
}
