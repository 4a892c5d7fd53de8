package simweb

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Promise is what a crawler says about itself; Verify holds it to that.
type Promise struct {
	Floor            time.Duration            // least gap between the end of a contact and the next with the host
	Factor           float64                  // least gap as a multiple of the duration of the last contact
	AddrFloor        time.Duration            // least gap between contacts with one address, whatever the host
	HonourCrawlDelay bool                     // Crawl-delay in force is a least gap too
	Agent            string                   // product token whose robots.txt group applies; default Options.Agent
	FastHosts        map[string]bool          // hosts without floor and factor; still one connection
	IgnoreRobots     map[string]bool          // hosts whose robots.txt need not be obeyed
	Key              func(host string) string // politeness key; default the host itself
	MaxAttempts      int                      // requests for a page that keeps failing; default 4
	Repeats          int                      // pages fetched once more that are forgiven, for crashes: workers times kills
	Revisits         bool                     // pages may be fetched again (a continuous crawl)
	RobotsMaxAge     time.Duration            // a page needs a robots.txt no older; default 24 h
	Tolerance        time.Duration            // for late wake-ups in real time, some ms; leave 0 in virtual time
}

// A Breach is the promise that was broken.
type Breach string

// The breaches Verify finds.
const (
	Overlap      Breach = "overlap"      // two requests to one host at once
	Connections  Breach = "connections"  // two open connections to one host at once
	Gap          Breach = "gap"          // shorter than floor, factor or Crawl-delay
	RetryAfter   Breach = "retry_after"  // came back sooner than asked to
	AddrGap      Breach = "addr_gap"     // shorter than AddrFloor
	NoRobots     Breach = "no_robots"    // no usable, fresh robots.txt had been fetched
	Disallowed   Breach = "disallowed"   // robots.txt in force bars the URL
	Repeated     Breach = "repeated"     // a page fetched again
	TooManyTries Breach = "too_many"     // a failing page asked for more than MaxAttempts times
	UnknownHost  Breach = "unknown_host" // no such host here
	UnknownPath  Breach = "unknown_path" // no page links there
	LogOverflow  Breach = "log_overflow" // the log is incomplete: nothing is proven
)

// Violation is one broken promise.
type Violation struct {
	Breach           Breach
	Host             string
	First, Second    Request // the contact before and the offending one; First may be zero
	Promised, Actual time.Duration
	Text             string
}

// String describes the violation on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s", v.Breach, v.Host, v.Text)
}

const (
	defaultMaxAttempts  = 4              // one, and three retries
	defaultRobotsMaxAge = 24 * time.Hour // RFC 9309 §2.4
	maxRobotsRedirects  = 5              // RFC 9309 §2.3.1.2
)

// judge holds one log against one promise.
type judge struct {
	web      *Web
	promise  Promise
	log      []entry
	attempts []int
	found    []Violation
	robots   map[robotsFile][]*entry // usable answers, in order
	parsed   map[int32]*rules
}

// robotsFile names a robots.txt file.
type robotsFile struct {
	host int32
	path string
}

// Verify holds the log against a promise and returns every breach found, in order of time within each kind.
// A request still going on counts as ending now.
func (w *Web) Verify(p Promise) []Violation {
	log, conns, dropped := w.snapshot()
	j := &judge{web: w, promise: p, log: log, attempts: countAttempts(log), robots: map[robotsFile][]*entry{}, parsed: map[int32]*rules{}}
	j.ensureDefaults()
	if dropped > 0 {
		j.add(Violation{Breach: LogOverflow, Text: fmt.Sprintf("%d requests are not in the log", dropped)})
	}
	j.indexRobots()
	j.gaps()
	j.addresses()
	j.connections(conns)
	j.permissions()
	j.repeats()
	return j.found
}

func (j *judge) ensureDefaults() {
	setInt(&j.promise.MaxAttempts, defaultMaxAttempts)
	setDuration(&j.promise.RobotsMaxAge, defaultRobotsMaxAge)
	if j.promise.Agent == "" {
		j.promise.Agent = j.web.opts.Agent
	}
	if j.promise.Key == nil {
		j.promise.Key = func(host string) string { return host }
	}
	now := time.Now()
	for i := range j.log {
		if j.log[i].end.IsZero() {
			j.log[i].end, j.log[i].failed = now, true
		}
	}
}

func (j *judge) add(v Violation) { j.found = append(j.found, v) }

// breach adds a violation of the i-th request, and the prev-th when that is not negative.
func (j *judge) breach(b Breach, prev, i int, promised, actual time.Duration, text string) {
	v := Violation{Breach: b, Second: j.web.request(&j.log[i], j.attempts[i]), Promised: promised, Actual: actual}
	v.Host = v.Second.Host
	v.Text = v.Second.URL + ": " + text
	if prev >= 0 {
		v.First = j.web.request(&j.log[prev], j.attempts[prev])
		v.Text += fmt.Sprintf(" (after %s; promised %v, was %v)", v.First.URL, promised, actual)
	}
	j.add(v)
}

// gaps checks the time between contacts with each host.
func (j *judge) gaps() {
	last := map[string]int{} // by politeness key: the contact that ended last
	for i := range j.log {
		e := &j.log[i]
		if e.host < 0 {
			continue
		}
		key := j.promise.Key(j.web.hosts[e.host].name)
		prev, ok := last[key]
		if ok {
			j.gap(prev, i)
		}
		if !ok || !e.end.Before(j.log[prev].end) {
			last[key] = i
		}
	}
}

// gap checks two consecutive contacts.
func (j *judge) gap(prev, i int) {
	p, e := &j.log[prev], &j.log[i]
	actual, slack := e.start.Sub(p.end), j.promise.Tolerance
	if actual+slack < 0 {
		j.breach(Overlap, prev, i, 0, actual, "two requests at once")
		return
	}
	if asked := p.notBefore.Sub(p.end); !p.notBefore.IsZero() && actual+slack < asked {
		j.breach(RetryAfter, prev, i, asked, actual, "sooner than Retry-After")
	}
	promised, why := time.Duration(0), ""
	if !j.promise.FastHosts[j.web.hosts[e.host].name] {
		promised, why = j.promise.Floor, "floor"
		if f := time.Duration(j.promise.Factor * float64(p.end.Sub(p.start))); f > promised {
			promised, why = f, "factor"
		}
	}
	if j.promise.HonourCrawlDelay && p.host == e.host {
		if r, _ := j.inForce(e.host, e.start); r != nil && r.delay > promised {
			promised, why = r.delay, "crawl-delay"
		}
	}
	if actual+slack < promised {
		j.breach(Gap, prev, i, promised, actual, "gap shorter than "+why)
	}
}

// addresses checks the time between contacts with each address.
func (j *judge) addresses() {
	if j.promise.AddrFloor <= 0 {
		return
	}
	last := map[netip.Addr]int{}
	for i := range j.log {
		e := &j.log[i]
		prev, ok := last[e.addr]
		if actual := e.start.Sub(j.log[prev].end); ok && actual+j.promise.Tolerance < j.promise.AddrFloor {
			j.breach(AddrGap, prev, i, j.promise.AddrFloor, actual, "gap of the address")
		}
		if !ok || !e.end.Before(j.log[prev].end) {
			last[e.addr] = i
		}
	}
}

// connections checks that no two connections of a host were open at once. Connections are kept in order of
// opening; those without a request have no host.
func (j *judge) connections(conns []connRecord) {
	type openConn struct {
		at, until time.Time
		id        int
	}
	last := map[string]openConn{}
	for i, c := range conns {
		if c.host < 0 {
			continue
		}
		name := j.web.hosts[c.host].name
		key := j.promise.Key(name)
		if c.closed.IsZero() {
			c.closed = time.Unix(1<<40, 0) // still open
		}
		prev, ok := last[key]
		if ok && c.opened.Add(j.promise.Tolerance).Before(prev.until) {
			j.add(Violation{Breach: Connections, Host: name, Actual: c.opened.Sub(prev.until),
				Text: fmt.Sprintf("connection %d opened while %d was open since %v", i+1, prev.id, prev.at)})
		}
		if !ok || c.closed.After(prev.until) {
			last[key] = openConn{c.opened, c.closed, i + 1}
		}
	}
}

// indexRobots collects the robots.txt answers that can be in force.
func (j *judge) indexRobots() {
	for i := range j.log {
		if e := &j.log[i]; e.kind == KindRobots && !e.failed {
			f := robotsFile{e.host, e.target}
			j.robots[f] = append(j.robots[f], e)
		}
	}
}

// inForce returns the rules for a host at a time, from what it was served before, and when its robots.txt
// was fetched. Nil means that none was.
func (j *judge) inForce(host int32, at time.Time) (*rules, time.Time) {
	file := robotsFile{host, robotsPath}
	var fetched time.Time
	for hop := range maxRobotsRedirects + 1 {
		e := lastBefore(j.robots[file], at)
		if e == nil {
			return nil, fetched
		}
		if hop == 0 {
			fetched = e.end
		}
		switch {
		case e.location != "":
			file = j.web.robotsTarget(file.host, e.location)
		case e.robots >= 0:
			return j.rulesOf(e.robots), fetched
		default:
			return &rules{}, fetched // 4xx
		}
	}
	return &rules{}, fetched
}

func lastBefore(list []*entry, at time.Time) *entry {
	for _, e := range slices.Backward(list) {
		if !e.end.After(at) {
			return e
		}
	}
	return nil
}

// robotsTarget returns the file a robots.txt redirect leads to.
func (w *Web) robotsTarget(from int32, location string) robotsFile {
	if h, target, ok := w.splitURL(location); ok {
		return robotsFile{h, target}
	}
	return robotsFile{from, location}
}

func (j *judge) rulesOf(number int32) *rules {
	if r := j.parsed[number]; r != nil {
		return r
	}
	j.web.mu.Lock()
	text := j.web.served[number]
	j.web.mu.Unlock()
	r := parseRules(text, j.promise.Agent)
	j.parsed[number] = &r
	return &r
}

// permissions checks that what was asked for exists and was allowed.
func (j *judge) permissions() {
	for i := range j.log {
		e := &j.log[i]
		switch {
		case e.host < 0:
			j.breach(UnknownHost, -1, i, 0, 0, "no such host")
			continue
		case e.kind == KindUnknown:
			j.breach(UnknownPath, -1, i, 0, 0, "no such page")
		case e.kind == KindRobots || e.kind == KindSitemap:
			continue
		}
		if !j.promise.IgnoreRobots[j.web.hosts[e.host].name] {
			j.permission(i)
		}
	}
}

func (j *judge) permission(i int) {
	e := &j.log[i]
	r, fetched := j.inForce(e.host, e.start)
	age := e.start.Sub(fetched)
	switch {
	case r == nil:
		j.breach(NoRobots, -1, i, 0, 0, "no usable robots.txt was fetched before")
	case age > j.promise.RobotsMaxAge+j.promise.Tolerance:
		j.breach(NoRobots, -1, i, j.promise.RobotsMaxAge, age, fmt.Sprintf("robots.txt is %v old", age))
	case !r.allowed(e.target):
		j.breach(Disallowed, -1, i, 0, 0, "robots.txt bars it")
	}
}

// repeats checks that no page is fetched again, but for failures.
func (j *judge) repeats() {
	if j.promise.Revisits {
		return
	}
	done, tries := map[page]int{}, map[page]int{}
	forgiven := 0
	for i := range j.log {
		e := &j.log[i]
		if e.page < 0 || e.kind == KindLimited {
			continue
		}
		p := page{e.host, e.page}
		first, again := done[p]
		switch {
		case e.failed:
			if tries[p]++; tries[p] > j.promise.MaxAttempts {
				j.breach(TooManyTries, -1, i, 0, 0, fmt.Sprintf("failed %d times before", tries[p]-1))
			}
		case !again:
			done[p] = i
		case forgiven < j.promise.Repeats:
			forgiven++
		default:
			j.breach(Repeated, first, i, 0, e.start.Sub(j.log[first].end), "fetched again")
		}
	}
}
