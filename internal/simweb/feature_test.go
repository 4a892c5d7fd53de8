package simweb

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/weburl"
)

// bodyOf returns a page as served.
func bodyOf(t *testing.T, w *Web, p page) string {
	t.Helper()
	_, text := once(t, w, w.hosts[p.host].name, string(w.appendPath(nil, p)))
	return text
}

// instant is everything without waiting.
func instant(seed uint64) Options {
	o := everything(seed)
	o.Latency, o.Slow, o.RobotsLatency, o.RateLimited = 0, 0, 1, 0
	return o
}

// pagesOf returns all pages of a class.
func pagesOf(w *Web, c class) []page {
	var list []page
	for i := range w.hosts {
		h := &w.hosts[i]
		for n := h.first[c]; n < h.first[c+1]; n++ {
			list = append(list, page{int32(i), n})
		}
	}
	return list
}

func TestHostSizes(t *testing.T) {
	total := func(w *Web) (n, first int) {
		for _, h := range w.Hosts() {
			n += h.Pages
		}
		return n, w.Hosts()[0].Pages
	}
	o := Plain()
	o.Hosts, o.Pages = 100, 10_000
	n, first := total(New(o))
	if n < 9_900 || n > 10_200 || first < 1_700 || first > 2_100 { // 1/H(100) = 19 %
		t.Errorf("Zipf: %d pages, %d on the first host", n, first)
	}
	o.DominantShare = 0.9
	if n, first = total(New(o)); n < 9_900 || n > 10_200 || first < 8_900 || first > 9_100 {
		t.Errorf("dominant: %d pages, %d on the first host", n, first)
	}
	o.DominantShare, o.EqualHosts = 0, true
	if n, first = total(New(o)); n != 10_000 || first != 100 {
		t.Errorf("equal: %d pages, %d on the first host", n, first)
	}
}

func TestAddresses(t *testing.T) {
	o := Plain()
	for perAddr, want := range map[int]int{1: 100, 50: 2, -1: 1} {
		o.Hosts, o.HostsPerAddr = 100, perAddr
		w := New(o)
		used := map[string]bool{}
		for name, addrs := range w.StaticDNS() {
			addr, ok := w.Resolve(strings.ToUpper(name))
			if !ok || addr != addrs[0] || !addr.IsLoopback() {
				t.Errorf("%s: %v, %v", name, addr, addrs)
			}
			used[addr.String()] = true
		}
		if len(used) != want {
			t.Errorf("HostsPerAddr %d: %d addresses", perAddr, len(used))
		}
	}
	if _, ok := New(o).Resolve("example.org"); ok {
		t.Error("resolves foreign names")
	}
}

func TestUniformPagesHaveTheirExactSize(t *testing.T) {
	for _, size := range []int{3000, 8192, 37_000} {
		o := Plain()
		o.Uniform, o.PageBytes, o.LinksPerPage = true, size, 10
		w := New(o)
		for n := range w.hosts[0].pages() {
			if got := len(w.appendBody(nil, body{host: 0, n: n}, w.links(nil, 0, n))); got != size {
				t.Fatalf("page %d has %d bytes, want %d", n, got, size)
			}
		}
	}
}

// Every spelling the web uses has the key form of the page's canonical URL, and leads to the page.
func TestSpellingsAgreeWithTheKeyForm(t *testing.T) {
	o := everything(5)
	o.Messy = 1
	w := New(o)
	rules := weburl.KeyRules{}
	ways := map[uint64]bool{}
	var links []link
	for _, p := range pagesOf(w, classPlain) {
		if w.hosts[p.host].content != p.host {
			continue
		}
		links = w.links(links[:0], p.host, p.n)
		for _, l := range links {
			if l.trap != 0 {
				continue
			}
			href := unescape(string(w.appendHref(nil, p.host, hrefAbsolute, 0, &l)))
			base, err := weburl.Parse(w.pageURL(p))
			if err != nil {
				t.Fatal(err)
			}
			got, err := base.Resolve(href)
			if err != nil {
				t.Fatalf("%q: %v", href, err)
			}
			want, _ := weburl.Parse(w.pageURL(l.to))
			if got.Key(rules) != want.Key(rules) || w.Canonical(got.String()) != w.pageURL(l.to) {
				t.Fatalf("%q: key %s, canonical %s, want %s", href, got.Key(rules), w.Canonical(got.String()), want)
			}
			ways[l.spell>>1%numSpellings] = true
		}
	}
	if len(ways) != numSpellings {
		t.Errorf("only %d spellings used", len(ways))
	}
}

func unescape(href string) string {
	return strings.NewReplacer("&amp;", "&", "&#x2F;", "/").Replace(href)
}

func TestDuplicatesAndMirrors(t *testing.T) {
	w := New(instant(2))
	count := 0
	truth := w.Truth("decorum")
	for _, p := range append(pagesOf(w, classDup), pagesOf(w, classPlain)...) {
		kind, original := w.kindOf(p)
		if kind != KindDuplicate {
			continue
		}
		count++
		if bodyOf(t, w, p) != bodyOf(t, w, original) {
			t.Errorf("%s is no copy of %s", w.pageURL(p), w.pageURL(original))
		}
		if url := w.pageURL(p); truth.URLs[url] == KindDuplicate && truth.Original[url] != w.pageURL(original) {
			t.Errorf("truth names %q as the original of %s", truth.Original[url], url)
		}
	}
	mirrors := 0
	for _, h := range w.Hosts() {
		if h.MirrorOf != "" {
			mirrors++
		}
	}
	if count == 0 || mirrors == 0 {
		t.Errorf("%d duplicates, %d mirrors", count, mirrors)
	}
}

func TestNearDuplicatesDifferByFewWords(t *testing.T) {
	w := New(instant(2))
	near := pagesOf(w, classNear)
	if len(near) == 0 {
		t.Fatal("none")
	}
	for _, p := range near {
		_, original := w.kindOf(p)
		a, b := strings.Fields(bodyOf(t, w, p)), strings.Fields(bodyOf(t, w, original))
		if slices.Equal(a, b) {
			t.Errorf("%v is an exact copy", p)
		}
		differ := 0
		have := map[string]bool{}
		for _, word := range b {
			have[word] = true
		}
		for _, word := range a {
			if !have[word] {
				differ++
			}
		}
		if differ > 8 {
			t.Errorf("%v differs by %d words", p, differ)
		}
	}
}

func TestFlakyPagesRecover(t *testing.T) {
	w := New(instant(1))
	for _, c := range []class{classFlaky, classCut} {
		for _, p := range pagesOf(w, c) {
			tries := 1
			for ; tries < 9; tries++ {
				resp, text := once(t, w, w.hosts[p.host].name, string(w.appendPath(nil, p)))
				if resp.StatusCode == 200 && text != "" {
					break
				}
			}
			if tries < 2 || tries > 3 {
				t.Errorf("%s: fine at the %d. request", w.pageURL(p), tries)
			}
		}
	}
}

func TestChangingPagesChange(t *testing.T) {
	o := Plain()
	o.Changing = 0.2
	w := New(o)
	for _, p := range pagesOf(w, classChanging)[:5] {
		if first := bodyOf(t, w, p); bodyOf(t, w, p) == first {
			t.Errorf("%s stays the same", w.pageURL(p))
		}
	}
	p := pagesOf(w, classPlain)[3]
	if first := bodyOf(t, w, p); bodyOf(t, w, p) != first {
		t.Errorf("%s changes", w.pageURL(p))
	}
}

func TestLimitedHosts(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			o := Plain()
			o.Seed, o.Hosts, o.RateLimited, o.RateEvery = seed, 1, 1, 3
			w := New(o)
			host := w.hosts[0].name
			var refused bool
			for range 6 { // without a gap
				resp, _ := once(t, w, host, "/")
				if resp.StatusCode == 200 {
					continue
				}
				refused = true
				if wait := retryAfter(resp); wait < o.RetryAfter || wait > 4*time.Second {
					t.Fatalf("Retry-After %v", resp.Header["Retry-After"])
				}
				if again, _ := once(t, w, host, "/"); again.StatusCode != resp.StatusCode {
					t.Errorf("seed %d: not refused before Retry-After is over", seed)
				}
				time.Sleep(retryAfter(resp))
				if after, _ := once(t, w, host, "/"); after.StatusCode != 200 {
					t.Errorf("seed %d: refused after Retry-After", seed)
				}
			}
			if !refused {
				t.Errorf("seed %d: never refused", seed)
			}
		})
	}
}

func TestRobotsKinds(t *testing.T) {
	for k := RobotsAllow; k < numRobotsKinds; k++ {
		t.Run(k.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testRobotsKind(t, k) })
		})
	}
}

func testRobotsKind(t *testing.T, k RobotsKind) {
	o := Plain()
	o.Hosts, o.Pages = 3, 300
	shares := map[RobotsKind]*float64{RobotsNone: &o.Robots.None, RobotsForbidden: &o.Robots.Forbidden, RobotsParts: &o.Robots.Parts,
		RobotsDenyAll: &o.Robots.DenyAll, RobotsAgent: &o.Robots.Agent, RobotsDelay: &o.Robots.Delay, RobotsFlaky: &o.Robots.Flaky,
		RobotsMoved: &o.Robots.Moved, RobotsElsewhere: &o.Robots.Elsewhere, RobotsJunk: &o.Robots.Junk, RobotsSlow: &o.Robots.Slow, RobotsDown: &o.Robots.Down}
	if shares[k] != nil {
		*shares[k] = 0.3 // of three hosts: one
	}
	w := New(o)
	i := slices.IndexFunc(w.hosts, func(h host) bool { return h.robots == k })
	if i < 0 {
		t.Fatal("dealt to no host")
	}
	start := time.Now()
	resp, text := once(t, w, w.hosts[i].name, robotsPath)
	want := map[RobotsKind]int{RobotsNone: 404, RobotsForbidden: 403, RobotsFlaky: 500, RobotsMoved: 301, RobotsElsewhere: 302, RobotsDown: 500}[k]
	if want == 0 {
		want = 200
	}
	if resp.StatusCode != want {
		t.Errorf("status %d, want %d", resp.StatusCode, want)
	}
	if isHTML := strings.Contains(text, "<html>"); want == 200 && isHTML != (k == RobotsJunk) {
		t.Errorf("text %q", text)
	}
	if slow := time.Since(start) >= 3*time.Second; slow != (k == RobotsSlow) {
		t.Errorf("took %v", time.Since(start))
	}
	if (w.Hosts()[i].CrawlDelay > 0) != (k == RobotsDelay) || strings.Contains(text, "Crawl-delay") != (k == RobotsDelay) {
		t.Errorf("crawl delay %v in %q", w.Hosts()[i].CrawlDelay, text)
	}
	closed := k == RobotsDenyAll || k == RobotsDown
	if has := strings.Contains(strings.Join(slices.Collect(maps.Keys(w.Truth("decorum").URLs)), " "), w.hosts[i].name); has == closed {
		t.Errorf("truth has pages of the host: %v", has)
	}
}

func TestTrapsAreEndlessAndLinked(t *testing.T) {
	o := Plain()
	o.Hosts, o.Traps = 1, 1
	w := New(o)
	entries := map[string]bool{}
	for n := range w.hosts[0].first[1] {
		for _, l := range w.links(nil, 0, n) {
			if l.trap != 0 {
				entries[string(w.appendTrapEntry(nil, l.trap))[:8]] = true
			}
		}
	}
	if len(entries) != 4 {
		t.Errorf("traps %v", entries)
	}
	for _, first := range []string{"/trap/calendar/2026/01/", "/trap/session/12ab/list", "/trap/deep/down/", "/trap/query?a=1&b=2"} {
		seen, queue := map[string]bool{}, []string{first}
		for len(seen) < 200 && len(queue) > 0 {
			target := queue[0]
			queue = queue[1:]
			if seen[target] {
				continue
			}
			seen[target] = true
			text, ok := w.trapPage(target)
			if !ok {
				t.Fatalf("no page at %s", target)
			}
			for _, part := range strings.Split(text, "<a href=\"")[2:] { // the first is the home page
				href, _, _ := strings.Cut(part, "\"")
				queue = append(queue, unescape(href))
			}
		}
		if len(seen) < 200 {
			t.Errorf("%s ends after %d pages", first, len(seen))
		}
	}
}

func TestSitemapsOfEverySize(t *testing.T) {
	for _, pages := range []int{5, 60, 12_000} {
		for seed := range uint64(2) {
			o := Plain()
			o.Seed, o.Hosts, o.Pages, o.Sitemaps, o.SitemapOnly, o.PageBytes = seed, 1, pages, 1, 0.3, 1000
			w := New(o)
			c := newNaive(t, w, 1)
			c.hosts[w.hosts[0].name] = &naiveHost{}
			synctest.Test(t, func(t *testing.T) {
				c.sitemap("http://" + w.hosts[0].name + sitemapPath)
				c.client.CloseIdleConnections()
			})
			truth := w.Truth("decorum")
			for url := range truth.SitemapOnly {
				if !c.seen[url] {
					t.Fatalf("%d pages: %s is not in the sitemap", pages, url)
				}
			}
			if pages > 5 && len(truth.SitemapOnly) < pages/4 {
				t.Errorf("%d pages: only %d in the sitemap alone", pages, len(truth.SitemapOnly))
			}
		}
	}
}

func TestRedirectsTakeEveryShape(t *testing.T) {
	for _, w := range []*Web{New(Realistic()), New(Demo())} {
		shapes := map[string]bool{}
		for _, first := range pagesOf(w, classRedirect) {
			p, seen := first, map[page]bool{}
			for w.hosts[p.host].class(p.n) == classRedirect && !seen[p] {
				seen[p] = true
				status, to := w.redirect(p)
				if status < 301 || status > 308 {
					t.Fatalf("status %d", status)
				}
				p = to
			}
			switch {
			case seen[p]:
				shapes["loop"] = true
			case len(seen) > 1:
				shapes["chain"] = true
			case p.host != first.host:
				shapes["cross host"] = true
			default:
				shapes["same host"] = true
			}
			if len(seen) > 4 {
				t.Errorf("%s: %d redirects in a row", w.pageURL(first), len(seen))
			}
		}
		if len(shapes) != 4 {
			t.Errorf("only %v", shapes)
		}
	}
}

func TestDemoShowsEverything(t *testing.T) {
	w := New(Demo())
	var traps, limited, slow, sitemap, mirror int
	kinds := map[RobotsKind]bool{}
	for _, h := range w.Hosts() {
		kinds[h.Robots] = true
		for p, has := range map[*int]bool{&traps: h.Traps, &limited: h.Limited, &slow: h.Slow, &sitemap: h.Sitemap, &mirror: h.MirrorOf != ""} {
			if has {
				*p++
			}
		}
	}
	if traps*limited*slow*sitemap*mirror == 0 || len(kinds) < 9 {
		t.Errorf("traps %d, limited %d, slow %d, sitemaps %d, mirrors %d, robots %v", traps, limited, slow, sitemap, mirror, kinds)
	}
	truth := w.Truth("decorum")
	for k := KindPage; k <= KindError; k++ {
		if truth.Count(k) == 0 {
			t.Errorf("no %v", k)
		}
	}
	if len(truth.Denied)*len(truth.Nofollow)*len(truth.SitemapOnly) == 0 {
		t.Errorf("%d denied, %d nofollow, %d in the sitemap only", len(truth.Denied), len(truth.Nofollow), len(truth.SitemapOnly))
	}
}
