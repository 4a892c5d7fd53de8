package node

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What each option of a crawl does, as the server sees it.

func TestIgnoreRobotsHoldsForTheNamedHostAlone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://mine.museum/", "http://theirs.museum/")
		barred := "User-agent: *\nDisallow: /\n"
		y.host("mine.museum", toySite{"/robots.txt": barred, "/": linking("/a"), "/a": "a"})
		y.host("theirs.museum", toySite{"/robots.txt": barred, "/": linking("/a")})
		y.cfg.IgnoreRobots = []string{"Mine.Museum"}
		y.crawl()
		y.expect("mine.museum/", "mine.museum/a")
		for _, v := range y.log {
			if v.host == "mine.museum" && v.target == "/robots.txt" {
				t.Error("robots.txt was asked for in vain")
			}
		}
		if why := y.skipped()["http://theirs.museum/"]; why != "robots" {
			t.Errorf("skipped for %q", why)
		}
		if !strings.Contains(y.archive(), "robots-ignored-host: Mine.Museum\r\n") {
			t.Error("the archive does not say so")
		}
	})
}

func TestFastHostRestsForNothingButIsNeverMet(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://mine.museum/", "http://theirs.museum/")
		for _, name := range []string{"mine.museum", "theirs.museum"} {
			y.host(name, toySite{"/": linking("/a", "/b", "/c"), "/a": "a", "/b": "b", "/c": "c"})
		}
		y.cfg.FastHost, y.cfg.IPGap = []string{"MINE.museum"}, 0
		y.crawl()
		if g := y.gaps(); g["mine.museum"] >= time.Second || g["theirs.museum"] < time.Second {
			t.Errorf("rests of %v", g)
		}
		y.aloneWithEachHost()
	})
}

func TestNoDelayIsForLocalAddresses(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://near.museum/", "http://lan.museum/", "http://far.museum/")
		pages := toySite{"/": linking("/a", "/b", "/c"), "/a": "a", "/b": "b", "/c": "c"}
		y.at("near.museum", "127.0.0.5", pages)
		y.at("lan.museum", "10.1.2.3", pages)
		y.host("far.museum", pages)
		y.cfg.Delay, y.cfg.AllowNet = 0, []string{"127.0.0.0/8", "10.0.0.0/8"}
		y.crawl()
		if g := y.gaps(); g["near.museum"] >= time.Second || g["lan.museum"] >= time.Second || g["far.museum"] < time.Second {
			t.Errorf("rests of %v", g)
		}
		y.aloneWithEachHost()
	})
}

func TestPoliteByDomain(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.city.museum/", "http://b.city.museum/", "http://c.other.museum/")
		for _, name := range []string{"a.city.museum", "b.city.museum", "c.other.museum"} {
			y.host(name, toySite{"/": linking("/1", "/2", name), "/1": "1 of " + name, "/2": "2 of " + name, "/" + name: name})
		}
		y.cfg.PoliteBy = "domain"
		y.crawl()
		if len(y.got()) != 12 {
			t.Errorf("%q", y.got())
		}
		var last visitor
		for _, v := range y.log {
			if !strings.HasSuffix(v.host, ".city.museum") {
				continue
			}
			if !last.start.IsZero() && v.start.Sub(last.end) < time.Second {
				t.Errorf("%s%s came %v after %s%s", v.host, v.target, v.start.Sub(last.end), last.host, last.target)
			}
			last = v
		}
	})
}

func TestLevelsAreFetchedFirst(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		pages, plain, news := toySite{}, []string{}, 0
		for i := range 200 {
			path := fmt.Sprintf("/old/%d", i)
			if i%4 == 3 {
				path = fmt.Sprintf("/news/%d", i)
			}
			plain, pages[path] = append(plain, path), "page"+path
		}
		pages["/"] = linking(plain...)
		y.host("a.museum", pages)
		y.cfg.Levels, y.cfg.FrontQueues, y.cfg.MaxPages, y.wanted = []string{"/news/*=1", "/old/*=8"}, 8, 51, "max_pages"
		y.crawl()
		for _, target := range y.got() {
			if strings.Contains(target, "/news/") {
				news++
			}
		}
		if news < 35 { // by chance alone, 12 of 50
			t.Errorf("%d of 50 pages were news", news)
		}
	})
}

func TestNearDuplicates(t *testing.T) {
	text := strings.Repeat("A museum keeps what a town has forgotten, and shows it to those who come by on a Sunday. ", 4)
	long := func(n int, ref string) string {
		var b strings.Builder
		for i := range 80 {
			fmt.Fprintf(&b, "<p>%s %d</p>", text, i*i%37)
		}
		return fmt.Sprintf("%s<p>%d</p><a href=%q>x</a>", &b, n, ref)
	}
	for mode, want := range map[string]int{"record": 5, "skip": 4, "off": 5} {
		t.Run(mode, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				y := newToy(t, "http://a.museum/")
				y.host("a.museum", toySite{"/": linking("/1", "/2"), "/1": long(1, "/from1"), "/2": long(2, "/from2"), "/from1": "one", "/from2": "two"})
				y.cfg.NearDuplicates, y.cfg.Concurrency = mode, 1
				r, _ := y.crawl()
				if n := len(y.got()); n != want {
					t.Errorf("%d pages, want %d: %q", n, want, y.got())
				}
				near := y.pages()["http://a.museum/2"].NearDupOf
				if (near != "") != (mode != "off") {
					t.Errorf("recorded as nearly %q", near)
				}
				if why := y.skipped()["http://a.museum/from2"]; mode == "skip" && why != "duplicate_parent" || mode != "skip" && why != "" {
					t.Errorf("skipped for %q: %v", why, r.Summary.Skipped)
				}
			})
		})
	}
}

func TestSitemapModes(t *testing.T) {
	sitemap := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.museum/hidden</loc></url></urlset>`)
	}
	for mode, want := range map[string][]string{
		"auto": {"a.museum/", "a.museum/linked", "a.museum/map.xml", "a.museum/hidden"},
		"only": {"a.museum/", "a.museum/map.xml", "a.museum/hidden"},
		"off":  {"a.museum/", "a.museum/linked"},
	} {
		t.Run(mode, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				y := newToy(t, "http://a.museum/")
				robots := "Sitemap: http://a.museum/map.xml\nSitemap: http://elsewhere.museum/map.xml\n"
				y.host("a.museum", toySite{"/robots.txt": robots, "/": linking("/linked"), "/linked": "linked", "/hidden": "hidden", "/map.xml": sitemap})
				y.cfg.Sitemaps = mode
				y.crawl()
				y.expect(want...)
				if why := y.skipped()["http://elsewhere.museum/map.xml"]; mode != "off" && why != "scope" {
					t.Errorf("the sitemap of another site is skipped for %q", why)
				}
			})
		})
	}
}

// scopeWeb is linked across directories, hosts and domains.
func scopeWeb(t *testing.T) *toy {
	y := newToy(t, "http://a.city.museum/dir/start")
	y.host("a.city.museum", toySite{"/dir/start": linking("below", "/above", "http://www.a.city.museum/w", "http://b.city.museum/", "http://far.museum/") + `<img src="http://img.museum/i.png">`,
		"/dir/below": "below", "/above": "above"})
	y.host("www.a.city.museum", toySite{"/w": "w"})
	y.host("b.city.museum", toySite{"/": "b"})
	y.host("far.museum", toySite{"/": linking("/2", "http://farther.museum/", "http://a.city.museum/back"), "/2": "far 2"})
	y.host("farther.museum", toySite{"/": "farther"})
	y.host("img.museum", toySite{"/i.png": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") }})
	return y
}

func TestScopesAndHops(t *testing.T) {
	start := []string{"a.city.museum/dir/start"}
	host := append(start, "a.city.museum/dir/below", "a.city.museum/above", "www.a.city.museum/w")
	for name, c := range map[string]struct {
		scope string
		hops  int
		want  []string
	}{
		"page":        {"page", 0, append(start, "img.museum/i.png")},
		"prefix":      {"prefix", 0, append(start, "a.city.museum/dir/below")},
		"host":        {"host", 0, host},
		"domain":      {"domain", 0, append(host[:4:4], "b.city.museum/")},
		"host, 1 hop": {"host", 1, append(host[:4:4], "b.city.museum/", "far.museum/", "img.museum/i.png", "a.city.museum/back")},
		"host, 2 hops": {"host", 2, append(host[:4:4], "b.city.museum/", "far.museum/", "img.museum/i.png", "a.city.museum/back", "far.museum/2",
			"farther.museum/")},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				y := scopeWeb(t)
				y.cfg.Scope, y.cfg.Hops = c.scope, c.hops
				y.crawl()
				y.expect(c.want...)
			})
		})
	}
}

// --hops: the path from the seed tells each step, whether it was within the scope or not.
func TestHopsAreRecorded(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := scopeWeb(t)
		y.cfg.Hops = 1
		y.crawl()
		pages := y.pages()
		for u, want := range map[string]string{"http://a.city.museum/dir/start": "", "http://a.city.museum/above": "L", "http://far.museum/": "L", "http://img.museum/i.png": "E", "http://a.city.museum/back": "LL"} {
			if got := pages[u].Hops; got != want {
				t.Errorf("%s: hops %q, want %q", u, got, want)
			}
		}
		if p := pages["http://a.city.museum/back"]; p.Depth != 2 || p.Parent != "http://far.museum/" || p.Seed != "http://a.city.museum/dir/start" {
			t.Errorf("%+v", p)
		}
		if why := y.skipped()["http://farther.museum/"]; why != "scope" {
			t.Errorf("two hops away, skipped for %q", why)
		}
	})
}

func TestAddressAndPortPolicy(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("http://10.0.0.7/", "http://lan.museum/", "http://a.museum:8080/", "http://a.museum:8081/", "http://169.254.169.254/latest/meta-data/")})
		y.at("lan.museum", "192.168.3.4", toySite{"/": "lan"})
		y.at("10.0.0.7", "10.0.0.7", toySite{"/": "ten"})
		y.hosts["a.museum:8080"], y.hosts["a.museum:8081"] = toySite{"/": "8080"}, toySite{"/": "8081"}
		y.cfg.Scope, y.cfg.AllowNet, y.cfg.AllowPort = "any", []string{"10.0.0.0/24"}, []uint16{8080}
		y.cfg.Resolve = y.cfg.Resolve[:2] // an address needs no resolving
		y.crawl()
		y.expect("a.museum/", "10.0.0.7/", "a.museum:8080/")
		skipped := y.skipped()
		for u, want := range map[string]string{"http://lan.museum/": "address", "http://a.museum:8081/": "port", "http://169.254.169.254/latest/meta-data/": "address"} {
			if skipped[u] != want {
				t.Errorf("%s is skipped for %q, want %q", u, skipped[u], want)
			}
		}
	})
}

func TestHeaderFieldsStayWithTheHostsOfTheSeeds(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/in", "http://b.museum/"), "/in": movedTo("http://b.museum/from-a")})
		y.host("b.museum", toySite{"/": "b", "/from-a": "from a"})
		y.cfg.Scope, y.cfg.Header, y.cfg.Redact = "any", []string{"Authorization: Bearer SECRET", "X-Team:blue"}, true
		y.crawl()
		for _, v := range y.log {
			mine := v.host == "a.museum"
			if got := v.header.Get("Authorization"); mine != (got == "Bearer SECRET") || mine != (v.header.Get("X-Team") == "blue") {
				t.Errorf("%s%s was sent %q", v.host, v.target, got)
			}
		}
		if all := y.archive(); strings.Contains(all, "SECRET") || !strings.Contains(all, "Authorization: redacted\r\n") {
			t.Error("the archive tells the secret")
		}
	})
}

// Without a contact a crawl ends before it disturbs a hundred and first host, also when it is started again.
func TestGuardOfLargeCrawls(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://hub.museum/")
		var refs []string
		for i := range 150 {
			name := fmt.Sprintf("h%d.museum", i)
			y.host(name, toySite{"/": name})
			refs = append(refs, "http://"+name+"/")
		}
		y.host("hub.museum", toySite{"/": linking(refs...)})
		y.cfg.Scope, y.cfg.Contact, y.wanted = "any", "", "interrupted"
		contacted := func() int {
			hosts := map[string]bool{}
			for _, v := range y.log {
				hosts[v.host] = true
			}
			return len(hosts)
		}
		r, _ := y.crawl()
		if !r.Guard || !strings.Contains(r.Detail, "--contact") || contacted() != 100 {
			t.Errorf("%d hosts, %s", contacted(), r.Detail)
		}
		if r, _ = y.crawl(); !r.Guard || contacted() != 100 {
			t.Errorf("%d hosts after another run, %s", contacted(), r.Detail)
		}
		y.cfg.Contact, y.wanted = "crawl@archive.museum", "exhausted"
		if y.crawl(); contacted() != 151 || len(y.got()) != 151 {
			t.Errorf("%d hosts and %d pages with a contact", contacted(), len(y.got()))
		}
	})
}

// Limits are of the whole crawl: the same command again fetches nothing more, a higher limit the rest.
func TestLimitsAcrossRuns(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/1", "/2", "/3", "/4"), "/1": "1", "/2": "2", "/3": "3", "/4": "4"})
		y.cfg.MaxPages, y.wanted = 2, "max_pages"
		for range 2 {
			if r, _ := y.crawl(); r.Summary.Pages != 2 || len(y.got()) != 2 || r.Summary.QueuedLeft != 3 {
				t.Errorf("%d pages, %q, %d left", r.Summary.Pages, y.got(), r.Summary.QueuedLeft)
			}
		}
		y.cfg.MaxPages = 4
		y.crawl()
		y.cfg.MaxPages, y.wanted = 0, "exhausted"
		if r, _ := y.crawl(); r.Summary.Pages != 5 || len(y.got()) != 5 || r.Summary.Runs != 4 {
			t.Errorf("%d pages in %d runs, %q", r.Summary.Pages, r.Summary.Runs, y.got())
		}
	})
}

func TestDepth(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/1"), "/1": linking("/2") + `<img src=/i.png>`, "/2": linking("/3"), "/i.png": "i"})
		y.cfg.Depth = 2
		y.crawl()
		y.expect("a.museum/", "a.museum/1", "a.museum/2", "a.museum/i.png")
		if why := y.skipped()["http://a.museum/3"]; why != "depth" {
			t.Errorf("skipped for %q", why)
		}
	})
}

// What an earlier run left is counted before anything is fetched.
func TestQueueIsKnownAtOnce(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/1", "/2", "/3"), "/1": "1", "/2": "2", "/3": "3"})
		y.cfg.MaxPages, y.wanted = 1, "max_pages"
		r, _ := y.crawl()
		n := y.open()
		q := n.Status(0).Queues
		if left := int64(q.WaitingTotal() + q.Ready + uint64(q.Intake)); left != 3 || r.Summary.QueuedLeft != 3 {
			t.Errorf("%d URLs left, %d known of when the crawl is opened again", r.Summary.QueuedLeft, left)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		y.cfg.MaxPages, y.wanted = 0, "exhausted"
		if r, _ := y.crawl(); r.Summary.Pages != 4 {
			t.Errorf("%d pages", r.Summary.Pages)
		}
	})
}

// Link records survive a run that does not want any.
func TestLinkRecordsAcrossRuns(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/1"), "/1": linking("/2"), "/2": linking("/3"), "/3": "end"})
		for n, out := range [][]string{{"warc", "links"}, {"warc"}, {"warc", "links"}} {
			y.cfg.MaxPages, y.cfg.Out, y.wanted = uint64(n+1), out, "max_pages"
			y.crawl()
		}
		if lines := strings.Count(string(y.read("links.jsonl")), "\n"); lines != 2 {
			t.Errorf("%d link records, want those of the first and the last run", lines)
		}
	})
}
