package crawler

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/meter"
	"decorum/internal/outcome"
	"decorum/internal/parse"
	"decorum/internal/urlfilter"
	"decorum/internal/urlseen"
	"decorum/internal/weburl"
)

func TestHopPaths(t *testing.T) {
	path := hops(hops("", 'L'), 'R')
	if path != "LR" || outside(path) != 0 {
		t.Errorf("%q, %d outside", path, outside(path))
	}
	path = hops(spend(path), 'E')
	if path != "LrE" || outside(path) != 1 || outside(spend(path)) != 2 || strings.ToUpper(path) != "LRE" {
		t.Errorf("%q, %d outside", path, outside(path))
	}
	long := strings.Repeat("L", frontier.MaxHops)
	if hops(long, 'R') != long {
		t.Error("a path grows without end")
	}
	for path, want := range map[string]bool{"": true, "RR": true, "RL": false, "r": false, "S": false} {
		if onlyRedirects(path) != want {
			t.Errorf("%q", path)
		}
	}
}

// following returns a crawler that can follow links, and a visit of a page on a.museum.
func following(t *testing.T, f urlfilter.Options) (*Crawler, *visit) {
	t.Helper()
	page := mustParse(t, "http://a.museum/dir/page")
	f.Seeds = append(f.Seeds, page)
	filter, err := urlfilter.New(f)
	if err != nil {
		t.Fatal(err)
	}
	c := &Crawler{Parts: Parts{Filter: filter, Hasher: weburl.NewHasher([16]byte{1}, weburl.KeyRules{}), Cache: urlseen.NewCache(urlseen.CacheOptions{}),
		Meter: new(meter.Crawl)}, dropped: urlseen.NewCache(urlseen.CacheOptions{})}
	c.opt.EnsureDefaults()
	return c, &visit{lease: frontier.Lease{Item: frontier.Item{URL: page, FP: c.Hasher.Fingerprint(page), Depth: 3, Hops: "LLL"}}, page: &jobdir.PageRecord{}}
}

func mustParse(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func anchors(refs ...string) (list []parse.Link) {
	for _, ref := range refs {
		list = append(list, parse.Link{Ref: ref, Kind: parse.Anchor})
	}
	return list
}

// S4-11: links found = links passed + dropped, each with a reason, + references that are meant for no crawler + repeats of
// what was dropped already.
func TestLinksAreAccountedFor(t *testing.T) {
	c, v := following(t, urlfilter.Options{Exclude: []string{"*.pdf"}, MaxDepth: 10})
	refs := []string{"x", "../y?q#f", "http://a.museum/dir/x", "http://b.museum/", "z.pdf", "mailto:a@b.museum", "javascript:void(0)", "http://[", "#here", "http://b.museum/"}
	c.follow(v, v.lease.URL, anchors(refs...), false)
	if v.found.found != len(refs) || v.found.passed != 4 || v.found.cached != 1 || len(v.links) != 3 {
		t.Errorf("%+v, %d links", v.found, len(v.links))
	}
	reasons := ""
	for _, s := range v.skips {
		reasons += s.Reason + " "
	}
	if reasons != "scope excluded bad_url " {
		t.Errorf("%q", reasons)
	}
	if l := v.links[1]; l.URL.String() != "http://a.museum/y?q" || l.Depth != 4 || l.Hops != "LLLL" || l.Parent != "http://a.museum/dir/page" {
		t.Errorf("%+v", l)
	}
}

func TestUnlistedDropsAreCounted(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	var refs []string
	for i := range maxSkipsPerVisit + 500 {
		refs = append(refs, fmt.Sprintf("http://h%d.museum/", i))
	}
	c.follow(v, v.lease.URL, anchors(refs...), false)
	c.follow(v, v.lease.URL, anchors("x"), true)
	v.count(c.Meter)
	m := c.Meter
	if len(v.skips) != maxSkipsPerVisit || m.Skipped.Load() != maxSkipsPerVisit+501 || m.LinksFound.Load() != maxSkipsPerVisit+501 || m.LinksPassed.Load() != 0 {
		t.Errorf("%d listed, %d skipped of %d", len(v.skips), m.Skipped.Load(), m.LinksFound.Load())
	}
}

func TestLinksOfANearDuplicateAreNamed(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	c.dropAll(v, v.lease.URL, anchors("x", "y", "mailto:z"), outcome.DuplicateParent, "rule")
	if len(v.links) != 0 || len(v.skips) != 2 || v.skips[0].Reason != "duplicate_parent" || v.skips[0].Rule != "rule" || v.skips[0].Parent != "http://a.museum/dir/page" {
		t.Errorf("%+v %+v", v.links, v.skips)
	}
}

func TestSitemapsOnlyFollowsSitemaps(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	c.opt.Sitemaps = SitemapsOnly
	c.follow(v, v.lease.URL, []parse.Link{{Ref: "a"}, {Ref: "b", Kind: parse.SitemapEntry}, {Ref: "c", Kind: parse.SitemapIndex}, {Ref: "http://b.museum/d", Kind: parse.SitemapIndex}}, false)
	if len(v.links) != 2 || v.links[0].Hops != "LLLS" || v.links[0].Kind != frontier.Page || v.links[1].Kind != frontier.Sitemap || len(v.skips) != 2 {
		t.Errorf("%+v %+v", v.links, v.skips)
	}
}

// A page that redirects to another spelling of itself does not vanish: the target goes by a key of its own.
func TestRedirectToTheSameKey(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	v.lease.URL = mustParse(t, "http://a.museum/p?PHPSESSID=0123456789abcdef0123456789abcdef")
	v.lease.FP = c.Hasher.Fingerprint(v.lease.URL)
	target := mustParse(t, "http://a.museum/p")
	if c.Hasher.Fingerprint(target) != v.lease.FP {
		t.Fatal("the test needs two URLs of one key")
	}
	c.redirect(v, target)
	if len(v.links) != 1 || v.links[0].FP == v.lease.FP || !v.links[0].Head || v.links[0].Redirects != 1 {
		t.Fatalf("%+v", v.links)
	}
}

func TestRedirectLimitIsNamed(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	c.opt.MaxRedirects, v.lease.Redirects = 4, 4
	c.redirect(v, mustParse(t, "http://a.museum/on"))
	if len(v.links) != 0 || len(v.skips) != 1 || v.skips[0].Rule != "more than 4 redirects in a row" {
		t.Errorf("%+v %+v", v.links, v.skips)
	}
}

func TestBrokenReferencesAreCut(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	f := c.follower(v)
	f.dropBad("http://["+strings.Repeat("\xff", 10_000), errors.New("bad"))
	if len(v.skips) != 1 || len(v.skips[0].URL) > 3*maxBadURL || v.skips[0].Reason != "bad_url" || v.skips[0].Depth != 4 {
		t.Errorf("%+v", v.skips)
	}
}

// However deep a page is, its links are deeper: a depth of zero would make them seeds.
func TestDepthDoesNotBeginAgain(t *testing.T) {
	c, v := following(t, urlfilter.Options{})
	v.lease.Depth = math.MaxUint16
	c.follow(v, v.lease.URL, anchors("x", "http://b.museum/"), false)
	if len(v.links) != 1 || v.links[0].Depth != math.MaxUint16 || len(v.skips) != 1 {
		t.Errorf("%+v %+v", v.links, v.skips)
	}
}
