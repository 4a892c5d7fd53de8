package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"decorum/internal/config"
)

// guarded is a site that wants a password and a cookie.
func guarded(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		c, err := r.Cookie("sid")
		if user != "me" || password != "S3CRET" || err != nil || c.Value != "S3CRETCOOKIE" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>inside</title><a href=/%d>x</a>", len(r.URL.Path)%3)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// proxy is an HTTP proxy that answers CONNECT with a status, and connects if that is 200.
type proxy struct {
	status int

	mu    sync.Mutex
	asked []string // guarded by mu
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Host+" "+r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if p.status != http.StatusOK {
		w.WriteHeader(p.status)
		return
	}
	far, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer far.Close()
	w.WriteHeader(http.StatusOK)
	near, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer near.Close()
	go func() {
		io.Copy(far, buf)
		far.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(near, far)
}

func listen(t *testing.T, p *proxy) string {
	t.Helper()
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return "http://you:S3CRETPROXY@" + strings.TrimPrefix(s.URL, "http://")
}

// TestSecretsOnTheCommandLine crawls and fetches a guarded site through a proxy, and sees to it that no output holds a secret.
func TestSecretsOnTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	site, p := guarded(t), &proxy{status: http.StatusOK}
	if err := os.WriteFile("cookies.txt", []byte("127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tS3CRETCOOKIE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"--auth", "me:S3CRET@127.0.0.1", "--cookies", "cookies.txt", "--proxy", listen(t, p)}
	run := func(want int, part string, args ...string) {
		t.Helper()
		code, out, errs := decorum(t, append(args, secrets...)...)
		if code != want || !strings.Contains(out+errs, part) || strings.Contains(out+errs, "S3CRET") {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	run(exitOK, "inside", "fetch", "http://"+site+"/", "--delay", "0")
	run(exitOK, "finished", "crawl", "http://"+site+"/", "--dir", "x.crawl", "--delay", "0", "--listen", "off", "--redact-auth", "--min-free", "0")
	run(exitOK, "(set)@127.0.0.1", "config", "print")
	if len(p.asked) < 2 || p.asked[0] != site+" Basic eW91OlMzQ1JFVFBST1hZ" {
		t.Errorf("the proxy was asked for %q", p.asked)
	}
	asked := len(p.asked)
	decorum(t, "crawl", "http://"+site+"/more", "--dir", "x.crawl", "--listen", "off") // of the secrets the folder knows the proxy's address alone
	if len(p.asked) == asked || p.asked[asked] != site+" " {
		t.Errorf("a resumed crawl asked the proxy for %q", p.asked[asked:])
	}
	raw, err := os.ReadFile(filepath.Join("x.crawl", "pages", "pages.jsonl"))
	if err != nil || strings.Count(string(raw), `"title":"inside"`) < 2 {
		t.Errorf("%v\n%s", err, raw)
	}
}

func TestProxyTrouble(t *testing.T) {
	for _, c := range []struct {
		name, proxy, part string
		want              int
	}{
		{"down", "http://you:S3CRETPROXY@127.0.0.1:1", "cannot be reached: http://127.0.0.1:1: connection refused", exitState},
		{"other password", listen(t, &proxy{status: http.StatusProxyAuthRequired}), "does not accept the user and password", exitUsage},
		{"no URL", "proxy.museum:3128", "--proxy: ", exitUsage},
		{"no port", "http://you:S3CRETPROXY@proxy.museum", "--proxy: names no port", exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x.crawl")
			for _, args := range [][]string{{"crawl", "--dir", dir, "--listen", "off", "--min-free", "0"}, {"fetch"}} {
				args = append(args, "http://127.0.0.1:2/", "--connect-timeout", "1", "--proxy", c.proxy)
				code, out, errs := decorum(t, args...)
				if code != c.want || !strings.Contains(errs, c.part) || strings.Contains(out+errs, "S3CRET") {
					t.Errorf("%s: exit code %d\n%s%s", args[0], code, out, errs)
				}
			}
		})
	}
}

// TestComplaintsAreClean: what a server wrote into its certificate, say, does not drive the terminal.
func TestComplaintsAreClean(t *testing.T) {
	var errs bytes.Buffer
	e := &env{stderr: &errs, source: &config.Source{}}
	e.fail(errors.New("certificate is for \x1b]0;owned\x07\u202e"))
	e.fail(&exitError{exitSeedsFailed, "first\nsecond \x1b[2J\x9b"})
	if text := errs.String(); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Contains(text, "\x9b") || strings.Count(text, "\n") != 3 {
		t.Errorf("%q", text)
	}
}

func TestSeedWithAPassword(t *testing.T) {
	for _, verb := range []string{"crawl", "fetch"} {
		code, out, errs := decorum(t, verb, "http://me:S3CRET@127.0.0.1:2/")
		if code != exitUsage || !strings.Contains(errs, "--auth USER:PASS@127.0.0.1") || strings.Contains(out+errs, "S3CRET") {
			t.Errorf("%s: exit code %d\n%s%s", verb, code, out, errs)
		}
	}
}
