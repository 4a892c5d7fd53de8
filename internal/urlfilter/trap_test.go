package urlfilter

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// visit is a crawl of one URL: checked and, when it passes, observed.
func visit(t testing.TB, f *Filter, raw string, novel bool) outcome.Outcome {
	l := link(t, raw)
	v := f.Check(l)
	if v.Outcome == outcome.None {
		f.Observe(l.URL, novel)
	}
	return v.Outcome
}

// What honest sites have: not one link may be lost.
func TestHonestSitesLoseNothing(t *testing.T) {
	sites := map[string]func(yield func(string, bool)){
		"a deep documentation tree": func(yield func(string, bool)) {
			yield("/javase/8/docs/api/org/omg/CORBA/DynAnyPackage/class-use/InvalidValue.html", true)
			yield("/src/main/java/com/example/example/core/src/main/resources/com/example/core/a.xml", true)
			for depth := range 25 {
				path := ""
				for i := range depth {
					path += fmt.Sprintf("/part%c", 'a'+i)
				}
				yield(path+"/index.html", true)
			}
		},
		"an archive by day": func(yield func(string, bool)) {
			for i := range 365 * 8 {
				yield(fmt.Sprintf("/%d/%02d/%02d/", 2016+i/365, i/31%12+1, i%31+1), true)
			}
			yield("/01/01/01/01/01/01/", true)
		},
		"a paged list of 5,000 pages": func(yield func(string, bool)) {
			for i := range 5000 {
				yield(fmt.Sprintf("/list?page=%d", i), true)
			}
		},
		"a forum": func(yield func(string, bool)) {
			for i := range 3000 {
				yield(fmt.Sprintf("/viewtopic.php?f=%d&t=%d", i%20, i), true)
				yield(fmt.Sprintf("/viewtopic.php?t=%d&f=%d", i, i%20), false) // the same in another order
				yield(fmt.Sprintf("/memberlist.php?mode=viewprofile&u=%d", i), i%100 == 0)
			}
		},
		"a shop with a stretch of sold out products": func(yield func(string, bool)) {
			for i := range 3000 {
				yield(fmt.Sprintf("/product/%d", i), i < 1500 || i > 2500)
			}
		},
		"a mirror seen before, of pages with names": func(yield func(string, bool)) {
			for i := range 3000 {
				yield("/wiki/"+strings.Repeat(string(rune('a'+i%26)), i/26+1)[:min(i/26+1, 200)], false)
			}
		},
		"sorted tables": func(yield func(string, bool)) {
			for i := range 500 {
				yield(fmt.Sprintf("/t?page=%d&sort=a&dir=up", i), true)
				yield(fmt.Sprintf("/t?sort=a&page=%d&dir=up", i), false)
				yield(fmt.Sprintf("/t?dir=up&sort=a&page=%d", i), true)
			}
		},
	}
	for name, site := range sites {
		f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
		lost := 0
		site(func(path string, novel bool) {
			if o := visit(t, f, "http://h.example"+path, novel); o != outcome.None {
				if lost++; lost == 1 {
					t.Errorf("%s loses %s: %v", name, path, o)
				}
			}
		})
	}
}

// Each trap ends, within the number of visits that its option allows, and says why.
func TestTrapsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		url   func(i int) string
		novel bool
		most  int // visits
		want  outcome.Outcome
	}{
		{"broken relative links", func(i int) string { return strings.Repeat("/a/b", i) }, true, 5, outcome.TrapRepeat},
		{"ever more slashes", func(i int) string { return strings.Repeat("/", i+1) + "x" }, true, 10, outcome.TrapRepeat},
		{"a catch-all that repeats", func(i int) string { return "/shop" + strings.Repeat("/news/about", i) }, true, 5, outcome.TrapRepeat},
		{"ever deeper paths", func(i int) string {
			path := ""
			for n := range i {
				path += fmt.Sprintf("/d%d", n)
			}
			return path + "/"
		}, true, 30, outcome.TrapDepth},
		{"a calendar by query", func(i int) string { return fmt.Sprintf("/cal?month=%d&year=%d", i%12, 2024+i/12) }, false, 200, outcome.TrapPattern},
		{"a calendar by path", func(i int) string { return fmt.Sprintf("/events/%d-%02d/", 2024+i/12, i%12) }, false, 200, outcome.TrapPattern},
		{"session ids in the path", func(i int) string { return fmt.Sprintf("/s/%016x/home", uint64(i+1)*0x9e3779b97f4a7c15) }, false, 210, outcome.TrapPattern},
		{"ever more parameters", func(i int) string { return "/q?a=1" + strings.Repeat("&b=2", i) }, true, 30, outcome.TrapQuery},
		{"session ids in base 36", func(i int) string {
			return "/s/" + strconv.FormatUint(uint64(i+1)*0x9e3779b97f4a7c15, 36) + strconv.FormatUint(uint64(i+1)*0xbf58476d1ce4e5b9, 36) + "/home"
		}, false, 210, outcome.TrapPattern},
		{"combinations of filters", func(i int) string { // in words, so that each is a pattern of its own
			word := func(n int) string { return []string{"red", "green", "blue", "grey"}[n%4] }
			return fmt.Sprintf("/shop?colour=%s&lid=%s&base=%s&knob=%s&foot=%s&rim=%s", word(i), word(i/4), word(i/16), word(i/64), word(i/256), word(i/1024))
		}, false, 1000, outcome.TrapPattern},
		{"UUIDs", func(i int) string { return fmt.Sprintf("/u/%08x-41d4-e29b-a716-9a%010d/", i*7919, i) }, false, 450, outcome.TrapPattern},
	} {
		f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
		passed, first := 0, outcome.None
		for i := range 1100 {
			url := "http://h.example" + c.url(i)
			if len(url) > weburl.MaxLength {
				break
			}
			if o := visit(t, f, url, c.novel); o == outcome.None {
				passed++
			} else if first == outcome.None {
				first = o
			}
		}
		if passed > c.most || first != c.want {
			t.Errorf("%s: %d visits, first dropped as %v; want at most %d and %v", c.name, passed, first, c.most, c.want)
		}
	}
}

func TestQueryPermutations(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/")})
	check := func(query string, want outcome.Outcome) {
		t.Helper()
		if v := f.Check(link(t, "http://h.example/shop?"+query)); v.Outcome != want {
			t.Errorf("%s: %+v, want %v", query, v, want)
		}
	}
	check("a=1&b=2&c=3", outcome.None)
	check("b=2&a=1&c=3", outcome.None)
	check("c=3&b=2&a=1", outcome.None)
	check("a=1&c=3&b=2", outcome.TrapQuery)
	check("b=2&c=3&a=1", outcome.TrapQuery)
	check("a=1&b=2&c=3", outcome.None) // one that passed still passes
	check("a=1&b=2&c=4", outcome.None) // another set
	check("a=1&a=1&b=2&c=3", outcome.None)
	if v := f.Check(link(t, "http://h.example/other?a=1&c=3&b=2")); v.Outcome != outcome.None {
		t.Errorf("another path: %+v", v)
	}
}

func TestNovelContentFreesAPattern(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/"), Traps: Traps{PatternVisits: 10}})
	for i := range 10 {
		visit(t, f, fmt.Sprintf("http://h.example/c/%d", i), false)
	}
	v := f.Check(link(t, "http://h.example/c/11"))
	if v.Outcome != outcome.TrapPattern || !strings.Contains(v.Rule, "10 visits") || !strings.HasSuffix(v.Rule, "h.example/c/N") {
		t.Errorf("after ten barren visits: %+v", v)
	}
	if v := f.Check(link(t, "http://h.example/d/11")); v != (Verdict{}) {
		t.Errorf("another pattern: %+v", v)
	}
	f.Observe(parse(t, "http://h.example/c/12"), true) // was queued before the stop
	if v := f.Check(link(t, "http://h.example/c/11")); v != (Verdict{}) {
		t.Errorf("after new content: %+v", v)
	}
}

func TestTrapsCanBeTurnedOff(t *testing.T) {
	trapped := []string{strings.Repeat("/a", 40), "/" + strings.Repeat("x/y/", 6), "/q?d=4&c=3&b=2&a=1", "/c/99"}
	spring := func(f *Filter) {
		for _, q := range []string{"a=1&b=2&c=3&d=4", "b=2&a=1&c=3&d=4", "c=3&b=2&a=1&d=4"} {
			f.Check(link(t, "http://h.example/q?"+q))
		}
		for i := range 300 {
			f.Observe(parse(t, fmt.Sprintf("http://h.example/c/%d", i)), false)
		}
	}
	for name, c := range map[string]struct {
		opts Options
		pass bool
	}{
		"default":            {Options{}, false},
		"off":                {Options{Traps: Traps{-1, -1, -1, -1, -1, -1}}, true},
		"no-trap:":           {Options{Include: []string{"no-trap:h.example"}}, true},
		"no-trap: elsewhere": {Options{Include: []string{"no-trap:other.example"}}, false},
	} {
		c.opts.Seeds = seeds(t, "http://h.example/")
		f := newFilter(t, c.opts)
		spring(f)
		for _, path := range trapped {
			if v := f.Check(link(t, "http://h.example"+path)); (v.Outcome == outcome.None) != c.pass {
				t.Errorf("%s: %s is %+v", name, path, v)
			}
		}
	}
}

func TestAppendPattern(t *testing.T) {
	for raw, want := range map[string]string{
		"http://h2.example/a/b":                  "",
		"http://h.example/2024/01/15/slug-7":     "h.example/N/N/N/slug-N",
		"http://h.example/c?m=5&y=2031&view=day": "h.example/c?m=N&y=N&view=day",
		"http://h.example/0a1b2c3d/x":            "h.example/H/x",
		"http://h.example/deadbeef":              "",
		"http://h.example/%20%C3%BC":             "",
		"http://h.example/2024w05":               "h.example/NwN",
		"http://h.example/100%":                  "h.example/N%",
	} {
		b, varies := appendPattern(nil, parse(t, raw))
		if got := string(b); varies != (want != "") || varies && got != want {
			t.Errorf("pattern of %s = %q, %v; want %q", raw, got, varies, want)
		}
	}
}

// Whatever hosts throw at it, the memory of the traps has a bound.
func TestTrapMemoryIsBounded(t *testing.T) {
	c := newCache[int](160)
	size := func() (n int) {
		for i := range c.shards {
			n += len(c.shards[i].young) + len(c.shards[i].old)
		}
		return n
	}
	for i := range uint64(10000) {
		c.update(i<<32, func(v int) int { return v + 1 })
		c.update(7<<32, func(v int) int { return v + 1 }) // in use, so kept
	}
	if n := size(); n > 160 {
		t.Errorf("the cache holds %d entries, want at most 160", n)
	}
	c.update(7<<32, func(v int) int {
		if v != 10001 {
			t.Errorf("the entry in use has counted %d, want 10001", v)
		}
		return v
	})

	f := newFilter(t, Options{Scope: ScopeAny, Traps: Traps{PatternVisits: 1}})
	for i := range 300 {
		f.Observe(parse(t, fmt.Sprintf("http://h%c%c.example/1", 'a'+i%26, 'a'+i/26)), false)
	}
	if n := len(*f.traps.stopped.Load()); n != 300 || n > maxStopped {
		t.Errorf("%d patterns are stopped, want 300", n)
	}
}
