package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
)

const proxySecret = "s3:cr@t"

func mustProxy(t testing.TB, text string) Proxy {
	t.Helper()
	p, err := ParseProxy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseProxy(t *testing.T) {
	for text, want := range map[string]string{
		"http://proxy.test:3128":                    "http://proxy.test:3128",
		"http://me:s3%3Acr%40t@proxy.test:3128/":    "http://proxy.test:3128",
		"socks5://127.0.0.1:1080":                   "socks5://127.0.0.1:1080",
		"socks5h://me:s3%3Acr%40t@[::1]:1080":       "socks5h://[::1]:1080",
		"http://:s3%3Acr%40t@proxy.test:3128":       "http://proxy.test:3128",
		"http://me@proxy.test:3128":                 "http://proxy.test:3128",
		"SOCKS5H://me:s3%3Acr%40t@proxy.test:65535": "socks5h://proxy.test:65535",
	} {
		p, err := ParseProxy(text)
		if err != nil || p.String() != want || p.IsZero() {
			t.Errorf("%s: %v %v", text, p, err)
		}
		if all := fmt.Sprintf("%v %+v %#v %s", p, Options{Proxy: p}, p, p); strings.Contains(all, "cr@t") {
			t.Errorf("%s: prints its password: %s", text, all)
		}
	}
	for text, want := range map[string]string{
		"":                                   "scheme",
		"proxy.test:3128":                    "scheme",
		"https://me:s3cret@proxy.test:3128":  "scheme",
		"http://proxy.test":                  "names no port",
		"http://me:s3cret@proxy.test":        "names no port",
		"http://:3128":                       "names no host",
		"http://me:s3cret@proxy.test:0":      "names no port",
		"http://me:s3cret@proxy.test:99999":  "names no port",
		"http://me:s3cret@proxy.test:80/x":   "more than",
		"http://me:s3cret@proxy.test:80?x":   "more than",
		"http://me:s3cret%0a@proxy.test:80":  "control character",
		"http://m%3Ae:s3cret@proxy.test:80":  "colon",
		"socks5://me@proxy.test:1080":        "SOCKS wants",
		"http://me:s3cret@proxy.test:80:80":  "URL",
		"http://me:s3cret @proxy.test\x01:8": "URL",
	} {
		_, err := ParseProxy(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// tunnel is an HTTP proxy in front of s, which notes what it is asked for.
func tunnel(asked *[]string, answer string, s server) server {
	return func(c net.Conn) {
		head, ok := readRequest(c)
		if !ok {
			return
		}
		*asked = append(*asked, head)
		io.WriteString(c, answer)
		if strings.Contains(answer, " 200 ") {
			s(c)
		}
	}
}

const established = "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"

func TestTunnel(t *testing.T) {
	for text, want := range map[string]string{
		"http://example.org/a":        "example.org:80",
		"http://example.org:8080/a":   "example.org:8080",
		"http://[2001:db8::1]:8080/a": "[2001:db8::1]:8080",
	} {
		var asked []string
		opt := Options{Proxy: mustProxy(t, "http://me:s3%3Acr%40t@proxy.test:3128")}
		bubble(t, tunnel(&asked, established, answering(nextAnswer)), opt, func(t *testing.T, n *network, tr *Transport) {
			req := request(t, text)
			req.Addr = netip.AddrPortFrom(netip.Addr{}, req.URL.Port())
			for i := range 2 {
				x := do(t, tr, req)
				if x.Outcome != outcome.OK || content(t, x.Body) != "next" || x.Reused != (i == 1) || x.IP() != "" {
					t.Errorf("%v %q reused %v, address %q", x.Outcome, x.Detail, x.Reused, x.IP())
				}
				if !strings.HasPrefix(string(x.RequestBytes), "GET /a HTTP/1.1\r\nHost: ") || strings.Contains(string(x.RequestBytes), "Proxy") {
					t.Errorf("sent %q", x.RequestBytes)
				}
				x.Close()
			}
			secret := base64.StdEncoding.EncodeToString([]byte("me:" + proxySecret))
			head := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: Basic %s\r\n\r\n", want, secret)
			if len(asked) != 1 || asked[0] != head {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// TestTunnelGetsTheAddressThatIsKnown: --resolve and addresses in URLs hold behind a proxy too, and are subject to the policy.
func TestTunnelGetsTheAddressThatIsKnown(t *testing.T) {
	var asked []string
	var checked []netip.AddrPort
	opt := Options{Proxy: mustProxy(t, "http://127.0.0.1:3128"), Control: func(a netip.AddrPort) error {
		checked = append(checked, a)
		if a.Addr().IsLoopback() {
			return errTest
		}
		return nil
	}}
	bubble(t, tunnel(&asked, established, answering(nextAnswer)), opt, func(t *testing.T, n *network, tr *Transport) {
		x := do(t, tr, request(t, "http://example.org/"))
		if x.Outcome != outcome.OK || x.IP() != "192.0.2.1" || len(asked) != 1 || !strings.HasPrefix(asked[0], "CONNECT 192.0.2.1:80 ") {
			t.Errorf("%v %q %q %q", x.Outcome, x.Detail, x.IP(), asked)
		}
		x.Close()
		req := request(t, "http://other.test/")
		req.Addr = netip.MustParseAddrPort("127.0.0.1:80")
		if x = do(t, tr, req); x.Outcome != outcome.AddressRefused || len(asked) != 1 {
			t.Errorf("%v %q", x.Outcome, asked)
		}
		x.Close()
		if len(checked) != 2 || checked[0].Addr().IsLoopback() {
			t.Errorf("the policy was asked about %v", checked)
		}
	})
}

func TestTunnelTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		var asked []string
		n := newNetwork(t, tunnel(&asked, established, secured(a.server("example.org", time.Now().Add(time.Hour)), answering(nextAnswer))))
		tr, err := New(Options{Dial: n.dial, RootCAs: a.roots(), Proxy: mustProxy(t, "http://proxy.test:3128")})
		if err != nil {
			t.Fatal(err)
		}
		req := request(t, "https://example.org/")
		req.Addr = netip.AddrPortFrom(netip.Addr{}, 443)
		x := do(t, tr, req)
		if x.Outcome != outcome.OK || x.TLS == nil || asked[0] != "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n" {
			t.Errorf("%v %q %q", x.Outcome, x.Detail, asked)
		}
		x.Close()
		tr.Close()
		n.serves.Wait()
	})
}

// TestTunnelRefused: what the proxy says about a target is the target's outcome, what it says about us is our error.
func TestTunnelRefused(t *testing.T) {
	for _, c := range []struct {
		name, proxy, answer string
		outcome             outcome.Outcome
		err                 error
		detail              string
	}{
		{"unreachable", "http://p.test:1", "HTTP/1.1 503 No route\r\n\r\n", outcome.ConnectFailed, nil, "503 No route"},
		{"forbidden", "http://p.test:1", "HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\n", outcome.ConnectFailed, nil, "403"},
		{"hangs up", "http://p.test:1", "", outcome.ConnectFailed, nil, "EOF"},
		{"half a head", "http://p.test:1", "HTTP/1.1 200 OK\r\nA: b\r\n", outcome.ConnectFailed, nil, "EOF"},
		{"speaks early", "http://p.test:1", established + "more", outcome.ConnectFailed, nil, "more than its answer"},
		{"endless", "http://p.test:1", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20000), outcome.ConnectFailed, nil, "no end"},
		{"wants a password", "http://p.test:1", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", 0, ErrProxyRefused, "wants a user and password"},
		{"wants another password", "http://me:s3cret@p.test:1", "HTTP/1.1 407 No\r\n\r\n", 0, ErrProxyRefused, "does not accept"},
		{"no HTTP", "http://p.test:1", "SSH-2.0-OpenSSH_9.2\r\n", 0, ErrProxyRefused, "does not speak HTTP"},
		{"bad head", "http://p.test:1", "HTTP/1.1 OK\r\n\r\n", 0, ErrProxyRefused, "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			s := tunnel(&asked, c.answer, func(net.Conn) {})
			bubble(t, s, Options{Proxy: mustProxy(t, c.proxy)}, func(t *testing.T, n *network, tr *Transport) {
				checkRefusal(t, tr, c.outcome, c.err, c.detail)
			})
		})
	}
}

func checkRefusal(t *testing.T, tr *Transport, o outcome.Outcome, want error, detail string) {
	t.Helper()
	x, err := tr.Do(t.Context(), request(t, "http://example.org/"))
	if want != nil {
		if !errors.Is(err, want) || !strings.Contains(err.Error(), detail) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if x.Outcome != o || !strings.Contains(x.Detail, detail) {
		t.Errorf("%v %q", x.Outcome, x.Detail)
	}
	x.Close()
}

func TestTunnelTimeout(t *testing.T) {
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	for _, p := range []string{"http://p.test:1", "socks5://p.test:1"} {
		bubble(t, silent, Options{Proxy: mustProxy(t, p)}, func(t *testing.T, n *network, tr *Transport) {
			start := time.Now()
			checkRefusal(t, tr, outcome.ConnectFailed, nil, "in time")
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("gave up after %v", took)
			}
		})
	}
}

// TestProxyDown: a proxy that is away for a moment is waited for; one that stays away is an error.
func TestProxyDown(t *testing.T) {
	for away, want := range map[int]error{3: nil, 1000: ErrProxyDown} {
		var asked []string
		var n *network
		dials := 0
		opt := Options{Proxy: mustProxy(t, "http://me:s3cret@p.test:1"), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials++; dials <= away {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
			return n.dial(ctx, network, addr)
		}}
		bubble(t, tunnel(&asked, established, answering(nextAnswer)), opt, func(t *testing.T, net *network, tr *Transport) {
			n = net
			start := time.Now()
			x, err := tr.Do(t.Context(), request(t, "http://example.org/"))
			if !errors.Is(err, want) {
				t.Fatalf("away for %d: %v", away, err)
			}
			if err == nil {
				x.Close()
			} else if !strings.Contains(err.Error(), "http://p.test:1: connection refused") || time.Since(start) != 10*time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	}
}

// TestProxyNotBlamedForLateDial: an exchange whose time is nearly up when it must dial again is a timeout, not a proxy that is down.
func TestProxyNotBlamedForLateDial(t *testing.T) {
	var asked []string
	var n *network
	dials := 0
	opt := Options{Timeout: 10 * time.Second, Proxy: mustProxy(t, "http://p.test:1"), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; dials > 1 {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return n.dial(ctx, network, addr)
	}}
	once := func(c net.Conn) { // answers, then lets the second request wait and hangs up
		readRequest(c)
		io.WriteString(c, nextAnswer)
		readRequest(c)
		time.Sleep(8 * time.Second)
	}
	bubble(t, tunnel(&asked, established, once), opt, func(t *testing.T, net *network, tr *Transport) {
		n = net
		for _, want := range []outcome.Outcome{outcome.OK, outcome.Timeout} {
			x := do(t, tr, request(t, "http://example.org/"))
			if x.Outcome != want {
				t.Errorf("%v %s", x.Outcome, x.Detail)
			}
			x.Close()
		}
	})
}

func TestProxyCancel(t *testing.T) {
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	bubble(t, silent, Options{Proxy: mustProxy(t, "http://p.test:1")}, func(t *testing.T, n *network, tr *Transport) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := tr.Do(ctx, request(t, "http://example.org/")); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// FuzzTunnel lets proxies answer anything: there is always an outcome or an error of ours, and never a panic.
func FuzzTunnel(f *testing.F) {
	f.Add(false, []byte(established+nextAnswer))
	f.Add(false, []byte("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\r\n"))
	f.Add(false, []byte("HTTP/1.1 200\n\n"))
	f.Add(true, []byte("\x05\x02\x01\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"+nextAnswer))
	f.Add(true, []byte("\x05\x00\x05\x00\x00\x03\x02ab\x00\x50"+nextAnswer))
	f.Add(true, []byte("\x05\xff"))
	req := request(f, "http://example.org/")
	proxies := map[bool]Proxy{false: mustProxy(f, "http://me:s3cret@p.test:1"), true: mustProxy(f, "socks5h://me:s3cret@p.test:1")}
	f.Fuzz(func(t *testing.T, socks bool, data []byte) {
		tr, s := scripted(t)
		tr.opt.Proxy, s.script = proxies[socks], data
		x, err := tr.Do(context.Background(), req)
		switch {
		case err == nil:
			x.Close()
		case !errors.Is(err, ErrProxyRefused) || strings.Contains(err.Error(), "s3cret"):
			t.Fatal(err)
		}
	})
}
