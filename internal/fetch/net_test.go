package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/weburl"
)

// server is what one connection's other end does; it may leave the connection open.
type server func(c net.Conn)

// network is an in-memory network of unbuffered pipes. It counts the client's open connections per address.
type network struct {
	t     testing.TB
	serve server

	mu     sync.Mutex
	open   map[string]int // by IP address
	worst  int            // most connections open to one IP address at once
	dials  int
	stop   chan struct{} // ends servers that only wait
	serves sync.WaitGroup
}

func newNetwork(t testing.TB, s server) *network {
	return &network{t: t, serve: s, open: map[string]int{}, stop: make(chan struct{})}
}

func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	client, far := net.Pipe()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	n.open[host]++
	n.worst = max(n.worst, n.open[host])
	n.serves.Go(func() {
		defer far.Close()
		n.serve(far)
	})
	return &pipeEnd{Conn: client, n: n, host: host}, nil
}

type pipeEnd struct {
	net.Conn
	n    *network
	host string
	once sync.Once
}

func (p *pipeEnd) Close() error {
	p.once.Do(func() {
		p.n.mu.Lock()
		p.n.open[p.host]--
		p.n.mu.Unlock()
	})
	return p.Conn.Close()
}

// readRequest reads one request head; false when the client is gone.
func readRequest(c net.Conn) (string, bool) {
	br := bufio.NewReader(c)
	var b strings.Builder
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return "", false
		}
		b.WriteString(line)
		if line == "\r\n" {
			return b.String(), true
		}
	}
}

// answering returns a server that answers each request with the text, in one write.
func answering(text string) server {
	return func(c net.Conn) {
		for {
			if _, ok := readRequest(c); !ok {
				return
			}
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// closing returns a server that answers one request and closes.
func closing(text string) server {
	return func(c net.Conn) {
		if _, ok := readRequest(c); ok {
			io.WriteString(c, text)
		}
	}
}

func mustURL(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func request(t testing.TB, url string) *Request {
	return &Request{URL: mustURL(t, url), Addr: netip.MustParseAddrPort("192.0.2.1:80"), KeepFor: time.Minute}
}

// bubble runs f with a transport on the network in a synctest bubble, which fails when a goroutine is left.
func bubble(t *testing.T, s server, opt Options, f func(t *testing.T, n *network, tr *Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, s)
		if opt.Dial == nil {
			opt.Dial = n.dial
		}
		tr, err := New(opt)
		if err != nil {
			t.Fatal(err)
		}
		f(t, n, tr)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		close(n.stop)
		n.serves.Wait()
		for host, open := range n.open {
			if open != 0 {
				t.Errorf("%d connections to %s left open", open, host)
			}
		}
		if n.worst > 1 {
			t.Errorf("%d connections to one host at once", n.worst)
		}
	})
}

func do(t testing.TB, tr *Transport, req *Request) *Exchange {
	t.Helper()
	x, err := tr.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func content(t testing.TB, b Body) string {
	t.Helper()
	all, err := io.ReadAll(b.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if mem, ok := b.Bytes(); ok && string(mem) != string(all) {
		t.Error("Bytes and Reader disagree")
	}
	if int64(len(all)) != b.Len() {
		t.Errorf("Len %d, read %d", b.Len(), len(all))
	}
	return string(all)
}

var errTest = errors.New("told to fail")

// script is a connection that answers anything with fixed bytes and then ends.
type script struct {
	script []byte
	net.Conn
	rest *bytes.Reader
}

func (s *script) Write(p []byte) (int, error)      { return len(p), nil }
func (s *script) Read(p []byte) (int, error)       { return s.rest.Read(p) }
func (s *script) Close() error                     { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// scripted returns a transport all of whose connections answer with the script then in force.
func scripted(t testing.TB) (*Transport, *script) {
	s := &script{}
	tr, err := New(Options{MaxBody: 1 << 20, Dial: func(context.Context, string, string) (net.Conn, error) {
		return &script{rest: bytes.NewReader(s.script)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr, s
}

// buffered is a server's end whose writes do not wait for the client to read, as TLS needs: its server sends
// tickets that a client reads only with the first answer.
type buffered struct {
	net.Conn
	queue chan []byte
	done  chan struct{}
	once  sync.Once
}

func newBuffered(c net.Conn) *buffered {
	b := &buffered{Conn: c, queue: make(chan []byte, 64), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		for p := range b.queue {
			c.Write(p)
		}
	}()
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	b.queue <- bytes.Clone(p)
	return len(p), nil
}

func (b *buffered) Close() error {
	b.once.Do(func() { close(b.queue) })
	<-b.done
	return b.Conn.Close()
}
