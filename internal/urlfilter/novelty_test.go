package urlfilter

import (
	"fmt"
	"strings"
	"testing"
)

// page is what a Look is fed with: lines of text, and links; those that begin with + are parts of the page.
func look(t testing.TB, f *Filter, raw string, near bool, pieces ...string) bool {
	u := parse(t, raw)
	l := f.Look(u)
	for _, p := range pieces {
		if ref, part := strings.CutPrefix(p, "+"); strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, "http:") {
			to, err := u.Resolve(ref)
			if err != nil {
				t.Fatal(err)
			}
			l.Link(to, part)
		}
	}
	for _, p := range pieces {
		if !strings.HasPrefix(strings.TrimPrefix(p, "+"), "/") && !strings.HasPrefix(p, "http:") {
			l.Text(p)
		}
	}
	return l.Novel(near)
}

// What is news on the second of two pages, and what is not.
func TestNovelty(t *testing.T) {
	type page struct {
		url    string
		pieces []string
	}
	p := func(url string, pieces ...string) page { return page{"http://h.example" + url, pieces} }
	for _, c := range []struct {
		name        string
		first       page
		second      page
		novel, near bool // near: what it would be of a near-duplicate
	}{
		{"the same text", p("/a/1", "text"), p("/a/2", "text"), false, false},
		{"another text", p("/a/1", "text"), p("/a/2", "other"), true, true},
		{"another kind of page", p("/a/1", "text"), p("/b/2", "text"), true, true},
		{"the lines in another order", p("/a/1", "one", "two\nthree"), p("/a/2", "three\ntwo", "one"), false, false},
		{"fewer lines", p("/a/1", "one", "two", "three"), p("/a/2", "two"), false, false},
		{"white space", p("/a/1", "one"), p("/a/2", "  one \n\n"), false, false},
		{"its own number", p("/a/1", "page 1"), p("/a/2", "page 2"), false, false},
		{"its own number, with zeros", p("/a/01", "the 1st"), p("/a/02", "the 2nd"), true, true},
		{"its own date", p("/2024/01/15/", "15.1.2024"), p("/2024/02/16/", "16.2.2024"), false, false},
		{"its own identifier", p("/s/0a1b2c3d/", "session 0a1b2c3d"), p("/s/4e5f6a7b/", "session 4e5f6a7b"), false, false},
		{"its own query", p("/q?colour=red", "in red"), p("/q?colour=blue", "in blue"), false, false},
		{"another number", p("/a/1", "price 10"), p("/a/2", "price 11"), true, false},
		{"a clock", p("/a/1", "it is 12:01:17"), p("/a/2", "it is 12:02:18"), true, false},
		{"neighbours of its kind", p("/a/1", "/a/2", "on to 2"), p("/a/2", "/a/3", "on to 3"), false, false},
		{"numbers of nobody", p("/a/1", "on to 2"), p("/a/2", "on to 3"), true, false},
		{"another picture", p("/a/1", "+/i/1.jpg"), p("/a/2", "+/i/2.jpg"), true, true},
		{"the same picture", p("/a/1", "+/i/1.jpg"), p("/a/2", "+/i/1.jpg"), false, false},
		{"another file", p("/a/1", "/f/1.pdf"), p("/a/2", "/f/2.pdf"), true, true},
		{"another page of a known kind", p("/a/1", "/f/1.html"), p("/a/2", "/f/2.html"), false, false},
		{"a page of another kind", p("/a/1", "/f/one"), p("/a/2", "/f/two"), true, true},
		{"another host of the domain", page{"http://x7.h.example/", []string{"welcome to x7.h.example"}}, page{"http://q9.h.example/", []string{"welcome to q9.h.example"}}, false, false},
		{"another university", page{"http://arts.h.example/", []string{"all of arts"}}, page{"http://law.h.example/", []string{"all of law and order"}}, true, true},
	} {
		for _, near := range []bool{false, true} {
			f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
			f.traps.sample = 1
			if !look(t, f, c.first.url, near, c.first.pieces...) {
				t.Errorf("%s: the first page is barren", c.name)
			}
			want := c.novel && !near || c.near && near
			if got := look(t, f, c.second.url, near, c.second.pieces...); got != want {
				t.Errorf("%s: near %v, novel %v, want %v", c.name, near, got, want)
			}
			if look(t, f, c.second.url, near, c.second.pieces...) {
				t.Errorf("%s: novel again", c.name)
			}
		}
	}
}

func TestOnlyPagesOfAKindAreLookedAt(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
	for url, want := range map[string]bool{
		"http://h.example/": false, "http://www.h.example/about": false, "http://h.example/a/b.html": false,
		"http://h.example/1": true, "http://h.example/?q": true, "http://x.h.example/": true,
	} {
		if got := f.Look(parse(t, url)) != nil; got != want {
			t.Errorf("%s: looked at %v, want %v", url, got, want)
		}
	}
	var none *Look
	none.Text("text")
	none.Link(parse(t, "http://h.example/"), true)
	if !none.Novel(false) || none.Novel(true) {
		t.Error("a page that is not looked at is as novel as its body")
	}
	off := newFilter(t, Options{Seeds: seeds(t, "http://h.example/"), Traps: Traps{PatternVisits: -1, DomainHosts: -1}})
	if off.Look(parse(t, "http://h.example/1")) != nil {
		t.Error("looked at though nothing follows from it")
	}
}

// Of pages with a new line each so many are seen to be novel that no run of them is ever taken for barren.
func TestSampleOfNews(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
	novel, run, longest := 0, 0, 0
	const pages = 20_000
	for i := range pages {
		if run++; look(t, f, fmt.Sprintf("http://h.example/%d", i), false, "a frame", "the new line ", fmt.Sprintf("word%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676)) {
			novel, run = novel+1, 0
		}
		longest = max(longest, run)
	}
	if share := float64(novel) / pages; share < .2 || share > .3 || longest > 100 {
		t.Errorf("%.3f of the pages are novel, at most %d in a row are not; want a quarter", share, longest)
	}
}

// A page of more pieces than are looked at counts as novel.
func TestHugePagesAreNovel(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
	line := strings.Repeat("line\n", maxPieces+1)
	for range 2 {
		if !look(t, f, "http://h.example/1", false, line) {
			t.Error("barren")
		}
	}
}

// The budget of a domain: hosts that bring something count once, others ten times, seeds and apex not at all.
func TestHostsOfADomain(t *testing.T) {
	f := newFilter(t, Options{Scope: ScopeDomain, Seeds: seeds(t, "http://h.example/"), Traps: Traps{DomainHosts: 30}})
	check := func(host string, seed bool) bool {
		l := link(t, "http://"+host+"/")
		if seed {
			l.Depth = 0
		}
		v := f.Check(l)
		if v.Rule != "" && !strings.Contains(v.Rule, "hosts of one domain") {
			t.Errorf("%s: %+v", host, v)
		}
		return v.Rule == ""
	}
	for i := range 5 { // free
		if !check(fmt.Sprintf("seed%d.h.example", i), true) {
			t.Errorf("seed %d is refused", i)
		}
	}
	for i := range 20 {
		if !check(fmt.Sprintf("good%d.h.example", i), false) {
			t.Errorf("host %d is refused", i)
		}
		f.Observe(parse(t, fmt.Sprintf("http://good%d.h.example/", i)), true)
		f.Observe(parse(t, fmt.Sprintf("http://good%d.h.example/", i)), false)
	}
	check("barren.h.example", false)
	f.Observe(parse(t, "http://barren.h.example/"), false) // 30 are reached
	for host, want := range map[string]bool{"one-more.h.example": false, "good3.h.example": true, "seed2.h.example": true, "barren.h.example": true,
		"h.example": true, "www.h.example": true} {
		if check(host, false) != want {
			t.Errorf("%s: %v, want %v", host, !want, want)
		}
	}
	f.Observe(parse(t, "http://barren.h.example/2"), true)
	if !check("one-more.h.example", false) {
		t.Error("a host that was barren and is not any more takes the room of ten")
	}
}

// In the scope of hosts sub-domains are a matter of the scope.
func TestHostsOfADomainInANarrowScope(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://a.h.example/", "http://b.h.example/"), Traps: Traps{DomainHosts: 1}})
	for _, host := range []string{"a", "b"} {
		if v := f.Check(link(t, "http://"+host+".h.example/x")); v != (Verdict{}) {
			t.Errorf("%s: %+v", host, v)
		}
	}
}

func TestDomainsAreForgottenBeyondTheLimit(t *testing.T) {
	f := newFilter(t, Options{Scope: ScopeAny, Seeds: seeds(t, "http://h.example/"), Traps: Traps{DomainHosts: 1}})
	f.Check(link(t, "http://a.h.example/"))
	if v := f.Check(link(t, "http://b.h.example/")); v.Rule == "" {
		t.Error("a second host passed")
	}
	f.traps.hosts.Store(maxHosts - 1)
	f.Check(link(t, "http://a.other.example/"))
	if v := f.Check(link(t, "http://b.h.example/")); v.Rule != "" || f.traps.hosts.Load() != 1 {
		t.Errorf("%+v, %d hosts", v, f.traps.hosts.Load())
	}
}

// BenchmarkLook is a page of 60 links and 150 lines, of which ten are new.
func BenchmarkLook(b *testing.B) {
	f := newFilter(b, Options{Seeds: seeds(b, "http://h.example/")})
	links := make([]string, 60)
	for i := range links {
		links[i] = fmt.Sprintf("http://h.example/section%d/page-%d.html", i%7, i)
	}
	b.ReportAllocs()
	for n := range b.N {
		l := f.Look(parse(b, fmt.Sprintf("http://h.example/list/%d", n)))
		for _, u := range links {
			l.Link(parse(b, u), false)
		}
		for i := range 150 {
			if i < 10 {
				l.Text(fmt.Sprintf("the new line %d of page %d", i, n))
			} else {
				l.Text("a line of some seven or eight words that all have")
			}
		}
		l.Novel(false)
	}
}

// FuzzLook: whatever pages say, nothing panics, and what a page says again is no news.
func FuzzLook(f *testing.F) {
	f.Add("/a/12?b=c4", "/a/13", "text 12\nof 14")
	f.Add("/0a1b2c3d4e/", "//x.h.example/0a1b2c3d4e/", "0a1b2c3d4e \x00\xff 007")
	f.Add("/?%41=%zz", "http://h.example/f.PDF", "")
	f.Fuzz(func(t *testing.T, path, ref, text string) {
		base := parse(t, "http://h.example/")
		u, err := base.Resolve(path)
		if err != nil {
			return
		}
		filter := newFilter(t, Options{Scope: ScopeAny, Seeds: seeds(t, "http://h.example/")})
		filter.traps.sample = 1
		for i := range 2 {
			l := filter.Look(u)
			if l == nil {
				return
			}
			if to, err := u.Resolve(ref); err == nil {
				l.Link(to, i == 0)
				l.Link(to, true)
				l.Link(to, false)
			}
			l.Text(text)
			if novel := l.Novel(false); novel && i == 1 && l.pieces < maxPieces && l.added < maxAdded {
				t.Errorf("%s with a link to %s and the text %q is novel twice", u, ref, text)
			}
		}
	})
}
