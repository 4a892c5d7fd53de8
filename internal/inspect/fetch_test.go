package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/dns"
	"decorum/internal/inspect"
)

// toyFetch are options that reach the toy.
func toyFetch(w *toy) inspect.FetchOptions {
	return inspect.FetchOptions{Dial: w.Dial, Static: map[string][]netip.Addr{"*.test": {netip.MustParseAddr("127.0.0.1")}},
		Policy: dns.PolicyOptions{AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
}

func fetchText(t *testing.T, r *inspect.FetchReport) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b, true); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fetchOf fetches in virtual time.
func fetchOf(t *testing.T, w *toy, url string, o inspect.FetchOptions) (r *inspect.FetchReport) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = inspect.Fetch(context.Background(), url, o); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

const fullPage = `<!DOCTYPE html><html lang=en><head><title>A  title &#x1b;[31mred</title><base href="/dir/"><link rel=canonical href=full>
<meta name=robots content=noarchive></head><body><h1>Head</h1><p>Some <b>bold</b> text with a <a href="next?b=1&amp;a=2" rel=nofollow>link
text</a> and <a href="mailto:x@a.test">mail</a>.<img src="/i.png" alt="picture"></body></html>`

func TestFetchShowsThePage(t *testing.T) {
	w := &toy{delay: 30 * time.Millisecond, pages: map[string]string{
		"a.test/robots.txt":        plain("User-agent: decorum\nCrawl-delay: 5\nAllow: /full\nDisallow: /\n"),
		"a.test/full?utm_source=x": strings.Replace(html(fullPage), "\r\n\r\n", "\r\nX-Robots-Tag: noindex\r\nLink: </style.css>; rel=stylesheet\r\nX-Odd: caf\xe9 \u202egnp.exe\r\n\r\n", 1),
	}}
	var rests []string
	o := toyFetch(w)
	o.Resting = func(host string, d time.Duration, reason string) {
		rests = append(rests, host+" "+d.String()+" "+reason)
	}
	r := fetchOf(t, w, "http://a.test/full?utm_source=x", o)
	if !r.OK() || len(w.requests()) != 2 {
		t.Error(r.Outcome, w.requests())
	}
	if want := []string{"a.test 5s Crawl-delay in robots.txt"}; !slices.Equal(rests, want) {
		t.Errorf("rests %q, want %q", rests, want)
	}
	text := fetchText(t, r)
	if strings.ContainsAny(text, "\x1b\r") {
		t.Errorf("control characters reach the terminal: %q", text)
	}
	golden(t, "fetch.txt", strings.Replace(text, r.SimHash, "0123456789abcdef", 1)) // another package's business
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back inspect.FetchReport
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Title != r.Title || len(back.Links) != len(r.Links) {
		t.Error(err, back)
	}
}

func TestFetchRestsBetweenContacts(t *testing.T) {
	for _, c := range []struct {
		name   string
		robots string
		took   time.Duration
		change func(*inspect.FetchOptions)
		want   time.Duration
	}{
		{"floor", plain(""), 0, nil, time.Second},
		{"delay", plain(""), 0, func(o *inspect.FetchOptions) { o.Delay = 7 * time.Second }, 7 * time.Second},
		{"factor", plain(""), 300 * time.Millisecond, nil, 3 * time.Second},
		{"crawl-delay", plain("User-agent: *\nCrawl-delay: 90"), 0, nil, 90 * time.Second},
		{"retry-after", "HTTP/1.1 404 No\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n", 0, nil, 20 * time.Second},
		{"none on loopback", plain(""), 300 * time.Millisecond, func(o *inspect.FetchOptions) { o.Delay = -1 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &toy{delay: c.took, pages: map[string]string{"a.test/robots.txt": c.robots, "a.test/": html("x")}}
			o := toyFetch(w)
			if c.change != nil {
				c.change(&o)
			}
			r := fetchOf(t, w, "http://a.test/", o)
			if got := time.Duration(r.RestedMS) * time.Millisecond; got != c.want || !r.OK() {
				t.Errorf("rested %v (%s), want %v; %s", got, r.RestReason, c.want, r.Outcome)
			}
		})
	}
}

func TestFetchWithoutAPage(t *testing.T) {
	w := &toy{pages: map[string]string{
		"a.test/robots.txt":     plain("User-agent: *\nDisallow: /private # no\n"),
		"a.test/old":            moved("http://b.test/new"),
		"a.test/cut":            "",
		"down.test/robots.txt":  "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
		"moved.test/robots.txt": moved("http://a.test/robots.txt"),
		"moved.test/private":    html("never"),
		"loop.test/robots.txt":  moved("/robots.txt"),
		"loop.test/":            html("x"),
	}}
	for _, c := range []struct {
		url, outcome string
		ok           bool
		contains     string
		contacts     int
	}{
		{"http://a.test/private/x", "robots", false, `disallowed, by "Disallow: /private", line 2`, 1},
		{"http://a.test/old", "redirect", true, "redirects  http://b.test/new", 2},
		{"http://a.test/none", "not_found", false, "status 404", 2},
		{"http://a.test/cut", "reset", false, "reset", 3}, // the kept connection, then a new one
		{"http://down.test/", "robots_unavailable", false, "status 503", 1},
		{"http://moved.test/private", "robots", false, "status 301, 0s, redirects to http://a.test/robots.txt", 2},
		{"http://loop.test/", "ok", true, "all is allowed", 2},
		{"http://private.example/", "address", false, "--allow-net", 0},
		{"http://a.test:8080/none", "not_found", false, "", 2},
	} {
		w.log = nil
		o := toyFetch(w)
		o.Static["private.example"] = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
		r := fetchOf(t, w, c.url, o)
		text := fetchText(t, r)
		if r.Outcome != c.outcome || r.OK() != c.ok || !strings.Contains(text, c.contains) || len(w.requests()) != c.contacts {
			t.Errorf("%s: %d contacts\n%s", c.url, len(w.requests()), text)
		}
	}
	own := &toy{pages: map[string]string{"10.0.0.1/robots.txt": plain(""), "10.0.0.1/": html("mine")}}
	if r := fetchOf(t, own, "http://10.0.0.1/", toyFetch(own)); !r.OK() {
		t.Errorf("a private address that was asked for: %s", fetchText(t, r))
	}
	if _, err := inspect.Fetch(context.Background(), "ftp://a.test/", inspect.FetchOptions{}); err == nil {
		t.Error("ftp was fetched")
	}
}

func TestFetchCanBeInterruptedWhileResting(t *testing.T) {
	w := &toy{pages: map[string]string{"a.test/robots.txt": plain("User-agent: *\nCrawl-delay: 86400"), "a.test/": html("x")}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := inspect.Fetch(ctx, "http://a.test/", toyFetch(w)); err == nil {
			t.Error("no error")
		}
		if n := len(w.requests()); n != 1 {
			t.Errorf("%d contacts", n)
		}
	})
}

func TestFetchOfASitemap(t *testing.T) {
	w := &toy{pages: map[string]string{"a.test/sitemap.xml": strings.Replace(html(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.test/x</loc></url></urlset>`), "text/html", "application/xml", 1)}}
	r := fetchOf(t, w, "http://a.test/sitemap.xml", toyFetch(w))
	if r.Type != "sitemap" || len(r.Links) != 1 || r.Links[0].URL != "http://a.test/x" {
		t.Error(fetchText(t, r))
	}
}
