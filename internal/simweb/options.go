package simweb

import (
	"errors"
	"fmt"
	"time"
)

// Options describe a web. Equal options make equal webs. Shares are fractions from 0 (none) to 1 (all);
// a share of hosts above 0 concerns at least one host when there are several.
type Options struct {
	Seed uint64 // which web of this description

	Hosts         int     // host names; default 10
	Pages         int     // pages over all hosts, about; default 100 per host; sizes of hosts follow Zipf's law
	EqualHosts    bool    // all hosts have the same size instead
	DominantShare float64 // share of Pages on the first host; 0 leaves it to Zipf
	SeedHosts     int     // hosts whose home page is a seed; default one in eight, at least 1
	HostsPerAddr  int     // names sharing one address; default 1; negative: all share 127.0.0.1

	LinksPerPage int     // links on a page, about; default 20
	CrossLinks   float64 // share of links to another host; default 0.2; negative none
	PageBytes    int     // typical size of a page before Content-Encoding, log-normal around it; default 8 KiB
	Uniform      bool    // every page has exactly PageBytes bytes, if its links fit

	// Shares of the pages of each host.
	Redirects      float64 // same host, cross host, chains of up to 4, loops
	Errors         float64 // 404, 410, 403 and 500, always
	Flaky          float64 // 500 for the first one or two requests, then fine
	Cut            float64 // the first answer ends in the middle of the body, then fine
	Duplicates     float64 // byte for byte another page of the host
	NearDuplicates float64 // another page of the host, but for a few words
	Changing       float64 // text differs on every request
	Nofollow       float64 // pages that say nofollow: in meta robots, X-Robots-Tag, or rel
	Hidden         float64 // pages linked only by nofollow links
	Private        float64 // pages under paths which robots.txt bars, on hosts with such rules; default 0.1, negative none

	Messy     float64 // share of links that spell their URL in an unusual way
	Canonical float64 // share of pages with a <link rel=canonical> to themselves

	// Shares of hosts.
	Robots      RobotsMix
	RateLimited float64 // answer 429 or 503 with Retry-After now and then
	Slow        float64 // latency around SlowLatency
	Traps       float64 // link into endless spaces under TrapPrefix
	Sitemaps    float64 // name a sitemap in robots.txt (of hosts whose robots.txt has rules)
	Mirrors     float64 // serve the pages of another host under their own name
	Gzip        float64 // use Content-Encoding gzip when accepted
	Chunked     float64 // use Transfer-Encoding chunked
	Close       float64 // close the connection after every answer

	SitemapOnly   float64         // share of pages, on hosts with a sitemap, that only the sitemap names; default 0.1, negative none
	CrawlDelay    []time.Duration // values of Crawl-delay, dealt to the hosts in turn; default 1s, 2s, 5s
	RobotsLatency time.Duration   // of a RobotsSlow host's robots.txt; default 3s
	RateEvery     int             // a limited host refuses every n-th request; default 7, at least 2
	RateGap       time.Duration   // half of the limited hosts refuse what comes sooner than this after the last answer instead; default 100ms
	RetryAfter    time.Duration   // what a limited host asks for, whole seconds; default 2s
	Latency       time.Duration   // before the first byte of every answer; default 0
	SlowLatency   time.Duration   // median on slow hosts, log-normal; default 1s

	// LatencyFunc, when set, replaces all latencies of pages.
	LatencyFunc func(host, target string) time.Duration `json:"-"`

	Agent  string // the product token robots.txt files name; default "decorum"
	Scheme string // "http", the default; "https" serves TLS with a certificate of CertPool
	Port   uint16 // in URLs unless the default of the scheme; default that default

	LogLimit int // requests the log keeps; later ones are counted only; default 4 Mi
}

// RobotsMix gives the share of hosts for each kind of robots.txt. The rest, and the first host as long as
// anything is left, allow all.
type RobotsMix struct {
	None, Forbidden, Parts, DenyAll, Agent, Delay, Flaky, Moved, Elsewhere, Junk, Slow, Down float64
}

// RobotsKind is what a host does with robots.txt.
type RobotsKind uint8

// The kinds of robots.txt.
const (
	RobotsAllow     RobotsKind = iota // rules that bar nothing
	RobotsNone                        // 404: all allowed
	RobotsForbidden                   // 403: all allowed (RFC 9309 §2.3.1.3)
	RobotsParts                       // bars some paths, with exceptions and wildcards
	RobotsDenyAll                     // bars everything
	RobotsAgent                       // bars /yoursite/temp/ to all but Options.Agent
	RobotsDelay                       // has a Crawl-delay
	RobotsFlaky                       // 500, then 503 with Retry-After, then RobotsParts
	RobotsMoved                       // redirects within the host to RobotsParts
	RobotsElsewhere                   // redirects to the robots.txt of another host
	RobotsJunk                        // an HTML page: no rules
	RobotsSlow                        // RobotsParts after RobotsLatency
	RobotsDown                        // 500, always: nothing allowed
	numRobotsKinds
)

var robotsNames = [numRobotsKinds]string{"allow", "none", "forbidden", "parts", "deny_all", "agent", "delay", "flaky",
	"moved", "elsewhere", "junk", "slow", "down"}

// String returns the kind's name.
func (k RobotsKind) String() string {
	if int(k) < len(robotsNames) {
		return robotsNames[k]
	}
	return "unknown"
}

// shares returns the mix by kind.
func (m RobotsMix) shares() [numRobotsKinds]float64 {
	return [numRobotsKinds]float64{0, m.None, m.Forbidden, m.Parts, m.DenyAll, m.Agent, m.Delay, m.Flaky,
		m.Moved, m.Elsewhere, m.Junk, m.Slow, m.Down}
}

const (
	defaultHosts    = 10
	pagesPerHost    = 100
	defaultLinks    = 20
	defaultBytes    = 8 << 10
	defaultLogLimit = 4 << 20 // about 1 GiB
	maxHosts        = 1 << 20 // addresses 127.16.0.0 and up
)

// EnsureDefaults replaces zero values by their defaults.
func (o *Options) EnsureDefaults() {
	setInt(&o.Hosts, defaultHosts)
	setInt(&o.Pages, o.Hosts*pagesPerHost)
	setInt(&o.SeedHosts, max(1, o.Hosts/8))
	setInt(&o.HostsPerAddr, 1)
	setInt(&o.LinksPerPage, defaultLinks)
	setInt(&o.PageBytes, defaultBytes)
	setInt(&o.RateEvery, 7)
	setInt(&o.LogLimit, defaultLogLimit)
	setShare(&o.CrossLinks, 0.2)
	setShare(&o.Private, 0.1)
	setShare(&o.SitemapOnly, 0.1)
	setDuration(&o.RobotsLatency, 3*time.Second)
	setDuration(&o.RateGap, 100*time.Millisecond)
	setDuration(&o.RetryAfter, 2*time.Second)
	setDuration(&o.SlowLatency, time.Second)
	if len(o.CrawlDelay) == 0 {
		o.CrawlDelay = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}
	}
	if o.Agent == "" {
		o.Agent = "decorum"
	}
	if o.Scheme == "" {
		o.Scheme = "http"
	}
	if o.Port == 0 {
		o.Port = defaultPort(o.Scheme)
	}
}

func setInt(p *int, v int) {
	if *p == 0 {
		*p = v
	}
}

func setDuration(p *time.Duration, v time.Duration) {
	if *p == 0 {
		*p = v
	}
}

// setShare treats negative as "none", since zero means the default.
func setShare(p *float64, v float64) {
	switch {
	case *p == 0:
		*p = v
	case *p < 0:
		*p = 0
	}
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// Validate reports the first option that makes no sense, after EnsureDefaults.
func (o *Options) Validate() error {
	switch {
	case o.Hosts < 1 || o.Hosts > maxHosts:
		return fmt.Errorf("simweb: Hosts %d is not in 1..%d", o.Hosts, maxHosts)
	case o.Pages < 1:
		return errors.New("simweb: Pages is less than 1")
	case o.RateEvery < 2:
		return errors.New("simweb: RateEvery below 2 refuses everything")
	case o.RetryAfter < time.Second || o.RetryAfter%time.Second != 0:
		return errors.New("simweb: RetryAfter is not whole seconds")
	case o.Scheme != "http" && o.Scheme != "https":
		return fmt.Errorf("simweb: scheme %q", o.Scheme)
	case o.pageShares() > 0.9:
		return errors.New("simweb: less than a tenth of the pages is plain")
	}
	return nil
}

// pageShares sums the shares of special pages, as far as they can meet on one host.
func (o *Options) pageShares() float64 {
	return o.Redirects + o.Errors + o.Flaky + o.Cut + o.Duplicates + o.NearDuplicates + o.Changing +
		o.Nofollow + o.Hidden + o.Private + o.SitemapOnly
}

// Plain is a web without surprises: every page is fine, everything is allowed, nothing waits.
func Plain() Options {
	return Options{Seed: 1, Private: -1, SitemapOnly: -1}
}

// Realistic is a web with everything the real one has, in proportions like the real one's, but without traps:
// a crawl of it ends by itself.
func Realistic() Options {
	return Options{
		Seed: 1, Hosts: 60, Pages: 3000, PageBytes: 12 << 10,
		Redirects: 0.08, Errors: 0.05, Flaky: 0.02, Cut: 0.01, Duplicates: 0.06, NearDuplicates: 0.04,
		Changing: 0.03, Nofollow: 0.02, Hidden: 0.01, Messy: 0.15, Canonical: 0.3,
		Robots: RobotsMix{None: 0.25, Forbidden: 0.02, Parts: 0.2, DenyAll: 0.05, Agent: 0.03, Delay: 0.08, Flaky: 0.03,
			Moved: 0.03, Elsewhere: 0.02, Junk: 0.03, Slow: 0.02},
		RateLimited: 0.08, Slow: 0.08, Sitemaps: 0.3, Mirrors: 0.05, Gzip: 0.6, Chunked: 0.25, Close: 0.1,
		Latency: 50 * time.Millisecond,
	}
}

// Demo is a toy web that shows everything, traps included, and is crawled in well under a minute.
func Demo() Options {
	const one = 1.0 / 12
	return Options{
		// Of the first seeds, the one whose slow and limited hosts are small and whose redirects have every shape.
		Seed: 74, Hosts: 12, Pages: 300, SeedHosts: 1, PageBytes: 6 << 10, LinksPerPage: 12,
		Redirects: 0.08, Errors: 0.05, Flaky: 0.03, Cut: 0.02, Duplicates: 0.06, NearDuplicates: 0.04,
		Changing: 0.02, Nofollow: 0.03, Hidden: 0.02, Messy: 0.2, Canonical: 0.3,
		Robots: RobotsMix{None: one, Parts: one, DenyAll: one, Agent: one, Delay: one, Flaky: one, Moved: one,
			Junk: one, Slow: one},
		RateLimited: 2 * one, Slow: one, Traps: one, Sitemaps: 2 * one, Mirrors: one, Gzip: 0.5, Chunked: 0.25, Close: 0.1,
		CrawlDelay: []time.Duration{200 * time.Millisecond}, RobotsLatency: 500 * time.Millisecond,
		RetryAfter: time.Second, RateGap: 10 * time.Millisecond, Latency: 5 * time.Millisecond, SlowLatency: 150 * time.Millisecond,
	}
}
