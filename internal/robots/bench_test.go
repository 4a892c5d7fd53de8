package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// file230 is like the robots.txt of a large site: 230 rules, one in eight with wildcards.
func file230() []byte {
	var b strings.Builder
	b.WriteString("user-agent: *\n")
	sections := []string{"wiki", "w", "api", "search", "user", "special", "media", "talk"}
	for i := range 230 {
		switch {
		case i%8 == 0:
			fmt.Fprintf(&b, "disallow: /*?action%d=*&x=\n", i)
		case i%11 == 0:
			fmt.Fprintf(&b, "allow: /%s/page-%d/open$\n", sections[i%8], i)
		default:
			fmt.Fprintf(&b, "disallow: /%s/page-%d/\n", sections[i%8], i)
		}
	}
	return []byte(b.String())
}

func BenchmarkCheck(b *testing.B) {
	r := Parse(file230(), "decorum")
	for _, target := range []string{
		"/wiki/page-17/what-is-here.html", "/wiki/An_article_about_something", "/wiki/Caf%C3%A9?oldid=12345&diff=prev",
	} {
		b.Run(target[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Check(target)
			}
		})
	}
}

// BenchmarkCheckHostile doubles the length of the path: the time per byte must stay the same. The
// patterns make a backtracking matcher exponential.
func BenchmarkCheckHostile(b *testing.B) {
	r := Parse([]byte("user-agent: *\ndisallow: /"+strings.Repeat("*a", 2000)+"b\ndisallow: /"+strings.Repeat("*ab*", 2000)+"c$"), "decorum")
	for _, n := range []int{1 << 10, 1 << 11, 1 << 12} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			target := "/" + strings.Repeat("a", n)
			b.SetBytes(int64(n))
			for b.Loop() {
				r.Check(target)
			}
		})
	}
}

// BenchmarkCheckWorst is the most one file of full size can cost: as many wildcard rules as fit, none of
// which matches the longest URL.
func BenchmarkCheckWorst(b *testing.B) {
	var body strings.Builder
	body.WriteString("user-agent: *\n")
	for i := 0; body.Len() < MaxBytes-20; i++ {
		fmt.Fprintf(&body, "allow:*%x\n", i)
	}
	r := Parse([]byte(body.String()), "decorum")
	target := "/" + strings.Repeat("-", 4095)
	b.ReportAllocs()
	for b.Loop() {
		r.Check(target)
	}
}

func BenchmarkParse(b *testing.B) {
	body := file230()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(body, "decorum")
	}
}

func BenchmarkLookup(b *testing.B) {
	c := newCache(Options{})
	u := mustURL(b, "https://a.example/x")
	c.Response(u.Origin(), 200, file230(), noURL, 0, start)
	now := start.Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		c.Lookup(u, now)
	}
}
