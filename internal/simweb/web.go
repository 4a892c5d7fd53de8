package simweb

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TrapPrefix begins the path of every trap, and of nothing else.
const TrapPrefix = "/trap/"

// Web is a synthetic web. Its content is immutable; what it remembers is the log of requests, how often
// flaky and changing pages were asked for, and the limits in force.
type Web struct {
	opts        Options
	hosts       []host
	byName      map[string]int32
	byAddr      map[netip.Addr]int32 // first host of the address
	openHosts   []int32              // hosts whose home page may be fetched and is their own
	closedHosts []int32              // the others
	text        text
	tls         tlsOnce

	mu       sync.Mutex
	log      []entry          // guarded by mu
	dropped  int              // guarded by mu; requests beyond LogLimit
	conns    []connRecord     // guarded by mu
	lastConn int              // guarded by mu
	connBase int              // guarded by mu; connections before ResetLog
	logBase  int              // guarded by mu; requests before ResetLog
	attempts map[page]int     // guarded by mu; of flaky, cut and changing pages
	limits   map[int32]rate   // guarded by mu; of limited hosts
	tries    map[int32]int    // guarded by mu; of flaky robots.txt files
	served   []string         // guarded by mu; robots.txt bodies served, by number
	servedID map[string]int32 // guarded by mu; the numbers of served
	override map[int32]string // guarded by mu; SetRobots
}

// page names a page: a host and a number on it.
type page struct{ host, n int32 }

// rate is what a limited host remembers.
type rate struct {
	count   int
	until   time.Time // refuses everything before
	lastEnd time.Time
}

// New returns the web of the options. It panics when they are not valid: use Validate for options that do
// not come from code.
func New(o Options) *Web {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		panic(err)
	}
	w := &Web{opts: o, attempts: map[page]int{}, limits: map[int32]rate{}, tries: map[int32]int{},
		servedID: map[string]int32{}, override: map[int32]string{}}
	w.makeHosts()
	w.text = makeText(w.opts.Seed)
	return w
}

// Host describes one host of the web.
type Host struct {
	Name       string        // lower case, no port
	Addr       netip.Addr    // where it is served
	Pages      int           // pages it has, reachable or not
	Robots     RobotsKind    // what its robots.txt does
	CrawlDelay time.Duration // in its robots.txt; 0 without
	Limited    bool          // answers 429 or 503 at times
	Slow       bool          // has SlowLatency
	Traps      bool          // links into TrapPrefix
	Sitemap    bool          // names a sitemap
	MirrorOf   string        // the host whose pages it serves, or ""
}

// Hosts returns all hosts, the largest first.
func (w *Web) Hosts() []Host {
	list := make([]Host, len(w.hosts))
	for i := range w.hosts {
		h := &w.hosts[i]
		list[i] = Host{Name: h.name, Addr: h.addr, Pages: int(h.pages()), Robots: h.robots, CrawlDelay: h.delay,
			Limited: h.limited, Slow: h.slow, Traps: h.traps, Sitemap: h.sitemap}
		if h.content != int32(i) {
			list[i].MirrorOf = w.hosts[h.content].name
		}
	}
	return list
}

// Seeds returns the URLs a crawl starts from: home pages.
func (w *Web) Seeds() []string {
	var list []string
	for _, h := range w.openHosts {
		if len(list) == w.opts.SeedHosts {
			break
		}
		list = append(list, w.pageURL(page{h, 0}))
	}
	if len(list) == 0 {
		list = append(list, w.pageURL(page{0, 0}))
	}
	return list
}

// Resolve returns the address of a host name, in any case.
func (w *Web) Resolve(name string) (netip.Addr, bool) {
	i, ok := w.findHost(name)
	if !ok {
		return netip.Addr{}, false
	}
	return w.hosts[i].addr, true
}

// StaticDNS returns the addresses of all hosts by name.
func (w *Web) StaticDNS() map[string][]netip.Addr {
	m := make(map[string][]netip.Addr, len(w.hosts))
	for i := range w.hosts {
		m[w.hosts[i].name] = []netip.Addr{w.hosts[i].addr}
	}
	return m
}

// SetRobots replaces the robots.txt of a host from now on, whatever it was: status 200 with this text. It
// reports whether the host exists. Truth follows; Verify goes by what was served when.
func (w *Web) SetRobots(name, text string) bool {
	i, ok := w.findHost(name)
	if ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.override[i] = text
	}
	return ok
}

// findHost returns the number of a host by its name, in any case, with or without a port.
func (w *Web) findHost(name string) (int32, bool) {
	if i, ok := w.byName[name]; ok {
		return i, true
	}
	name = strings.ToLower(name)
	if c := strings.LastIndexByte(name, ':'); c >= 0 {
		if name[c+1:] != strconv.Itoa(int(w.opts.Port)) {
			return 0, false
		}
		name = name[:c]
	}
	i, ok := w.byName[name]
	return i, ok
}
