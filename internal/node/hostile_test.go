package node

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// attack is one thing a hostile host does when /evil is asked for. Its home page links to /evil and /next; another
// host, good, is crawled at the same time.
type attack struct {
	name   string
	evil   act
	pages  map[string]act // further ones of the host
	scope  string         // default host
	body   int64          // bytes of the decoded body of /evil; negative: any
	status int            // default 200 for outcome ok

	outcome   string        // recorded of /evil; default ok
	truncated string        // the same
	tries     int           // exchanges for /evil; default 1
	each      time.Duration // longest exchange; default none at all
	wire      int64         // most bytes taken by an exchange; default 100 KiB
	next      string        // outcome of /next; default ok
	skipped   string        // "URL reason", in skipped.jsonl
	total     time.Duration // when the host is done at the latest; default from tries and each
	check     func(t *testing.T, s *stage)
}

const (
	goodPages = 12
	evilHost  = "evil.museum"
	evilURL   = "http://evil.museum/evil"
)

// goodSite is a chain of pages.
func goodSite() act {
	pages := map[string]act{}
	for i := range goodPages {
		pages[fmt.Sprintf("/%d", i)] = html(fmt.Sprintf("<p>Good page %d of many</p>", i) + hrefs(fmt.Sprintf("/%d", i+1)))
	}
	return site(pages)
}

func (a attack) run(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.Concurrency = 2
		if a.scope != "" {
			s.cfg.Scope = a.scope
		}
		s.seeds = []string{"http://evil.museum/", "http://good.museum/0"}
		pages := map[string]act{"/": html("home of evil" + hrefs("/evil", "/next")), "/evil": a.evil,
			"/next": say(answer(200, asHTML, "<title>next</title>the next page of evil"))}
		for target, play := range a.pages {
			pages[target] = play
		}
		evil, good := s.host(evilHost, site(pages)), s.host("good.museum", goodSite())
		s.run()
		a.judge(t, s, evil)
		s.judgeGood(t, good)
		if a.check != nil {
			a.check(t, s)
		}
	})
}

func (a *attack) defaults() {
	a.tries, a.wire = max(a.tries, 1), max(a.wire, 100<<10)
	if a.outcome == "" {
		a.outcome = "ok"
	}
	if a.outcome == "ok" && a.status == 0 {
		a.status = 200
	}
	if a.next == "" {
		a.next = "ok"
	}
	if a.total == 0 { // each exchange has a rest of ten times its length, each retry a back-off of its own
		a.total = time.Duration(a.tries+3)*(11*a.each+2*time.Second) + time.Duration(a.tries-1)*20*time.Second
	}
}

// judge holds what is recorded of the hostile host against what must be.
func (a attack) judge(t *testing.T, s *stage, evil *actor) {
	a.defaults()
	p, next := s.pages()[evilURL], s.pages()["http://evil.museum/next"]
	if p.Outcome != a.outcome || p.Status != a.status || p.Truncated != a.truncated {
		t.Errorf("/evil is %q, status %d, truncated %q; want %q, %d, %q", p.Outcome, p.Status, p.Truncated, a.outcome, a.status, a.truncated)
	} else if n := p.BytesBody.Or(0); a.body >= 0 && n != a.body {
		t.Errorf("/evil has a body of %d bytes, want %d", n, a.body)
	}
	if next.Outcome != a.next || next.Outcome == "ok" && next.Title != "next" {
		t.Errorf("the next page of the host is %q, title %q, want %q; %v", next.Outcome, next.Title, a.next, s.skipped("http://evil.museum/next"))
	}
	fetches := s.fetches()[evilURL]
	if len(fetches) != a.tries {
		t.Errorf("/evil was fetched %d times, want %d", len(fetches), a.tries)
	}
	for _, f := range fetches {
		const probe = 2 * time.Millisecond // before it reuses a connection that is no socket, fetch waits for its end
		took, wire := f.EndTS.Sub(f.TS), f.BytesWire.Or(0)
		if took > a.each+probe || wire > a.wire || f.Attempt == a.tries && f.Outcome != a.outcome {
			t.Errorf("attempt %d: %q took %v and %d bytes; want %q, at most %v and %d", f.Attempt, f.Outcome, took, wire, a.outcome, a.each, a.wire)
		}
	}
	if last := evil.hits[len(evil.hits)-1].at.Sub(s.start); last > a.total {
		t.Errorf("the host was done after %v, want at most %v", last, a.total)
	}
	if a.skipped != "" {
		url, reason, _ := strings.Cut(a.skipped, " ")
		if got := strings.Join(s.skipped(url), "; "); !strings.HasPrefix(got, reason) {
			t.Errorf("%s is skipped as %q, want %q", url, got, reason)
		}
	}
}

// judgeGood holds the good host to its pace: one contact a second, whatever the other host does.
func (s *stage) judgeGood(t *testing.T, good *actor) {
	t.Helper()
	pages := s.pages()
	for i := range goodPages {
		if p := pages[fmt.Sprintf("http://good.museum/%d", i)]; p.Outcome != "ok" {
			t.Errorf("good page %d is %q", i, p.Outcome)
		}
	}
	if len(good.hits) != goodPages+2 { // robots.txt, and the link that leads nowhere
		t.Errorf("%d contacts with the good host, want %d", len(good.hits), goodPages+2)
	}
	want := time.Duration(len(good.hits)-1) * time.Second
	if took := good.hits[len(good.hits)-1].at.Sub(good.hits[0].at); took > want+want/50 {
		t.Errorf("the good host took %v, want %v", took, want)
	}
	if d := good.hits[0].at.Sub(s.start); d > time.Second {
		t.Errorf("the good host had to wait %v", d)
	}
}

func TestHostileTime(t *testing.T) {
	chunked := ok200 + "Transfer-Encoding: chunked\r\n\r\n"
	for _, a := range []attack{
		{name: "accepts and is silent", evil: hold(""), outcome: "timeout", tries: 4, each: 20 * time.Second},
		{name: "does not take the request", evil: hold(""), pages: map[string]act{"/": func(w *wire, q hit) bool {
			html("home of evil"+hrefs("/evil", "/next"))(w, q)
			if q.nth == 1 {
				time.Sleep(25 * time.Second)
			}
			return true
		}}, outcome: "timeout", tries: 4, each: 20 * time.Second},
		{name: "header a byte a second", evil: drip(ok200+"X: ", "x", time.Second), outcome: "timeout", tries: 4, each: 12 * time.Second},
		{name: "body a byte a second", evil: drip(ok200+"Content-Length: 5000\r\n\r\n", "x", time.Second), outcome: "too_slow", status: 200,
			truncated: "time", tries: 4, each: 12 * time.Second, body: 10},
		{name: "a chunk of a byte a second", evil: drip(chunked, "1\r\nx\r\n", time.Second), outcome: "too_slow", status: 200,
			truncated: "time", tries: 4, each: 12 * time.Second, body: 10},
		{name: "body at 2 KiB/s", evil: drip(ok200+"Content-Length: 500000\r\n\r\n", strings.Repeat("x", 512), time.Second/4), outcome: "timeout",
			status: 200, truncated: "time", tries: 4, each: 30 * time.Second, body: -1},
		{name: "informational, then silence", evil: hold("HTTP/1.1 103 Early Hints\r\n\r\n"), outcome: "timeout", tries: 4, each: 20 * time.Second},
		{name: "informational once a second", evil: drip("", "HTTP/1.1 102 Processing\r\n\r\n", time.Second), outcome: "bad_http", tries: 4, each: 7 * time.Second},
		{name: "body stalls", evil: hold(ok200 + "Content-Length: 10\r\n\r\nhalf"), outcome: "too_slow", status: 200, truncated: "time", tries: 4,
			each: 11 * time.Second, body: 4},
		{name: "slow once", evil: then(hold(""), html("late")), tries: 2, each: 20 * time.Second, body: -1},
	} {
		t.Run(a.name, a.run)
	}
}

func TestHostileHeads(t *testing.T) {
	bad := func(name string, evil act) attack {
		return attack{name: name, evil: evil, outcome: "bad_http", tries: 4}
	}
	fine := func(name string, evil act) attack { return attack{name: name, evil: evil, body: -1} }
	reset := func(name string, evil act) attack { return attack{name: name, evil: evil, outcome: "reset", tries: 4} }
	for _, a := range []attack{
		bad("endless header", endless(ok200, "X-Filler: 0123456789\r\n")),
		bad("endless header line", endless(ok200+"X: ", "x")),
		bad("200 KB header", end(ok200+"X: "+strings.Repeat("x", 200<<10)+"\r\n\r\n")),
		bad("600 fields", end(ok200+strings.Repeat("a: b\r\n", 600)+"\r\n")),
		bad("flood of cookies", end(ok200+strings.Repeat("Set-Cookie: a=b; Path=/\r\n", 600)+"\r\n")),
		bad("HTTP/0.9", end("<html>"+hrefs("/after"))),
		bad("another protocol", hold("SSH-2.0-OpenSSH_9.6\r\n")),
		bad("endless junk", endless("", "junk")),
		bad("NUL", end(ok200+"X: a\x00b\r\n\r\n")),
		bad("control character", end(ok200+"X: a\x01b\r\n\r\n")),
		bad("begins with a fold", end("HTTP/1.1 200 OK\r\n X: y\r\n\r\n")),
		bad("status 2x0", end("HTTP/1.1 2x0 OK\r\n\r\n")),
		bad("1xx flood", endless("", "HTTP/1.1 100 Continue\r\n\r\n")),
		bad("101", hold("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")),
		fine("some cookies", say(answer(200, asHTML+strings.Repeat("Set-Cookie: a=b; Path=/\r\n", 100), "cookies"))),
		fine("bare LF", end("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 2\n\nok")),
		fine("obs-fold", end(ok200+"Content-Length:\r\n 2\r\n\r\nok")),
		fine("five 1xx", say(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 5)+answer(200, asHTML, "ok"))),
		fine("kept connection closed on reuse", func(w *wire, q hit) bool { return q.on == 1 && html("fresh")(w, q) }),
		fine("kept connection reset on reuse", func(w *wire, q hit) bool {
			if q.on > 1 {
				return breakOff("")(w, q)
			}
			return html("fresh")(w, q)
		}),
		fine("keep-alive, and hangs up", end(answer(200, asHTML, "gone"))),
		reset("reset before the header", breakOff("")),
		reset("reset in the header", breakOff(ok200+"X: y")),
		reset("end before the header", end("")),
		reset("end in the header", end(ok200+"X")),
		{name: "status 999", evil: say(answer(999, "", "")), outcome: "odd_status", status: 999},
		{name: "reset once", evil: then(breakOff(ok200), html("late")), tries: 2, body: -1},
	} {
		t.Run(a.name, a.run)
	}
}

func TestHostileFraming(t *testing.T) {
	const chunked = ok200 + "Transfer-Encoding: chunked\r\n\r\n"
	cut := func(name string, evil act) attack {
		return attack{name: name, evil: evil, truncated: "length", body: 1 << 20, wire: 3 << 20}
	}
	ok := func(name, text string, body int64) attack { return attack{name: name, evil: hold(text), body: body} }
	broken := func(name, outcome string, evil act, body int64) attack {
		return attack{name: name, evil: evil, outcome: outcome, status: 200, truncated: "disconnect", tries: 4, body: body}
	}
	for _, a := range []attack{
		cut("endless body", endless(ok200+"\r\n", "x")),
		cut("endless chunks", endless(chunked, "400\r\n"+strings.Repeat("x", 1024)+"\r\n")),
		cut("one endless chunk", endless(chunked+"fffffffffffffff\r\n", "x")),
		cut("endless announced body", endless(ok200+"Content-Length: 99999999999999\r\n\r\n", "x")),
		{name: "endless tiny chunks", evil: endless(chunked, "1;"+strings.Repeat("e", 1000)+"\r\nx\r\n"), truncated: "length", body: -1, wire: 3 << 20},
		ok("Content-Length too short", ok200+"Content-Length: 4\r\n\r\nfourteen", 4),
		ok("both framings, chunked wins", ok200+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n", 4),
		ok("smuggled response", answer(200, asHTML, "x")+answer(200, asHTML, "<title>wrong</title>"), 1),
		{name: "smuggled response, late", evil: func(w *wire, q hit) bool {
			return say(answer(200, asHTML, "x"))(w, q) && say(answer(200, asHTML, "<title>wrong</title>"))(w, q)
		}, body: 1},
		ok("smuggled after chunks", chunked+"1\r\nx\r\n0\r\n\r\n"+answer(200, asHTML, "<title>wrong</title>"), 1),
		broken("Content-Length too long", "reset", end(ok200+"Content-Length: 10\r\n\r\nfour"), 4),
		broken("reset after the header", "reset", breakOff(ok200+"Content-Length: 10\r\n\r\n"), 0),
		broken("reset in the body", "reset", breakOff(ok200+"Content-Length: 10\r\n\r\nfour"), 4),
		broken("end in a chunk", "reset", end(chunked+"8\r\nfour"), 4),
		broken("different Content-Lengths", "bad_http", end(ok200+"Content-Length: 4\r\nContent-Length: 5\r\n\r\nfour"), 0),
		broken("negative Content-Length", "bad_http", end(ok200+"Content-Length: -4\r\n\r\nfour"), 0),
		broken("overlong chunk line", "bad_http", end(chunked+"4;"+strings.Repeat("x", 5000)+"\r\nfour"), 0),
		broken("overlong trailer", "bad_http", end(chunked+"0\r\n"+strings.Repeat("a: b\r\n", 12000)+"\r\n"), 0),
		broken("chunk size 2^64", "bad_http", end(chunked+"10000000000000004\r\nfour"), 0),
		{name: "204 with a body", evil: hold("HTTP/1.1 204 No Content\r\n\r\nbody"), status: 204},
		{name: "304 with a body", evil: hold("HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nbody"), outcome: "not_modified", status: 304},
		{name: "redirect with a broken body", evil: end("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 9\r\n\r\n"), outcome: "redirect",
			status: 302, truncated: "disconnect"},
	} {
		t.Run(a.name, a.run)
	}
}

// encoded applies content codings in their order.
func encoded(t testing.TB, plain []byte, names ...string) []byte {
	for _, name := range names {
		var out bytes.Buffer
		var w io.WriteCloser
		switch name {
		case "gzip":
			w = gzip.NewWriter(&out)
		case "deflate":
			w = zlib.NewWriter(&out)
		case "br":
			w = brotli.NewWriterLevel(&out, 3)
		case "zstd":
			w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		}
		if _, err := w.Write(plain); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		plain = out.Bytes()
	}
	return plain
}

func TestHostileCodings(t *testing.T) {
	coded := func(body []byte, names ...string) act {
		return say(answer(200, asHTML+"Content-Encoding: "+strings.Join(names, ", ")+"\r\n", string(body)))
	}
	zeros, text := make([]byte, 8<<20), []byte("<p>a page of some words that is worth to be coded, and long enough for it</p>")
	zip, none := encoded(t, text, "gzip"), encoded(t, nil, "gzip")
	attacks := []attack{
		{name: "multi-member gzip bomb", evil: coded(bytes.Repeat(encoded(t, zeros[:1<<20], "gzip"), 8), "gzip"), truncated: "length", body: 1 << 20},
		{name: "endless empty members", evil: coded(bytes.Repeat(none, 3000), "gzip"), body: 0},
		{name: "endless stream of empty members", evil: endless(ok200+"Content-Encoding: gzip\r\n\r\n", string(none)), truncated: "length", body: 0, wire: 3 << 20},
		{name: "truncated gzip", evil: coded(zip[:len(zip)-12], "gzip"), body: -1},
		{name: "truncated gzip, hung up", evil: end(ok200 + "Content-Encoding: gzip\r\nContent-Length: 500\r\n\r\n" + string(zip)), outcome: "reset", status: 200,
			truncated: "disconnect", tries: 4, body: -1},
		{name: "gzip that is text", evil: coded(text, "gzip"), body: int64(len(text))},
		{name: "text that is gzip", evil: say(answer(200, asHTML, string(zip))), body: int64(len(zip))},
		{name: "br that is text", evil: coded(text, "br"), body: -1},
		{name: "unknown coding", evil: coded(text, "x-unheard-of"), body: int64(len(text))},
		{name: "nine codings", evil: coded(text, "br", "br", "br", "br", "br", "br", "br", "br", "br"), body: int64(len(text))},
	}
	for _, names := range [][]string{{"gzip"}, {"deflate"}, {"br"}, {"zstd"}, {"gzip", "gzip"}, {"zstd", "br"}, {"br", "zstd", "gzip"}} {
		attacks = append(attacks, attack{name: "bomb " + strings.Join(names, "+"), evil: coded(encoded(t, zeros, names...), names...), truncated: "length", body: 1 << 20})
	}
	for _, a := range attacks {
		t.Run(a.name, a.run)
	}
}

func TestHostileRedirects(t *testing.T) {
	chain := map[string]act{}
	for i := range 30 {
		chain[fmt.Sprintf("/r%d", i)] = redirectTo(fmt.Sprintf("/r%d", i+1))
	}
	to := func(location, skipped string) attack {
		return attack{name: location, evil: redirectTo(location), outcome: "redirect", status: 302, skipped: skipped}
	}
	nowhere := func(name, location string) attack {
		return attack{name: name, evil: redirectTo(location), outcome: "bad_redirect", status: 302}
	}
	ends := func(a attack, name, target string, pages map[string]act) attack {
		a.name, a.pages, a.total = name, pages, 20*time.Second
		a.check = func(t *testing.T, s *stage) {
			if p := s.pages()["http://evil.museum"+target]; p.Outcome == "" {
				t.Errorf("the target %s was not visited", target)
			}
		}
		return a
	}
	for _, a := range []attack{
		to("/evil", ""),
		ends(to("/b", ""), "loop of two", "/b", map[string]act{"/b": redirectTo("/evil")}),
		ends(to("/r0", "http://evil.museum/r10 redirect_limit"), "endless chain", "/r9", chain),
		to("http://good.museum/0", ""),
		to("http://elsewhere.museum/", "http://elsewhere.museum/ scope"),
		ends(to("/a page", ""), "spaces", "/a%20page", nil),
		ends(to("/stra\xc3\x9fe", ""), "UTF-8", "/stra%C3%9Fe", nil),
		ends(to("/stra\xdfe", ""), "Latin-1", "/stra%EF%BF%BDe", nil),
		ends(to("/a\tb", ""), "tab", "/ab", nil),
		nowhere("file", "file:///etc/passwd"), nowhere("data", "data:text/html,hello"), nowhere("javascript", "javascript:alert(1)"),
		nowhere("empty", ""), nowhere("no host", "http://"), nowhere("too long", "/"+strings.Repeat("x", 5000)), nowhere("bad port", "http://evil.museum:99999/"),
		{name: "control character", evil: redirectTo("/a\x01b"), outcome: "bad_http", tries: 4},
		{name: "no Location", evil: say(answer(301, "", "")), outcome: "bad_redirect", status: 301},
	} {
		t.Run(a.name, a.run)
	}
}

// Retry-After is obeyed to the second, and what no sane server means neither overflows nor keeps the crawl for ever.
func TestHostileRetryAfter(t *testing.T) {
	const backoff = time.Minute // of a host that sent 429
	for value, rest := range map[string]time.Duration{
		"30": backoff, "600": 10 * time.Minute, "0": backoff, "-5": backoff, "soon": backoff, "1e9": backoff, "": backoff,
		"Sat, 01 Jan 2000 02:00:00 GMT": 2 * time.Hour, "Thu, 01 Jan 1970 00:00:00 GMT": backoff,
		"Fri, 31 Dec 9999 23:59:59 GMT": -1, "99999999999999999999999": -1, "9223372036": -1,
	} {
		busy := say(answer(429, "Retry-After: "+value+"\r\n", ""))
		a := attack{name: "429 " + value, evil: then(busy, html("at last")), tries: 2, body: -1, total: rest + time.Minute}
		if rest < 0 { // it will not be back before the crawl is forgotten
			a = attack{name: a.name, evil: busy, outcome: "", tries: 1, next: "", skipped: evilURL + " gave_up"}
			t.Run(a.name, a.gone)
			continue
		}
		a.check = func(t *testing.T, s *stage) {
			f := s.fetches()[evilURL]
			if gap := f[1].TS.Sub(f[0].EndTS); gap < rest-5*time.Second || gap > rest+time.Second {
				t.Errorf("tried again after %v, want %v", gap, rest)
			}
		}
		t.Run(a.name, a.run)
	}
}

// gone is a crawl in which the hostile host is given up for good.
func (a attack) gone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.seeds = []string{"http://evil.museum/", "http://good.museum/0"}
		evil := s.host(evilHost, site(map[string]act{"/": html("home of evil" + hrefs("/evil", "/next")), "/evil": a.evil, "/next": html("next")}))
		good := s.host("good.museum", goodSite())
		s.run()
		s.judgeGood(t, good)
		if n := evil.count("/evil"); n != a.tries {
			t.Errorf("/evil was asked for %d times, want %d", n, a.tries)
		}
		for _, u := range []string{evilURL, "http://evil.museum/next"} {
			if got := strings.Join(s.skipped(u), "; "); !strings.HasPrefix(got, "gave_up") {
				t.Errorf("%s is skipped as %q, want gave_up", u, got)
			}
		}
		if took := time.Since(s.start); took > time.Minute {
			t.Errorf("the crawl took %v", took)
		}
	})
}

// A host that answers everything with 429 is asked less and less, and then not at all.
func TestStormOf429(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.seeds = []string{"http://evil.museum/", "http://good.museum/0"}
		var links []string
		for i := range 50 {
			links = append(links, fmt.Sprintf("/page-%c%c", 'a'+i%26, 'a'+i/26))
		}
		storm := say(answer(429, "Retry-After: 1\r\n", "go away"))
		evil := s.host(evilHost, func(w *wire, q hit) bool {
			switch q.target {
			case "/robots.txt":
				return say(answer(404, "", ""))(w, q)
			case "/":
				return html("home"+hrefs(links...))(w, q)
			}
			return storm(w, q)
		})
		good := s.host("good.museum", goodSite())
		r := s.run()
		s.judgeGood(t, good)
		if n := len(evil.hits); n != 2+10 {
			t.Errorf("%d contacts with the host, want 12: it is given up after 10 refusals", n)
		}
		if r.Summary.Skipped["gave_up"] != 48 || r.Summary.Outcomes["rate_limited"] != 2 {
			t.Errorf("skipped %v, outcomes %v; of 50 pages two are concluded and 48 given up", r.Summary.Skipped, r.Summary.Outcomes)
		}
	})
}

// Cookies are neither kept nor sent.
func TestCookiesAreNotSent(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.seeds = []string{"http://evil.museum/"}
		evil := s.host(evilHost, site(map[string]act{"/": say(answer(200, asHTML+"Set-Cookie: id=1\r\n", hrefs("/a"))), "/a": html("a")}))
		s.run()
		for _, q := range evil.hits {
			if q.cookie {
				t.Errorf("a cookie was sent with %s", q.target)
			}
		}
	})
}

// Bodies without end, from many pages at once, take no more memory than a few of them.
func TestHostileBodiesLeaveMemoryFlat(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.MaxBody, s.cfg.Memory = 4<<20, 64<<20
		bomb := say(answer(200, asHTML+"Content-Encoding: gzip\r\n", string(encoded(t, make([]byte, 16<<20), "gzip"))))
		flood := endless(ok200+"\r\n", strings.Repeat("<p>words without end </p>\n", 1000))
		var peak atomic.Uint64
		measure := func() uint64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapInuse
		}
		for i := range 10 {
			name := fmt.Sprintf("evil-%c.museum", 'a'+i)
			s.seeds = append(s.seeds, "http://"+name+"/0")
			s.host(name, func(w *wire, q hit) bool {
				peak.Store(max(peak.Load(), measure()))
				var n int
				if _, err := fmt.Sscanf(q.target, "/%d", &n); err != nil || n > 6 {
					return say(answer(404, "", ""))(w, q)
				}
				if n == 0 {
					return html(name+hrefs("/1", "/2", "/3", "/4", "/5", "/6"))(w, q)
				}
				return []act{bomb, flood}[n%2](w, q)
			})
		}
		before := measure()
		r := s.run()
		if n := r.Summary.Outcomes["ok"] + r.Summary.Outcomes["duplicate"]; n != 10*7 {
			t.Errorf("%d pages, want %d: %v", n, 10*7, r.Summary.Outcomes)
		}
		if grown := int64(peak.Load()) - int64(before); grown > 200<<20 { // 60 bodies of 4 MiB, as received and decoded, are more than that
			t.Errorf("the heap grew by %d MiB", grown>>20)
		} else {
			t.Logf("the heap grew by %d MiB", grown>>20)
		}
		if left, _ := os.ReadDir(s.dir + "/state/spool"); len(left) > 0 {
			t.Errorf("%d files are left in the spool", len(left))
		}
	})
}
