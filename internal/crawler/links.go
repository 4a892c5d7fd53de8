package crawler

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/parse"
	"decorum/internal/weburl"
)

// maxSkipsPerVisit bounds the dropped links of one page that are listed; the rest are counted by reason.
const maxSkipsPerVisit = 1000

// hops appends a letter to the path from the seed: L link, R redirect, E embedded, S sitemap. A step that left
// the scope at the cost of one of --hops is in lower case until it is shown.
func hops(path string, letter byte) string {
	if len(path) >= frontier.MaxHops {
		return path
	}
	return path + string(letter)
}

// spend marks the last step of a path as one outside the scope.
func spend(path string) string {
	last := len(path) - 1
	return path[:last] + string(path[last]|0x20)
}

// outside counts the steps of a path outside the scope.
func outside(path string) (n int) {
	for i := range len(path) {
		n += int(path[i] >> 5 & 1)
	}
	return n
}

// follow turns the links of a page into intake: each resolved, tested in order, and looked up in the cache of popular
// URLs. What is dropped has a reason.
func (c *Crawler) follow(v *visit, base weburl.URL, links []parse.Link, nofollow bool) {
	f := c.follower(v)
	v.found.found += len(links)
	for i := range links {
		f.link(base, &links[i], nofollow)
	}
}

// dropAll drops the links of a page for a reason that holds for all of them.
func (c *Crawler) dropAll(v *visit, base weburl.URL, links []parse.Link, why outcome.Outcome, rule string) {
	f := c.follower(v)
	v.found.found += len(links)
	for i := range links {
		u, err := base.Resolve(links[i].Ref)
		if err != nil {
			f.dropBad(links[i].Ref, err)
			continue
		}
		f.drop(f.item(u, &links[i]), why, rule)
	}
}

// follower is the state of follow.
type follower struct {
	c    *Crawler
	v    *visit
	page string // where the links stand
}

func (c *Crawler) follower(v *visit) follower {
	return follower{c: c, v: v, page: v.lease.URL.String()}
}

func (f *follower) link(base weburl.URL, l *parse.Link, nofollow bool) {
	u, err := base.Resolve(l.Ref)
	if err != nil {
		f.dropBad(l.Ref, err)
		return
	}
	it := f.item(u, l)
	if nofollow && !it.Embed || f.c.opt.ObeyRel && l.Rel&parse.RelNofollow != 0 {
		f.drop(it, outcome.Nofollow, l.Tag)
		return
	}
	f.record(u, l)
	if it.Kind == frontier.Sitemap && u.Domain() != f.v.lease.URL.Domain() {
		f.drop(it, outcome.OutOfScope, foreignSitemap)
		return
	}
	if f.c.opt.Sitemaps == SitemapsOnly && l.Kind != parse.SitemapEntry && l.Kind != parse.SitemapIndex {
		f.drop(it, outcome.OutOfScope, "--sitemaps only")
		return
	}
	f.admit(it)
}

// item is the link as the frontier keeps it. It shows it to the look at the page, too.
func (f *follower) item(u weburl.URL, l *parse.Link) frontier.Item {
	f.v.look.Link(u, l.Kind == parse.Embed || l.Kind == parse.Frame || l.Kind == parse.Refresh)
	from := &f.v.lease
	it := frontier.Item{URL: u, Depth: from.Depth, Seed: from.Seed, Parent: f.page, Anchor: l.Anchor}
	letter := byte('L')
	switch l.Kind {
	case parse.Embed:
		it.Embed, letter = true, 'E'
	case parse.LinkElement:
		if l.Rel&(parse.RelStylesheet|parse.RelIcon) != 0 {
			it.Embed, letter = true, 'E'
		}
	case parse.SitemapIndex:
		it.Kind, letter = frontier.Sitemap, 'S'
	case parse.SitemapEntry:
		letter = 'S'
	}
	if !it.Embed && it.Depth < math.MaxUint16 {
		it.Depth++
	}
	it.Hops = hops(from.Hops, letter)
	return it
}

// admit applies the tests and hands what passes to the intake.
func (f *follower) admit(it frontier.Item) {
	verdict := f.c.Filter.Check(candidate(&it, outside(it.Hops[:max(len(it.Hops)-1, 0)])))
	if verdict.Outcome != outcome.None {
		f.drop(it, verdict.Outcome, verdict.Rule)
		return
	}
	if verdict.Hop {
		it.Hops = spend(it.Hops)
	}
	f.v.found.passed++
	it.FP = f.c.Hasher.Fingerprint(it.URL)
	if it.Head && it.FP == f.v.lease.FP && it.URL != f.v.lease.URL {
		// The page redirects to another spelling of its own key form, such as itself without a session
		// id. The key is spent on the redirect, so the target goes by a key of its own, once.
		it.FP[len(it.FP)-1] ^= 0xFF
	}
	if f.c.Cache.Seen(it.FP) {
		f.v.found.cached++
		return
	}
	f.v.links = append(f.v.links, it)
}

// drop notes why a link was not taken, each URL and reason once as far as memory reaches.
func (f *follower) drop(it frontier.Item, o outcome.Outcome, rule string) {
	f.list(f.c.Hasher.Fingerprint(it.URL), o, jobdir.SkipRecord{URL: it.URL.String(), Rule: rule, Host: it.URL.Host(), Depth: int(it.Depth)})
}

// dropBad notes a reference that is no URL. One of another scheme (mailto:, javascript:, data:) was not meant for crawlers
// and is not worth a word.
func (f *follower) dropBad(ref string, err error) {
	if errors.Is(err, weburl.ErrScheme) {
		return
	}
	sum := sha256.Sum256([]byte(ref))
	shown := strings.ToValidUTF8(ref[:min(len(ref), maxBadURL)], "?")
	f.list(weburl.Fingerprint(sum[:16]), outcome.BadURL, jobdir.SkipRecord{URL: shown, Rule: err.Error(), Depth: int(f.v.lease.Depth) + 1})
}

// maxBadURL is how much of a broken reference is recorded, in bytes: enough to find it on the page.
const maxBadURL = 200

// list records a dropped link, or counts it when the page has had enough of them.
func (f *follower) list(fp weburl.Fingerprint, o outcome.Outcome, r jobdir.SkipRecord) {
	fp[len(fp)-1] ^= byte(o)
	if f.c.dropped.Seen(fp) {
		return
	}
	if len(f.v.skips) < maxSkipsPerVisit {
		r.Reason, r.Parent = o.String(), f.page
		f.v.skips = append(f.v.skips, r)
		return
	}
	if f.v.unlisted == nil {
		f.v.unlisted = map[outcome.Outcome]int{}
	}
	f.v.unlisted[o]++
}

// record writes a link record for an indexer, if links are wanted.
func (f *follower) record(u weburl.URL, l *parse.Link) {
	if f.c.Links == nil || l.Kind == parse.SitemapEntry || l.Kind == parse.SitemapIndex {
		return
	}
	r := jobdir.LinkRecord{Source: f.page, Target: u.String(), Anchor: l.Anchor, Rel: relText(l.Rel), Position: l.Position, Tag: l.Tag}
	f.v.records = r.AppendJSON(f.v.records)
}

// redirect hands the target of a redirect to the frontier, at the head of its host's queue.
func (c *Crawler) redirect(v *visit, target weburl.URL) {
	f := c.follower(v)
	from := &v.lease
	v.found.found++
	it := frontier.Item{URL: target, Kind: from.Kind, Head: true, Depth: from.Depth, Seed: from.Seed, Parent: f.page, Anchor: from.Anchor,
		Embed: from.Embed, Redirects: from.Redirects + 1, Hops: hops(from.Hops, 'R')}
	if int(it.Redirects) > c.opt.MaxRedirects {
		f.drop(it, outcome.RedirectLimit, fmt.Sprintf("more than %d redirects in a row", c.opt.MaxRedirects))
		return
	}
	if from.Depth == 0 && onlyRedirects(from.Hops) && target.Domain() == from.URL.Domain() {
		c.Filter.AddSeeds([]weburl.URL{target}) // a seed that moved within its domain is still the seed
		v.newSeed = target
	}
	f.admit(it)
}

func onlyRedirects(path string) bool {
	for i := range len(path) {
		if path[i] != 'R' {
			return false
		}
	}
	return true
}
