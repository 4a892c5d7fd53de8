package simweb

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// client is one raw connection to a host.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	host string
}

func dial(t *testing.T, w *Web, host string) *client {
	t.Helper()
	conn, err := w.Dial(t.Context(), "tcp", net.JoinHostPort(host, "80"))
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, conn, bufio.NewReader(conn), host}
}

// send writes a request with extra header lines.
func (c *client) send(target, header string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, "GET "+target+" HTTP/1.1\r\nHost: "+c.host+"\r\n"+header+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, ""
	}
	return resp, string(data)
}

func (c *client) get(target string) (*http.Response, string) {
	c.t.Helper()
	c.send(target, "")
	return c.receive()
}

func (c *client) close() { _ = c.conn.Close() }

// once makes one request on a connection of its own.
func once(t *testing.T, w *Web, host, target string) (*http.Response, string) {
	t.Helper()
	c := dial(t, w, host)
	defer c.close()
	return c.get(target)
}

// breaches runs a client against a web of two hosts and returns what Verify says, by breach.
func breaches(t *testing.T, change func(*Options), p Promise, run func(t *testing.T, w *Web, host string)) map[Breach]Violation {
	t.Helper()
	o := Plain()
	o.Hosts, o.Pages, o.PageBytes = 2, 60, 1000
	if change != nil {
		change(&o)
	}
	found := map[Breach]Violation{}
	synctest.Test(t, func(t *testing.T) {
		w := New(o)
		run(t, w, w.hosts[0].name)
		synctest.Wait()
		for _, v := range w.Verify(p) {
			if v.Host == "" || v.Text == "" || v.String() == "" {
				t.Errorf("bare violation %+v", v)
			}
			found[v.Breach] = v
		}
	})
	return found
}

// badClient breaks one promise.
type badClient struct {
	want    Breach
	change  func(*Options)
	promise Promise
	run     func(t *testing.T, w *Web, host string)
}

func rest() { time.Sleep(time.Minute) }

func robotsFirst(t *testing.T, w *Web, host string) { once(t, w, host, robotsPath); rest() }

func hastyClients() []badClient {
	return []badClient{
		{Overlap, func(o *Options) { o.Latency = time.Second }, Promise{}, func(t *testing.T, w *Web, host string) {
			robotsFirst(t, w, host)
			a, b := dial(t, w, host), dial(t, w, host)
			a.send("/", "")
			time.Sleep(100 * time.Millisecond)
			b.send(string(w.appendPath(nil, page{0, 1})), "")
			a.receive()
			b.receive()
			a.close()
			b.close()
		}},
		{Connections, nil, Promise{}, func(t *testing.T, w *Web, host string) {
			a := dial(t, w, host)
			a.get(robotsPath)
			rest()
			once(t, w, host, "/")
			rest()
			a.close()
		}},
		{Gap, nil, Promise{Floor: time.Second}, func(t *testing.T, w *Web, host string) {
			once(t, w, host, robotsPath)
			time.Sleep(time.Second - 1)
			once(t, w, host, "/")
		}},
		{Gap, func(o *Options) { o.Latency = time.Second }, Promise{Factor: 10}, func(t *testing.T, w *Web, host string) {
			once(t, w, host, robotsPath)
			time.Sleep(10*time.Second - 1)
			once(t, w, host, "/")
		}},
		{Gap, func(o *Options) { o.Robots.Delay, o.CrawlDelay = 1, []time.Duration{1500 * time.Millisecond} },
			Promise{HonourCrawlDelay: true}, func(t *testing.T, w *Web, host string) {
				once(t, w, host, robotsPath)
				time.Sleep(1400 * time.Millisecond)
				once(t, w, host, "/")
			}},
		{RetryAfter, func(o *Options) { o.RateLimited, o.RateEvery, o.RateGap = 1, 2, -1 }, Promise{}, func(t *testing.T, w *Web, host string) {
			robotsFirst(t, w, host)
			once(t, w, host, "/")
			if resp, _ := once(t, w, host, "/?sid=2"); resp.Header.Get("Retry-After") == "" {
				t.Error("not refused")
			}
			once(t, w, host, "/?sid=3")
		}},
		{AddrGap, func(o *Options) { o.HostsPerAddr = 2 }, Promise{AddrFloor: time.Second}, func(t *testing.T, w *Web, host string) {
			once(t, w, host, robotsPath)
			once(t, w, w.hosts[1].name, robotsPath)
		}},
	}
}

func disobedientClients() []badClient {
	return []badClient{
		{NoRobots, nil, Promise{}, func(t *testing.T, w *Web, host string) { once(t, w, host, "/") }},
		{NoRobots, nil, Promise{}, func(t *testing.T, w *Web, host string) { // that of another host does not count
			once(t, w, w.hosts[1].name, robotsPath)
			once(t, w, host, "/")
		}},
		{NoRobots, nil, Promise{}, func(t *testing.T, w *Web, host string) { // too old
			once(t, w, host, robotsPath)
			time.Sleep(24*time.Hour + time.Second)
			once(t, w, host, "/")
		}},
		{NoRobots, func(o *Options) { o.Robots.Flaky = 1 }, Promise{}, func(t *testing.T, w *Web, host string) { // failed
			robotsFirst(t, w, host)
			once(t, w, host, "/")
		}},
		{NoRobots, func(o *Options) { o.Robots.Moved = 1 }, Promise{}, func(t *testing.T, w *Web, host string) { // not followed
			robotsFirst(t, w, host)
			once(t, w, host, "/")
		}},
		{Disallowed, func(o *Options) { o.Robots.Parts, o.Private = 1, 0.3 }, Promise{}, func(t *testing.T, w *Web, host string) {
			robotsFirst(t, w, host)
			for n := w.hosts[0].first[classPrivate]; n < w.hosts[0].first[classPrivate+1]; n++ {
				once(t, w, host, string(w.appendPath(nil, page{0, n})))
			}
		}},
		{Repeated, nil, Promise{}, func(t *testing.T, w *Web, host string) {
			robotsFirst(t, w, host)
			once(t, w, host, "/")
			once(t, w, host, "/?utm_source=mail")
		}},
		{TooManyTries, func(o *Options) { o.Errors = 0.8 }, Promise{MaxAttempts: 2}, func(t *testing.T, w *Web, host string) {
			robotsFirst(t, w, host)
			for n := w.hosts[0].first[classError]; n < w.hosts[0].first[classError+1]; n++ {
				path := string(w.appendPath(nil, page{0, n}))
				for resp, _ := once(t, w, host, path); resp.StatusCode == 500; {
					once(t, w, host, path)
					once(t, w, host, path)
					return
				}
			}
		}},
		{UnknownPath, nil, Promise{}, func(t *testing.T, w *Web, host string) {
			robotsFirst(t, w, host)
			once(t, w, host, "/no/such-thing")
		}},
		{UnknownHost, nil, Promise{}, func(t *testing.T, w *Web, host string) {
			c := dial(t, w, host)
			c.host = "elsewhere.example"
			c.get("/")
			c.close()
		}},
	}
}

func TestVerifyCatches(t *testing.T) {
	for _, test := range append(hastyClients(), disobedientClients()...) {
		t.Run(string(test.want), func(t *testing.T) {
			found := breaches(t, test.change, test.promise, test.run)
			if test.want == Overlap {
				delete(found, Connections) // two requests at once need two of them
			}
			if _, ok := found[test.want]; !ok || len(found) > 1 {
				t.Errorf("found %v", found)
			}
		})
	}
}

// What a promise leaves out is not held against a client.
func TestVerifyIsFair(t *testing.T) {
	tests := map[string]struct {
		change  func(*Options)
		promise Promise
		run     func(t *testing.T, w *Web, host string)
	}{
		"exact gaps": {func(o *Options) { o.Latency = time.Second }, Promise{Floor: 2 * time.Second, Factor: 3}, func(t *testing.T, w *Web, host string) {
			for _, target := range []string{robotsPath, "/"} {
				once(t, w, host, target)
				time.Sleep(3 * time.Second)
			}
		}},
		"fast host": {nil, Promise{Floor: time.Second, FastHosts: map[string]bool{"h0.sim0.test": true}}, func(t *testing.T, w *Web, host string) {
			c := dial(t, w, host)
			c.get(robotsPath)
			c.get("/")
			c.close()
		}},
		"ignored robots": {func(o *Options) { o.Robots.DenyAll = 1 }, Promise{IgnoreRobots: map[string]bool{"h0.sim0.test": true}},
			func(t *testing.T, w *Web, host string) { once(t, w, host, "/") }},
		"crash": {nil, Promise{Repeats: 1}, func(t *testing.T, w *Web, host string) {
			once(t, w, host, robotsPath)
			once(t, w, host, "/")
			once(t, w, host, "/")
		}},
		"continuous crawl": {nil, Promise{Revisits: true}, func(t *testing.T, w *Web, host string) {
			once(t, w, host, robotsPath)
			once(t, w, host, "/")
			once(t, w, host, "/")
		}},
		"client left": {func(o *Options) { o.Latency = time.Minute }, Promise{Floor: time.Second}, func(t *testing.T, w *Web, host string) {
			once(t, w, host, robotsPath)
			time.Sleep(time.Second)
			c := dial(t, w, host)
			c.send("/", "")
			time.Sleep(10 * time.Second) // a time-out before the answer
			c.close()
			time.Sleep(time.Second)
			once(t, w, host, "/")
		}},
		"robots changed": {func(o *Options) { o.Robots.DenyAll = 1 }, Promise{}, func(t *testing.T, w *Web, host string) {
			w.SetRobots(host, "User-agent: *\nDisallow: /index.php\n")
			once(t, w, host, robotsPath)
			once(t, w, host, "/")
			w.SetRobots(host, "User-agent: *\nDisallow: /\n")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if found := breaches(t, test.change, test.promise, test.run); len(found) > 0 {
				t.Errorf("found %v", found)
			}
		})
	}
}

// Two names of one politeness key are one host.
func TestVerifyByKey(t *testing.T) {
	run := func(t *testing.T, w *Web, host string) {
		once(t, w, host, robotsPath)
		once(t, w, w.hosts[1].name, robotsPath)
	}
	p := Promise{Floor: time.Second}
	if found := breaches(t, nil, p, run); len(found) > 0 {
		t.Errorf("by host: %v", found)
	}
	p.Key = func(host string) string { return host[len("h0."):] }
	if found := breaches(t, nil, p, run); len(found) != 1 {
		t.Errorf("by domain: %v", found)
	}
}

// An incomplete log proves nothing.
func TestVerifyNeedsTheWholeLog(t *testing.T) {
	o := Plain()
	o.LogLimit = 1
	w := New(o)
	once(t, w, w.hosts[0].name, robotsPath)
	once(t, w, w.hosts[0].name, robotsPath)
	if v := w.Verify(Promise{}); len(v) == 0 || v[0].Breach != LogOverflow {
		t.Errorf("found %v", v)
	}
}
