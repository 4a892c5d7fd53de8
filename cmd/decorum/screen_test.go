package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/web"
)

// fixedStatus is a crawl that stands still.
func fixedStatus(int) web.Status {
	return web.Status{V: 1, Type: "status", Time: time.Now(), ElapsedMS: 724_000, State: web.Crawling, Pages: 4812, Fetches: 5103, Found: 31207, Queued: 26100, Skipped: 261,
		SkippedBy: map[string]uint64{"robots": 201, "scope": 60}, Responses: web.Responses{S2xx: 4611, S4xx: 61, None: 11}, Rates: web.Rates{Pages: 6.9, PagesAverage: 6.6, Bytes: 2.1e6},
		Bytes: web.Volume{Wire: 182_000_000}, Hosts: web.Hosts{WithURLs: 41, Resting: 41}, Bound: web.Bound{Kind: web.BoundPoliteness, Text: "bound by politeness: 41 hosts left"},
		Rows: []web.Host{{Host: "slow.example", CrawlDelayMS: 2000}}, Page: "http://127.0.0.1:7070/"}
}

// showFor returns what a screen with the options shows of fixedStatus in a span of virtual time.
func showFor(t *testing.T, span time.Duration, change func(*config.Crawl)) string {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		c := config.Default()
		if change != nil {
			change(&c)
		}
		s := newScreen(&out, &c)
		s.status = fixedStatus
		s.show()
		time.Sleep(span)
		s.log("a line\x1b[2J of the crawl\nand another")
		s.finish(&node.Result{Reason: jobdir.EndInterrupted, Summary: jobdir.Summary{WallMS: 192_000, Runs: 1, Pages: 96, QueuedLeft: 300,
			Skipped: map[string]int64{"robots": 9, "scope": 5}}}, "decorum crawl https://example.org")
	})
	return out.String()
}

const (
	plainLine = "12m04s · crawling · 4,812 pages · 6.9/s · 182 MB · queued 26,100 (41 hosts) · skipped 261 · errors 11 · bound by politeness: 41 hosts left\n"
	logLines  = `a line\x1b[2J of the crawl` + "\nand another\n"
	endLine   = "paused after 3m12s · 96 pages · 14 skipped (9 robots, 5 scope) · 300 URLs left · resume: decorum crawl https://example.org\n"
)

func TestPlainScreen(t *testing.T) {
	span := 25 * time.Second
	if got := showFor(t, span, nil); got != plainLine+plainLine+logLines+endLine {
		t.Errorf("not a terminal:\n%s", got)
	}
	if got := showFor(t, span, func(c *config.Crawl) { c.Progress = "off" }); got != logLines+endLine {
		t.Errorf("--progress off:\n%s", got)
	}
	if got := showFor(t, span, func(c *config.Crawl) { c.Quiet = true }); got != logLines+endLine {
		t.Errorf("--quiet:\n%s", got)
	}
}

func TestJSONScreen(t *testing.T) {
	var messages []string
	for line := range strings.Lines(showFor(t, 25*time.Second, func(c *config.Crawl) { c.LogFormat = "json" })) {
		var r struct {
			Msg    string
			Status web.Status
			Reason string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Msg == "status" && r.Status.Pages != 4812 || r.Msg == "end" && r.Reason != "interrupted" {
			t.Errorf("%s", line)
		}
		messages = append(messages, r.Msg)
	}
	if got := strings.Join(messages, "|"); got != "status|status|a line\x1b[2J of the crawl\nand another|end" {
		t.Errorf("%q", got)
	}
}

// TestBlockScreen: on a terminal the block is there until the end, and then only what was said.
func TestBlockScreen(t *testing.T) {
	v := &vt{t: t, width: 100}
	var during []string
	synctest.Test(t, func(t *testing.T) {
		c := config.Default()
		s := newScreen(&bytes.Buffer{}, &c)
		s.w, s.term, s.status = v, &terminal{w: v, width: func() int { return v.width }, color: true}, fixedStatus
		s.show()
		time.Sleep(3*time.Second + 10*time.Millisecond)
		s.log("going on")
		during = v.lines()
		s.finish(&node.Result{Reason: jobdir.EndExhausted, Summary: jobdir.Summary{WallMS: 192_000, Pages: 96}}, "")
	})
	seen := strings.Join(during, "\n")
	if !strings.HasPrefix(seen, "going on\n● crawling") || strings.Count(seen, "crawling") != 1 || !strings.Contains(seen, "ctrl-c pause · live page http://127.0.0.1:7070/") {
		t.Errorf("during:\n%s", seen)
	}
	if after := strings.TrimSpace(strings.Join(v.lines(), "\n")); after != "going on\nfinished after 3m12s · 96 pages · 0 skipped" {
		t.Errorf("after:\n%s", after)
	}
}

func TestStartLines(t *testing.T) {
	c := config.Default()
	s := newScreen(&bytes.Buffer{}, &c)
	for want, change := range map[string]func(){
		"scope host example.org · no page limit · robots.txt obeyed · rest 1.0s or 10x the last fetch": nil,
		"scope host example.org · at most 500 pages · at most 1h00m · robots.txt obeyed except for own.example · rest 1.0s or 10x the last fetch": func() {
			c.MaxPages, c.MaxTime, c.IgnoreRobots = 500, config.Duration(time.Hour), []string{"own.example"}
		},
	} {
		c = config.Default()
		if change != nil {
			change()
		}
		if got := s.plan([]string{"https://example.org/"}); got != want {
			t.Errorf("%s\nnot\n%s", got, want)
		}
	}
	c = config.Default()
	if got := s.plan([]string{"https://a.example/", "https://b.example/"}); !strings.HasPrefix(got, "scope host of 2 seeds · ") {
		t.Error(got)
	}
}

// TestTokenStaysOnTheScreen: the log of the live page can be read by everybody on the machine.
func TestTokenStaysOnTheScreen(t *testing.T) {
	var out bytes.Buffer
	c := config.Default()
	s := newScreen(&out, &c)
	s.where("x.crawl", "http://127.0.0.1:7070/?token=SECRET")
	if !strings.Contains(out.String(), "SECRET") {
		t.Error("not on the screen")
	}
	if lines := s.feed.Lines(); len(lines) != 0 {
		t.Errorf("in the log: %v", lines)
	}
}

func TestRobotsIsToldOnce(t *testing.T) {
	for outcome, want := range map[string]string{"ok": "robots.txt ok · Crawl-delay 2.0s, honoured\n", "not_found": "no robots.txt (404): all of slow.example may be fetched\n",
		"server_error": "robots.txt of slow.example is not to be had (the server failed (5xx)): the host waits\n"} {
		var out bytes.Buffer
		c := config.Default()
		s := newScreen(&out, &c)
		s.status, s.seedHost = fixedStatus, "slow.example"
		s.fetched(&jobdir.FetchRecord{Kind: jobdir.KindRobots, Host: "other.example", Outcome: "ok"})
		for range 2 {
			s.fetched(&jobdir.FetchRecord{Kind: jobdir.KindRobots, Host: "slow.example", Outcome: outcome, Status: 404})
		}
		if out.String() != want {
			t.Errorf("%s: %q", outcome, out.String())
		}
	}
}

func TestVerboseLine(t *testing.T) {
	var out bytes.Buffer
	c := config.Default()
	s := newScreen(&out, &c)
	r := jobdir.PageRecord{URL: "https://example.org/\x1b]0;x\x07", Status: 200, Outcome: "ok", TotalMS: jobdir.Known(142), BytesBody: jobdir.Known(12_345)}
	s.page(&r)
	if out.Len() > 0 {
		t.Error("a line without --verbose:", out.String())
	}
	c.Verbose = true
	s.page(&r)
	s.page(&jobdir.PageRecord{URL: "https://example.org/slow", Outcome: "timeout", TotalMS: jobdir.Known(30_000)})
	want := "200   142ms   12 kB  https://example.org/\\x1b]0;x\\x07\n" + "timeout    30s     0 B  https://example.org/slow\n"
	if out.String() != want {
		t.Errorf("%q\nnot\n%q", out.String(), want)
	}
}

func TestEndings(t *testing.T) {
	sum := jobdir.Summary{WallMS: 192_000, Runs: 2, Pages: 100, WARCFiles: 1, BytesArchived: 9_100_000, QueuedLeft: 5}
	for want, r := range map[string]node.Result{
		"finished (100 pages, as asked) after 3m12s in 2 runs · 100 pages · 0 skipped · 9.1 MB in 1 WARC file · 5 URLs left · resume: again": {Reason: jobdir.EndMaxPages, Detail: "100 pages, as asked"},
		"finished after 3m12s in 2 runs · 100 pages · 0 skipped · 9.1 MB in 1 WARC file":                                                     {Reason: jobdir.EndExhausted},
		"stopped after 3m12s in 2 runs · 100 pages · 0 skipped · 9.1 MB in 1 WARC file · 5 URLs left · resume: again":                        {Reason: jobdir.EndInterrupted, Forced: true},
		"stopped by disk trouble after 3m12s in 2 runs · 100 pages · 0 skipped · 9.1 MB in 1 WARC file · 5 URLs left · resume: again":        {Reason: jobdir.EndDisk},
	} {
		r.Summary = sum
		if got := ending(&r, "again"); got != want {
			t.Errorf("%s\nnot\n%s", got, want)
		}
	}
}
