package inspect_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/config"
	"decorum/internal/node"
)

// toy is a web of a few pages, given as whole responses by URL without scheme. What is not there is a 404; the
// empty response closes the connection.
type toy struct {
	pages map[string]string
	delay time.Duration

	mu  sync.Mutex
	log []string // "method host/path at time", in order; guarded by mu
}

func html(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func plain(body string) string {
	return strings.Replace(html(body), "text/html; charset=utf-8", "text/plain", 1)
}

func moved(to string) string {
	return "HTTP/1.1 301 Moved Permanently\r\nLocation: " + to + "\r\nContent-Length: 0\r\n\r\n"
}

// Dial serves one connection.
func (w *toy) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go w.serve(server)
	return client, nil
}

func (w *toy) serve(c net.Conn) {
	defer c.Close()
	for br := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.log = append(w.log, fmt.Sprintf("%s%s %s", r.Host, r.URL.RequestURI(), time.Now().UTC().Format("15:04:05.000")))
		w.mu.Unlock()
		time.Sleep(w.delay)
		answer, ok := w.pages[r.Host+r.URL.RequestURI()]
		if !ok {
			answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"
		}
		if answer == "" {
			return
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// requests returns the log.
func (w *toy) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.log...)
}

// config is that of a crawl of toys: every name is on loopback.
func toyConfig() config.Crawl {
	c := config.Default()
	c.AllowNet, c.MinFree, c.Contact = []string{"127.0.0.0/8"}, 0, "crawl@archive.museum"
	c.Resolve = []string{"*.test:127.0.0.1"}
	c.Retries = 1
	return c
}

// toyOptions are the options of a node that crawls w from a.test into a new folder.
func toyOptions(t testing.TB, w *toy, c config.Crawl) node.Options {
	t.Helper()
	seed, err := config.ParseSeed("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	return node.Options{Config: c, Seeds: []config.Seed{seed}, Dir: filepath.Join(t.TempDir(), "a.test.crawl"), Version: "test", Dial: w.Dial}
}

// run crawls to the end.
func run(t testing.TB, o node.Options) {
	t.Helper()
	n, err := node.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.Run(context.Background(), context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Finish(&r, 0, "decorum crawl"); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// crawlToy returns the folder of a finished crawl.
func crawlToy(t *testing.T, w *toy, c config.Crawl) string {
	t.Helper()
	return crawlToyInto(t, toyOptions(t, w, c))
}

func crawlToyInto(t *testing.T, o node.Options) string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, o) })
	return o.Dir
}
