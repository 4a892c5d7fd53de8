package weburl

import "testing"

// links are what a page of an encyclopaedia, a shop and a blog hold.
var links = []string{
	"https://en.wikipedia.org/wiki/Main_Page", "/wiki/Wikipedia:General_disclaimer", "/wiki/Special:Random",
	"//upload.wikimedia.org/wikipedia/commons/thumb/a/a9/Example.jpg/220px-Example.jpg", "#cite_note-12",
	"../images/logo.png", "product.php?id=1234&color=red", "?page=2&sort=price", "https://shop.example.com:8443/cart?add=17",
	"/2024/01/15/a-post-with-a-long-title-for-search-engines/", "https://www.example.org/docs/v2/reference/api.html#method",
	"./list.php", "https://static.example.net/css/site.css?v=20240115", "/tag/go%20language", "http://127.0.0.1:8080/index.html",
	"https://user.github.io/project/", "archive/2023-11.html", "/w/index.php?title=Main_Page&action=history",
}

func parsed(t testing.TB) []URL {
	base, err := Parse("https://en.wikipedia.org/wiki/Crawler/page.html")
	if err != nil {
		t.Fatal(err)
	}
	var urls []URL
	for _, l := range links {
		u, err := base.Resolve(l)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	return urls
}

func BenchmarkResolve(b *testing.B) {
	base := parsed(b)[0]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := base.Resolve(links[i%len(links)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResolveAndFingerprint is everything the crawler does to a link before the seen-set.
func BenchmarkResolveAndFingerprint(b *testing.B) {
	base, h := parsed(b)[0], NewHasher([16]byte{1}, KeyRules{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u, _ := base.Resolve(links[i%len(links)])
		h.Fingerprint(u)
	}
}

func BenchmarkResolveEncoded(b *testing.B) {
	base := parsed(b)[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := base.Resolve("/wiki/Zürich (disambiguation)?q=a b"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolveUnicodeHost(b *testing.B) {
	base := parsed(b)[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := base.Resolve("https://bücher.example/a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	urls, h := parsed(b), NewHasher([16]byte{1}, KeyRules{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Fingerprint(urls[i%len(urls)])
	}
}

func BenchmarkKey(b *testing.B) {
	urls := parsed(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		urls[i%len(urls)].Key(KeyRules{})
	}
}

func BenchmarkReparse(b *testing.B) {
	urls := parsed(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := Reparse(urls[i%len(urls)].String()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDomain(b *testing.B) {
	urls := parsed(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		urls[i%len(urls)].Domain()
	}
}
