// Package web shows a running crawl: to people as a block of lines and as a live page, to programs as JSON
// and as Prometheus metrics. All of them read one type, Status, so that no two places disagree.
//
// # Parts
//
//   - Monitor turns the snapshots of meter and frontier into a Status: it adds the rates, what the process
//     uses of the machine, and the answer to "why is it slow?" (Bound). It remembers the course of the
//     crawl in a bounded number of points.
//   - Feed keeps the last fetches, skipped URLs and log lines, in bounded rings, as events happen.
//   - Server is the live page, GET /api/status, GET /api/events (server-sent events, one a second), GET /metrics, GET
//     /healthz, and the buttons: POST /api/pause, /api/resume, /api/stop, /api/checkpoint, /api/exclude.
//   - Live is the small file in the crawl folder by which other processes find the server.
//
// # Who may do what
//
// Requests whose Host is a foreign name are refused, so that no web page can reach the server by pointing
// its own name at this machine. What changes the crawl needs the token (header Authorization: Bearer,
// header X-Decorum-Token, or form field token) and must not come from another origin. When the server
// can be reached from other machines, reading needs the token as well (the same headers, or ?token=);
// only /healthz does not. Without a configured token a random one is made for each run; it is part of
// the address that the screen shows.
//
// # Limits
//
// Connections, event streams, header and body sizes and answer times are bounded; a slow reader is cut off. Nothing
// here can slow the crawl: snapshots are read at most a few times a second, whatever the number of viewers.
//
// All exported methods are safe for concurrent use. The package decides nothing about the crawl and keeps
// nothing across runs.
package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// Options of a Server. Only Monitor is required; a nil function leaves its part of the page out.
type Options struct {
	Monitor *Monitor
	Feed    *Feed  // recent events; nil: none
	Token   string // secret for changes, and for reading from other machines; default a random one
	Host    string // a name by which the server may be addressed, besides IP addresses and localhost

	Pause, Resume, Stop func()
	Checkpoint          func(context.Context) (string, error) // makes one, and returns its folder
	Why                 func(url string) (string, error)      // explains what became of a URL, in lines
	Exclude             func(pattern string) (string, error)  // adds a rule, and says in a sentence what that does

	MaxStreams int           // event streams at once; default 20
	Period     time.Duration // of events; default 1 s
}

// EnsureDefaults replaces zero values.
func (o *Options) EnsureDefaults() {
	if o.Feed == nil {
		o.Feed = NewFeed()
	}
	if o.Token == "" {
		o.Token = rand.Text()
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 20
	}
	if o.Period == 0 {
		o.Period = time.Second
	}
}

// Validate reports an option that cannot work.
func (o *Options) Validate() error {
	if o.Monitor == nil {
		return errors.New("web: no monitor")
	}
	return nil
}

// Server serves the live page of one crawl.
type Server struct {
	opt     Options
	public  atomic.Bool // other machines can reach it: reading needs the token
	streams atomic.Int32
	why     chan struct{} // held while a URL is being explained
}

// New returns a server; Serve starts it.
func New(o Options) (*Server, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Server{opt: o, why: make(chan struct{}, 1)}, nil
}

// Token returns the secret that changes need.
func (s *Server) Token() string { return s.opt.Token }

// Limits of the server. A viewer is a person or a scraper, so they are small.
const (
	maxConnections    = 64
	maxHeaderBytes    = 16 << 10
	maxFormBytes      = 16 << 10
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 10 * time.Second // of an answer, or of one event
	idleTimeout       = 60 * time.Second
	closeTimeout      = time.Second // for answers under way when the server ends
)

// Serve answers on l until ctx is done, then closes l. Event streams get a last event.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.public.Store(!isLoopback(l.Addr()))
	h := http.Server{Handler: s.Handler(), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	defer func() { <-ended }()
	serving, done := context.WithCancel(ctx)
	defer done()
	go func() {
		defer close(ended)
		<-serving.Done()
		shut, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if h.Shutdown(shut) != nil {
			h.Close() // whoever does not read loses the rest
		}
	}()
	err := h.Serve(netutil.LimitListener(l, maxConnections))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("live page: %w", err)
}

// Address returns the address of the page on l, as a person on this machine would open it.
func Address(l net.Listener) string {
	ap, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String() + "/"
	}
	if ap.Addr().IsUnspecified() {
		ap = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), ap.Port())
	}
	return "http://" + ap.String() + "/"
}

func isLoopback(a net.Addr) bool {
	ap, err := netip.ParseAddrPort(a.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// portTries is how many ports Listen tries: as many crawls may run side by side with the default address.
const portTries = 20

// Listen opens the address of the live page; when the port is taken, one of the next. With "off" or "" it
// returns nil.
func Listen(addr string) (net.Listener, error) {
	if addr == "off" || addr == "" {
		return nil, nil
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", addr, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("listen %s: %q is not a port", addr, text)
	}
	for p := port; ; p++ {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.FormatUint(p, 10)))
		if err == nil || port == 0 || p >= min(port+portTries-1, 65535) || !inUse(err) {
			return l, err
		}
	}
}
