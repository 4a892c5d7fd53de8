package node

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/store"
	"decorum/internal/warc"
)

// stage is a crawl in virtual time of hosts that do exactly as they are told, byte for byte. All have public
// addresses, and the network keeps account of every address that was dialed.
type stage struct {
	*sim
	seeds []string
	dns   func(context.Context, string, string) (net.Conn, error)
	start time.Time

	serving sync.WaitGroup

	mu     sync.Mutex
	actors map[string]*actor // by name; guarded by mu
	dials  map[string]int    // by address and port; guarded by mu
}

// actor is a host.
type actor struct {
	name string
	addr netip.Addr
	play act

	mu   sync.Mutex
	hits []hit // guarded by mu
}

// act answers one request and tells whether the connection takes another.
type act func(w *wire, q hit) bool

// hit is a request as it arrived.
type hit struct {
	at           time.Time
	host, target string
	nth          int // request for this target, from 1
	on           int // request of this connection, from 1
	cookie       bool
}

// wire is the server's end of a connection.
type wire struct {
	net.Conn
	in    *bufio.Reader
	reset *reset
}

// reset is the client's end of a connection, which ends with a reset if it was told so.
type reset struct {
	net.Conn
	told chan struct{}
}

func (r *reset) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if err == io.EOF {
		select {
		case <-r.told:
			return n, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
		default:
		}
	}
	return n, err
}

func newStage(t testing.TB) *stage {
	s := &stage{sim: &sim{t: t, fs: store.Memory(), dir: t.TempDir() + "/crawl", cfg: config.Default()},
		start: time.Now(), actors: map[string]*actor{}, dials: map[string]int{}}
	s.cfg.Contact, s.cfg.MinFree, s.cfg.MaxBody = "crawl@archive.museum", 0, 1<<20
	s.sim.dial = s.dial
	return s
}

// host puts a host on the stage, at a public address of its own.
func (s *stage) host(name string, play act) *actor {
	n := len(s.actors)
	a := s.at(name, netip.AddrFrom4([4]byte{93, 184, byte(n / 250), byte(n%250 + 1)}), play)
	s.cfg.Resolve = append(s.cfg.Resolve, name+":"+a.addr.String())
	return a
}

// at puts a host at an address, without a word to the resolver.
func (s *stage) at(name string, addr netip.Addr, play act) *actor {
	a := &actor{name: name, addr: addr, play: play}
	s.actors[name] = a
	return a
}

func (s *stage) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	s.dials[addr]++
	s.mu.Unlock()
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	if a := s.find("", to.Addr()); a == nil || a.play == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	client, server := net.Pipe()
	r := &reset{client, make(chan struct{})}
	s.serving.Go(func() { s.serve(&wire{server, bufio.NewReader(server), r}, to.Addr()) })
	return r, nil
}

// find returns the actor of a name, or else one at the address.
func (s *stage) find(name string, addr netip.Addr) *actor {
	if a := s.actors[name]; a != nil {
		return a
	}
	for _, a := range s.actors {
		if a.addr == addr {
			return a
		}
	}
	return nil
}

// serve lets the actor answer the requests of a connection.
func (s *stage) serve(w *wire, addr netip.Addr) {
	defer w.Close()
	for on := 1; ; on++ {
		q, err := w.request()
		if err != nil {
			return
		}
		q.on = on
		if a := s.find(q.host, addr); !a.play(w, a.note(q)) {
			return
		}
	}
}

func (w *wire) request() (q hit, err error) {
	for n := 0; ; n++ {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return q, err
		}
		line = strings.TrimRight(line, "\r\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case n == 0:
			_, q.target, _ = strings.Cut(line, " ")
			q.target, _, _ = strings.Cut(q.target, " ")
			q.at = time.Now()
		case name == "Host":
			q.host, _, _ = strings.Cut(value, ":")
		case name == "Cookie":
			q.cookie = true
		case line == "":
			return q, nil
		}
	}
}

func (a *actor) note(q hit) hit {
	a.mu.Lock()
	defer a.mu.Unlock()
	q.nth = a.countLocked(q.target) + 1
	a.hits = append(a.hits, q)
	return q
}

func (a *actor) countLocked(target string) (n int) {
	for i := range a.hits {
		if a.hits[i].target == target {
			n++
		}
	}
	return n
}

// count returns how often the target was asked for.
func (a *actor) count(target string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.countLocked(target)
}

// Acts.

const ok200 = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// say answers with the text as it is, and takes another request.
func say(text string) act {
	return func(w *wire, _ hit) bool {
		_, err := io.WriteString(w, text)
		return err == nil
	}
}

// end answers with the text as it is, and hangs up.
func end(text string) act {
	return func(w *wire, q hit) bool { say(text)(w, q); return false }
}

// breakOff answers with the text as it is, and resets the connection.
func breakOff(text string) act {
	return func(w *wire, q hit) bool {
		say(text)(w, q)
		close(w.reset.told)
		return false
	}
}

// hold answers with the text as it is, and neither hangs up nor takes another request.
func hold(text string) act {
	return func(w *wire, q hit) bool {
		say(text)(w, q)
		io.Copy(io.Discard, w.in)
		return false
	}
}

// drip writes head at once, then the piece again and again, one per interval.
func drip(head, piece string, interval time.Duration) act {
	return func(w *wire, q hit) bool {
		say(head)(w, q)
		for {
			time.Sleep(interval)
			if _, err := io.WriteString(w, piece); err != nil {
				return false
			}
		}
	}
}

// endless writes head once, then text until the client has enough.
func endless(head, text string) act {
	return func(w *wire, q hit) bool {
		block := bytes.Repeat([]byte(text), max(1, 4096/len(text)))
		for _, err := io.WriteString(w, head); err == nil; {
			_, err = w.Write(block)
		}
		return false
	}
}

// then plays one act after the other; the last one again and again.
func then(acts ...act) act {
	return func(w *wire, q hit) bool { return acts[min(q.nth, len(acts))-1](w, q) }
}

// answer is a whole response.
func answer(status int, header, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
}

const asHTML = "Content-Type: text/html; charset=utf-8\r\n"

// html is a page.
func html(body string) act {
	return say(answer(200, asHTML, "<!DOCTYPE html><title>page</title>"+body))
}

func redirectTo(location string) act { return say(answer(302, "Location: "+location+"\r\n", "")) }

// hrefs are links with their address as text.
func hrefs(to ...string) string {
	var b strings.Builder
	for _, u := range to {
		fmt.Fprintf(&b, "<p><a href=\"%s\">%s</a></p>\n", u, u)
	}
	return b.String()
}

// site answers by target; what it does not know is not found.
func site(pages map[string]act) act {
	return func(w *wire, q hit) bool {
		if play := pages[q.target]; play != nil {
			return play(w, q)
		}
		return say(answer(404, "", ""))(w, q)
	}
}

// The crawl and what it leaves.

// run crawls from the seeds to the end.
func (s *stage) run() Result {
	s.t.Helper()
	o := Options{Config: s.cfg, Dir: s.dir, Version: "test", Dial: s.dial, DialDNS: s.dns, FS: s.fs}
	for _, u := range s.seeds {
		seed, err := config.ParseSeed(u)
		if err != nil {
			s.t.Fatal(err)
		}
		o.Seeds = append(o.Seeds, seed)
	}
	n, err := Open(o)
	if err != nil {
		s.t.Fatal(err)
	}
	soft, cancel := context.WithTimeout(context.Background(), simLimit)
	defer cancel()
	r, err := n.Run(soft, context.Background())
	if err != nil || r.Err != nil {
		s.t.Fatal(err, r.Err)
	}
	if err := n.Finish(&r, 0, ""); err != nil {
		s.t.Fatal(err)
	}
	if r.Reason != jobdir.EndExhausted {
		s.t.Errorf("ended by %s: %s; %+v", r.Reason, r.Detail, n.Status(5).Queues.Hosts)
	}
	if err := n.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.serving.Wait()
	s.checkArchive()
	return r
}

// checkArchive reads every byte of the archive: whatever hosts do, it is a valid WARC.
func (s *stage) checkArchive() {
	s.t.Helper()
	files, err := s.fs.List(s.dir + "/archive")
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no archive: %v", err)
	}
	checker := warc.NewChecker()
	for _, name := range files {
		if report := checker.Check(bytes.NewReader(s.read("archive/" + name))); !report.OK() {
			s.t.Errorf("%s: %v", name, report.Problems)
		}
	}
}

// pages returns the page records by URL.
func (s *stage) pages() map[string]jobdir.PageRecord {
	s.t.Helper()
	m := map[string]jobdir.PageRecord{}
	for r, err := range jobdir.Records[jobdir.PageRecord](bytes.NewReader(s.read(jobdir.PagesName))) {
		if err != nil {
			s.t.Fatal(err)
		}
		if _, twice := m[r.URL]; twice {
			s.t.Errorf("%s is recorded twice", r.URL)
		}
		m[r.URL] = r
	}
	return m
}

// fetches returns the exchanges by URL.
func (s *stage) fetches() map[string][]jobdir.FetchRecord {
	s.t.Helper()
	m := map[string][]jobdir.FetchRecord{}
	for r, err := range jobdir.Records[jobdir.FetchRecord](bytes.NewReader(s.read(jobdir.FetchesName))) {
		if err != nil {
			s.t.Fatal(err)
		}
		m[r.URL] = append(m[r.URL], r)
	}
	return m
}

// skips returns the skipped URLs in the order of the file.
func (s *stage) skips() (skips []jobdir.SkipRecord) {
	s.t.Helper()
	for r, err := range jobdir.Records[jobdir.SkipRecord](bytes.NewReader(s.read(jobdir.SkippedName))) {
		if err != nil {
			s.t.Fatal(err)
		}
		skips = append(skips, r)
	}
	return skips
}

// skipped returns the reasons and rules that skipped.jsonl gives for a URL.
func (s *stage) skipped(url string) (reasons []string) {
	for _, r := range s.skips() {
		if r.URL == url {
			reasons = append(reasons, r.Reason+": "+r.Rule)
		}
	}
	return reasons
}
