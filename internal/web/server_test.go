package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"decorum/internal/jobdir"
)

// secret is the token of servers in tests.
const secret = "SECRET-of-the-test"

// pressed counts what the buttons did.
type pressed struct{ pause, resume, stop int }

// newServer returns a server of a fake crawl.
func newServer(t testing.TB, change func(*Options)) (*Server, *pressed) {
	t.Helper()
	p := &pressed{}
	o := Options{Monitor: fakeCrawl(time.Now()).monitor(t), Feed: NewFeed(), Token: secret,
		Pause: func() { p.pause++ }, Resume: func() { p.resume++ }, Stop: func() { p.stop++ }}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// request asks the server without a network.
func request(s *Server, method, target string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, "http://127.0.0.1:7070"+target, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestPageShowsTheNumbersWithoutJavaScript(t *testing.T) {
	s, _ := newServer(t, nil)
	r := request(s, "GET", "/", nil)
	text := body(t, r)
	for _, want := range []string{"4,812", "26,100", "182 MB", "bound by politeness", "docs.example", "812", "crawl delay", "level 3", "9,800", "robots", "201", "View only"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, secret) || strings.Contains(text, "/api/pause") {
		t.Error("who did not bring the token gets it, or the buttons")
	}
	csp := r.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "script-src 'nonce-"} {
		if !strings.Contains(csp, want) {
			t.Errorf("%q lacks %q", csp, want)
		}
	}
	for _, outside := range []string{"http://", "https://", "//cdn"} {
		for _, attribute := range []string{`src="`, `href="`, "url("} {
			if strings.Contains(text, attribute+outside) {
				t.Errorf("the page loads something from outside: %s%s", attribute, outside)
			}
		}
	}
	if with := body(t, request(s, "GET", "/?token="+secret, nil)); !strings.Contains(with, "/api/pause") {
		t.Error("no buttons with the token")
	}
}

// TestPageEscapes: what the web named cannot become markup or script.
func TestPageEscapes(t *testing.T) {
	f := fakeCrawl(time.Now())
	f.queues.Rows[0].Host = `<img src=x onerror=alert(1)>`
	f.queues.Paused = `</script><script>alert(2)</script>`
	s, _ := newServer(t, func(o *Options) { o.Monitor = f.monitor(t) })
	text := body(t, request(s, "GET", "/?token="+secret, nil))
	if strings.Contains(text, "<img") || strings.Contains(text, "<script>alert") {
		t.Error("not escaped")
	}
}

func TestForeignNamesAreRefused(t *testing.T) {
	s, _ := newServer(t, func(o *Options) { o.Host = "Crawler.lan" })
	for host, ok := range map[string]bool{"127.0.0.1:7070": true, "localhost": true, "LOCALHOST:7070": true, "[::1]:7070": true, "192.168.3.4:7070": true,
		"crawler.lan:7070": true, "evil.example": false, "evil.example:7070": false, "127.0.0.1.evil.example": false, "localhost.evil.example:7070": false, "": false} {
		for _, path := range []string{"/", "/api/status", "/metrics", "/healthz", "/api/events"} {
			if path == "/api/events" && ok {
				continue
			}
			r := request(s, "GET", path, func(r *http.Request) { r.Host = host })
			if got := r.StatusCode == http.StatusOK; got != ok {
				t.Errorf("Host %q, %s: %s", host, path, r.Status)
			}
		}
	}
}

func TestChangesNeedTheTokenAndThisOrigin(t *testing.T) {
	form := func(token string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader(url.Values{"token": {token}}.Encode()))
		}
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	both := func(changes ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			for _, c := range changes {
				c(r)
			}
		}
	}
	good := header("X-Decorum-Token", secret)
	for _, c := range []struct {
		name   string
		method string
		target string
		change func(*http.Request)
		status int
	}{
		{"header", "POST", "/api/pause", good, 204},
		{"bearer", "POST", "/api/pause", header("Authorization", "Bearer "+secret), 204},
		{"form", "POST", "/api/pause", form(secret), 303},
		{"same origin", "POST", "/api/pause", both(good, header("Origin", "http://127.0.0.1:7070"), header("Sec-Fetch-Site", "same-origin")), 204},
		{"no token", "POST", "/api/pause", nil, 403},
		{"wrong token", "POST", "/api/pause", header("X-Decorum-Token", "SECRET"), 403},
		{"empty token", "POST", "/api/pause", header("X-Decorum-Token", ""), 403},
		{"wrong form", "POST", "/api/pause", form("x"), 403},
		{"token in the address", "POST", "/api/pause?token=" + secret, nil, 403},
		{"other origin", "POST", "/api/pause", both(good, header("Origin", "https://evil.example")), 403},
		{"other site", "POST", "/api/pause", both(good, header("Sec-Fetch-Site", "cross-site")), 403},
		{"GET", "GET", "/api/pause", good, 405},
		{"long form", "POST", "/api/pause", func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader("token=" + strings.Repeat("x", maxFormBytes) + "&token=" + secret))
		}, 403},
	} {
		s, p := newServer(t, nil)
		r := request(s, c.method, c.target, c.change)
		if r.StatusCode != c.status {
			t.Errorf("%s: %s, not %d", c.name, r.Status, c.status)
		}
		if did := p.pause == 1; did != (c.status < 400) {
			t.Errorf("%s: paused %d times", c.name, p.pause)
		}
	}
}

func TestButtons(t *testing.T) {
	s, p := newServer(t, nil)
	for _, path := range []string{"/api/pause", "/api/resume", "/api/resume", "/api/stop"} {
		request(s, "POST", path, func(r *http.Request) { r.Header.Set("X-Decorum-Token", secret) })
	}
	if *p != (pressed{1, 2, 1}) {
		t.Errorf("%+v", *p)
	}
	bare, _ := newServer(t, func(o *Options) { o.Stop = nil })
	if r := request(bare, "POST", "/api/stop", func(r *http.Request) { r.Header.Set("X-Decorum-Token", secret) }); r.StatusCode < 400 {
		t.Error("a button that does nothing says", r.Status)
	}
}

func TestReadingFromOutsideNeedsTheToken(t *testing.T) {
	s, _ := newServer(t, nil)
	s.public.Store(true)
	for _, c := range []struct {
		target, bearer string
		status         int
	}{{"/", "", 401}, {"/api/status", "", 401}, {"/metrics", "", 401}, {"/api/events", "", 401}, {"/?token=x", "", 401}, {"/healthz", "", 200},
		{"/?token=" + secret, "", 200}, {"/metrics", secret, 200}, {"/api/status?rows=3&token=" + secret, "", 200}} {
		r := request(s, "GET", c.target, func(r *http.Request) {
			if c.bearer != "" {
				r.Header.Set("Authorization", "Bearer "+c.bearer)
			}
		})
		if r.StatusCode != c.status {
			t.Errorf("%s: %s, not %d", c.target, r.Status, c.status)
		}
	}
}

func TestStatusEndpoint(t *testing.T) {
	s, _ := newServer(t, nil)
	var st Status
	if err := json.Unmarshal([]byte(body(t, request(s, "GET", "/api/status?rows=2", nil))), &st); err != nil {
		t.Fatal(err)
	}
	if st.Pages != 4812 || len(st.Rows) != 2 || st.Rows[0].GapReason != "crawl_delay" || st.Bound.Kind != BoundPoliteness {
		t.Errorf("%+v", st)
	}
	for _, rows := range []string{"x", "-1", "201", "99999999999999999999"} {
		if r := request(s, "GET", "/api/status?rows="+rows, nil); r.StatusCode != http.StatusBadRequest {
			t.Errorf("rows=%s: %s", rows, r.Status)
		}
	}
}

func TestWhyAndExclude(t *testing.T) {
	s, _ := newServer(t, func(o *Options) {
		o.Why = func(u string) (string, error) {
			if u == "" {
				return "", errors.New("no URL")
			}
			return "because " + u, nil
		}
		o.Exclude = func(p string) (string, error) { return "gone: " + p, nil }
	})
	if text := body(t, request(s, "GET", "/api/why?url=https://a.example/", nil)); text != "because https://a.example/" {
		t.Error(text)
	}
	if r := request(s, "GET", "/api/why", nil); r.StatusCode != http.StatusUnprocessableEntity {
		t.Error(r.Status)
	}
	post := func(pattern string) *http.Response {
		return request(s, "POST", "/api/exclude", func(r *http.Request) {
			r.Header.Set("X-Decorum-Token", secret)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader(url.Values{"pattern": {pattern}}.Encode()))
		})
	}
	if text := body(t, post(" */print/* ")); text != "gone: */print/*\n" {
		t.Errorf("%q", text)
	}
	if r := post("  "); r.StatusCode != http.StatusBadRequest {
		t.Error(r.Status)
	}
}

// TestMetrics holds the output against the checks of a pedantic registry, and its numbers against the crawl.
func TestMetrics(t *testing.T) {
	s, _ := newServer(t, nil)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(newCollector(s.opt.Monitor))
	if _, err := reg.Gather(); err != nil {
		t.Fatal(err)
	}
	text := body(t, request(s, "GET", "/metrics", nil))
	for _, want := range []string{"decorum_pages_total 4812", `decorum_responses_total{class="2xx"} 4611`, `decorum_responses_total{class="none"} 11`,
		`decorum_skipped_total{reason="robots"} 201`, `decorum_outcomes_total{outcome="timeout"} 11`, `decorum_front_queue_urls{level="3"} 9800`,
		`decorum_hosts{phase="backing_off"} 14`, `decorum_fetch_duration_seconds{quantile="0.95"} 1.9`, "# TYPE decorum_known_urls gauge", "# TYPE decorum_pages_total counter"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
}

// serve runs the server on a real listener until the test ends or stop is called.
func serve(t *testing.T, s *Server) (base string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return Address(l), stop
}

// client keeps no connections, so that none outlives a test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// readEvent reads one server-sent event.
func readEvent(t *testing.T, r *bufio.Reader) (e event) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
}

func TestEvents(t *testing.T) {
	s, _ := newServer(t, func(o *Options) { o.Period = time.Millisecond })
	s.opt.Monitor.sample(time.Now(), 0)
	s.opt.Feed.Log("one")
	s.opt.Feed.ObserveFetch(&jobdir.FetchRecord{Host: "a.example", PromisedMS: jobdir.Known(1000), GapMS: jobdir.Known(1200)})
	s.opt.Feed.ObserveSkip(&jobdir.SkipRecord{URL: "https://a.example/x", Reason: "trap_repeat"})
	base, stop := serve(t, s)
	resp, err := client(t).Get(base + "api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	first := readEvent(t, in)
	if len(first.History) != 1 || len(first.Dots) != 1 || len(first.Lines) != 1 || len(first.Skips) != 1 || first.Skips[0].Group != "trap" {
		t.Errorf("first event: %+v", first)
	}
	if first.View.Tiles[0].Text != "4,812" || len(first.View.Hosts) != 4 || first.Status.Pages != 4812 {
		t.Errorf("first event: %+v", first.View)
	}
	second := readEvent(t, in)
	if second.History != nil || second.Dots != nil || second.Lines != nil || second.Skips != nil {
		t.Errorf("old news in the second event: %+v", second.news)
	}
	s.opt.Monitor.End()
	stop() // ends the stream, after a last event
	last := State("")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e event
			if json.Unmarshal([]byte(data), &e) == nil {
				last = e.View.State
			}
		}
	}
	if last != Ended {
		t.Errorf("the last event says %q", last)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s, _ := newServer(t, func(o *Options) { o.MaxStreams = 2 })
	base, _ := serve(t, s)
	c := client(t)
	for range 2 {
		r, err := c.Get(base + "api/events")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		readEvent(t, bufio.NewReader(r.Body))
	}
	r, err := c.Get(base + "api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("third viewer: %s", r.Status)
	}
}

func TestListen(t *testing.T) {
	for _, off := range []string{"", "off"} {
		if l, err := Listen(off); l != nil || err != nil {
			t.Errorf("%q: %v, %v", off, l, err)
		}
	}
	first, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Listen(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if a, b := first.Addr().(*net.TCPAddr).Port, second.Addr().(*net.TCPAddr).Port; b <= a || b > a+portTries {
		t.Errorf("port %d after %d", b, a)
	}
	for _, bad := range []string{"127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", "203.0.113.7:7070"} {
		if l, err := Listen(bad); err == nil {
			l.Close()
			t.Errorf("listens on %s", bad)
		}
	}
}

func TestLiveFile(t *testing.T) {
	s, _ := newServer(t, nil)
	base, stop := serve(t, s)
	dir := t.TempDir()
	mustMkdir(t, dir+"/state")
	if _, ok, err := ReadLive(dir); ok || err != nil {
		t.Fatal(ok, err)
	}
	own := s.opt.Monitor.Status(0).PID
	for range 2 { // a file left by a killed process is replaced
		if err := WriteLive(dir, Live{PID: own, URL: base, Token: secret, Began: epoch}); err != nil {
			t.Fatal(err)
		}
	}
	l, ok, err := ReadLive(dir)
	if err != nil || !ok || l != (Live{own, base, secret, epoch}) {
		t.Fatalf("%+v %v %v", l, ok, err)
	}
	st, err := l.Status(context.Background(), 1)
	if err != nil || st.Pages != 4812 || len(st.Rows) != 1 {
		t.Errorf("%+v %v", st, err)
	}
	l.PID++
	if _, err := l.Status(context.Background(), 1); err == nil {
		t.Error("took the answer of another process")
	}
	stop()
	if _, err := l.Status(context.Background(), 1); err == nil {
		t.Error("an answer of nobody")
	}
	for range 2 {
		if err := RemoveLive(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestRandomTokens(t *testing.T) {
	m := fakeCrawl(time.Now()).monitor(t)
	a, err := New(Options{Monitor: m})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := New(Options{Monitor: m})
	if len(a.Token()) < 20 || a.Token() == b.Token() {
		t.Errorf("tokens %q and %q", a.Token(), b.Token())
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a server of nothing")
	}
}
