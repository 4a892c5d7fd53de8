package simweb

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The three ways of serving give the same pages.
func TestDialListenAndHandlerAgree(t *testing.T) {
	o := Realistic()
	o.Hosts, o.Pages, o.RateLimited, o.Slow, o.Latency = 6, 120, 0, 0, 0
	o.Port = freePort(t)
	w := New(o)
	stop, err := w.Listen(t.Context(), 0)
	if err != nil {
		t.Skipf("cannot listen on 127.0.0.0/8: %v", err)
	}
	static := w.StaticDNS()
	tcp := func(ctx context.Context, network, addr string) (net.Conn, error) {
		name, port, _ := net.SplitHostPort(addr)
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(static[name][0].String(), port))
	}
	bodies := func(d func(context.Context, string, string) (net.Conn, error)) (all []string) {
		transport := &http.Transport{DialContext: d}
		defer transport.CloseIdleConnections()
		for _, p := range pagesOf(w, classPlain) {
			resp, err := (&http.Client{Transport: transport}).Get(w.pageURL(p))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			all = append(all, strconv.Itoa(resp.StatusCode)+string(text))
		}
		return all
	}
	memory, real := bodies(w.Dial), bodies(tcp)
	for i, p := range pagesOf(w, classPlain) {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest("GET", w.pageURL(p), nil))
		if direct := strconv.Itoa(rec.Code) + rec.Body.String(); memory[i] != real[i] || memory[i] != direct {
			t.Fatalf("%s differs", w.pageURL(p))
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := len(w.Log()); n != 3*len(memory) {
		t.Errorf("%d requests logged, want %d", n, 3*len(memory))
	}
}

// Beyond a thousand addresses one listener serves all.
func TestListenForManyHosts(t *testing.T) {
	o := Plain()
	o.Hosts, o.Pages, o.Port = maxListeners+1, 1, freePort(t)
	w := New(o)
	stop, err := w.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	h := &w.hosts[maxListeners]
	conn, err := net.Dial("tcp", net.JoinHostPort(h.addr.String(), strconv.Itoa(int(o.Port))))
	if err != nil {
		t.Skipf("no route to all of 127.0.0.0/8: %v", errors.Join(err, stop()))
	}
	c := &client{t, conn, bufio.NewReader(conn), h.authority}
	if resp, _ := c.get("/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	c.close()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	return uint16(probe.Addr().(*net.TCPAddr).Port)
}

func TestListenEndsWithItsContext(t *testing.T) {
	o := Plain()
	o.Hosts, o.HostsPerAddr, o.Port = 3, -1, freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	stop, err := New(o).Listen(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(int(o.Port)))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
	_ = conn.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestHTTPS(t *testing.T) {
	o := Plain()
	o.Scheme = "https"
	w := New(o)
	transport := &http.Transport{DialContext: w.Dial, TLSClientConfig: &tls.Config{RootCAs: w.CertPool()}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(w.Seeds()[0])
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || !strings.HasPrefix(w.Seeds()[0], "https://") {
		t.Errorf("%s: %s", w.Seeds()[0], resp.Status)
	}
}

func TestContentEncodingAndConditionalRequests(t *testing.T) {
	o := Plain()
	o.Gzip, o.Chunked = 1, 1
	w := New(o)
	c := dial(t, w, w.hosts[0].name)
	defer c.close()
	_, plain := c.get("/")
	c.send("/", "Accept-Encoding: gzip\r\n")
	resp, packed := c.receive()
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(z); string(text) != plain || resp.Header.Get("Content-Encoding") != "gzip" || len(resp.TransferEncoding) != 1 {
		t.Errorf("header %v, %v", resp.Header, resp.TransferEncoding)
	}
	c.send("/", "If-None-Match: "+resp.Header.Get("ETag")+"\r\n")
	if resp, text := c.receive(); resp.StatusCode != 304 || text != "" {
		t.Errorf("%s, %d bytes", resp.Status, len(text))
	}
	if _, err := io.WriteString(c.conn, "HEAD / HTTP/1.1\r\nHost: "+c.host+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(c.in, &http.Request{Method: "HEAD"}); err != nil || resp.StatusCode != 200 {
		t.Errorf("HEAD: %v, %v", resp, err)
	}
	c.send("/", "") // the connection is still in step
	if resp, text := c.receive(); resp.StatusCode != 200 || text != plain {
		t.Errorf("%s", resp.Status)
	}
}

func TestConnectionClose(t *testing.T) {
	o := Plain()
	o.Close = 1
	w := New(o)
	c := dial(t, w, w.hosts[0].name)
	defer c.close()
	if resp, _ := c.get("/"); !resp.Close {
		t.Error("not announced")
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("not closed: %v", err)
	}
}

// A client that leaves while the server waits ends the request then, not when the wait is over.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Plain()
		o.Latency = time.Hour
		w := New(o)
		start := time.Now()
		c := dial(t, w, w.hosts[0].name)
		c.send("/", "")
		time.Sleep(time.Second)
		c.close()
		synctest.Wait()
		log := w.Log()
		if len(log) != 1 || log[0].End.Sub(start) != time.Second || !log[0].Failed {
			t.Errorf("log %+v", log)
		}
	})
}

func TestLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Plain()
		o.Hosts, o.Slow, o.Latency = 1, 1, time.Millisecond
		w := New(o)
		once(t, w, w.hosts[0].name, robotsPath)
		for n := range int32(50) {
			once(t, w, w.hosts[0].name, string(w.appendPath(nil, page{0, n})))
		}
		synctest.Wait()
		var sum time.Duration
		for i, r := range w.Log() {
			took := r.End.Sub(r.Start)
			if (i == 0) != (took == time.Millisecond) {
				t.Errorf("%s took %v", r.Target, took)
			}
			sum += took
		}
		if mean := sum / 50; mean < 700*time.Millisecond || mean > 2*time.Second {
			t.Errorf("mean %v", mean)
		}
	})
}

// Any number of clients at once: for the race detector.
func TestConcurrentClients(t *testing.T) {
	o := instant(1)
	o.RateLimited = 0.3
	w := New(o)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				h := &w.hosts[(g+i)%len(w.hosts)]
				conn, err := w.Dial(t.Context(), "tcp", h.name+":80")
				if err != nil {
					t.Error(err)
					return
				}
				target := [...]string{"/", robotsPath, sitemapPath}[i%3]
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				_, _ = io.WriteString(conn, "GET "+target+" HTTP/1.0\r\nHost: "+h.name+"\r\n\r\n")
				if i%4 != 0 { // or leave at once
					if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
						t.Error(err)
					}
				}
				_ = conn.Close()
			}
		})
	}
	wg.Wait()
	w.Verify(testPromise())
}

func TestResetLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Plain())
		c := dial(t, w, w.hosts[0].name)
		c.get("/")
		synctest.Wait()
		w.ResetLog()
		c.get("/")
		c.close()
		synctest.Wait()
		if log := w.Log(); len(log) != 1 || log[0].Conn != 1 || log[0].End.IsZero() {
			t.Errorf("log %+v", log)
		}
	})
}

func FuzzServe(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: h0.sim0.test\r\n\r\n")
	f.Add("GET /trap/query?a&&b HTTP/1.1\r\nHost: H0.sim0.test:80\r\n\r\nGET /sitemap-0.txt HTTP/1.0\r\nHost: h0.sim0.test\r\n\r\n")
	f.Add("HEAD /%41/../;jsessionid=?sid=1&utm_x HTTP/1.1\r\nHost:h0.sim0.test\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("GET /-\xff HTTP/1.1\nHost: h0.sim0.test\nHost: x\n\n")
	o := instant(1)
	o.Hosts, o.Pages, o.Traps = 1, 50, 1
	w := New(o)
	f.Fuzz(func(t *testing.T, input string) {
		conn, err := w.Dial(t.Context(), "tcp", "h0.sim0.test:80")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(conn, input)
			time.Sleep(time.Millisecond)
			_ = conn.Close()
		}()
		_, _ = io.Copy(io.Discard, conn)
	})
}
