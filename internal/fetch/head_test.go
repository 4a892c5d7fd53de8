package fetch

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"decorum/internal/outcome"
)

func TestHeader(t *testing.T) {
	h, err := parseHead([]byte("HTTP/1.1 200\r\nSet-Cookie: a\r\nset-cookie:\tb \r\nX: one,\r\n two\r\n\t three \r\nVary: a , close\r\n\r\n"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.fields.Values("SET-COOKIE"); len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("cookies %q", got)
	}
	if h.fields.Get("x") != "one, two three" || h.fields.Get("missing") != "" {
		t.Errorf("x is %q", h.fields.Get("x"))
	}
	if !h.fields.hasToken("vary", "CLOSE") || h.fields.hasToken("vary", "clo") {
		t.Error("tokens")
	}
}

func TestRequestRefused(t *testing.T) {
	tr, _ := scripted(t)
	for name, change := range map[string]func(*Request){
		"CR in a value":     func(r *Request) { r.Header = []Field{{"X", "a\rb"}} },
		"LF in a validator": func(r *Request) { r.IfNoneMatch = "\"x\"\nEvil: yes" },
		"colon in a name":   func(r *Request) { r.Header = []Field{{"X:", "a"}} },
		"empty name":        func(r *Request) { r.Header = []Field{{"", "a"}} },
		"Host":              func(r *Request) { r.Header = []Field{{"host", "evil"}} },
		"Transfer-Encoding": func(r *Request) { r.Header = []Field{{"transfer-encoding", "chunked"}} },
		"no address":        func(r *Request) { r.Addr = (&Request{}).Addr },
	} {
		req := request(t, "http://example.org/")
		change(req)
		if x, err := tr.Do(t.Context(), req); err == nil {
			t.Errorf("%s was sent: %q", name, x.RequestBytes)
		}
	}
	if _, err := New(Options{UserAgent: "a\r\nb"}); err == nil {
		t.Error("user agent with a line break")
	}
	if _, err := New(Options{Timeout: -1}); err == nil {
		t.Error("negative timeout")
	}
}

func TestRequestFields(t *testing.T) {
	tr, s := scripted(t)
	s.script = []byte(ok200 + "\r\n")
	req := request(t, "http://user:pw@example.org:8080")
	req.Header = []Field{{"Accept", "text/plain"}, {"From", "me@example.org"}}
	req.IfNoneMatch, req.IfModifiedSince = `W/"x"`, "Mon, 02 Jan 2006 15:04:05 GMT"
	x := do(t, tr, req)
	defer x.Close()
	want := "GET / HTTP/1.1\r\nHost: example.org:8080\r\nUser-Agent: decorum\r\nAccept-Encoding: gzip\r\nAccept: text/plain\r\nFrom: me@example.org\r\n" +
		"If-None-Match: W/\"x\"\r\nIf-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\n"
	if string(x.RequestBytes) != want {
		t.Errorf("request %q", x.RequestBytes)
	}
}

func TestRedirects(t *testing.T) {
	tr, s := scripted(t)
	for _, c := range []struct {
		head string
		want outcome.Outcome
		to   string
	}{
		{"301 x\r\nLocation: /a?b#c", outcome.Redirect, "http://example.org/a?b"},
		{"302 x\r\nlocation: //other.org", outcome.Redirect, "http://other.org/"},
		{"303 x\r\nLocation: ../up", outcome.Redirect, "http://example.org/up"},
		{"307 x\r\nLocation: http://example.net:80/\xff\xfe ", outcome.Redirect, ""},
		{"308 x\r\nLocation: ?q", outcome.Redirect, "http://example.org/dir/page?q"},
		{"302 x\r\nLocation: mailto:a@b", outcome.BadRedirect, ""},
		{"302 x\r\nLocation: http://[bad", outcome.BadRedirect, ""},
		{"302 x", outcome.BadRedirect, ""},
		{"300 x\r\nLocation: /a", outcome.BadRedirect, ""},
		{"304 x\r\nLocation: /a", outcome.NotModified, ""},
		{"201 x\r\nLocation: /a", outcome.OK, ""},
	} {
		s.script = []byte("HTTP/1.1 " + c.head + "\r\nContent-Length: 0\r\n\r\n")
		x := do(t, tr, request(t, "http://example.org/dir/page"))
		if x.Outcome != c.want || x.Location.IsZero() != (c.want != outcome.Redirect) {
			t.Errorf("%q: %v to %v", c.head, x.Outcome, x.Location)
		}
		if c.to != "" && x.Location.String() != c.to {
			t.Errorf("%q: to %v", c.head, x.Location)
		}
		x.Close()
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"120":                            2 * time.Minute,
		"-1":                             0,
		"1.5":                            0,
		"soon":                           0,
		"9223372036":                     9223372036 * time.Second,
		"9223372037":                     math.MaxInt64,
		"99999999999999999999999999":     math.MaxInt64,
		"Fri, 02 Jan 2026 03:05:05 GMT":  time.Minute,
		"Fri, 02 Jan 2026 03:03:05 GMT":  0,
		"Friday, 02-Jan-26 03:05:05 GMT": time.Minute,
		"Fri Jan  2 03:05:05 2026":       time.Minute,
		"Fri, 31 Dec 9999 23:59:59 GMT":  math.MaxInt64,
		"Fri, 02 Jan 2026 99:99:99 GMT":  0,
	} {
		if got := retryAfter(v, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

// ours reports whether we are known to judge the message otherwise than net/http, on purpose.
func ours(data []byte) bool {
	head := data
	if n := headEnd(data, 0); n > 0 {
		head = data[:n]
	}
	status, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.IndexByte(head, 0) >= 0 || // refused everywhere
		bytes.Contains(head, []byte(" :")) || bytes.Contains(head, []byte("\t:")) || // blank before the colon is dropped
		bytes.Contains(status, []byte("+")) || bytes.Contains(status, []byte("-")) // 100 to 999, no sign
}

// FuzzResponse feeds any bytes as a response. Whatever they are, the exchange ends with an outcome within the
// limits; and where net/http reads a response, we read the same one.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		ok200 + "Content-Length: 5\r\n\r\nhello", ok200 + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n",
		"HTTP/1.0 404 Not Found\nServer: x\n y\n\nbye", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 301 x\r\nLocation: /x\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n", "<html>",
		coded("gzip", encode(f, []byte("hello"), "gzip")), coded("br, zstd, deflate", encode(f, []byte("hello"), "br", "zstd", "raw")),
	} {
		f.Add([]byte(s))
	}
	tr, s := scripted(f)
	req := request(f, "http://example.org/")
	req.KeepFor = 0
	f.Fuzz(func(t *testing.T, data []byte) {
		s.script = data
		x, err := tr.Do(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if x.Outcome == outcome.None || x.Body.Len() > 1<<20 || strings.ContainsAny(x.Detail, "\r\n") {
			t.Fatalf("outcome %v, body of %d, detail %q", x.Outcome, x.Body.Len(), x.Detail)
		}
		raw := string(x.HeadBytes) + content(t, x.WireBody)
		if !strings.Contains(string(data), raw) {
			t.Fatalf("archived %q", raw)
		}
		if !ours(data) {
			compare(t, data, x)
		}
	})
}

// compare holds an exchange against http.ReadResponse.
func compare(t *testing.T, data []byte, x *Exchange) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil)
	if err != nil {
		if x.Outcome != outcome.BadHTTP && x.Outcome != outcome.Reset && x.Outcome != outcome.Redirect {
			t.Fatalf("net/http: %v; we: %v", err, x.Outcome)
		}
		return
	}
	if resp.StatusCode < 200 || len(resp.Header) > 100 || len(data) > 60<<10 {
		return // informational responses and limits are not ReadResponse's business
	}
	if x.Status != resp.StatusCode || x.Proto != resp.Proto {
		t.Fatalf("net/http: %d %s; we: %d %s, %s", resp.StatusCode, resp.Proto, x.Status, x.Proto, x.Detail)
	}
	for name, values := range resp.Header {
		if name == "Cache-Control" { // net/http makes one up from Pragma
			continue
		}
		got := x.Header.Values(name)
		for i := range values {
			if len(got) < len(values) || got[i] != strings.Trim(values[i], " \t") {
				t.Fatalf("%s: net/http %q; we %q", name, values, got)
			}
		}
	}
	if body, err := io.ReadAll(resp.Body); err == nil && x.Header.Get("Content-Encoding") == "" && len(body) <= 1<<20 {
		if got := content(t, x.Body); got != string(body) || x.Truncated != "" {
			t.Fatalf("net/http reads %q; we %q, %s", body, got, x.Detail)
		}
	}
}

// FuzzCodings feeds any bytes as a coded body.
func FuzzCodings(f *testing.F) {
	names := []string{"gzip", "deflate", "br", "zstd", "gzip, br", "deflate, zstd, gzip"}
	for i, name := range names {
		f.Add(uint8(i), encode(f, prose(2000), strings.Split(name, ", ")...))
	}
	f.Add(uint8(0), bytes.Repeat(encode(f, nil, "gzip"), 120))
	tr, s := scripted(f)
	req := request(f, "http://example.org/")
	req.KeepFor, req.MaxBody = 0, 64<<10
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		s.script = []byte(coded(names[int(i)%len(names)], data))
		x, err := tr.Do(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if x.Outcome != outcome.OK || x.Body.Len() > 64<<10 {
			t.Fatalf("outcome %v, body of %d", x.Outcome, x.Body.Len())
		}
		if x.Truncated == "" && content(t, x.WireBody) != string(data) {
			t.Fatal("the archive differs")
		}
	})
}
