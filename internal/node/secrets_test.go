package node

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
	"decorum/internal/web"
)

// TestSecretsReachTheirHostsAlone follows links and redirects between hosts that own different secrets.
func TestSecretsReachTheirHostsAlone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		all := linking("http://a.museum/x", "http://b.museum/", "http://b.museum:8080/", "http://c.museum/shop/1", "http://c.museum/", "http://www.c.museum/", "http://admin:hunter2@d.museum/")
		y.host("a.museum", toySite{"/": all, "/x": movedTo("http://d.museum/from-a")})
		y.at("b.museum", "93.184.9.1", toySite{"/": "b"})
		y.at("b.museum:8080", "93.184.9.1", toySite{"/": movedTo("http://d.museum/from-b")})
		y.host("c.museum", toySite{"/": "c", "/shop/1": movedTo("http://d.museum/from-c")})
		y.host("www.c.museum", toySite{"/": "www"})
		y.host("d.museum", toySite{"/": "d", "/from-a": "1", "/from-b": "2", "/from-c": "3"})
		y.cfg.Scope, y.cfg.AllowPort = "any", []uint16{8080}
		y.cfg.Header, y.cfg.Auth = []string{"X-Key: KEY"}, []string{"me:PASS@b.museum:8080"}
		y.cfg.Cookies = t.TempDir() + "/cookies.txt"
		jar := "c.museum\tTRUE\t/\tFALSE\t0\twide\t1\nc.museum\tFALSE\t/shop\tFALSE\t0\tshop\t2\nc.museum\tFALSE\t/\tTRUE\t0\tsecure\t3\n"
		if err := os.WriteFile(y.cfg.Cookies, []byte(jar), 0o600); err != nil {
			t.Fatal(err)
		}
		y.crawl()
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:PASS"))
		want := map[string][3]string{ // X-Key, Authorization, Cookie
			"a.museum/": {"KEY"}, "a.museum/x": {"KEY"}, "a.museum/robots.txt": {"KEY"},
			"b.museum:8080/": {1: basic}, "b.museum:8080/robots.txt": {1: basic},
			"c.museum/": {2: "wide=1"}, "c.museum/robots.txt": {2: "wide=1"}, "c.museum/shop/1": {2: "shop=2; wide=1"},
			"www.c.museum/": {2: "wide=1"}, "www.c.museum/robots.txt": {2: "wide=1"},
		}
		for _, v := range y.log {
			got := [3]string{v.header.Get("X-Key"), v.header.Get("Authorization"), v.header.Get("Cookie")}
			if got != want[v.host+v.target] {
				t.Errorf("%s%s was sent %q", v.host, v.target, got)
			}
		}
		y.expect("a.museum/", "a.museum/x", "b.museum/", "b.museum:8080/", "c.museum/", "c.museum/shop/1", "www.c.museum/",
			"d.museum/", "d.museum/from-a", "d.museum/from-b", "d.museum/from-c")
		if a := y.archive(); !strings.Contains(a, "\r\nX-Key: KEY\r\n") || !strings.Contains(a, "\r\nCookie: shop=2; wide=1\r\n") {
			t.Error("requests are not archived as they were sent")
		}
	})
}

// TestSetCookieIsNotStored: what a site sets is archived, and never sent back.
func TestSetCookieIsNotStored(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "session=1; Path=/")
			fmt.Fprint(w, linking("/x"))
		}, "/x": "x"})
		y.crawl()
		y.expect("a.museum/", "a.museum/x")
		for _, v := range y.log {
			if v.header.Get("Cookie") != "" {
				t.Errorf("%s was sent %q", v.target, v.header)
			}
		}
		if !strings.Contains(y.archive(), "Set-Cookie: session=1; Path=/\r\n") {
			t.Error("the response is not archived as it came")
		}
	})
}

// secrets are the values that must not turn up anywhere, in the forms they may take.
var secrets = []string{"SECRETFIELD", "SECRETPASS", "SECRETCOOKIE", "SECRETPROXY",
	base64.StdEncoding.EncodeToString([]byte("me:SECRETPASS")), base64.StdEncoding.EncodeToString([]byte("you:SECRETPROXY"))}

func holdNoSecret(t *testing.T, where string, text []byte) {
	t.Helper()
	for _, s := range secrets {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("%s holds %s", where, s)
		}
	}
}

// TestSecretsAreWrittenNowhere runs a crawl with every kind of secret, through a proxy, on the real disk and with the live page
// on, and then reads every file, every page and every line.
func TestSecretsAreWrittenNowhere(t *testing.T) {
	o := simweb.Plain()
	o.Hosts, o.Pages = 3, 20
	s := newSim(t, o)
	s.fs = store.OS()
	s.cfg.Delay, s.cfg.IPGap, s.cfg.Listen = 0, 0, "127.0.0.1:0"
	s.cfg.Header, s.cfg.Redact, s.cfg.Proxy = []string{"X-Key: SECRETFIELD"}, true, "http://you:SECRETPROXY@proxy.museum:3128"
	s.cfg.Cookies = t.TempDir() + "/cookies.txt"
	var jar strings.Builder
	for _, h := range s.web.Hosts() {
		s.cfg.Auth = append(s.cfg.Auth, "me:SECRETPASS@"+h.Name)
		fmt.Fprintf(&jar, "%s\tFALSE\t/\tFALSE\t0\tsid\tSECRETCOOKIE\n", h.Name)
	}
	if err := os.WriteFile(s.cfg.Cookies, []byte(jar.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := &wiretap{}
	s.dial = tunnelTo(s.web.Dial, seen)
	var mu sync.Mutex
	var log strings.Builder
	n := s.openWith(func(o *Options) {
		o.Log = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&log, format+"\n", args...)
		}
	})
	live, err := n.Live(LiveOptions{Feed: web.NewFeed()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.Run(context.Background(), context.Background())
	if err != nil || r.Reason != jobdir.EndExhausted {
		t.Fatalf("%+v %v", r, err)
	}
	for _, secret := range []string{"SECRETFIELD", "SECRETCOOKIE", secrets[4], secrets[5]} {
		if !seen.saw(secret) {
			t.Errorf("%s was never sent: the test shows nothing", secret)
		}
	}
	page, query, _ := strings.Cut(live.Page(), "?")
	for _, path := range []string{"", "metrics", "api/status", "api/events"} {
		holdNoSecret(t, path, get(t, page+path+"?"+query))
	}
	if err := errors.Join(live.Close(), n.Finish(&r, 0, ""), n.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Summary)
	if err != nil {
		t.Fatal(err)
	}
	holdNoSecret(t, "summary", text)
	holdNoSecret(t, "log", []byte(log.String()))
	readFolder(t, s.dir, holdNoSecret)
}

// readFolder shows every file of a folder, those in gzip unpacked.
func readFolder(t *testing.T, dir string, show func(t *testing.T, name string, text []byte)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(name)
		if err == nil && strings.HasSuffix(name, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
				raw, err = io.ReadAll(z)
			}
		}
		show(t, name, raw)
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files read: %v", files, err)
	}
}

// get asks the live page. Streams are read for their first bytes.
func get(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.Contains(resp.Header.Get("Content-Type"), "event-stream") {
		first := make([]byte, 4096)
		n, _ := resp.Body.Read(first)
		return first[:n]
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// openWith is open with other options.
func (s *sim) openWith(change func(*Options)) *Node {
	s.t.Helper()
	o := Options{Config: s.cfg, Dir: s.dir, Version: "test", Dial: s.dial, FS: s.fs, Log: s.t.Logf}
	for _, u := range s.web.Seeds() {
		seed, err := config.ParseSeed(u)
		if err != nil {
			s.t.Fatal(err)
		}
		o.Seeds = append(o.Seeds, seed)
	}
	change(&o)
	n, err := Open(o)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// wiretap remembers what was written to connections.
type wiretap struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (w *wiretap) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *wiretap) saw(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.text.Bytes(), []byte(text))
}

type dialer = func(context.Context, string, string) (net.Conn, error)

// tunnelTo is the way to an HTTP proxy that connects by dial; tap sees what is sent to it and through it.
func tunnelTo(dial dialer, tap io.Writer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "proxy.museum:3128" {
			return nil, fmt.Errorf("%s is dialled past the proxy", addr)
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			in := bufio.NewReader(io.TeeReader(server, tap))
			req, err := http.ReadRequest(in)
			if err != nil || req.Method != http.MethodConnect {
				return
			}
			far, err := dial(context.Background(), network, req.Host)
			if err != nil {
				io.WriteString(server, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
				return
			}
			defer far.Close()
			io.WriteString(server, "HTTP/1.1 200 OK\r\n\r\n")
			go func() {
				io.Copy(far, in)
				far.Close()
			}()
			io.Copy(server, far)
		}()
		return client, nil
	}
}
