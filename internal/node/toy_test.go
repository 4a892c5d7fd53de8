package node

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/store"
)

// toy is a web of hosts that a test writes down page by page, crawled in virtual time. Each host has a public address of
// its own unless the test gives it another.
type toy struct {
	*sim
	seeds  []string
	wanted jobdir.EndReason // how crawl is to end; default exhausted

	serving sync.WaitGroup // connections
	playing sync.Mutex     // held by the handler of a page: tests need not think of other requests

	mu    sync.Mutex
	addrs map[netip.Addr]bool     // that take connections; guarded by mu
	hosts map[string]http.Handler // by name and, if not 80, port; guarded by mu
	log   []visitor               // guarded by mu
	under map[string]int          // requests under way, by host; guarded by mu
}

// visitor is a request as the server saw it.
type visitor struct {
	host, target string
	start, end   time.Time
	header       http.Header
	crowd        int // requests under way with the host, this one included
}

func newToy(t *testing.T, seeds ...string) *toy {
	y := &toy{sim: &sim{t: t, fs: store.Memory(), dir: t.TempDir() + "/crawl", cfg: config.Default()}, seeds: seeds,
		wanted: jobdir.EndExhausted, addrs: map[netip.Addr]bool{}, hosts: map[string]http.Handler{}, under: map[string]int{}}
	y.cfg.Contact, y.cfg.MinFree, y.cfg.DelayFactor = "crawl@archive.museum", 0, 0
	y.dial = y.connect
	return y
}

// toySite is a host by paths; what is not there is 404. A path maps to a text (HTML) or a handler.
type toySite map[string]any

func (s toySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch page := s[r.URL.RequestURI()].(type) {
	case string:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	case func(http.ResponseWriter, *http.Request):
		page(w, r)
	default:
		http.NotFound(w, r)
	}
}

// linking is a page that links to others; the text around makes it unlike any other page.
func linking(refs ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>page</title><p>%x", refs)
	for _, ref := range refs {
		fmt.Fprintf(&b, `<a href="%s">next</a> `, ref)
	}
	return b.String()
}

// movedTo redirects.
func movedTo(to string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) }
}

// answering answers with a status and nothing else.
func answering(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// host puts a host on a public address.
func (y *toy) host(name string, pages http.Handler) {
	y.at(name, fmt.Sprintf("93.184.%d.%d", len(y.hosts)/200, len(y.hosts)%200+1), pages)
}

// at puts a host, a name with or without port, on an address.
func (y *toy) at(name, addr string, pages http.Handler) {
	bare, _, _ := strings.Cut(name, ":")
	y.hosts[name], y.addrs[netip.MustParseAddr(addr)] = pages, true
	y.cfg.Resolve = append(y.cfg.Resolve, bare+":"+addr)
}

func (y *toy) connect(_ context.Context, network, addr string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	if !y.addrs[to.Addr()] {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("connection refused")}
	}
	client, server := net.Pipe()
	y.serving.Go(func() { y.serve(server) })
	return client, nil
}

func (y *toy) serve(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		y.mu.Lock()
		n := len(y.log)
		y.under[req.Host]++
		y.log = append(y.log, visitor{host: req.Host, target: req.RequestURI, start: time.Now(), header: req.Header, crowd: y.under[req.Host]})
		pages := y.hosts[req.Host]
		y.mu.Unlock()
		answer := httptest.NewRecorder()
		y.playing.Lock()
		pages.ServeHTTP(answer, req)
		y.playing.Unlock()
		var b bytes.Buffer
		resp := answer.Result()
		resp.Request, resp.ContentLength = req, int64(answer.Body.Len())
		if err := resp.Write(&b); err != nil {
			panic(err)
		}
		_, err = conn.Write(b.Bytes())
		y.mu.Lock()
		y.under[req.Host]--
		y.log[n].end = time.Now()
		y.mu.Unlock()
		if err != nil || req.Close {
			return
		}
	}
}

// open opens a node for the toy web.
func (y *toy) open() *Node {
	y.t.Helper()
	var seeds []config.Seed
	for _, text := range y.seeds {
		seed, err := config.ParseSeed(text)
		if err != nil {
			y.t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	nobody := func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("no name server here") }
	n, err := Open(Options{Config: y.cfg, Seeds: seeds, Dir: y.dir, Version: "test", Dial: y.dial, DialDNS: nobody, FS: y.fs, Log: y.t.Logf})
	if err != nil {
		y.t.Fatal(err)
	}
	return n
}

// crawl runs to the end and returns the result, and why every seed failed, if so.
func (y *toy) crawl() (r Result, failed string) {
	y.t.Helper()
	n := y.open()
	soft, cancel := context.WithTimeout(context.Background(), simLimit)
	defer cancel()
	r, err := n.Run(soft, context.Background())
	if err != nil || r.Err != nil {
		y.t.Fatal(err, r.Err)
	}
	if failed, err = n.SeedsFailed(); err != nil {
		y.t.Fatal(err)
	}
	if err := n.Finish(&r, 0, ""); err != nil {
		y.t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		y.t.Fatal(err)
	}
	y.serving.Wait() // the log is complete
	if r.Reason != y.wanted {
		y.t.Errorf("ended by %s (%s), not %s", r.Reason, r.Detail, y.wanted)
	}
	return r, failed
}

// got lists the targets that were asked for, "host/path" in order, without robots.txt.
func (y *toy) got() (targets []string) {
	for _, v := range y.log {
		if v.target != "/robots.txt" {
			targets = append(targets, v.host+v.target)
		}
	}
	return targets
}

// expect compares the targets that were asked for, in any order.
func (y *toy) expect(want ...string) {
	y.t.Helper()
	got := y.got()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		y.t.Errorf("asked for\n%q, want\n%q", got, want)
	}
}

// gaps returns the shortest rest of each host.
func (y *toy) gaps() map[string]time.Duration {
	last, least := map[string]time.Time{}, map[string]time.Duration{}
	for _, v := range y.log {
		if end, ok := last[v.host]; ok {
			if gap, seen := least[v.host]; !seen || v.start.Sub(end) < gap {
				least[v.host] = v.start.Sub(end)
			}
		}
		last[v.host] = v.end
	}
	return least
}

// skipped maps the skipped URLs to their reasons.
func (y *toy) skipped() map[string]string {
	y.t.Helper()
	reasons := map[string]string{}
	for r, err := range jobdir.Records[jobdir.SkipRecord](bytes.NewReader(y.read(jobdir.SkippedName))) {
		if err != nil {
			y.t.Fatal(err)
		}
		reasons[r.URL] = r.Reason
	}
	return reasons
}

// pages maps the URLs of pages.jsonl to their records; one that is there twice is an error.
func (y *toy) pages() map[string]jobdir.PageRecord {
	y.t.Helper()
	byURL := map[string]jobdir.PageRecord{}
	for r, err := range jobdir.Records[jobdir.PageRecord](bytes.NewReader(y.read(jobdir.PagesName))) {
		if err != nil {
			y.t.Fatal(err)
		}
		if _, twice := byURL[r.URL]; twice {
			y.t.Errorf("%s is recorded twice", r.URL)
		}
		byURL[r.URL] = r
	}
	return byURL
}

// fetches lists the exchanges of fetches.jsonl.
func (y *toy) fetches() (all []jobdir.FetchRecord) {
	y.t.Helper()
	for r, err := range jobdir.Records[jobdir.FetchRecord](bytes.NewReader(y.read(jobdir.FetchesName))) {
		if err != nil {
			y.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// aloneWithEachHost checks that no host ever had two requests at once.
func (y *toy) aloneWithEachHost() {
	y.t.Helper()
	for _, v := range y.log {
		if v.crowd > 1 {
			y.t.Errorf("%s%s was one of %d requests at once", v.host, v.target, v.crowd)
		}
	}
}

// archive returns all records of the archive as text.
func (y *toy) archive() string {
	y.t.Helper()
	names, err := y.fs.List(y.dir + "/archive")
	if err != nil {
		y.t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		z, err := gzip.NewReader(bytes.NewReader(y.read("archive/" + name)))
		if err != nil {
			y.t.Fatal(err)
		}
		if _, err := io.Copy(&all, z); err != nil {
			y.t.Fatal(err)
		}
	}
	return all.String()
}
