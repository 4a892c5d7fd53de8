//go:build unix

package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The benchmarks talk to a server in a process of its own, so that cpu-us/op, user and system time, is the
// client's alone, as in the budget for a page of 37 KB.

const benchPage = 37 << 10

// TestBenchServer is that server's process; run as a test it does nothing.
func TestBenchServer(t *testing.T) {
	if os.Getenv("FETCH_BENCH_SERVER") == "" {
		t.Skip("runs only for the benchmarks")
	}
	body := prose(benchPage)
	answers := map[string]string{"plain": fmt.Sprintf("%sContent-Type: text/html; charset=utf-8\r\nServer: bench\r\nDate: Fri, 02 Jan 2026 03:05:05 GMT\r\nETag: \"abc\"\r\nContent-Length: %d\r\n\r\n%s", ok200, len(body), body)}
	answers["gzip"] = coded("gzip", encode(t, body, "gzip"))
	half := len(body) / 2
	answers["chunked"] = fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", ok200, half, body[:half], len(body)-half, body[half:])
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("listening %s\n", l.Addr())
	go func() { // ends with the benchmark
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 4096)
			for {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				path, _, _ := strings.Cut(strings.TrimPrefix(string(buf[:n]), "GET /"), " ")
				io.WriteString(c, answers[path])
			}
		}()
	}
}

// benchServer starts the server and returns its address.
func benchServer(b *testing.B) netip.AddrPort {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBenchServer$")
	cmd.Env = append(os.Environ(), "FETCH_BENCH_SERVER=1")
	stop, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stop.Close(); cmd.Wait() })
	var addr string
	if _, err := fmt.Fscanf(out, "listening %s\n", &addr); err != nil {
		b.Fatal(err)
	}
	return netip.MustParseAddrPort(addr)
}

// cpu returns the process's user and system time so far.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measure(b *testing.B, f func()) {
	f() // a connection
	b.ReportAllocs()
	start := cpu()
	b.ResetTimer()
	for range b.N {
		f()
	}
	b.ReportMetric(float64((cpu()-start).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

func BenchmarkDo(b *testing.B) {
	addr := benchServer(b)
	tr, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, c := range []struct {
		name, path string
		keep       time.Duration
	}{{"keepalive", "plain", time.Minute}, {"chunked", "chunked", time.Minute}, {"gzip", "gzip", time.Minute}, {"newconn", "plain", 0}} {
		b.Run(c.name, func(b *testing.B) {
			req := &Request{URL: mustURL(b, fmt.Sprintf("http://%v/%s", addr, c.path)), Addr: addr, KeepFor: c.keep}
			measure(b, func() {
				x, err := tr.Do(ctx, req)
				if err != nil || x.Body.Len() != benchPage {
					b.Fatal(err, x.Detail)
				}
				x.Close()
			})
		})
	}
}

// BenchmarkNetHTTP fetches the same pages with net/http, reading each body into one reused buffer: the yardstick.
func BenchmarkNetHTTP(b *testing.B) {
	addr := benchServer(b)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	buf := make([]byte, benchPage+1)
	for _, c := range []struct {
		name, path string
		close      bool
	}{{"keepalive", "plain", false}, {"chunked", "chunked", false}, {"gzip", "gzip", false}, {"newconn", "plain", true}} {
		b.Run(c.name, func(b *testing.B) {
			url := fmt.Sprintf("http://%v/%s", addr, c.path)
			measure(b, func() {
				req, _ := http.NewRequestWithContext(b.Context(), "GET", url, nil)
				req.Close = c.close
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if n, _ := io.ReadFull(resp.Body, buf); n != benchPage {
					b.Fatal(n)
				}
				resp.Body.Close()
			})
		})
	}
}

// BenchmarkHandshake is a new TLS connection per exchange, both ends in this process: full, and resumed.
func BenchmarkHandshake(b *testing.B) {
	a := newAuthority(b)
	cfg := a.server("example.org", time.Now().Add(time.Hour))
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); answering(nextAnswer)(c) }()
		}
	}()
	addr := netip.MustParseAddrPort(l.Addr().String())
	for _, resumed := range []bool{false, true} {
		b.Run(map[bool]string{false: "full", true: "resumed"}[resumed], func(b *testing.B) {
			tr, err := New(Options{RootCAs: a.roots()})
			if err != nil {
				b.Fatal(err)
			}
			defer tr.Close()
			if !resumed {
				tr.tls.ClientSessionCache = nil
			}
			req := &Request{URL: mustURL(b, fmt.Sprintf("https://example.org:%d/", addr.Port())), Addr: addr}
			measure(b, func() {
				x, err := tr.Do(b.Context(), req)
				if err != nil || x.TLS == nil {
					b.Fatal(err, x)
				}
				x.Close()
			})
		})
	}
}

// BenchmarkParseHead parses a usual head.
func BenchmarkParseHead(b *testing.B) {
	raw := []byte(ok200 + "Server: nginx\r\nDate: Fri, 02 Jan 2026 03:05:05 GMT\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 37888\r\n" +
		"Connection: keep-alive\r\nLast-Modified: Fri, 02 Jan 2026 03:05:05 GMT\r\nETag: \"65933f2d-9400\"\r\nCache-Control: max-age=600\r\nAccept-Ranges: bytes\r\n" +
		"Vary: Accept-Encoding\r\nStrict-Transport-Security: max-age=31536000\r\nX-Content-Type-Options: nosniff\r\n\r\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := parseHead(raw, 500); err != nil {
			b.Fatal(err)
		}
	}
}
