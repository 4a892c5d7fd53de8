package simweb

import (
	"net/netip"
	"slices"
	"time"
)

// Kind says what a request asked for, or what a URL of Truth is.
type Kind uint8

// The kinds.
const (
	KindUnknown       Kind = iota // no such host, or no such path: no page links there
	KindPage                      // a page that answers 200, maybe after failures
	KindDuplicate                 // a page with the bytes of another
	KindNearDuplicate             // a page with nearly the text of another
	KindRedirect
	KindError // a page that always answers 4xx or 500
	KindRobots
	KindSitemap
	KindTrap
	KindAsset   // images and style sheets: no crawl is expected to fetch or to avoid them
	KindLimited // refused with 429 or 503
	numKinds
)

var kindNames = [numKinds]string{"unknown", "page", "duplicate", "near_duplicate", "redirect", "error", "robots",
	"sitemap", "trap", "asset", "limited"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Request is one request as the server saw it.
type Request struct {
	Host       string // lower case, without port; as sent when unknown
	Target     string // as sent
	URL        string // target with the host's canonical name
	Page       string // canonical URL of the page asked for, "" when it is none
	Agent      string // User-Agent
	Addr       netip.Addr
	Start      time.Time // first byte read
	End        time.Time // last piece of the answer going out, or the client gone; zero before
	Conn       int       // number of the connection; 0 unknown (ServeHTTP)
	Status     int       // of the answer, whether or not the client waited for it
	Kind       Kind
	Attempt    int       // how often the page was asked for, this time included; 0 when it is none
	Failed     bool      // no lasting answer: 429, 5xx, cut short by the web, or left by the client
	RetryAfter time.Time // the client was asked to come back no sooner; zero when not
}

// entry is a Request as it is kept.
type entry struct {
	start, end    time.Time
	notBefore     time.Time
	rawHost       string
	target, agent string
	location      string // of robots.txt
	addr          netip.Addr
	host, page    int32 // -1 unknown
	robots        int32 // number of the robots.txt body served, or -1
	conn          int32
	status        int16
	kind          Kind
	failed        bool
}

// connRecord is a connection as it is kept.
type connRecord struct {
	host           int32 // of its first request, -1 before
	opened, closed time.Time
}

// opened logs a connection and returns its number.
func (w *Web) opened() int {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.conns) < w.opts.LogLimit {
		w.conns = append(w.conns, connRecord{host: -1, opened: now})
	}
	w.lastConn++
	return w.lastConn
}

// closed logs the end of a connection.
func (w *Web) closed(id int) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.connection(id); c != nil {
		c.closed = now
	}
}

// connection returns the record of a connection, or nil. The caller holds mu.
func (w *Web) connection(id int) *connRecord {
	if i := id - 1 - w.connBase; i >= 0 && i < len(w.conns) {
		return &w.conns[i]
	}
	return nil
}

// began logs the start of a request and returns its number.
func (w *Web) began(q *query, a *answer, start time.Time, addr netip.Addr, conn int) int {
	e := entry{start: start, notBefore: a.notBefore, target: q.target, addr: addr, host: a.host, page: a.page,
		robots: a.robots, conn: int32(conn), status: int16(a.status), kind: a.kind, failed: a.failed}
	if a.host < 0 {
		e.rawHost = q.host
	}
	if a.kind == KindRobots {
		e.location = a.location
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.log) >= w.opts.LogLimit {
		w.dropped++
		return -1
	}
	e.agent = w.intern(q.agent)
	if c := w.connection(conn); c != nil && c.host < 0 {
		c.host = a.host
	}
	w.log = append(w.log, e)
	return w.logBase + len(w.log) - 1
}

// ended logs the end of a request; left says that the client did not wait for it.
func (w *Web) ended(n int, a *answer, end time.Time, left bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := n - w.logBase; i >= 0 && i < len(w.log) {
		w.log[i].end = end
		w.log[i].failed = a.failed || left
	}
	if a.host >= 0 && w.hosts[a.host].limited && a.kind != KindRobots {
		r := w.limits[a.host]
		r.lastEnd = end
		w.limits[a.host] = r
	}
}

// intern returns one copy of a User-Agent. The caller holds mu.
func (w *Web) intern(s string) string {
	if n := len(w.log); n > 0 && w.log[n-1].agent == s {
		return w.log[n-1].agent
	}
	return s
}

// robotsNumber returns the number of a robots.txt body.
func (w *Web) robotsNumber(text string) int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.servedID[text]
	if !ok {
		n = int32(len(w.served))
		w.servedID[text] = n
		w.served = append(w.served, text)
	}
	return n
}

// ResetLog forgets the requests and connections so far, robots.txt files served included: Verify then expects
// them to be fetched anew. What flaky pages and limited hosts remember stays.
func (w *Web) ResetLog() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logBase += len(w.log)
	w.connBase = w.lastConn
	w.log, w.conns, w.dropped = nil, nil, 0
}

// Log returns every request so far, in order of start.
func (w *Web) Log() []Request {
	entries, _, _ := w.snapshot()
	attempts := countAttempts(entries)
	list := make([]Request, len(entries))
	for i := range entries {
		list[i] = w.request(&entries[i], attempts[i])
	}
	return list
}

// snapshot copies the log, sorted by start.
func (w *Web) snapshot() (log []entry, conns []connRecord, dropped int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log = slices.Clone(w.log)
	slices.SortStableFunc(log, func(a, b entry) int { return a.start.Compare(b.start) })
	return log, slices.Clone(w.conns), w.dropped
}

// countAttempts returns for each entry how often its page had been asked for.
func countAttempts(log []entry) []int {
	seen := make(map[page]int, len(log))
	attempts := make([]int, len(log))
	for i, e := range log {
		if e.page >= 0 {
			p := page{e.host, e.page}
			seen[p]++
			attempts[i] = seen[p]
		}
	}
	return attempts
}

// request spells out an entry.
func (w *Web) request(e *entry, attempt int) Request {
	r := Request{Host: e.rawHost, Target: e.target, Agent: e.agent, Addr: e.addr, Start: e.start, End: e.end, Conn: int(e.conn),
		Status: int(e.status), Kind: e.kind, Attempt: attempt, Failed: e.failed, RetryAfter: e.notBefore}
	if e.host < 0 {
		r.URL = w.opts.Scheme + "://" + e.rawHost + e.target
		return r
	}
	r.Host = w.hosts[e.host].name
	r.URL = string(w.appendOrigin(nil, e.host)) + e.target
	if e.page >= 0 {
		r.Page = w.pageURL(page{e.host, e.page})
	}
	return r
}
