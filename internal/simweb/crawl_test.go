package simweb

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"
)

// naive is the simplest crawler that keeps every promise: one request at a time, in any order.
type naive struct {
	t       *testing.T
	web     *Web
	client  *http.Client
	agent   string
	order   *rand.Rand
	queue   []string
	seen    map[string]bool
	visited []string
	bodies  map[[32]byte]bool
	hosts   map[string]*naiveHost
}

type naiveHost struct {
	next  time.Time
	rules *rules
}

const (
	testFloor  = time.Second
	testFactor = 10
)

func newNaive(t *testing.T, w *Web, order uint64) *naive {
	transport := &http.Transport{DialContext: w.Dial, MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &naive{t: t, web: w, agent: "decorum", order: rand.New(rand.NewPCG(order, 1)), seen: map[string]bool{},
		bodies: map[[32]byte]bool{}, hosts: map[string]*naiveHost{},
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// run crawls everything.
func (c *naive) run() {
	for _, s := range c.web.Seeds() {
		c.add(s)
	}
	for len(c.queue) > 0 {
		i := c.order.IntN(len(c.queue))
		u := c.queue[i]
		c.queue[i] = c.queue[len(c.queue)-1]
		c.queue = c.queue[:len(c.queue)-1]
		c.visit(u)
	}
	c.client.CloseIdleConnections()
}

func (c *naive) add(raw string) {
	key := c.web.Canonical(raw)
	if key == "" || c.seen[key] || strings.Contains(key, TrapPrefix) {
		return
	}
	c.seen[key] = true
	c.queue = append(c.queue, raw)
}

func (c *naive) host(u *url.URL) *naiveHost {
	name := strings.ToLower(u.Hostname())
	if c.hosts[name] == nil {
		c.hosts[name] = &naiveHost{}
	}
	return c.hosts[name]
}

// get makes one contact, in time; the body is nil when it came incomplete.
func (c *naive) get(raw string) (*http.Response, []byte) {
	u, err := url.Parse(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	h := c.host(u)
	time.Sleep(time.Until(h.next))
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), ":80") // net/http pools connections by spelling
	req, _ := http.NewRequest("GET", u.String(), nil)
	req.Header.Set("User-Agent", c.agent)
	start := time.Now()
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatalf("get %s: %v", raw, err)
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.t.Fatalf("get %s: %v", raw, err)
	}
	if err != nil {
		data = nil
	}
	gap := max(testFloor, testFactor*time.Since(start), retryAfter(resp))
	if h.rules != nil {
		gap = max(gap, h.rules.delay)
	}
	h.next = time.Now().Add(gap)
	return resp, data
}

func retryAfter(resp *http.Response) time.Duration {
	value := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(value); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return time.Until(at)
	}
	return 0
}

// robots returns the rules of a host, after reading its sitemaps.
func (c *naive) robots(u *url.URL) *rules {
	h := c.host(u)
	if h.rules != nil {
		return h.rules
	}
	at := "http://" + u.Host + robotsPath
	for {
		resp, data := c.get(at)
		switch {
		case resp.StatusCode >= 500:
			continue
		case resp.StatusCode >= 400:
			h.rules = &rules{}
			return h.rules
		case resp.StatusCode >= 300:
			to, _ := resp.Location()
			at = to.String()
			continue
		}
		r := parseRules(string(data), c.agent)
		h.rules = &r
		if until := time.Now().Add(r.delay); until.After(h.next) {
			h.next = until
		}
		for line := range strings.Lines(string(data)) {
			if s, ok := strings.CutPrefix(line, "Sitemap: "); ok {
				c.sitemap(strings.TrimSpace(s))
			}
		}
		return h.rules
	}
}

func (c *naive) sitemap(at string) {
	resp, data := c.get(at)
	if resp.StatusCode != 200 {
		c.t.Errorf("%s: %s", at, resp.Status)
	}
	if strings.HasSuffix(at, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			c.t.Fatal(err)
		}
		data, _ = io.ReadAll(z)
	}
	if strings.HasSuffix(at, ".txt") {
		for line := range strings.Lines(string(data)) {
			c.add(strings.TrimSpace(line))
		}
		return
	}
	isIndex := bytes.Contains(data, []byte("<sitemapindex"))
	for _, part := range strings.Split(string(data), "<loc>")[1:] {
		loc, _, _ := strings.Cut(part, "</loc>")
		if loc = html.UnescapeString(loc); isIndex {
			c.sitemap(loc)
		} else {
			c.add(loc)
		}
	}
}

func (c *naive) visit(raw string) {
	u, err := url.Parse(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	if r := c.robots(u); !r.allowed(u.RequestURI()) {
		return
	}
	for try := 1; ; try++ {
		resp, data := c.get(raw)
		if try < 4 && (resp.StatusCode >= 500 || resp.StatusCode == 429 || data == nil) {
			continue
		}
		c.visited = append(c.visited, raw)
		if to, err := resp.Location(); err == nil {
			c.add(to.String())
		}
		if resp.StatusCode == 200 {
			c.follow(u, resp, data)
		}
		return
	}
}

// follow adds the links of a page with a new body.
func (c *naive) follow(u *url.URL, resp *http.Response, data []byte) {
	sum := sha256.Sum256(data)
	if c.bodies[sum] || resp.Header.Get("X-Robots-Tag") != "" {
		return
	}
	c.bodies[sum] = true
	base := u
	var hrefs []string
	for z := html.NewTokenizer(bytes.NewReader(data)); z.Next() != html.ErrorToken; {
		token := z.Token()
		attr := map[string]string{}
		for _, a := range token.Attr {
			attr[a.Key] = a.Val
		}
		switch token.Data {
		case "base":
			base, _ = url.Parse(attr["href"])
		case "meta":
			if strings.Contains(attr["content"], "nofollow") {
				return
			}
		case "a", "area", "iframe", "link":
			if href := attr["href"] + attr["src"]; href != "" && !strings.Contains(attr["rel"], "nofollow") && attr["rel"] != "stylesheet" {
				hrefs = append(hrefs, strings.TrimSpace(href))
			}
		}
	}
	for _, href := range hrefs {
		to, err := base.Parse(href)
		if err != nil {
			c.t.Errorf("%s: %v", u, err)
			continue
		}
		to.Fragment = ""
		c.add(to.String())
	}
}

func testPromise() Promise {
	return Promise{Floor: testFloor, Factor: testFactor, HonourCrawlDelay: true}
}

// everything is a small web with all features.
func everything(seed uint64) Options {
	o := Realistic()
	o.Seed, o.Hosts, o.Pages, o.PageBytes = seed, 30, 600, 2000
	o.Robots.Down, o.Traps, o.Messy = 0.02, 0.2, 0.5
	return o
}

// A naive crawler finds exactly Truth, in whatever order it goes, and keeps its promise.
func TestTruthIsWhatACrawlFinds(t *testing.T) {
	for seed := range uint64(4) {
		w := New(everything(seed))
		synctest.Test(t, func(t *testing.T) {
			c := newNaive(t, w, seed)
			for i := range w.hosts {
				if w.hosts[i].robots == RobotsDown {
					c.hosts[w.hosts[i].name] = &naiveHost{rules: &rules{list: []rule{{pattern: "/"}}}}
				}
			}
			c.run()
			missing, extra, repeated := w.Compare(c.visited, "decorum")
			if len(missing)+len(extra)+len(repeated) > 0 {
				t.Errorf("seed %d: %d visited; missing %.5q, extra %.5q, repeated %.5q", seed, len(c.visited), missing, extra, repeated)
			}
			for i, v := range w.Verify(testPromise()) {
				if i < 5 {
					t.Errorf("seed %d: %v", seed, v)
				}
			}
		})
	}
}

// Another product token is barred where the named one is not.
func TestTruthDependsOnTheAgent(t *testing.T) {
	o := Plain()
	o.Hosts, o.Pages, o.Private, o.Robots = 2, 80, 0.3, RobotsMix{Agent: 1}
	w := New(o)
	named, other := w.Truth("decorum"), w.Truth("someoneelse")
	if len(named.Denied) != 0 || len(other.Denied) == 0 {
		t.Fatalf("denied: named %d, other %d", len(named.Denied), len(other.Denied))
	}
	if len(named.URLs) != len(other.URLs)+len(other.Denied) {
		t.Errorf("named %d URLs, other %d and %d denied", len(named.URLs), len(other.URLs), len(other.Denied))
	}
	synctest.Test(t, func(t *testing.T) {
		c := newNaive(t, w, 1)
		c.agent = "someoneelse"
		c.run()
		if missing, extra, _ := w.Compare(c.visited, c.agent); len(missing)+len(extra) > 0 {
			t.Errorf("missing %.5q, extra %.5q", missing, extra)
		}
		p := testPromise()
		p.Agent = c.agent
		for _, v := range w.Verify(p) {
			t.Error(v)
		}
	})
}
