package parse

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// benchPage is a page of 37 KB with 40 links: head, scripts and styles, navigation, paragraphs.
func benchPage() []byte {
	const words = "the quick brown fox jumps over a lazy dog while many readers wait for their train and think of tea "
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A page of ordinary size &amp; shape</title>\n")
	b.WriteString("<style>\n" + strings.Repeat(".box > p { margin: 0 auto; color: #333; padding: 1em }\n", 60) + "</style>\n")
	b.WriteString("<script>\n" + strings.Repeat("if (a < b && c > d) { run('<p>' + x + '</p>'); }\n", 80) + "</script>\n</head>\n<body class=\"home page\">\n")
	for i := range 40 {
		fmt.Fprintf(&b, "<div class=\"box item-%d\" id=\"i%d\">\n  <h3 class=\"title\">Section %d</h3>\n  <p class=\"lead\">", i, i, i)
		b.WriteString(strings.Repeat(words, 4) + words[:len(words)/2])
		fmt.Fprintf(&b, "<b>strong words</b> and <a class=\"more\" href=\"/section/%d/page?id=%d&amp;view=full\" title=\"More\">read more of it</a></p>\n", i, i*7)
		b.WriteString("  <ul class=\"tags\"><li>one</li><li>two</li><li><span>three</span></li></ul>\n</div>\n")
	}
	b.WriteString("</body>\n</html>\n")
	return []byte(b.String())
}

func BenchmarkLinks(b *testing.B) { benchmarkHTML(b, Options{}) }

func BenchmarkLinksAndText(b *testing.B) { benchmarkHTML(b, Options{Text: true}) }

func benchmarkHTML(b *testing.B, o Options) {
	page, p := benchPage(), NewParser(o)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if got := p.HTML(page, "text/html; charset=utf-8", "decorum"); len(got.Links) != 40 {
			b.Fatalf("%d links", len(got.Links))
		}
	}
}

// BenchmarkTokenizer is the yardstick: the tokenizer of x/net with a look at each href.
func BenchmarkTokenizer(b *testing.B) {
	page := benchPage()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		z := html.NewTokenizer(bytes.NewReader(page))
		links := 0
		for z.Next() != html.ErrorToken {
			name, more := z.TagName()
			for isA := string(name) == "a"; more; {
				var key []byte
				key, _, more = z.TagAttr()
				if isA && string(key) == "href" {
					links++
				}
			}
		}
		if z.Err() != io.EOF || links < 40 {
			b.Fatal(z.Err(), links)
		}
	}
}

// BenchmarkLegacy is the page in windows-1251, undeclared: decoding and detection included.
func BenchmarkLegacy(b *testing.B) {
	page := bytes.ReplaceAll(benchPage(), []byte(` charset="utf-8"`), nil)
	page = bytes.ReplaceAll(page, []byte("quick brown fox"), []byte("\xe1\xfb\xf1\xf2\xf0\xe0\xff \xeb\xe8\xf1\xe0"))
	p := NewParser(Options{})
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		p.HTML(page, "text/html", "")
	}
}

// BenchmarkSitemap reads 10,000 entries.
func BenchmarkSitemap(b *testing.B) {
	body := []byte("<urlset>" + strings.Repeat("<url><loc>http://a.example/some/page?id=1&amp;x=2</loc><lastmod>2020-01-01</lastmod></url>\n", 10000) + "</urlset>")
	p := NewParser(Options{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if n := len(p.Sitemap(body, "").Entries); n != 10000 {
			b.Fatal(n)
		}
	}
}
