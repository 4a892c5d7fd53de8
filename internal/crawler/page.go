package crawler

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"decorum/internal/contentseen"
	"decorum/internal/fetch"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/parse"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// process turns an exchange for a page or sitemap into a concluded visit: duplicates, links, records.
func (c *Crawler) process(ctx context.Context, v *visit, x *fetch.Exchange) error {
	v.conclude(x.Outcome)
	v.pageRecord(x, c.opt.Seeds)
	var first *original
	if x.Outcome == outcome.OK {
		body, err := bodyBytes(x.Body)
		if err != nil {
			return err
		}
		if first, err = c.seenBefore(v, x, body); err != nil {
			return err
		}
		if first == nil {
			if err := c.read(ctx, v, x, body); err != nil {
				return err
			}
		}
		if v.lease.Kind == frontier.Page && !v.lease.Embed {
			c.Filter.Observe(v.lease.URL, v.novel)
		}
	}
	if x.Outcome == outcome.Redirect {
		c.redirect(v, x.Location)
	}
	v.page.LinksOut, v.page.LinksNew = jobdir.Known(int64(v.found.found)), jobdir.Known(int64(len(v.links)))
	if v.final == outcome.None {
		v.page = nil // another attempt follows; fetches.jsonl has this one
	}
	return c.archive(ctx, v, x, first)
}

// seenBefore looks the body up among all bodies. Of a duplicate it returns the first page with this body. A body that was
// cut is no duplicate of anything: what is missing may differ.
func (c *Crawler) seenBefore(v *visit, x *fetch.Exchange, body []byte) (*original, error) {
	if len(body) == 0 {
		v.novel = false
		return nil, nil
	}
	v.digest = sha256.Sum256(body)
	if x.Truncated != "" {
		v.novel = true
		return nil, nil
	}
	payload, err := payloadDigest(v, x)
	if err != nil {
		return nil, err
	}
	v.ref = contentseen.Ref{URL: v.lease.URL.String(), Date: warcDate(x.Start), RecordID: warc.NewID(), Payload: payload, FP: v.lease.FP}
	first, seen, err := c.Content.Claim(v.digest, v.ref)
	if err != nil {
		return nil, err
	}
	if !seen {
		v.claimed, v.novel = true, true
		return nil, nil
	}
	v.conclude(outcome.Duplicate)
	v.page.Outcome, v.page.DupOf = v.final.String(), first.URL
	return &first, nil
}

// read parses the body by what it is and follows its links.
func (c *Crawler) read(ctx context.Context, v *visit, x *fetch.Exchange, body []byte) error {
	t, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer c.put(t)
	contentType := x.Header.Get("Content-Type")
	headers := x.Header.Values("X-Robots-Tag")
	switch kind := parse.Sniff(body, contentType); kind {
	case parse.TypeHTML, parse.TypeXHTML:
		return c.readHTML(v, x, t, body, contentType)
	case parse.TypeSitemap, parse.TypeSitemapIndex, parse.TypeFeed:
		c.readSitemap(v, t, body, contentType, kind)
	case parse.TypeText, parse.TypeGzip:
		if v.lease.Kind == frontier.Sitemap {
			c.readSitemap(v, t, body, contentType, kind)
		}
	}
	nofollow := parse.ParseRobotsHeader(headers, c.opt.Agent)&parse.NoFollow != 0
	c.follow(v, v.lease.URL, parse.ParseLinkHeader(x.Header.Values("Link")), nofollow)
	return nil
}

func (c *Crawler) readHTML(v *visit, x *fetch.Exchange, t *tools, body []byte, contentType string) error {
	page := t.parser.HTML(body, contentType, c.opt.Agent)
	asked := page.Robots | parse.ParseRobotsHeader(x.Header.Values("X-Robots-Tag"), c.opt.Agent)
	base := v.lease.URL
	if page.Base != "" {
		if b, err := base.Resolve(page.Base); err == nil {
			base = b
		}
	}
	v.describe(page, asked, base)
	near, err := c.nearDuplicate(v, t, page)
	if err != nil {
		return err
	}
	v.look = c.Filter.Look(v.lease.URL)
	c.followPage(v, x, page, base, asked&parse.NoFollow != 0)
	for i := range page.Text {
		v.look.Text(page.Text[i].Text)
	}
	v.novel = v.look.Novel(near)
	return nil
}

// followPage follows all links of a page and of its header, unless it is nearly the same as another and the operator has enough of that.
func (c *Crawler) followPage(v *visit, x *fetch.Exchange, page *parse.Page, base weburl.URL, nofollow bool) {
	links := append(page.Links, parse.ParseLinkHeader(x.Header.Values("Link"))...)
	if v.page.NearDupOf != "" && !c.opt.FollowNear {
		c.dropAll(v, base, links, outcome.DuplicateParent, "--near-duplicates skip: nearly the same as "+v.page.NearDupOf)
		return
	}
	if page.LinksDropped > 0 { // said first, for only so many drops of a page are listed
		f := c.follower(v)
		f.drop(frontier.Item{URL: v.lease.URL, Depth: v.lease.Depth}, outcome.LinkLimit, fmt.Sprintf("%d further links of this page were not read", page.LinksDropped))
	}
	c.follow(v, base, links, nofollow)
	if ref, ok := parse.ParseRefresh(x.Header.Get("Refresh")); ok {
		c.follow(v, base, []parse.Link{{Ref: ref, Kind: parse.Refresh, Tag: "header"}}, nofollow)
	}
}

// describe fills in what the page says about itself.
func (v *visit) describe(page *parse.Page, asked parse.Robots, base weburl.URL) {
	r := v.page
	r.Title, r.Charset, r.Words, r.NeedsJS = strings.Clone(page.Title), page.Charset, jobdir.Known(int64(page.Words)), page.NeedsJS
	r.RobotsMeta = robotsText(asked)
	if page.Canonical != "" {
		if u, err := base.Resolve(page.Canonical); err == nil {
			r.Canonical = u.String()
		}
	}
}

// nearDuplicate computes the SimHash of the text and looks for a page of the host nearly like it.
func (c *Crawler) nearDuplicate(v *visit, t *tools, page *parse.Page) (bool, error) {
	if c.opt.NearOff {
		return false, nil
	}
	t.sim.Reset()
	for i := range page.Text {
		if page.Text[i].Tag != "title" {
			t.sim.AddString(page.Text[i].Text)
		}
	}
	v.sim, v.words = t.sim.Sum()
	v.page.SimHash = jobdir.SimHashText(v.sim)
	match, near, err := c.Content.Near(v.nearPage(), v.sim, v.words)
	if near {
		v.page.NearDupOf = match.URL
	}
	return near, err
}

func (v *visit) nearPage() contentseen.Page {
	return contentseen.Page{Partition: v.lease.Partition, FP: v.lease.FP, URL: v.lease.URL.String()}
}

// readSitemap hands the entries of a sitemap or feed to the intake.
func (c *Crawler) readSitemap(v *visit, t *tools, body []byte, contentType string, kind parse.Type) {
	if c.opt.Sitemaps == SitemapsOff && kind != parse.TypeFeed {
		return
	}
	m := t.parser.Sitemap(body, contentType)
	if kind != parse.TypeFeed {
		v.sitemap = true
	}
	if m.Truncated != "" {
		f := c.follower(v)
		f.drop(frontier.Item{URL: v.lease.URL, Depth: v.lease.Depth}, outcome.SitemapLimit, m.Truncated)
	}
	c.follow(v, v.lease.URL, m.Links(), false)
}
