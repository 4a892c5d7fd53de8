package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"decorum/internal/contentseen"
	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/robots"
	"decorum/internal/urlfilter"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// visit is everything that came of one lease, on its way from a worker to the committer.
type visit struct {
	lease    frontier.Lease
	exchange frontier.Exchange
	final    outcome.Outcome // of the URL; None while it stays queued
	rule     string          // what decided a refusal
	stop     error           // a limit that ends the crawl with this visit

	// The archive: whole gzip members one after the other.
	archive []byte
	members []warc.Member
	main    int // index of the response or revisit in members, or -1

	page     *jobdir.PageRecord // with final, unless refused
	fetch    *jobdir.FetchRecord
	dns      *warc.Record  // answer of a name server, for the archive
	dnsTime  time.Duration // spent on it
	version  string        // of the robots.txt in force
	allowed  string        // the line of it that allowed the URL
	sitemap  bool          // the body was a sitemap
	robots   *robots.Entry // new state of an origin
	links    []frontier.Item
	records  []byte // link records, JSON lines
	skips    []jobdir.SkipRecord
	newSeed  weburl.URL // where a seed moved to
	found    foundLinks
	digest   contentseen.Digest
	ref      contentseen.Ref // of this page, should it be the first with its body
	claimed  bool            // it is, and is to be recorded
	sim      uint64
	words    int
	novel    bool
	reserved int64 // bytes of Crawler.memory held until committed
}

// foundLinks counts what became of the links of a page.
type foundLinks struct{ found, passed, cached int }

// Exchange is what the frontier needs to know.
func (v *visit) Exchange() *frontier.Exchange { return &v.exchange }

// conclude ends the visit with an outcome. Whether the URL is done with is up to its retry rule.
func (v *visit) conclude(o outcome.Outcome) {
	v.exchange.Outcome = o
	if v.lease.Concludes(o) {
		v.final = o
	}
}

// refuse ends the visit without contact: the URL will not be fetched.
func (v *visit) refuse(o outcome.Outcome, rule string) *visit {
	v.rule = rule
	v.conclude(o)
	v.skips = append(v.skips, jobdir.SkipRecord{URL: v.lease.URL.String(), Host: v.lease.Host, Reason: o.String(), Rule: rule,
		Parent: v.lease.Parent, Depth: int(v.lease.Depth)})
	return v
}

// visit uses a lease: at most one contact with its host. It returns nil when the frontier took the lease back.
func (c *Crawler) visit(ctx context.Context, l frontier.Lease) (*visit, error) {
	v := &visit{lease: l, main: -1}
	if l.Kind == frontier.Robots {
		return c.visitRobots(ctx, v, l.Origin, l.URL)
	}
	if verdict := c.wanted(l); verdict.Outcome != outcome.None {
		return v.refuse(verdict.Outcome, verdict.Rule), nil
	}
	allowed, done, err := c.permission(ctx, v)
	if !allowed {
		return done, err
	}
	x, err := c.contact(ctx, v, l.URL, c.opt.MaxBody)
	if x == nil {
		return c.unless(v, err)
	}
	defer x.Close()
	return v, c.process(ctx, v, x)
}

// wanted asks the filter once more: rules may have changed while the URL waited. Redirect targets and seeds were let in by
// other rules than links; the depth and scope tests of their discovery stand.
func (c *Crawler) wanted(l frontier.Lease) urlfilter.Verdict {
	return c.Filter.Check(urlfilter.Link{URL: l.URL, Depth: int(l.Depth), Hops: max(outside(l.Hops)-1, 0), Redirect: l.Redirects > 0, Embed: l.Embed,
		Sitemap: l.Kind == frontier.Sitemap})
}

// permission asks robots.txt. When it is not known or says no, the second result is the finished visit.
func (c *Crawler) permission(ctx context.Context, v *visit) (allowed bool, done *visit, err error) {
	u := v.lease.URL
	if c.opt.IgnoreRobots(u.Host()) {
		return true, nil, nil
	}
	a, err := c.robotsFor(u)
	if err != nil {
		return false, nil, err
	}
	v.exchange.CrawlDelay, _ = delayOf(a)
	switch a.Action {
	case robots.Use:
		verdict := a.Rules.Check(u.RequestTarget())
		v.version, v.allowed = a.Version, verdict.Rule
		if !verdict.Allowed {
			return false, v.refuse(outcome.RobotsDenied, fmt.Sprintf("%s (line %d)", verdict.Rule, verdict.Line)), nil
		}
		return true, nil, nil
	case robots.Fetch:
		done, err = c.visitRobots(ctx, v, u.Origin(), a.Target)
		return false, done, err
	case robots.Elsewhere:
		c.sendElsewhere(v, u.Origin(), a.Target)
		return false, v, nil
	}
	return false, c.deferred(v, a), nil
}

// contact makes the one contact of the lease. A nil exchange means there was none: the visit is concluded (DNS, policy), or gone.
func (c *Crawler) contact(ctx context.Context, v *visit, u weburl.URL, maxBody int64) (*fetch.Exchange, error) {
	if err := c.Policy.CheckPort(u.Port()); err != nil {
		v.refuse(outcome.PortRefused, err.Error())
		return nil, nil
	}
	addr, ok, err := c.address(ctx, v, u)
	if !ok || err != nil {
		return nil, err
	}
	if !c.Frontier.Claim(v.lease, addr) {
		return nil, errGone
	}
	x, err := c.Transport.Do(ctx, &fetch.Request{URL: u, Addr: netip.AddrPortFrom(addr, u.Port()), HostKey: v.lease.Host,
		Header: c.opt.Headers(u.Host()), MaxBody: maxBody, KeepFor: c.keepFor(v)})
	if err != nil {
		return nil, err
	}
	v.exchange.Contact, v.exchange.Start, v.exchange.End = true, x.Start, x.End
	v.exchange.Addr, v.exchange.RetryAfter = addr, x.RetryAfter
	v.exchange.Bytes, v.exchange.Status = x.WireBytes, x.Status
	c.Meter.FetchTime.Observe(x.Total)
	if x.TTFB > 0 {
		c.Meter.FirstByte.Observe(x.TTFB)
	}
	v.noteFetch(u, x, c.opt.Run)
	if !c.within(x.WireBytes) {
		x.Close()
		v.stop, v.exchange.Bytes, v.fetch.Outcome = ErrMaxBytes, 0, outcome.None.String()
		return nil, nil
	}
	return x, nil
}

// within counts received bytes against the limit. What would pass it is not counted and not recorded: its URL stays queued.
func (c *Crawler) within(n int64) bool {
	if c.opt.MaxBytes == 0 {
		return true
	}
	if c.received.Add(uint64(n)) <= c.opt.MaxBytes {
		return true
	}
	c.received.Add(-uint64(n))
	return false
}

// keepFor is how long the connection is worth keeping: until the host's next contact, if that is soon. Servers close
// idle connections after 5 to 75 seconds (Apache, nginx), so waiting longer only holds a socket on both sides.
func (c *Crawler) keepFor(v *visit) time.Duration {
	if max(v.exchange.CrawlDelay, v.lease.Promised) > c.opt.KeepFor {
		return 0
	}
	return c.opt.KeepFor
}

// errGone says that the frontier took the lease back.
var errGone = errors.New("lease is gone")

// unless maps the end of a contact without exchange to the result of a visit.
func (c *Crawler) unless(v *visit, err error) (*visit, error) {
	if err == errGone {
		return nil, nil
	}
	return v, err
}

// address resolves the host of u. Without a usable address it concludes the visit and returns false.
func (c *Crawler) address(ctx context.Context, v *visit, u weburl.URL) (netip.Addr, bool, error) {
	began := time.Now()
	a, err := c.Resolver.Lookup(ctx, u.Host())
	if err != nil {
		return netip.Addr{}, false, err
	}
	v.dnsTime = time.Since(began)
	if a.Outcome != outcome.None {
		c.unresolved(v, u, a)
		return netip.Addr{}, false, nil
	}
	if !a.Cached {
		c.archiveDNS(v, u.Host(), a)
	}
	addr := a.Addrs[(v.lease.Attempt-1)%len(a.Addrs)] // a retry tries another address
	c.opt.Contacted(v.lease.Host, c.Policy.IsLocal(addr))
	return addr, true, nil
}

func (c *Crawler) unresolved(v *visit, u weburl.URL, a dns.Answer) {
	if a.Outcome.Class() == outcome.ClassSkipped {
		v.refuse(a.Outcome, a.Detail)
		return
	}
	now := time.Now()
	v.exchange.Start, v.exchange.End = now, now
	v.conclude(a.Outcome)
	if v.final != outcome.None && v.lease.Kind != frontier.Robots {
		v.page = v.identity(c.opt.Seeds)
		v.page.Outcome, v.rule = v.final.String(), a.Detail
	}
}
