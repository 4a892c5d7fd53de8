package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"decorum/internal/outcome"
)

// hostileCase is one thing a server may do on its first connection. Further connections answer "next".
type hostileCase struct {
	name      string
	serve     server
	opt       Options
	outcome   outcome.Outcome
	status    int
	body      string // when not checked by bodyLen
	bodyLen   int64
	truncated string
	detail    string        // part of Detail; "" asserts an empty one
	within    time.Duration // virtual; default: no time at all
	wire      int64         // most bytes taken; default 100 KiB
	reused    bool          // the next exchange reuses the connection
}

const nextAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"

func (h hostileCase) run(t *testing.T) {
	var connections atomic.Int32
	serve := func(c net.Conn) {
		if connections.Add(1) > 1 {
			answering(nextAnswer)(c)
			return
		}
		h.serve(c)
	}
	bubble(t, serve, h.opt, func(t *testing.T, n *network, tr *Transport) {
		start := time.Now()
		x := do(t, tr, request(t, "http://example.org/"))
		h.check(t, x, time.Since(start))
		x.Close()

		x = do(t, tr, request(t, "http://example.org/next"))
		defer x.Close()
		if x.Outcome != outcome.OK || content(t, x.Body) != "next" || x.Reused != h.reused {
			t.Errorf("next exchange: %v %q reused %v", x.Outcome, x.Detail, x.Reused)
		}
	})
}

func (h hostileCase) check(t *testing.T, x *Exchange, took time.Duration) {
	t.Helper()
	if x.Outcome != h.outcome || x.Status != h.status || x.Truncated != h.truncated {
		t.Errorf("outcome %v, status %d, truncated %q, detail %q; want %v, %d, %q", x.Outcome, x.Status, x.Truncated, x.Detail, h.outcome, h.status, h.truncated)
	}
	if !strings.Contains(x.Detail, h.detail) || (h.detail == "") != (x.Detail == "") {
		t.Errorf("detail %q, want %q in it", x.Detail, h.detail)
	}
	if strings.ContainsAny(x.Detail, "\r\n") {
		t.Errorf("detail is more than a line: %q", x.Detail)
	}
	if took > h.within+probeWait {
		t.Errorf("took %v, want at most %v", took, h.within)
	}
	if limit := max(h.wire, 100<<10); x.WireBytes > limit {
		t.Errorf("took %d bytes, want at most %d", x.WireBytes, limit)
	}
	if h.bodyLen > 0 {
		if x.Body.Len() != h.bodyLen {
			t.Errorf("body of %d bytes, want %d", x.Body.Len(), h.bodyLen)
		}
	} else if got := content(t, x.Body); got != h.body {
		t.Errorf("body %q, want %q", got, h.body)
	}
}

// after returns a server that takes a request and then does f.
func after(f func(c net.Conn)) server {
	return func(c net.Conn) {
		if _, ok := readRequest(c); ok {
			f(c)
		}
	}
}

// drip writes head at once, then text again and again, a byte per interval.
func drip(head, text string, interval time.Duration) server {
	return after(func(c net.Conn) {
		io.WriteString(c, head)
		for i := 0; ; i++ {
			time.Sleep(interval)
			if _, err := c.Write([]byte{text[i%len(text)]}); err != nil {
				return
			}
		}
	})
}

// endless writes head once, then text until the client has enough.
func endless(head, text string) server {
	return after(func(c net.Conn) {
		block := bytes.Repeat([]byte(text), max(1, 4096/len(text)))
		for _, err := io.WriteString(c, head); err == nil; {
			_, err = c.Write(block)
		}
	})
}

// stay answers and keeps the connection open without taking another request.
func stay(text string) server {
	return after(func(c net.Conn) {
		io.WriteString(c, text)
		io.Copy(io.Discard, c)
	})
}

const ok200 = "HTTP/1.1 200 OK\r\n"

func TestHostileTime(t *testing.T) {
	for _, h := range []hostileCase{
		{name: "accepts and is silent", serve: after(func(c net.Conn) { io.Copy(io.Discard, c) }),
			outcome: outcome.Timeout, within: 20 * time.Second, detail: "no answer within 20s"},
		{name: "does not read the request", serve: func(c net.Conn) { time.Sleep(time.Hour) },
			outcome: outcome.Timeout, within: 20 * time.Second, detail: "did not take the request"},
		{name: "header a byte a second", serve: drip("", "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1000), time.Second),
			outcome: outcome.Timeout, within: 12 * time.Second, detail: "header slower than"},
		{name: "body a byte a second", serve: drip(ok200+"Content-Length: 5000\r\n\r\n", "x", time.Second),
			outcome: outcome.TooSlow, status: 200, body: strings.Repeat("x", 10), truncated: "time", within: 12 * time.Second, detail: "slower than 1024 bytes/s"},
		{name: "chunks a byte a second", serve: drip(ok200+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", time.Second),
			outcome: outcome.TooSlow, status: 200, body: "xx", truncated: "time", within: 12 * time.Second, detail: "slower than"},
		{name: "body at 2 KiB/s", serve: drip(ok200+"Content-Length: 500000\r\n\r\n", "x", time.Second/2048),
			outcome: outcome.Timeout, status: 200, bodyLen: 61440, truncated: "time", within: 30 * time.Second, detail: "not done within 30s"},
		{name: "no rate limit", serve: drip(ok200+"\r\n", "x", 1001*time.Millisecond), opt: Options{MinRate: -1},
			outcome: outcome.Timeout, status: 200, body: strings.Repeat("x", 29), truncated: "time", within: 30 * time.Second, detail: "not done within 30s"},
		{name: "informational then silence", serve: stay("HTTP/1.1 103 Early Hints\r\n\r\n"),
			outcome: outcome.Timeout, within: 20 * time.Second, detail: "no answer within"},
		{name: "body stalls", serve: stay(ok200 + "Content-Length: 10\r\n\r\nhalf"),
			outcome: outcome.TooSlow, status: 200, body: "half", truncated: "time", within: 11 * time.Second, detail: "slower"},
	} {
		t.Run(h.name, h.run)
	}
}

func TestHostileHead(t *testing.T) {
	head := func(s string) server { return closing(s) }
	bad := func(name string, s server, detail string) hostileCase {
		return hostileCase{name: name, serve: s, outcome: outcome.BadHTTP, detail: detail}
	}
	for _, h := range []hostileCase{
		bad("endless header", endless(ok200, "X-Filler: 0123456789\r\n"), "header of more than 65536 bytes"),
		bad("endless header line", endless(ok200+"X: ", "x"), "header of more than 65536 bytes"),
		bad("200 KB header", head(ok200+"X: "+strings.Repeat("x", 200<<10)+"\r\n\r\n"), "header of more than"),
		bad("too many fields", head(ok200+strings.Repeat("a: b\r\n", 501)+"\r\n"), "too many"),
		bad("HTTP/0.9", head("<html>old</html>"), "not an HTTP/1 response"),
		bad("another protocol", stay("SSH-2.0-OpenSSH_9.6\r\n"), "not an HTTP/1 response"),
		bad("endless junk", endless("", "junk"), "not an HTTP/1 response"),
		bad("NUL", head(ok200+"X: a\x00b\r\n\r\n"), "NUL"),
		bad("control character", head(ok200+"X: a\x01b\r\n\r\n"), "control character"),
		bad("CR in a value", head(ok200+"X: a\rb\r\n\r\n"), "control character"),
		bad("no colon", head(ok200+"nonsense\r\n\r\n"), "without a colon"),
		bad("no name", head(ok200+": x\r\n\r\n"), "not a field name"),
		bad("bad status", head("HTTP/1.1 2x0 OK\r\n\r\n"), "from 100 to 999"),
		bad("status 000", head("HTTP/1.1 000 No\r\n\r\n"), "from 100 to 999"),
		bad("no status", head("HTTP/1.1\r\n\r\n"), "from 100 to 999"),
		bad("odd version", head("HTTP/11 200 OK\r\n\r\n"), "not a status line"),
		bad("begins with a fold", head(ok200+" X: y\r\n\r\n"), "continuation"),
		bad("1xx flood", endless("", "HTTP/1.1 100 Continue\r\n\r\n"), "informational"),
		bad("101", stay("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), "101"),
		{name: "nothing", serve: closing(""), outcome: outcome.Reset, detail: "before the first byte"},
		{name: "end in the header", serve: closing(ok200 + "X: y"), outcome: outcome.Reset, detail: "in the header"},
		{name: "bare LF", serve: closing("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), outcome: outcome.OK, status: 200, body: "ok", reused: false},
		{name: "obs-fold", serve: closing(ok200 + "Content-Length:\r\n 2\r\n\r\nok"), outcome: outcome.OK, status: 200, body: "ok"},
		{name: "blank before the colon", serve: closing(ok200 + "Content-Length : 2\r\n\r\nokay"), outcome: outcome.OK, status: 200, body: "ok"},
		{name: "five 1xx", serve: answering(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 5) + ok200 + "Content-Length: 2\r\n\r\nok"),
			outcome: outcome.OK, status: 200, body: "ok"},
		{name: "status 999", serve: closing("HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n"), outcome: outcome.Informal, status: 999},
	} {
		t.Run(h.name, func(t *testing.T) {
			if h.name == "five 1xx" { // it keeps the connection, and answers the same again
				h.serve, h.reused = after(func(c net.Conn) {
					io.WriteString(c, strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 5)+ok200+"Content-Length: 2\r\n\r\nok")
					answering(nextAnswer)(c)
				}), true
			}
			h.run(t)
		})
	}
}

func TestHostileFraming(t *testing.T) {
	const chunked = ok200 + "Transfer-Encoding: chunked\r\n\r\n"
	ok := func(name, text, body string) hostileCase {
		return hostileCase{name: name, serve: stay(text), outcome: outcome.OK, status: 200, body: body}
	}
	bad := func(name, text, body, detail string) hostileCase {
		return hostileCase{name: name, serve: closing(text), outcome: outcome.BadHTTP, status: 200, body: body, truncated: "disconnect", detail: detail}
	}
	reset := func(name, text, body, detail string) hostileCase {
		return hostileCase{name: name, serve: closing(text), outcome: outcome.Reset, status: 200, body: body, truncated: "disconnect", detail: detail}
	}
	small := Options{MaxBody: 1000}
	for _, h := range []hostileCase{
		reset("Content-Length too long", ok200+"Content-Length: 10\r\n\r\nfour", "four", "after 4 of 10 bytes"),
		ok("Content-Length too short", ok200+"Content-Length: 4\r\n\r\nfourteen", "four"),
		ok("equal Content-Lengths", ok200+"Content-Length: 4\r\nContent-Length: 4\r\n\r\nfour+", "four"),
		bad("different Content-Lengths", ok200+"Content-Length: 4\r\nContent-Length: 5\r\n\r\nfour", "", "is both"),
		bad("negative Content-Length", ok200+"Content-Length: -4\r\n\r\nfour", "", "Content-Length is"),
		bad("signed Content-Length", ok200+"Content-Length: +4\r\n\r\nfour", "", "Content-Length is"),
		bad("listed Content-Length", ok200+"Content-Length: 4, 4\r\n\r\nfour", "", "Content-Length is"),
		bad("huge Content-Length", ok200+"Content-Length: 99999999999999999999\r\n\r\nfour", "", "Content-Length is"),
		bad("empty Content-Length", ok200+"Content-Length: \r\n\r\nfour", "", "Content-Length is"),
		ok("both framings, chunked wins", ok200+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n", "four"),
		bad("unknown transfer coding", ok200+"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "", "transfer encoding"),
		bad("two transfer codings", ok200+"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", "transfer encoding"),
		ok("extensions and trailers", chunked+"4;a=\"b\"\r\nfour\r\n00 ;last\r\nTrailer: t\r\n\r\n+", "four"),
		bad("no chunk size", chunked+"\r\nfour", "", "bad chunk size"),
		bad("chunk size of words", chunked+"four\r\nfour", "", "bad chunk size"),
		bad("chunk size with a sign", chunked+"-4\r\nfour", "", "bad chunk size"),
		bad("chunk size 2^64", chunked+"10000000000000004\r\nfour", "", "bad chunk size"),
		bad("chunk longer than its size", chunked+"4\r\nfourteen\r\n0\r\n\r\n", "four", "longer than its size"),
		bad("overlong chunk line", chunked+"4;"+strings.Repeat("x", 5000)+"\r\nfour", "", "chunk line of more"),
		bad("overlong trailer", chunked+"0\r\n"+strings.Repeat("a: b\r\n", 12000)+"\r\n", "", "trailer"),
		reset("end in a chunk", chunked+"8\r\nfour", "four", "before the last chunk"),
		reset("end between chunks", chunked+"4\r\nfour\r\n", "four", "before the last chunk"),
		{name: "no line behind the last chunk", serve: closing(chunked + "4\r\nfour\r\n0\r\n"), outcome: outcome.OK, status: 200, body: "four"},
		{name: "bare LF in chunks", serve: closing(chunked + "4\nfour\n0\n\n"), outcome: outcome.OK, status: 200, body: "four"},
		{name: "HTTP/1.0", serve: closing("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nold"), outcome: outcome.OK, status: 200, body: "old"},
		{name: "HTTP/1.0 with a length", serve: stay("HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nold"), outcome: outcome.OK, status: 200, body: "old"},
		{name: "HTTP/1.0 chunked is not", serve: closing("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), outcome: outcome.OK, status: 200, body: "0\r\n\r\n"},
		{name: "204 with a body", serve: stay("HTTP/1.1 204 No Content\r\n\r\nbody"), outcome: outcome.OK, status: 204},
		{name: "304 with a body", serve: stay("HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nbody"), outcome: outcome.NotModified, status: 304},
		{name: "304 with a late body", serve: after(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n")
			io.WriteString(c, "body")
		}), outcome: outcome.NotModified, status: 304},
		{name: "smuggled response", serve: stay(ok200 + "Content-Length: 1\r\n\r\nx" + ok200 + "Content-Length: 5\r\n\r\nwrong"), outcome: outcome.OK, status: 200, body: "x"},
		{name: "smuggled response, late", serve: after(func(c net.Conn) {
			io.WriteString(c, ok200+"Content-Length: 1\r\n\r\nx")
			io.WriteString(c, ok200+"Content-Length: 5\r\n\r\nwrong")
		}), outcome: outcome.OK, status: 200, body: "x"},
		{name: "smuggled after chunks", serve: stay(chunked + "1\r\nx\r\n0\r\n\r\n" + ok200 + "Content-Length: 5\r\n\r\nwrong"), outcome: outcome.OK, status: 200, body: "x"},
		{name: "endless body", serve: endless(ok200+"\r\n", "x"), outcome: outcome.OK, status: 200, bodyLen: 10 << 20, truncated: "length", wire: 10<<20 + 1<<20, detail: "more than 10485760 bytes"},
		{name: "endless chunks", serve: endless(chunked, "5\r\nhello\r\n"), opt: small, outcome: outcome.OK, status: 200, bodyLen: 1000, truncated: "length", detail: "more than 1000"},
		{name: "one endless chunk", serve: endless(chunked+"fffffffffffffff\r\n", "x"), opt: small, outcome: outcome.OK, status: 200, bodyLen: 1000, truncated: "length", detail: "more than 1000"},
		{name: "endless tiny chunks", serve: endless(chunked, "1;"+strings.Repeat("e", 1000)+"\r\nx\r\n"), opt: Options{MaxBody: 1e6, MaxWire: 5e4}, outcome: outcome.OK, status: 200,
			bodyLen: 49, truncated: "length", detail: "50000 bytes on the wire"},
		{name: "long body", serve: endless(ok200+"Content-Length: 100000000\r\n\r\n", "x"), opt: small, outcome: outcome.OK, status: 200, bodyLen: 1000, truncated: "length", detail: "more than 1000"},
		{name: "body of just the limit", serve: closing(ok200 + "\r\n" + strings.Repeat("x", 1000)), opt: small, outcome: outcome.OK, status: 200, bodyLen: 1000},
		{name: "chunks of just the limit", serve: closing(chunked + "3e8\r\n" + strings.Repeat("x", 1000) + "\r\n0\r\n\r\n"), opt: small, outcome: outcome.OK, status: 200, bodyLen: 1000},
		{name: "redirect with a broken body", serve: closing("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 9\r\n\r\n"), outcome: outcome.Redirect, status: 302, truncated: "disconnect", detail: "0 of 9"},
	} {
		t.Run(h.name, h.run)
	}
}

// TestWireIsExact checks that the archive gets every byte as it came, however the bytes are cut into reads.
func TestWireIsExact(t *testing.T) {
	const answer = ok200 + "Transfer-Encoding:  chunked\r\nX-a:b\n\r\n4;x=y\r\nfour\r\nA\nteen bytes\r\n0\r\nTrailer: t\r\n\r\n"
	for size := 1; size <= len(answer); size += 1 + size/3 {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			serve := after(func(c net.Conn) {
				for rest := answer; rest != ""; {
					n := min(size, len(rest))
					io.WriteString(c, rest[:n])
					rest = rest[n:]
				}
				answering(nextAnswer)(c)
			})
			bubble(t, serve, Options{}, func(t *testing.T, n *network, tr *Transport) {
				x := do(t, tr, request(t, "http://example.org/"))
				if got := string(x.HeadBytes) + content(t, x.WireBody); got != answer {
					t.Errorf("archived %q", got)
				}
				if got := content(t, x.Body); got != "fourteen bytes" {
					t.Errorf("body %q", got)
				}
				x.Close()
				x = do(t, tr, request(t, "http://example.org/"))
				if !x.Reused || content(t, x.Body) != "next" {
					t.Errorf("next exchange: %v reused %v", x.Detail, x.Reused)
				}
				x.Close()
			})
		})
	}
}
