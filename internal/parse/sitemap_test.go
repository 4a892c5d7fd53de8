package parse

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to accept)\n got:\n%s\nwant:\n%s", path, got, want)
	}
}

// sitemapURLs are the URLs of the sitemap vectors, checked by hand: all of them, or the number of them and
// the first where there are many.
var sitemapURLs = map[string]struct {
	kind Type
	n    int
	urls []string
}{
	"atom.xml":         {TypeFeed, 2, []string{"http://example.org/2003/12/13/atom03", "http://example.org/2003/12/13/atom03.html"}},
	"do-not-visit.txt": {TypeText, 1, []string{"http://www.example.com/do-not-visit-here"}},
	"extension/hebdenbridgetimes-articles-sitemap.xml": {TypeSitemap, 74, []string{"http://www.hebdenbridgetimes.co.uk/news/local/video-tour-de-yorkshire-in-calderdale-1-7242580"}},
	"extension/pagemaps-sitemap.xml":                   {TypeSitemap, 2, []string{"http://www.example.com/foo", "http://www.example.com/bar"}},
	"extension/shinpaideshou-news-sitemap.xml":         {TypeSitemap, 3, []string{"https://shinpaideshou.wordpress.com/2017/04/25/job-opening-reischauer-policy-research-fellow/"}},
	"extension/sitemap-images.xml":                     {TypeSitemap, 1, []string{"http://www.example.com/images/some_image_landing_page.html"}},
	"extension/sitemap-links.xml":                      {TypeSitemap, 3, []string{"http://www.example.com/english/", "http://www.example.com/deutsch/", "http://www.example.com/schweiz-deutsch/"}},
	"extension/sitemap-mobile.xml":                     {TypeSitemap, 3, []string{"http://www.example.com/mobile-friendly-1/", "http://www.example.com/mobile-friendly-2/", "http://www.example.com/no-mobile/"}},
	"extension/sitemap-news.xml":                       {TypeSitemap, 2, []string{"http://www.example.org/business/article55.html", "http://www.example.org/empty_news_name.html"}},
	"extension/sitemap-videos-tvshow.xml":              {TypeSitemap, 1, []string{"https://example.org/my-tv-show/23/13/"}},
	"extension/sitemap-videos.xml":                     {TypeSitemap, 3, []string{"http://www.example.com/videos/some_video_landing_page.html"}},
	"rss/feed.rss":                                     {TypeFeed, 4, []string{"https://www.example.com/blog/post/1", "https://www.example.com/guid.html", "https://www.example.com/foo?q=a&l=en", "https://www.example.com/foo?q=a&l=fr"}},
	"rss/xmlRss_pubDate.xml":                           {TypeFeed, 7, []string{"http://www.example.com/article_1", "http://www.example.com/article_2"}},
	"sitemap-with-bom.txt":                             {TypeText, 2, []string{"http://www.domain.com/page1.html", "http://www.domain.com/page2.html"}},
	"sitemap.badns.xml":                                {TypeSitemap, 2, []string{"http://www.example.com/1", "http://www.example.com/2"}},
	"sitemap.index.xml":                                {TypeSitemapIndex, 15, []string{"https://example.com/sitemap.jss?portalCode=10260&lang=en"}},
	"sitemap.ns.xml":                                   {TypeSitemap, 2, []string{"http://www.example.com/1", "http://www.example.com/2"}},
	"sitemap.txt":                                      {TypeText, 2, []string{"http://www.domain.com/page1.html", "http://www.domain.com/page2.html"}},
	"sitemap.txt.gz":                                   {TypeText, 5, []string{"http://www.example.com/", "http://www.example.com/catalog?item=12&desc=vacation_hawaii"}},
	"xmlSitemap.gz":                                    {TypeSitemap, 5, []string{"http://www.example.com/", "http://www.example.com/catalog?item=12&desc=vacation_hawaii"}},
}

func TestSitemapVectors(t *testing.T) {
	dir := vectors(t, "sitemap/files")
	p, files := NewParser(Options{}), 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		body, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		want := sitemapURLs[filepath.ToSlash(name)]
		got := p.Sitemap(body, "")
		if got.Type != want.kind || len(got.Entries) != want.n || got.Truncated != "" {
			t.Errorf("%s: %v with %d URLs (%q), want %v with %d", name, got.Type, len(got.Entries), got.Truncated, want.kind, want.n)
		}
		for i, u := range want.urls {
			if i < len(got.Entries) && got.Entries[i].Loc != u {
				t.Errorf("%s: URL %d is %s, want %s", name, i, got.Entries[i].Loc, u)
			}
		}
		for _, e := range got.Entries {
			if e.IsIndex != (want.kind == TypeSitemapIndex) || !isHTTP([]byte(e.Loc)) {
				t.Errorf("%s: %+v", name, e)
			}
		}
		return err
	})
	if err != nil || files != len(sitemapURLs) {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestSitemapFields(t *testing.T) {
	got := NewParser(Options{}).Sitemap([]byte(`<?xml version="1.0"?><urlset xmlns="x">
		<url><priority>0.8</priority><lastmod>2005-01-01</lastmod><changefreq>Monthly</changefreq><loc> http://a.example/1?a=1&amp;b=2 </loc></url>
		<url><loc><![CDATA[http://a.example/2?a=1&b=2]]></loc><lastmod>yesterday</lastmod><priority>7</priority></url>
		<url><image:loc>http://a.example/i.png</image:loc><loc>http://a.example/3</loc></url>
	</urlset>`), "text/xml")
	text, _ := json.MarshalIndent(got, "", "\t")
	golden(t, "sitemap.json", string(text)+"\n")
	links := got.Links()
	if l := links[0]; l.Kind != SitemapEntry || l.Ref != "http://a.example/1?a=1&b=2" || l.Priority != 0.8 || l.LastModified.Year() != 2005 {
		t.Errorf("%+v", l)
	}
}

func TestSitemapSalvage(t *testing.T) {
	many := "<urlset>" + strings.Repeat("<url><loc>http://a.example/</loc></url>", MaxSitemapURLs+1) + "</urlset>"
	zipped := squeeze(many[:4000])
	for _, c := range []struct {
		name, body, header string
		kind               Type
		n                  int
		truncated          string
	}{
		{"cut off", "<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.ex", "", TypeSitemap, 1, "ends before its root element does"},
		{"no end tags", "<urlset><url><loc>http://a.example/1<url><loc>http://a.example/2</urlset>", "", TypeSitemap, 2, ""},
		{"wrong end tags", "<urlset><url><loc>http://a.example/1</lok></url></url><url><loc>http://a.example/2</loc></urlset>", "", TypeSitemap, 2, ""},
		{"bare ampersand", "<urlset><url><loc>http://a.example/?a&b=1</loc></url></urlset>", "", TypeSitemap, 1, ""},
		{"too many", many, "", TypeSitemap, MaxSitemapURLs, "more than 50000 URLs"},
		{"twice compressed", squeeze(zipped), "", TypeSitemap, 102, "ends before its root element does"},
		{"broken gzip", zipped[:len(zipped)-8], "", TypeSitemap, 102, "broken gzip"},
		{"gzip of nothing", "\x1f\x8b", "", TypeUnknown, 0, "broken gzip"},
		{"a page instead", "<!doctype html><html><a href=http://a.example/>", "text/xml", TypeXML, 0, ""},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="x"><channel><link>http://a.example/</link></channel><item><link>http://a.example/1</link></item></rdf:RDF>`, "", TypeFeed, 1, ""},
		{"UTF-16", "\xff\xfe" + string(encode(t, "utf-16le", "<urlset><url><loc>http://a.example/é</loc></url></urlset>")), "", TypeSitemap, 1, ""},
		{"words", "This is not\na sitemap http://a.example/ at all\r\nhttp://a.example/1 \r\n\r\n", "text/plain", TypeText, 1, ""},
		{"empty", "", "", TypeUnknown, 0, ""},
	} {
		got := NewParser(Options{}).Sitemap([]byte(c.body), c.header)
		if got.Type != c.kind || len(got.Entries) != c.n || got.Truncated != c.truncated {
			t.Errorf("%s: %v with %d URLs, %q; want %v, %d, %q", c.name, got.Type, len(got.Entries), got.Truncated, c.kind, c.n, c.truncated)
		}
	}
}

// TestSitemapBomb decodes at most MaxSitemapBytes.
func TestSitemapBomb(t *testing.T) {
	body := squeeze("http://a.example/\n" + strings.Repeat(strings.Repeat("x", 1023)+"\n", MaxSitemapBytes>>10))
	got := NewParser(Options{}).Sitemap([]byte(body), "")
	if len(got.Entries) != 1 || got.Truncated != "larger than 50 MiB" {
		t.Errorf("%d URLs, %q", len(got.Entries), got.Truncated)
	}
}

func squeeze(s string) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	fmt.Fprint(w, s)
	w.Close()
	return b.String()
}

func TestDates(t *testing.T) {
	want := time.Date(2017, 1, 5, 12, 34, 51, 0, time.UTC)
	for _, s := range []string{"2017-01-05T12:34:51Z", "2017-01-05T13:34:51+01:00", "2017-01-05T12:34:51", "Thu, 05 Jan 2017 13:34:51 +0100",
		"5 Jan 17 13:34:51 +0100", "Thursday, 05 Jan 2017 12:34:51 GMT", "05 Jan 17 12:34:51", "2017-01-05T12:34:51.000Z", " 2017-01-05 12:34:51 "} {
		if got := parseDate(s); !got.Equal(want) {
			t.Errorf("%q is %v", s, got)
		}
	}
	for s, want := range map[string]string{"2017": "2017-01-01", "2017-03": "2017-03-01", "2017-03-05": "2017-03-05", "": "0001-01-01", "soon": "0001-01-01",
		"0000-00-00": "0001-01-01", strings.Repeat("2", 100): "0001-01-01"} {
		if got := parseDate(s).Format(time.DateOnly); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
}
