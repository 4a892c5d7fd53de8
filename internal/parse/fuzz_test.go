package parse

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzHTML checks what holds for any input: the cost, the limits, valid strings, the same answer twice, no
// tag that x/net sees and we do not, no link of the tree lost.
func FuzzHTML(f *testing.F) {
	page, err := os.ReadFile(filepath.Join("testdata", "page.html"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page)
	for _, h := range hostile {
		f.Add(h.body(200))
	}
	used, fresh := NewParser(Options{Text: true, MaxLinks: 50}), Options{Text: true, MaxLinks: 50}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := used.HTML(body, "text/html; charset=utf-8", "decorum")
		if used.s.examined > maxCost*len(body)+100 {
			t.Errorf("%d bytes examined of %d", used.s.examined, len(body))
		}
		checkPage(t, got)
		if again := NewParser(fresh).HTML(body, "text/html; charset=utf-8", "decorum"); !samePage(got, again) {
			t.Errorf("a used parser finds %+v, a new one %+v", got, again)
		}
		if len(body) < 1<<12 { // the tree builder of x/net is quadratic
			checkDifferential(t, body)
			checkTree(t, body)
		}
	})
}

// samePage compares pages; no slice and an empty one are the same.
func samePage(a, b *Page) bool {
	x, y := *a, *b
	if len(x.Links) == 0 {
		x.Links = y.Links[:0:0]
	}
	if len(y.Links) == 0 {
		y.Links = x.Links
	}
	if len(x.Text) == 0 && len(y.Text) == 0 {
		x.Text, y.Text = nil, nil
	}
	return len(x.Links) == len(y.Links) && (len(x.Links) == 0 || reflect.DeepEqual(x.Links, y.Links)) && reflect.DeepEqual(x.Text, y.Text) &&
		x.Title == y.Title && x.Base == y.Base && x.Words == y.Words && x.LinksDropped == y.LinksDropped && x.Robots == y.Robots
}

func checkPage(t *testing.T, page *Page) {
	t.Helper()
	kept := []string{page.Title, page.Base, page.Canonical, page.Refresh, page.RobotsText, page.Lang}
	for _, l := range page.Links {
		kept = append(kept, l.Ref, l.Anchor)
	}
	for i, s := range page.Text {
		if kept = append(kept, s.Text); s.Text == "" {
			t.Errorf("span %d is empty", i)
		}
	}
	for _, s := range kept {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Errorf("%q is kept", s)
		}
	}
}

func FuzzCharset(f *testing.F) {
	f.Add([]byte("<meta charset=euc-jp>"), "text/html; charset=koi8-r")
	f.Add([]byte("<meta http-equiv=content-type content='text/html; charset=big5'>"), "")
	f.Add([]byte("\xff\xfe<\x00"), "")
	f.Add([]byte("<?xml encoding='gbk'?>\xc4\xe3\xba\xc3"), "text/html; charset=")
	for _, s := range samples {
		f.Add(encode(f, s.charsets[0], s.text), "")
	}
	p := NewParser(Options{Text: true})
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		name, source := Charset(body, contentType)
		if name == "" || source == "" || canonical(name) != name {
			t.Errorf("charset %q by %q", name, source)
		}
		checkPage(t, p.HTML(body, contentType, ""))
		Sniff(body, contentType)
	})
}

func FuzzSitemap(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0"?><urlset><url><loc>http://a/</loc><lastmod>2005-01-01</lastmod></url></urlset>`))
	f.Add([]byte(`<sitemapindex><sitemap>http://a/</sitemap><sitemap><loc>x<![CDATA[y]]>`))
	f.Add([]byte(`<rss><item><guid>http://a/</guid><pubDate>Thu, 05 Jan 17 13:34:52 +0100`))
	f.Add([]byte(`<feed><entry><link href=x rel=alternate /></entry></feed>`))
	f.Add([]byte("\xef\xbb\xbfhttp://a.example/\r\nhttps://b.example/"))
	f.Add([]byte(squeeze("http://a.example/")))
	p := NewParser(Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		got := p.Sitemap(body, "")
		if len(got.Entries) > MaxSitemapURLs || len(got.Entries) > 0 && !got.Type.IsSitemap() && got.Type != TypeText {
			t.Errorf("%v with %d URLs", got.Type, len(got.Entries))
		}
		for _, e := range got.Entries {
			if e.Loc == "" || len(e.Loc) > 3*maxLoc || !utf8.ValidString(e.Loc) || !bytes.Equal(trimSpace([]byte(e.Loc)), []byte(e.Loc)) {
				t.Errorf("%q is kept", e.Loc)
			}
		}
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add(`</a>; rel="next"; title="x, y", <b>`, "5; url='x'")
	f.Add("decorum: noindex, unavailable_after: 1 Jan 2030", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, l := range ParseLinkHeader([]string{a, b}) {
			if !utf8.ValidString(l.Ref) {
				t.Errorf("%q is kept", l.Ref)
			}
		}
		ParseRobotsHeader([]string{a, b}, "decorum")
		ParseRefresh(a)
	})
}
