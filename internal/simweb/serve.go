package simweb

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	readBuffer = 16 << 10 // longest request line; the module's URLs end at 4 KiB
	maxHeaders = 100
	chunkSize  = 4 << 10
	// socketBuffer is what a write to a TCP connection leaves to the system without waiting for the client.
	socketBuffer = 64 << 10
)

var errBadRequest = errors.New("simweb: bad request")

// Dial is an in-memory network: it connects to the host at the address, or of the name, and serves the
// connection until the client closes it. It starts one goroutine, which works in a synctest bubble.
func (w *Web) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("simweb: dial %s: %w", addr, err)
	}
	ip, known := w.Resolve(name)
	if !known {
		ip, _ = netip.ParseAddr(name)
		_, known = w.byAddr[ip]
	}
	if !known || port != strconv.Itoa(int(w.opts.Port)) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("simweb: nothing listens at %s", addr)}
	}
	client, server := net.Pipe()
	there := net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, w.opts.Port))
	here := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}
	go w.serve(pipe{server}, ip)
	return &pipeConn{client, here, there}, nil
}

// pipe marks the server's end of an in-memory connection, where a write waits for the client to read.
type pipe struct{ net.Conn }

// pipeConn gives a pipe the addresses of a TCP connection.
type pipeConn struct {
	net.Conn
	local, remote net.Addr
}

func (c *pipeConn) LocalAddr() net.Addr  { return c.local }
func (c *pipeConn) RemoteAddr() net.Addr { return c.remote }

// session is one connection being served.
type session struct {
	web    *Web
	conn   net.Conn
	in     *bufio.Reader
	id     int
	addr   netip.Addr
	answer answer
	frames []byte
}

// serve answers the requests of a connection until either side closes it.
func (w *Web) serve(conn net.Conn, addr netip.Addr) {
	defer conn.Close() // beneath TLS: its farewell would wait for a client that has left
	if w.opts.Scheme == "https" {
		conn = tls.Server(conn, w.tlsConfig())
	}
	s := &session{web: w, conn: conn, in: bufio.NewReaderSize(conn, readBuffer), id: w.opened(), addr: addr}
	defer w.closed(s.id)
	for {
		if _, err := s.in.Peek(1); err != nil {
			return
		}
		start := time.Now()
		q, err := readQuery(s.in)
		if err != nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if !s.exchange(&q, start) {
			return
		}
	}
}

// exchange answers one request and reports whether the connection stays open.
func (s *session) exchange(q *query, start time.Time) bool {
	w, a := s.web, &s.answer
	w.reply(a, q, start)
	n := w.began(q, a, start, s.addr, s.id)
	err := s.pause(a.delay)
	end := time.Now()
	if err == nil {
		end, err = s.write()
	}
	w.ended(n, a, end, err != nil)
	return err == nil && !a.cut && !a.close
}

// pause waits before the answer and returns an error when the client leaves meanwhile.
func (s *session) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	until := time.Now().Add(d)
	if err := s.conn.SetReadDeadline(until); err != nil {
		return err
	}
	_, err := s.in.Peek(1)
	switch {
	case err == nil: // a pipelined request: nothing to watch
		time.Sleep(time.Until(until))
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return s.conn.SetReadDeadline(time.Time{})
}

// write sends the answer and returns when it ended: just before the last piece went out, for afterwards the
// client may be ahead of us by as long as it takes to be scheduled.
func (s *session) write() (end time.Time, err error) {
	a := &s.answer
	length := len(a.body) - headerRoom
	var room [headerRoom]byte
	head := a.appendHeader(room[:0], length)
	start := headerRoom - len(head)
	if start < 0 {
		return time.Now(), errBadRequest // a Location beyond a kilobyte: none is
	}
	copy(a.body[start:], head)
	out := a.body[start:]
	switch {
	case a.headOnly:
		out = out[:len(head)]
	case a.cut:
		out = out[:len(head)+length/2]
	case a.chunked && a.status != http.StatusNotModified:
		s.frames = appendChunks(append(s.frames[:0], head...), a.body[headerRoom:])
		out = s.frames
	}
	if !a.compressed {
		a.buf = a.body
	}
	last := len(out) - 1
	if _, isPipe := s.conn.(pipe); !isPipe && len(out) <= socketBuffer {
		last = 0
	}
	if last > 0 {
		if _, err = s.conn.Write(out[:last]); err != nil {
			return time.Now(), err
		}
	}
	end = time.Now()
	if _, err = s.conn.Write(out[last:]); err != nil {
		end = time.Now()
	}
	return end, err
}

// appendHeader appends status line and header.
func (a *answer) appendHeader(b []byte, length int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(a.status), 10)
	b = append(append(append(b, ' '), http.StatusText(a.status)...), "\r\nServer: simweb\r\n"...)
	a.header(length, func(name, value string) {
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	})
	return append(b, "\r\n"...)
}

// header calls set for each field of the answer's header.
func (a *answer) header(length int, set func(name, value string)) {
	if a.status != http.StatusNotModified {
		set("Content-Type", a.ctype)
		if a.chunked && !a.cut {
			set("Transfer-Encoding", "chunked")
		} else {
			set("Content-Length", strconv.Itoa(length))
		}
	}
	if a.compressed {
		set("Content-Encoding", "gzip")
	}
	for _, f := range [...]struct{ name, value string }{{"Location", a.location}, {"ETag", a.etag},
		{"X-Robots-Tag", a.robotsTag}, {"Retry-After", a.retryAfter}} {
		if f.value != "" {
			set(f.name, f.value)
		}
	}
	if a.close || a.cut {
		set("Connection", "close")
	}
}

func appendChunks(b, body []byte) []byte {
	for len(body) > 0 {
		n := min(len(body), chunkSize)
		b = append(strconv.AppendInt(b, int64(n), 16), "\r\n"...)
		b = append(append(b, body[:n]...), "\r\n"...)
		body = body[n:]
	}
	return append(b, "0\r\n\r\n"...)
}

// readQuery reads a request without body. A request that has one is answered with a closed connection.
func readQuery(in *bufio.Reader) (query, error) {
	var q query
	line, err := readLine(in)
	if err != nil {
		return q, err
	}
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, proto, _ := bytes.Cut(rest, []byte(" "))
	if len(target) == 0 || target[0] != '/' || !bytes.HasPrefix(proto, []byte("HTTP/1.")) {
		return q, errBadRequest
	}
	q.method, q.target = methodName(method), string(target)
	q.close = proto[len(proto)-1] == '0'
	for range maxHeaders {
		if line, err = readLine(in); err != nil {
			return q, err
		}
		if len(line) == 0 {
			return q, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		q.set(name, bytes.TrimSpace(value))
	}
	return q, errBadRequest
}

func methodName(b []byte) string {
	if string(b) == http.MethodGet {
		return http.MethodGet
	}
	return string(b)
}

// set takes what matters from a header field.
func (q *query) set(name, value []byte) {
	switch strings.ToLower(string(name)) {
	case "host":
		q.host = string(value)
	case "user-agent":
		q.agent = string(value)
	case "if-none-match":
		q.match = string(value)
	case "accept-encoding":
		q.gzip = bytes.Contains(value, []byte("gzip"))
	case "connection":
		q.close = q.close || bytes.EqualFold(value, []byte("close"))
	case "content-length", "transfer-encoding":
		q.close = true
	}
}

// readLine returns a line without its end; it is valid until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// ServeHTTP gives the same answers as a handler.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now()
	q := query{method: r.Method, host: r.Host, target: r.URL.RequestURI(), agent: r.UserAgent(), match: r.Header.Get("If-None-Match"),
		gzip: strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")}
	var a answer
	w.reply(&a, &q, start)
	addr, _ := w.Resolve(q.host)
	n := w.began(&q, &a, start, addr, 0)
	left := false
	defer func() { w.ended(n, &a, time.Now(), left) }()
	if a.delay > 0 {
		timer := time.NewTimer(a.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			left = true
			return
		}
	}
	content := a.body[headerRoom:]
	a.header(len(content), func(name, value string) {
		if name != "Transfer-Encoding" { // the server's own business
			rw.Header().Set(name, value)
		}
	})
	rw.WriteHeader(a.status)
	if a.cut {
		content = content[:len(content)/2]
	}
	_, err := rw.Write(content)
	left = err != nil
	if a.cut {
		panic(http.ErrAbortHandler) // the way to break off an answer
	}
}
