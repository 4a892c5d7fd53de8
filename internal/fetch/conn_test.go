package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"

	"pgregory.net/rapid"
)

func TestKeptConnectionClosedMeanwhile(t *testing.T) {
	const answer = ok200 + "Content-Length: 2\r\n\r\nok"
	// resets looks alive until the next request is sent: closing after reading it is the race that a look beforehand cannot see.
	resets := func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, answer)
		readRequest(c)
	}
	for name, s := range map[string]server{"before": closing(answer), "on reuse": resets} {
		t.Run(name, func(t *testing.T) {
			bubble(t, s, Options{}, func(t *testing.T, n *network, tr *Transport) {
				for i := range 4 {
					x := do(t, tr, request(t, "http://example.org/"))
					if x.Outcome != outcome.OK || x.Reused || n.dials != i+1 {
						t.Errorf("exchange %d: %v %q reused %v, %d dials", i, x.Outcome, x.Detail, x.Reused, n.dials)
					}
					x.Close()
					synctest.Wait()
				}
			})
		})
	}
}

// TestRedialOnce has a server that never answers: an exchange dials once more at most, and only for a kept connection.
func TestRedialOnce(t *testing.T) {
	var connections atomic.Int32
	s := func(c net.Conn) {
		if readRequest(c); connections.Add(1) == 1 {
			io.WriteString(c, ok200+"Content-Length: 0\r\n\r\n")
			readRequest(c)
		}
	}
	bubble(t, s, Options{}, func(t *testing.T, n *network, tr *Transport) {
		for i, want := range []struct {
			outcome outcome.Outcome
			dials   int
		}{{outcome.OK, 1}, {outcome.Reset, 2}, {outcome.Reset, 3}} {
			x := do(t, tr, request(t, "http://example.org/"))
			if x.Outcome != want.outcome || n.dials != want.dials {
				t.Errorf("exchange %d: %v, %d dials", i, x.Outcome, n.dials)
			}
			x.Close()
		}
	})
}

// TestNoRedialAfterFirstByte checks that an answer that began is the answer.
func TestNoRedialAfterFirstByte(t *testing.T) {
	s := func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, ok200+"Content-Length: 0\r\n\r\n")
		readRequest(c)
		io.WriteString(c, "HTTP/1.1 2")
	}
	bubble(t, s, Options{}, func(t *testing.T, n *network, tr *Transport) {
		do(t, tr, request(t, "http://example.org/")).Close()
		x := do(t, tr, request(t, "http://example.org/"))
		if x.Outcome != outcome.Reset || !x.Reused || n.dials != 1 {
			t.Errorf("%v %q reused %v, %d dials", x.Outcome, x.Detail, x.Reused, n.dials)
		}
		x.Close()
	})
}

func TestKeepFor(t *testing.T) {
	answer := func(field string) string { return ok200 + field + "Content-Length: 0\r\n\r\n" }
	for _, c := range []struct {
		name, field string
		keep, pause time.Duration
		reused      bool
		sent        string
	}{
		{name: "zero", keep: 0, sent: "\r\nConnection: close\r\n"},
		{name: "in time", keep: time.Minute, pause: 59 * time.Second, reused: true},
		{name: "expired", keep: time.Minute, pause: 61 * time.Second},
		{name: "server closes", field: "Connection: Foo, Close\r\n", keep: time.Minute},
		{name: "server's limit", field: "Keep-Alive: max=7, timeout=5\r\n", keep: time.Minute, pause: 6 * time.Second},
		{name: "within the server's limit", field: "Keep-Alive: timeout=5\r\n", keep: time.Minute, pause: 4 * time.Second, reused: true},
		{name: "no time at all", field: "Keep-Alive: timeout=0\r\n", keep: time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, answering(answer(c.field)), Options{}, func(t *testing.T, n *network, tr *Transport) {
				req := request(t, "http://example.org/")
				req.KeepFor = c.keep
				x := do(t, tr, req)
				if !strings.Contains(string(x.RequestBytes), c.sent) || c.sent == "" && strings.Contains(string(x.RequestBytes), "Connection") {
					t.Errorf("request %q", x.RequestBytes)
				}
				x.Close()
				time.Sleep(c.pause)
				synctest.Wait()
				if open := n.open["192.0.2.1"]; (open == 1) != c.reused {
					t.Errorf("%d connections open", open)
				}
				x = do(t, tr, req)
				if x.Reused != c.reused {
					t.Errorf("reused %v", x.Reused)
				}
				x.Close()
			})
		})
	}
}

// TestJanitor lets many kept connections expire at their own times, each before its limit and none long before.
func TestJanitor(t *testing.T) {
	bubble(t, answering(ok200+"Content-Length: 0\r\n\r\n"), Options{}, func(t *testing.T, n *network, tr *Transport) {
		for i := range 50 {
			req := request(t, fmt.Sprintf("http://h%d.example/", i))
			req.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 80)
			req.KeepFor = time.Duration(1+i*37%50) * time.Second
			do(t, tr, req).Close()
		}
		for s := range 50 {
			time.Sleep(time.Second)
			synctest.Wait()
			n.mu.Lock()
			open := 0
			for _, v := range n.open {
				open += v
			}
			n.mu.Unlock()
			if want := 50 - (s + 1); open != want {
				t.Errorf("after %d s %d connections are open, want %d", s+1, open, want)
			}
		}
	})
}

func TestMaxIdle(t *testing.T) {
	bubble(t, answering(ok200+"Content-Length: 0\r\n\r\n"), Options{MaxIdle: 2}, func(t *testing.T, n *network, tr *Transport) {
		get := func(i byte) bool {
			req := request(t, fmt.Sprintf("http://h%d.example/", i))
			req.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 80)
			x := do(t, tr, req)
			defer x.Close()
			return x.Reused
		}
		get(1)
		get(2)
		get(3)
		if len(tr.pool.idle) != 2 || !get(2) || !get(3) || get(1) {
			t.Error("not the one kept longest was closed")
		}
	})
}

// TestOneConnectionPerHost drives exchanges to few hosts over schemes, ports and addresses, some failing: a
// host never has two connections open, and a host that is busy is refused.
func TestOneConnectionPerHost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [4]int {
			return [4]int{rapid.IntRange(0, 2).Draw(rt, "host"), rapid.IntRange(0, 2).Draw(rt, "port"), rapid.IntRange(0, 3).Draw(rt, "answer"), rapid.IntRange(0, 40).Draw(rt, "pause")}
		}), 1, 20).Draw(rt, "steps")
		bubble(t, pathServer, Options{MaxIdle: 2}, func(t *testing.T, n *network, tr *Transport) {
			for _, s := range steps {
				req := request(t, fmt.Sprintf("http://host%d.example:%d/%d", s[0], 8000+s[1], s[2]))
				req.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(s[0])}), uint16(8000+s[1]))
				req.KeepFor = time.Duration(s[3]) * time.Second / 2
				do(t, tr, req).Close()
				time.Sleep(time.Duration(s[3]) * time.Second / 3)
			}
		})
	})
}

// pathServer answers by path: 0 well, 1 and closes, 2 cut, 3 with a byte too many.
func pathServer(c net.Conn) {
	for {
		head, ok := readRequest(c)
		if !ok {
			return
		}
		switch head[len("GET /")] {
		case '0':
			io.WriteString(c, ok200+"Content-Length: 2\r\n\r\nok")
			continue
		case '1':
			io.WriteString(c, ok200+"\r\nok")
		case '2':
			io.WriteString(c, ok200+"Content-Length: 20\r\n\r\nok")
		case '3':
			io.WriteString(c, ok200+"Content-Length: 2\r\n\r\nok+")
			continue
		}
		return
	}
}

func TestHostBusy(t *testing.T) {
	bubble(t, stay(""), Options{}, func(t *testing.T, n *network, tr *Transport) {
		go func() {
			x, err := tr.Do(t.Context(), request(t, "http://example.org/slow"))
			if err != nil {
				t.Error(err)
				return
			}
			x.Close()
		}()
		synctest.Wait()
		req := request(t, "https://example.org:8443/")
		if _, err := tr.Do(t.Context(), req); !errors.Is(err, ErrHostBusy) {
			t.Errorf("second exchange: %v", err)
		}
		req = request(t, "http://other.org/")
		req.HostKey = "example.org"
		if _, err := tr.Do(t.Context(), req); !errors.Is(err, ErrHostBusy) {
			t.Errorf("second exchange under the same key: %v", err)
		}
		time.Sleep(time.Minute)
	})
}

// TestCancel ends the context in every phase: Do returns at that instant, with the context's error.
func TestCancel(t *testing.T) {
	for name, c := range map[string]struct {
		s    server
		url  string
		dial func(ctx context.Context, network, addr string) (net.Conn, error)
	}{
		"dialling": {dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }},
		"TLS":      {s: func(c net.Conn) { io.Copy(io.Discard, c) }, url: "https://example.org/"},
		"sending":  {s: func(c net.Conn) { time.Sleep(time.Minute) }},
		"waiting":  {s: stay("")},
		"header":   {s: stay("HTTP/1.1 2")},
		"body":     {s: stay(ok200 + "Content-Length: 10\r\n\r\nhalf")},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.s, Options{Dial: c.dial}, func(t *testing.T, n *network, tr *Transport) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				url := c.url
				if url == "" {
					url = "http://example.org/"
				}
				start := time.Now()
				_, err := tr.Do(ctx, request(t, url))
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				if _, err := tr.Do(ctx, request(t, url)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with a context that is done: %v", err)
				}
			})
		})
	}
}

func TestDialFailures(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		dial    func(ctx context.Context, network, addr string) (net.Conn, error)
		control func(netip.AddrPort) error
		want    outcome.Outcome
		detail  string
		took    time.Duration
		err     error
	}{
		"refused":    {dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }, want: outcome.ConnectFailed, detail: "192.0.2.1:80: connection refused"},
		"no answer":  {dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, want: outcome.ConnectFailed, detail: "no connection within 10s", took: 10 * time.Second},
		"our limits": {dial: func(context.Context, string, string) (net.Conn, error) { return nil, syscall.EMFILE }, err: syscall.EMFILE},
		"policy":     {control: func(a netip.AddrPort) error { return fmt.Errorf("%v is not public", a.Addr()) }, want: outcome.AddressRefused, detail: "192.0.2.1 is not public"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, stay(""), Options{Dial: c.dial, Control: c.control}, func(t *testing.T, n *network, tr *Transport) {
				start := time.Now()
				x, err := tr.Do(t.Context(), request(t, "http://example.org/"))
				if c.err != nil {
					if !errors.Is(err, c.err) {
						t.Errorf("error %v", err)
					}
					return
				}
				if err != nil || x.Outcome != c.want || !strings.Contains(x.Detail, c.detail) || time.Since(start) != c.took || n.dials > 0 {
					t.Errorf("%v %v %v, %d dials, %v", x.Outcome, x.Detail, time.Since(start), n.dials, err)
				}
				if x.Body.Len() != 0 || x.HeadBytes != nil || x.Total != c.took {
					t.Errorf("%+v", x)
				}
				x.Close()
			})
		})
	}
}

// TestControlSeesTheAddressDialled gives IPv6-mapped IPv4, by which policies were got round before.
func TestControlSeesTheAddressDialled(t *testing.T) {
	var asked, dialled string
	opt := Options{
		Control: func(a netip.AddrPort) error { asked = a.String(); return nil },
		Dial:    func(_ context.Context, _, addr string) (net.Conn, error) { dialled = addr; return nil, errTest },
	}
	bubble(t, nil, opt, func(t *testing.T, n *network, tr *Transport) {
		req := request(t, "http://example.org/")
		req.Addr = netip.MustParseAddrPort("[::ffff:127.0.0.1]:80")
		do(t, tr, req).Close()
		if asked != "127.0.0.1:80" || asked != dialled {
			t.Errorf("asked about %s, dialled %s", asked, dialled)
		}
	})
}

// TestLoopback uses real sockets: reuse, the look before reuse, and a closed port.
func TestLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{}, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for i := 0; i < 2; i++ {
				readRequest(c)
				io.WriteString(c, ok200+"Content-Length: 2\r\n\r\nok")
			}
			c.Close()
			closed <- struct{}{}
		}
	}()
	tr, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	addr := netip.MustParseAddrPort(l.Addr().String())
	req := &Request{URL: mustURL(t, "http://"+addr.String()+"/"), Addr: addr, KeepFor: time.Minute}
	for i := range 6 {
		x := do(t, tr, req)
		if x.Outcome != outcome.OK || x.Reused != (i%2 == 1) {
			t.Errorf("exchange %d: %v %q reused %v", i, x.Outcome, x.Detail, x.Reused)
		}
		x.Close()
		if i%2 == 1 {
			<-closed
		}
	}
	l.Close()
	if x := do(t, tr, req); x.Outcome != outcome.ConnectFailed || !strings.Contains(x.Detail, "connection refused") {
		t.Errorf("closed port: %v %q", x.Outcome, x.Detail)
	}
}

func TestTransportClosed(t *testing.T) {
	bubble(t, answering(nextAnswer), Options{}, func(t *testing.T, n *network, tr *Transport) {
		x := do(t, tr, request(t, "http://example.org/"))
		tr.Close()
		if content(t, x.Body) != "next" {
			t.Error("the exchange lost its body")
		}
		x.Close()
		if _, err := tr.Do(t.Context(), request(t, "http://example.org/")); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}
