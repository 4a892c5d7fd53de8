package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"decorum/internal/config"
)

// robots.txt has the limits of pages, and is never in the way of other hosts.
func TestHostileRobots(t *testing.T) {
	all := map[string]act{}
	for i := range 9 {
		all[fmt.Sprintf("/r%d", i)] = redirectTo(fmt.Sprintf("/r%d", i+1))
	}
	const gone, day = "gave_up", 2 * time.Hour
	for _, c := range []struct {
		name   string
		robots act
		home   string // "ok", or the reason in skipped.jsonl
		rest   string // the same for /private, which a sane robots.txt of this host disallows
		within time.Duration
	}{
		{"endless", endless("HTTP/1.1 200 OK\r\n\r\n", "Disallow: /private\n"), "ok", "ok", time.Minute},
		{"endless with rules", endless("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\n", "Disallow: /private\n"), "ok", "robots", time.Minute},
		{"endless line", endless("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /private\nDisallow: /", "x"), "ok", "robots", time.Minute},
		{"dripping", drip("HTTP/1.1 200 OK\r\n\r\n", "#", time.Second), gone, gone, day},
		{"silent", hold(""), gone, gone, day},
		{"reset", breakOff(""), gone, gone, day},
		{"500", say(answer(500, "", "")), gone, gone, day},
		{"503", say(answer(503, "Retry-After: 5\r\n", "")), gone, gone, day},
		{"429", say(answer(429, "", "")), gone, gone, day},
		{"503 until 9999", say(answer(503, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "")), gone, gone, day},
		{"Crawl-delay of a century", say(answer(200, "", "User-agent: *\nCrawl-delay: 3155760000\n")), gone, gone, day},
		{"not HTTP", end("hello"), gone, gone, day},
		{"500, then rules", then(say(answer(500, "", "")), say(answer(200, "", "User-agent: *\nDisallow: /private\n"))), "ok", "robots", 5 * time.Minute},
		{"HTML page", html("<h1>User-agent: *</h1>\nDisallow: /"), "ok", "ok", time.Minute},
		{"binary", say(answer(200, "Content-Type: image/png\r\n", "\x89PNG\r\n\x1a\n\x00\x00User-agent: *\nDisallow: /private\x00\n")), "ok", "ok", time.Minute},
		{"403", say(answer(403, "", "")), "ok", "ok", time.Minute},
		{"gzip bomb", say(answer(200, "Content-Encoding: gzip\r\n", string(encoded(t, make([]byte, 8<<20), "gzip")))), "ok", "ok", time.Minute},
		{"six redirects", redirectTo("/r0"), "ok", "ok", time.Minute},
		{"loop", redirectTo("/robots.txt"), "ok", "ok", time.Minute},
		{"redirect without target", say(answer(301, "", "")), gone, gone, day},
		{"to file", redirectTo("file:///etc/passwd"), gone, gone, day},
		{"to a private address", redirectTo("http://127.0.0.1/robots.txt"), gone, gone, day},
		{"to metadata", redirectTo("http://169.254.169.254/latest/meta-data/"), gone, gone, day},
		{"to another port", redirectTo("http://good.museum:8080/robots.txt"), gone, gone, day},
		{"to no such host", redirectTo("http://nowhere.invalid/robots.txt"), gone, gone, day},
		{"to a host that is down", redirectTo("http://down.museum/robots.txt"), gone, gone, day},
		{"to a host that fails", redirectTo("http://failing.museum/robots.txt"), gone, gone, day},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.Concurrency, s.cfg.Backoff = 2, config.Duration(time.Second)
				s.seeds = []string{"http://evil.museum/", "http://good.museum/0"}
				pages := map[string]act{"/": html("home of evil" + hrefs("/private")), "/robots.txt": c.robots, "/private": html("private page")}
				for target, play := range all {
					pages[target] = play
				}
				evil := s.host(evilHost, site(pages))
				s.host("down.museum", nil)
				s.host("failing.museum", say(answer(500, "", "")))
				good := s.host("good.museum", goodSite())
				s.run()
				s.judgeGood(t, good)
				for path, want := range map[string]string{"/": c.home, "/private": c.rest} {
					got := s.pages()["http://evil.museum"+path].Outcome
					if got == "" {
						got, _, _ = strings.Cut(strings.Join(s.skipped("http://evil.museum"+path), "; "), ":")
					}
					if got != want && !(path == "/private" && c.home == gone && got == "") {
						t.Errorf("%s is %q, want %q", path, got, want)
					}
				}
				if c.home == gone && evil.count("/") > 0 {
					t.Error("the host was visited without its robots.txt")
				}
				if took := time.Since(s.start); took > c.within {
					t.Errorf("the crawl took %v, want at most %v", took, c.within)
				}
				if n := len(evil.hits); n > 30 {
					t.Errorf("%d contacts with the host", n)
				}
				for addr := range s.dials {
					if !strings.HasPrefix(addr, "93.184.") || !strings.HasSuffix(addr, ":80") {
						t.Errorf("%s was dialed", addr)
					}
				}
				for _, f := range s.fetches()["http://evil.museum/robots.txt"] {
					if f.BytesWire.Or(0) > 2<<20 || f.EndTS.Sub(f.TS) > 31*time.Second {
						t.Errorf("robots.txt took %d bytes and %v", f.BytesWire.Or(0), f.EndTS.Sub(f.TS))
					}
				}
			})
		})
	}
}
