package crawler

import (
	"context"
	"time"

	"decorum/internal/fetch"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/robots"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// robotsFor says what robots.txt wants before u is fetched. What an earlier run learned is read from the
// store the first time an origin is asked for.
func (c *Crawler) robotsFor(u weburl.URL) (robots.Answer, error) {
	a := c.Robots.Lookup(u, time.Now())
	if !a.Cold {
		return a, nil
	}
	raw, ok, err := c.DB.Get(robotsKey(u.Origin()))
	if err != nil || !ok {
		return a, err
	}
	e, err := robots.Unmarshal(raw)
	if err != nil || c.Robots.Restore(e) != nil {
		return a, nil // an unreadable copy is no copy: it is fetched again
	}
	return c.Robots.Lookup(u, time.Now()), nil
}

// robotsKey: the copies are few (one per origin) and looked up by origin alone, so they live in the global
// partition; a partition that moves fetches robots.txt again.
func robotsKey(origin string) store.Key {
	return store.Key{Partition: store.Global, Space: store.Robots, ID: []byte(origin)}
}

// visitRobots contacts target for the robots.txt of an origin: the first contact with a host, and each hop of a redirect.
func (c *Crawler) visitRobots(ctx context.Context, v *visit, origin string, target weburl.URL) error {
	hop := v.lease.Kind == frontier.Robots
	if hop && !c.awaited(v, origin, target) {
		return nil
	}
	x, err := c.contact(ctx, v, target, robots.MaxBytes)
	if err != nil {
		return err
	}
	if x == nil { // no address: for the host itself that concludes the page, for a hop it is a network failure
		if hop && v.stop == nil {
			c.learn(v, origin, target, c.Robots.Response(origin, 0, nil, weburl.URL{}, 0, time.Now()))
		}
		return nil
	}
	defer x.Close()
	if err := c.reserve(ctx, v, x); err != nil {
		return err
	}
	status, body := x.Status, []byte(nil)
	if x.Outcome.Class() == outcome.ClassFailed {
		status = 0
	} else if body, err = bodyBytes(x.Body); err != nil {
		return err
	}
	a := c.Robots.Response(origin, status, body, x.Location, x.RetryAfter, x.End)
	v.fetch.Kind = jobdir.KindRobots
	if hop { // the contact was all there was to do; otherwise the page stays queued
		v.exchange.Outcome, v.fetch.For = x.Outcome, origin
	}
	c.learn(v, origin, target, a)
	return c.archive(ctx, v, x, nil)
}

// awaited tells whether the origin still waits for target, and has it woken when the visit is over. A parked host asks
// again every two minutes, so of several leases for one hop only the first makes the contact.
func (c *Crawler) awaited(v *visit, origin string, target weburl.URL) bool {
	home, err := weburl.Parse(origin + "/")
	if err != nil {
		v.conclude(outcome.BadURL) // cannot be: it is the origin of a URL
		return false
	}
	v.exchange.Wake = append(v.exchange.Wake, c.Frontier.PoliteKey(home))
	if a := c.Robots.Lookup(home, time.Now()); a.Action == robots.Elsewhere && a.Target == target {
		return true
	}
	v.conclude(outcome.Seen)
	return false
}

// learn turns the answer into host state, durable facts and links.
func (c *Crawler) learn(v *visit, origin string, from weburl.URL, a robots.Answer) {
	if e, ok := c.Robots.Snapshot(origin); ok {
		v.robots = &e
	}
	if a.Action == robots.Use {
		c.sitemapsOf(v, from, a.Rules)
	}
	if v.lease.Kind == frontier.Robots {
		return // the host of a hop has no part in it, beyond the outcome of this contact
	}
	v.exchange.CrawlDelay = delayOf(a)
	if a.Action == robots.Defer {
		v.exchange.HostFailed, v.exchange.Until = true, a.Until
	}
}

// sendElsewhere asks the frontier to contact another host for this origin's robots.txt and to park this
// host meanwhile: a redirect is never followed inside the lease of another host.
func (c *Crawler) sendElsewhere(v *visit, origin string, target weburl.URL) {
	v.exchange.Park = true
	v.exchange.Urgent = []frontier.Item{{URL: target, FP: c.Hasher.Fingerprint(target), Kind: frontier.Robots, Origin: origin, Head: true}}
}

// sitemapsOf queues the sitemaps that the robots.txt at base names, if they belong to its site.
func (c *Crawler) sitemapsOf(v *visit, base weburl.URL, rules *robots.Rules) {
	if c.opt.Sitemaps == SitemapsOff {
		return
	}
	refs := rules.Sitemaps()
	if len(refs) == 0 && c.opt.Sitemaps == SitemapsOnly {
		refs = []string{"/sitemap.xml"} // the usual place, where robots.txt names none
	}
	f := follower{c: c, v: v, page: base.String()}
	for _, ref := range refs[:min(len(refs), maxSitemaps)] {
		v.found.found++
		u, err := base.Resolve(ref)
		if err != nil {
			f.dropBad(ref, err)
			continue
		}
		it := frontier.Item{URL: u, Kind: frontier.Sitemap, Hops: hops(v.lease.Hops, 'S'), Seed: v.lease.Seed, Parent: f.page}
		if u.Domain() != base.Domain() {
			f.drop(it, outcome.OutOfScope, foreignSitemap)
			continue
		}
		f.admit(it)
	}
}

// foreignSitemap is why a sitemap on another domain is not read: anyone could name any.
const foreignSitemap = "sitemap of another site"

// maxSitemaps is how many Sitemap lines of one robots.txt are followed; indexes name the rest.
const maxSitemaps = 500

// delayOf is the Crawl-delay in force, if the rules are known.
func delayOf(a robots.Answer) time.Duration {
	if a.Action != robots.Use {
		return 0
	}
	d, _ := a.Rules.Delay() // none is zero
	return d
}

// bodyBytes returns the decoded body, read from its spool file if it is there.
func bodyBytes(b fetch.Body) ([]byte, error) {
	if p, ok := b.Bytes(); ok {
		return p, nil
	}
	return readAll(b)
}
