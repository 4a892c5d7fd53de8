package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/config"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
)

// sim is a crawl of a synthetic web in virtual time: the web and the disk are in memory.
type sim struct {
	t    testing.TB
	web  *simweb.Web
	fs   store.FS
	dir  string
	cfg  config.Crawl
	dial func(context.Context, string, string) (net.Conn, error)
}

// simLimit is virtual time that no crawl here needs; one that does not end shows where it stands.
const simLimit = 14 * 24 * time.Hour

func newSim(t testing.TB, o simweb.Options) *sim {
	s := &sim{t: t, web: simweb.New(o), fs: store.Memory(), dir: t.TempDir() + "/crawl", cfg: config.Default()}
	s.cfg.Scope, s.cfg.AllowNet, s.cfg.RelNofollow, s.cfg.MinFree = "any", []string{"127.0.0.0/8"}, true, 0
	s.cfg.Contact = "crawl@archive.museum"
	for name, addrs := range s.web.StaticDNS() {
		s.cfg.Resolve = append(s.cfg.Resolve, fmt.Sprintf("%s:%s", name, addrs[0]))
	}
	s.dial = s.web.Dial
	return s
}

func (s *sim) open() *Node {
	s.t.Helper()
	var seeds []config.Seed
	for _, u := range s.web.Seeds() {
		seed, err := config.ParseSeed(u)
		if err != nil {
			s.t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	n, err := Open(Options{Config: s.cfg, Seeds: seeds, Dir: s.dir, Version: "test", Dial: s.dial, FS: s.fs, Log: s.t.Logf})
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// crawl runs to the end and returns the result.
func (s *sim) crawl() Result {
	s.t.Helper()
	n := s.open()
	soft, cancel := context.WithTimeout(context.Background(), simLimit)
	defer cancel()
	r, err := n.Run(soft, context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := n.Finish(&r, 0, ""); err != nil {
		s.t.Fatal(err)
	}
	if soft.Err() != nil {
		s.t.Errorf("the crawl does not end: %+v", n.Status(5).Queues)
	}
	if err := n.Close(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// standing is how a crawl stands that does not end.
type standing struct{ Queues frontier.Snapshot }

// Status looks at the crawl; rows is how many hosts to list.
func (n *Node) Status(rows int) standing { return standing{n.parts.Frontier.Snapshot(rows)} }

// read returns the content of a file of the crawl folder.
func (s *sim) read(name string) []byte {
	s.t.Helper()
	f, err := s.fs.Open(s.dir + "/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// visited reads the URLs of pages.jsonl.
func (s *sim) visited() []string {
	s.t.Helper()
	var urls []string
	for r, err := range jobdir.Records[jobdir.PageRecord](bytes.NewReader(s.read(jobdir.PagesName))) {
		if err != nil {
			s.t.Fatal(err)
		}
		urls = append(urls, r.URL)
	}
	return urls
}

// promise is what the configuration promises to hosts.
func (s *sim) promise() simweb.Promise {
	return simweb.Promise{Floor: time.Duration(s.cfg.Delay), Factor: s.cfg.DelayFactor, HonourCrawlDelay: true, Agent: "decorum",
		AddrFloor: time.Duration(s.cfg.IPGap), MaxAttempts: s.cfg.Retries + 1}
}

// judge holds the crawl against the truth and the promise.
func (s *sim) judge() {
	s.t.Helper()
	missing, extra, repeated := s.web.Compare(s.visited(), "decorum")
	for what, urls := range map[string][]string{"missing": missing, "extra": extra, "repeated": repeated} {
		if len(urls) > 0 {
			s.t.Errorf("%d URLs %s:\n%s", len(urls), what, strings.Join(urls[:min(len(urls), 10)], "\n"))
			s.explain(urls[0])
		}
	}
	violations := s.web.Verify(s.promise())
	for _, v := range violations[:min(len(violations), 10)] {
		s.t.Error(v)
	}
}

func TestPlainWebIsCrawledWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := simweb.Plain()
		o.Hosts, o.Pages = 10, 300
		s := newSim(t, o)
		start := time.Now()
		r := s.crawl()
		if r.Reason != jobdir.EndExhausted {
			t.Errorf("ended by %s: %s", r.Reason, r.Detail)
		}
		t.Logf("%d pages in %v of virtual time", r.Summary.Pages, time.Since(start))
		s.judge()
	})
}

func TestRealisticWebIsCrawledWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := simweb.Realistic()
		o.Hosts, o.Pages = 30, 1000
		s := newSim(t, o)
		start := time.Now()
		r := s.crawl()
		if r.Reason != jobdir.EndExhausted {
			t.Errorf("ended by %s: %s", r.Reason, r.Detail)
		}
		t.Logf("%d pages in %v of virtual time", r.Summary.Pages, time.Since(start))
		s.judge()
	})
}

// explain shows what is recorded about a URL.
func (s *sim) explain(canonical string) {
	for _, name := range []string{"fetches.jsonl", "skipped.jsonl", "pages/pages.jsonl"} {
		for line := range strings.Lines(string(s.read(name))) {
			if _, rest, ok := strings.Cut(line, `"url":"`); ok {
				u, _, _ := strings.Cut(rest, `"`)
				if s.web.Canonical(u) == canonical {
					s.t.Logf("%s: %s", name, line)
				}
			}
		}
	}
	for _, r := range s.web.Log() {
		if r.Page == canonical {
			s.t.Logf("server: %s %d %v failed %v at %v", r.URL, r.Status, r.Kind, r.Failed, r.Start)
		}
	}
}
