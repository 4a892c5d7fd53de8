package urlfilter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

func newFilter(t testing.TB, opts Options) *Filter {
	t.Helper()
	f, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func seeds(t testing.TB, raw ...string) (urls []weburl.URL) {
	for _, r := range raw {
		urls = append(urls, parse(t, r))
	}
	return urls
}

// link is an ordinary link, one step from a seed.
func link(t testing.TB, raw string) Link { return Link{URL: parse(t, raw), Depth: 1} }

func TestScope(t *testing.T) {
	for _, c := range []struct {
		scope   Scope
		seed    string
		in, out string
	}{
		{ScopeHost, "http://example.org/a/b", "http://example.org/ https://www.example.org/x http://example.org:81/", "http://a.example.org/ http://example.com/ http://www.www.example.org/"},
		{ScopeHost, "http://www.example.org/", "http://example.org/", "http://www2.example.org/"},
		{ScopeHost, "http://www.org/", "http://www.org/", "http://org/"},
		{ScopeHost, "http://127.0.0.1:8080/", "http://127.0.0.1/", "http://127.0.0.2/"},
		{ScopePrefix, "https://example.org/docs/intro.html?x=/y/", "http://example.org/docs/ https://www.example.org/docs/a/b?c", "http://example.org/doc http://example.org/docs http://example.org/ http://other.org/docs/"},
		{ScopePrefix, "http://example.org/docs", "http://example.org/anything", "http://other.org/"},
		{ScopeDomain, "http://www.example.co.uk/", "http://example.co.uk/ https://a.b.example.co.uk/", "http://other.co.uk/ http://co.uk/"},
		{ScopeDomain, "http://me.github.io/", "http://a.me.github.io/", "http://you.github.io/ http://github.io/"},
		{ScopeDomain, "http://github.io/", "http://github.io/x", "http://me.github.io/"},
		{ScopePage, "http://example.org/a?b", "https://www.example.org/a?b", "http://example.org/a http://example.org/"},
		{ScopeAny, "http://example.org/", "http://anything.example/", ""},
	} {
		f := newFilter(t, Options{Scope: c.scope, Seeds: seeds(t, c.seed)})
		for _, raw := range strings.Fields(c.in) {
			if v := f.Check(link(t, raw)); v != (Verdict{}) {
				t.Errorf("%v of %s: %s is %+v, want within", c.scope, c.seed, raw, v)
			}
		}
		for _, raw := range strings.Fields(c.out) {
			if v := f.Check(link(t, raw)); v.Outcome != outcome.OutOfScope || v.Rule != "--scope "+c.scope.String() {
				t.Errorf("%v of %s: %s is %+v, want outside", c.scope, c.seed, raw, v)
			}
		}
		if back, err := ParseScope(c.scope.String()); err != nil || back != c.scope {
			t.Errorf("ParseScope(%q) = %v, %v", c.scope, back, err)
		}
	}
	if _, err := ParseScope("planet"); err == nil {
		t.Error("ParseScope accepts planet")
	}
}

func TestScopePageTakesWhatShowsThePage(t *testing.T) {
	f := newFilter(t, Options{Scope: ScopePage, Seeds: seeds(t, "http://example.org/a"), MaxHops: 1})
	image := Link{URL: parse(t, "http://cdn.example/i.png"), Depth: 1, Embed: true}
	if v := f.Check(image); v != (Verdict{}) {
		t.Errorf("image of the page: %+v", v)
	}
	if v := f.Check(Link{URL: parse(t, "http://other.example/"), Redirect: true}); v != (Verdict{}) {
		t.Errorf("redirect of the page: %+v", v)
	}
	image.Hops = 1
	if v := f.Check(image); v.Outcome != outcome.OutOfScope {
		t.Errorf("image of a page outside: %+v", v)
	}
}

func TestSeedsPassScopeAndInclude(t *testing.T) {
	f := newFilter(t, Options{Include: []string{"*/docs/*"}, Exclude: []string{"/no"}})
	u := parse(t, "http://late.example/")
	if v := f.Check(Link{URL: u}); v != (Verdict{}) {
		t.Errorf("a seed: %+v", v)
	}
	for _, l := range []Link{{URL: u, Redirect: true}, {URL: u, Sitemap: true}} {
		if v := f.Check(l); v.Outcome != outcome.OutOfScope {
			t.Errorf("%+v: %+v, want out of scope", l, v)
		}
	}
	if v := f.Check(Link{URL: parse(t, "http://late.example/no")}); v.Outcome != outcome.Excluded {
		t.Errorf("an excluded seed: %+v", v)
	}
}

func TestAddSeeds(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h0.example/")})
	const n = 1000
	for i := range n {
		if v := f.Check(link(t, fmt.Sprintf("http://h%d.example/x", i+1))); v.Outcome != outcome.OutOfScope {
			t.Fatalf("host %d before its seed: %+v", i+1, v)
		}
		f.AddSeeds(seeds(t, fmt.Sprintf("http://h%d.example/", i+1), "http://h0.example/again"))
	}
	for i := range n + 1 {
		if v := f.Check(link(t, fmt.Sprintf("http://h%d.example/x", i))); v != (Verdict{}) {
			t.Fatalf("host %d after its seed: %+v", i, v)
		}
	}
	if got := len(*f.scope.generations.Load()); got > 11 {
		t.Errorf("%d seeds are in %d generations, want at most log n", n, got)
	}
}

func TestHops(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://in.example/"), MaxHops: 2, Exclude: []string{"*/no"}})
	for _, c := range []struct {
		raw  string
		hops int
		want Verdict
	}{
		{"http://in.example/", 0, Verdict{}},
		{"http://in.example/", 2, Verdict{}}, // back inside
		{"http://out.example/", 0, Verdict{Hop: true}},
		{"http://out.example/", 1, Verdict{Hop: true}},
		{"http://out.example/", 2, Verdict{Outcome: outcome.OutOfScope, Rule: "--scope host"}},
		{"http://out.example/no", 0, Verdict{Outcome: outcome.Excluded, Rule: "--exclude */no"}},
	} {
		if got := f.Check(Link{URL: parse(t, c.raw), Depth: 3, Hops: c.hops}); got != c.want {
			t.Errorf("%s after %d hops: %+v, want %+v", c.raw, c.hops, got, c.want)
		}
	}
}

func TestRulesInOrder(t *testing.T) {
	f := newFilter(t, Options{
		Scope:      ScopeAny,
		Include:    []string{"/docs/*", "re:keep"},
		Exclude:    []string{"/docs/private/*", "ads.example"},
		TLDInclude: []string{"example", ".ORG"},
		TLDExclude: []string{"com", "co.uk"},
		Extensions: []string{"iso", ".tar.gz"},
		MaxDepth:   5,
	})
	for raw, want := range map[string]Verdict{
		"http://h.example/docs/a":           {},
		"http://h.org/x?keep":               {},
		"http://h.example/x":                {Outcome: outcome.Excluded, Rule: "--include: no pattern matches"},
		"http://h.example/docs/private/a":   {Outcome: outcome.Excluded, Rule: "--exclude /docs/private/*"},
		"http://ads.example/docs/":          {Outcome: outcome.Excluded, Rule: "--exclude ads.example"},
		"http://h.com/docs/a":               {Outcome: outcome.Excluded, Rule: "tld-exclude com"},
		"http://h.co.uk/docs/a":             {Outcome: outcome.Excluded, Rule: "tld-exclude co.uk"},
		"http://h.net/docs/a":               {Outcome: outcome.Excluded, Rule: "tld-include: no domain matches"},
		"http://h.example/docs/a.ISO?x":     {Outcome: outcome.Extension, Rule: "extension iso"},
		"http://h.example/docs/a.tar.gz":    {Outcome: outcome.Extension, Rule: "extension tar.gz"},
		"http://h.example/docs/a.iso;v=1":   {Outcome: outcome.Extension, Rule: "extension iso"},
		"http://h.example/docs/a.iso/x":     {},
		"http://h.example/docs/iso":         {},
		"http://h.example/docs/deep?depth6": {Outcome: outcome.TooDeep, Rule: "--depth 5"},
	} {
		l := link(t, raw)
		if strings.HasSuffix(raw, "depth6") {
			l.Depth = 6
		}
		if got := f.Check(l); got != want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}

func TestCountsAddUpToTheLinksDropped(t *testing.T) {
	f := newFilter(t, Options{Seeds: seeds(t, "http://h.example/"), MaxDepth: 3, Exclude: []string{"/a*"}})
	dropped := uint64(0)
	for i := range 300 {
		u := parse(t, []string{"http://h.example/", "http://h.example/abc", "http://x.example/", "http://h.example/b/b/b/b/b/b/b"}[i%4])
		if f.Check(Link{URL: u, Depth: 1 + i%5}).Outcome != outcome.None {
			dropped++
		}
		if i == 150 {
			if err := f.AddExclude("/b*"); err != nil {
				t.Fatal(err)
			}
		}
	}
	sum := uint64(0)
	for _, c := range f.Counts() {
		sum += c.Links
		if c.Links == 0 || c.Rule == "" || c.Outcome == outcome.None {
			t.Errorf("count %+v", c)
		}
	}
	if sum != dropped || dropped == 0 || len(f.Counts()) != 5 {
		t.Errorf("counts %+v add up to %d, want %d in 5 rules", f.Counts(), sum, dropped)
	}
}

func TestAddExcludeAndItsPreview(t *testing.T) {
	f := newFilter(t, Options{Scope: ScopeAny})
	l := link(t, "http://h.example/calendar/2031")
	would, err := f.WouldExclude("/calendar/*")
	if err != nil || !would(l.URL) || would(parse(t, "http://h.example/")) {
		t.Errorf("preview is wrong: %v", err)
	}
	if v := f.Check(l); v != (Verdict{}) {
		t.Errorf("a preview excludes: %+v", v)
	}
	if err := f.AddExclude("/calendar/*"); err != nil {
		t.Fatal(err)
	}
	if v := f.Check(l); v.Outcome != outcome.Excluded || v.Rule != "--exclude /calendar/*" {
		t.Errorf("after AddExclude: %+v", v)
	}
}

func TestFileIsReadAgainWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "hosts.txt")
		write(t, path, "# hosts\n\n  ads.example  \nre:spam\n")
		f := newFilter(t, Options{Scope: ScopeAny, Exclude: []string{"@" + path}})
		check := func(raw, want string) {
			t.Helper()
			if v := f.Check(link(t, raw)); v.Rule != want {
				t.Errorf("%s: %+v, want rule %q", raw, v, want)
			}
		}
		check("http://ads.example/", "--exclude @"+path+": ads.example")
		check("http://h.example/spam", "--exclude @"+path+": re:spam")
		check("http://new.example/", "")

		write(t, path, "new.example\nads.example\n")
		check("http://new.example/", "") // not looked at yet
		time.Sleep(lookEvery)
		check("http://new.example/", "--exclude @"+path+": new.example")
		check("http://h.example/spam", "")

		write(t, path, "re:(((((\n") // a slip while editing
		time.Sleep(lookEvery)
		check("http://new.example/", "--exclude @"+path+": new.example")
		if err := f.ReloadError(); err == nil || !strings.Contains(err.Error(), "re:(((((") {
			t.Errorf("ReloadError = %v, want the pattern named", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		check("http://new.example/", "--exclude @"+path+": new.example")

		write(t, path, "")
		time.Sleep(lookEvery)
		check("http://new.example/", "")
		if err := f.ReloadError(); err != nil {
			t.Errorf("ReloadError after repair = %v", err)
		}
		if counts := f.Counts(); len(counts) != 1 || counts[0].Links != 5 {
			t.Errorf("counts %+v, want 5 links under one rule", counts)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Scope: 99}, {MaxDepth: -1}, {MaxHops: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) accepts it", o)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	f := newFilter(t, Options{Scope: ScopeDomain, Seeds: seeds(t, "http://h.example/"), Traps: Traps{PatternVisits: 5}})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				u := parse(t, fmt.Sprintf("http://x%d.h.example/c/%d?a=%d&b=2&c=3", w, i, i%3))
				f.Check(Link{URL: u, Depth: 1})
				f.Observe(u, i%50 == 0)
				if i%100 == 0 {
					f.AddSeeds(seeds(t, fmt.Sprintf("http://s%d-%d.example/", w, i)))
					if err := f.AddExclude(fmt.Sprintf("/none%d-%d", w, i)); err != nil {
						t.Error(err)
					}
					f.Counts()
				}
			}
		})
	}
	wg.Wait()
}

var benchLinks = []string{
	"https://en.wikipedia.org/wiki/Main_Page", "https://en.wikipedia.org/wiki/Wikipedia:General_disclaimer",
	"https://upload.wikimedia.org/wikipedia/commons/thumb/a/a9/Example.jpg", "https://en.wikipedia.org/w/index.php?title=Main_Page&action=history",
	"https://en.wikipedia.org/wiki/2024/01/15/Portal", "https://shop.example.com/cart?add=17", "https://en.wikipedia.org/wiki/Go_(language)",
	"https://en.wikipedia.org/wiki/Special:Random", "https://en.wikipedia.org/a/b/c/d/e/f/g/h.html", "https://en.wikipedia.org/",
}

func benchmarkCheck(b *testing.B, opts Options) {
	opts.Seeds = seeds(b, "https://en.wikipedia.org/")
	f := newFilter(b, opts)
	var list []Link
	for _, raw := range benchLinks {
		list = append(list, link(b, raw))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.Check(list[i%len(list)])
	}
}

func BenchmarkCheck(b *testing.B) { benchmarkCheck(b, Options{}) }

func BenchmarkCheckDomainScope(b *testing.B) { benchmarkCheck(b, Options{Scope: ScopeDomain}) }

func BenchmarkCheckTenPatterns(b *testing.B) {
	benchmarkCheck(b, Options{Exclude: []string{"/private/*", "*.pdf", "*replytocom=*", "ads.example", "*.ads.example/*",
		"/calendar/*", "*/print/*", "/tag/*?page=*", "*sessionid*", "re:[?&]sort="}})
}

func BenchmarkObserve(b *testing.B) {
	f := newFilter(b, Options{Scope: ScopeAny})
	u := parse(b, "https://h.example/calendar/2031/05/12?view=month")
	b.ReportAllocs()
	for b.Loop() {
		f.Observe(u, true)
	}
}
