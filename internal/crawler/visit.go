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
	mime     string        // of the answer, without parameters
	version  string        // of the robots.txt in force
	allowed  string        // the line of it that allowed the URL
	sitemap  bool          // the body was a sitemap
	robots   *robots.Entry // new state of an origin
	links    []frontier.Item
	records  []byte // link records, JSON lines
	skips    []jobdir.SkipRecord
	unlisted map[outcome.Outcome]int // links dropped beyond those in skips, by reason
	newSeed  weburl.URL              // where a seed moved to
	found    foundLinks
	digest   contentseen.Digest
	ref      contentseen.Ref // of this page, should it be the first with its body
	claimed  bool            // it is, and is to be recorded
	sim      uint64
	words    int
	novel    bool
	look     *urlfilter.Look // at the page, to tell whether it is novel
	reserved int64           // bytes of Crawler.memory held until committed
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
func (v *visit) refuse(o outcome.Outcome, rule string) {
	v.rule = rule
	v.conclude(o)
	v.skips = append(v.skips, jobdir.SkipRecord{URL: v.lease.URL.String(), Host: v.lease.Host, Reason: o.String(), Rule: rule,
		Parent: v.lease.Parent, Depth: int(v.lease.Depth)})
}

// errGone says that the frontier took the lease back: its address is busy.
var errGone = errors.New("lease is gone")

// visit uses a lease: at most one contact with its host. What came of it is in v.
func (c *Crawler) visit(ctx context.Context, v *visit) error {
	l := &v.lease
	if l.Kind == frontier.Robots {
		return c.visitRobots(ctx, v, l.Origin, l.URL)
	}
	if verdict := c.wanted(l); verdict.Outcome != outcome.None {
		v.refuse(verdict.Outcome, verdict.Rule)
		return nil
	}
	allowed, err := c.permission(ctx, v)
	if err != nil || !allowed {
		return err
	}
	x, err := c.contact(ctx, v, l.URL, c.opt.MaxBody)
	if x == nil {
		return err
	}
	defer x.Close()
	if err := c.reserve(ctx, v, x); err != nil {
		return err
	}
	return c.process(ctx, v, x)
}

// wanted asks the filter once more: rules may have changed while the URL waited.
func (c *Crawler) wanted(l *frontier.Lease) urlfilter.Verdict {
	return c.Filter.Check(candidate(&l.Item, max(outside(l.Hops)-1, 0)))
}

// candidate is an item as the filter sees it, spent being the steps outside the scope before it. A sitemap is read
// for the pages it names, so it needs to be in nobody's scope.
func candidate(it *frontier.Item, spent int) urlfilter.Link {
	if it.Kind == frontier.Sitemap {
		return urlfilter.Link{URL: it.URL}
	}
	return urlfilter.Link{URL: it.URL, Depth: int(it.Depth), Hops: spent, Redirect: it.Redirects > 0, Embed: it.Embed}
}

// permission asks robots.txt. When it is not known or says no, the visit is over.
func (c *Crawler) permission(ctx context.Context, v *visit) (allowed bool, err error) {
	u := v.lease.URL
	if c.opt.IgnoreRobots(u.Host()) {
		return true, nil
	}
	a, err := c.robotsFor(u)
	if err != nil {
		return false, err
	}
	v.exchange.CrawlDelay = delayOf(a)
	switch a.Action {
	case robots.Use:
		verdict := a.Rules.Check(u.RequestTarget())
		v.version, v.allowed = a.Version, verdict.Rule
		if !verdict.Allowed {
			v.refuse(outcome.RobotsDenied, fmt.Sprintf("%s (line %d)", verdict.Rule, verdict.Line))
		}
		return verdict.Allowed, nil
	case robots.Fetch:
		return false, c.visitRobots(ctx, v, u.Origin(), a.Target)
	case robots.Elsewhere:
		c.sendElsewhere(v, u.Origin(), a.Target)
	case robots.Defer:
		if a.Errors >= maxRobotsErrors {
			v.refuse(outcome.GaveUp, fmt.Sprintf("%s; %d times in a row since %s", a.Reason, a.Errors, a.Since.UTC().Format(time.RFC3339)))
			return false, nil
		}
		v.exchange.Until = a.Until
	}
	return false, nil
}

// maxRobotsErrors is how often in a row robots.txt may be unavailable before the URLs of its origin are given up. It ends what
// host failures do not: a robots.txt that is redirected to a dead host, while its own host answers. At the default back-off
// ten failures take 15 hours.
const maxRobotsErrors = 10

// contact makes the one contact of the lease. A nil exchange without an error means that there was none and
// the visit is over (DNS, policy, limits).
func (c *Crawler) contact(ctx context.Context, v *visit, u weburl.URL, maxBody int64) (*fetch.Exchange, error) {
	if err := c.Policy.CheckPort(u.Port()); err != nil {
		v.refuse(outcome.PortRefused, err.Error())
		return nil, nil
	}
	addr, ok, err := c.address(ctx, v, u)
	if !ok || err != nil {
		return nil, err
	}
	if addr.IsValid() && !c.Frontier.Claim(v.lease, addr) {
		return nil, errGone
	}
	v.exchange.Contact, v.exchange.Start, v.exchange.Addr = true, time.Now(), addr
	x, err := c.Transport.Do(ctx, &fetch.Request{URL: u, Addr: netip.AddrPortFrom(addr, u.Port()), HostKey: v.lease.Host,
		Header: c.opt.Headers(u), MaxBody: maxBody, KeepFor: c.keepFor(v)})
	if err != nil {
		return nil, err
	}
	v.exchange.Start, v.exchange.End, v.exchange.RetryAfter = x.Start, x.End, x.RetryAfter
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

// address resolves the host of u; the zero address is for the proxy to find. Without a usable address it concludes the
// visit and returns false.
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
	var addr netip.Addr
	if !a.Remote {
		addr = a.Addrs[(v.lease.Attempt-1)%len(a.Addrs)] // a retry tries another address
	}
	if err := c.opt.Admit(v.lease.Host, c.Policy.IsLocal(addr)); err != nil {
		v.stop = err
		return netip.Addr{}, false, nil
	}
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
