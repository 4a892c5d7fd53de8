package node

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"decorum/internal/config"
	"decorum/internal/fetch"
	"decorum/internal/jobdir"
)

// proxied is a toy web behind an HTTP proxy that resolves names; this side knows none.
type proxied struct {
	*toy
	names map[string]netip.Addr

	mu    sync.Mutex
	asked []string // of the proxy; guarded by mu
}

func newProxied(t *testing.T, seed string) *proxied {
	p := &proxied{toy: newToy(t, seed), names: map[string]netip.Addr{}}
	p.cfg.Scope, p.cfg.Proxy = "any", "http://proxy.museum:3128"
	p.dial = tunnelTo(p.far, io.Discard)
	return p
}

// behind ends the writing of the web: from here on its names are known to the proxy alone.
func (p *proxied) behind() {
	for _, r := range p.cfg.Resolve {
		host, addr, err := config.ParseResolve(r)
		if err != nil {
			p.t.Fatal(err)
		}
		p.names[host] = addr
	}
	p.cfg.Resolve = nil
}

// far is the proxy's own dialler.
func (p *proxied) far(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock()
	p.asked = append(p.asked, addr)
	p.mu.Unlock()
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ip, ok := p.names[name]
	if !ok {
		return nil, errors.New("no such host")
	}
	return p.connect(ctx, network, net.JoinHostPort(ip.String(), port))
}

// TestProxyResolves: names go to the proxy, addresses stay unknown, and the policy still holds for those written in URLs.
func TestProxyResolves(t *testing.T) {
	virtually(t, func(t *testing.T) {
		p := newProxied(t, "http://a.museum/")
		p.host("a.museum", toySite{"/": linking("/x", "http://b.museum/", "http://gone.museum/", "http://10.0.0.7/", "http://localhost/")})
		p.host("b.museum", toySite{"/": "b"})
		p.behind()
		p.crawl()
		p.expect("a.museum/", "a.museum/x", "b.museum/")
		p.aloneWithEachHost()
		slices.Sort(p.asked)
		if asked := slices.Compact(p.asked); !slices.Equal(asked, []string{"a.museum:80", "b.museum:80", "gone.museum:80"}) {
			t.Errorf("the proxy was asked for %q", asked)
		}
		pages := p.pages()
		if a := pages["http://a.museum/"]; a.Outcome != "ok" || a.IP != "" {
			t.Errorf("%+v", a)
		}
		if skipped := p.skipped(); skipped["http://10.0.0.7/"] != "address" {
			t.Errorf("%v", skipped)
		}
		if a := p.archive(); strings.Contains(a, "WARC-IP-Address") || strings.Contains(a, "CONNECT") || strings.Contains(a, "invalid IP") {
			t.Error("the archive tells of addresses or of the proxy")
		}
	})
}

// TestProxyIsGivenAddresses: a socks5 proxy is told addresses that were found, and judged, on this side.
func TestProxyIsGivenAddresses(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("http://lan.museum/")})
		y.at("lan.museum", "192.168.3.4", toySite{"/": "lan"})
		y.cfg.Scope, y.cfg.Proxy = "any", "socks5://127.0.0.1:1080" // its own address is beyond the policy
		y.dial = socksTo(t, y.connect)
		y.crawl()
		y.expect("a.museum/")
		if ip := y.pages()["http://a.museum/"].IP; ip != "93.184.0.1" {
			t.Errorf("address %q", ip)
		}
		if why := y.skipped()["http://lan.museum/"]; why != "address" {
			t.Errorf("%q", why)
		}
	})
}

// socksTo is the way to a SOCKS5 proxy that connects to IPv4 addresses by dial.
func socksTo(t *testing.T, dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "127.0.0.1:1080" {
			return nil, errors.New(addr + " is dialled past the proxy")
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			var greeting [3]byte
			var request [10]byte
			io.ReadFull(server, greeting[:])
			server.Write([]byte{5, 0})
			if _, err := io.ReadFull(server, request[:]); err != nil || request[3] != 1 {
				t.Errorf("%x %v", request, err)
				return
			}
			to := netip.AddrPortFrom(netip.AddrFrom4([4]byte(request[4:8])), uint16(request[8])<<8|uint16(request[9]))
			far, err := dial(context.Background(), network, to.String())
			if err != nil {
				server.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
				return
			}
			defer far.Close()
			server.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
			go func() {
				io.Copy(far, server)
				far.Close()
			}()
			io.Copy(server, far)
		}()
		return client, nil
	}
}

// TestProxyTroubleLosesNothing: a proxy that goes away ends the run, not the hosts behind it; the same command goes on.
func TestProxyTroubleLosesNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		p := newProxied(t, "http://a.museum/")
		p.host("a.museum", toySite{"/": linking("/1", "/2", "/3", "http://b.museum/"), "/1": "1", "/2": "2", "/3": "3"})
		p.host("b.museum", toySite{"/": "b"})
		p.behind()
		up := p.dial
		p.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			p.toy.mu.Lock()
			gone := len(p.got()) >= 2
			p.toy.mu.Unlock()
			if gone {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
			return up(ctx, network, addr)
		}
		for _, path := range []string{"/", "/1", "/2", "/3"} { // each answer ends its connection, so each needs the proxy anew
			page := p.hosts["a.museum"].(toySite)[path].(string)
			p.hosts["a.museum"].(toySite)[path] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
				io.WriteString(w, page)
			}
		}
		p.wanted = jobdir.EndInterrupted
		r, _ := p.crawl()
		if !errors.Is(r.Proxy, fetch.ErrProxyDown) || !strings.Contains(r.Summary.EndDetail, "http://proxy.museum:3128") {
			t.Errorf("%v; %s", r.Proxy, r.Summary.EndDetail)
		}
		p.dial, p.wanted = up, jobdir.EndExhausted
		p.crawl()
		p.expect("a.museum/", "a.museum/1", "a.museum/2", "a.museum/3", "b.museum/")
	})
}

// TestProxyThatRefusesUs: wrong credentials are found out at once.
func TestProxyThatRefusesUs(t *testing.T) {
	virtually(t, func(t *testing.T) {
		p := newProxied(t, "http://a.museum/")
		p.host("a.museum", toySite{"/": "a"})
		p.behind()
		p.dial = func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				io.ReadFull(server, make([]byte, 8))
				go io.Copy(io.Discard, server)
				io.WriteString(server, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
				server.Close()
			}()
			return client, nil
		}
		p.wanted = jobdir.EndInterrupted
		r, _ := p.crawl()
		if !errors.Is(r.Proxy, fetch.ErrProxyRefused) || len(p.skipped())+len(p.fetches()) > 0 {
			t.Errorf("%v, %v, %v", r.Proxy, p.skipped(), p.fetches())
		}
	})
}
