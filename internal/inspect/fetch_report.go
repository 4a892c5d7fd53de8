package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"decorum/internal/contentseen"
	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/parse"
	"decorum/internal/robots"
	"decorum/internal/weburl"
)

// FetchReport is one page as the crawler sees it. Times are milliseconds.
type FetchReport struct {
	URL     string       `json:"url"` // as it goes on the wire
	Key     string       `json:"key"` // as it is recognised when it is seen again
	Outcome string       `json:"outcome"`
	Detail  string       `json:"detail,omitempty"` // what went wrong
	DNS     *DNSReport   `json:"dns,omitempty"`
	Robots  RobotsReport `json:"robots"`

	RestedMS   int64  `json:"rested_ms"` // in all, before contacts
	RestReason string `json:"rest_reason,omitempty"`

	Status    int           `json:"status,omitempty"`
	Proto     string        `json:"proto,omitempty"`
	IP        string        `json:"ip,omitempty"`
	TLS       string        `json:"tls,omitempty"`
	Headers   []HeaderField `json:"headers,omitempty"`
	Location  string        `json:"location,omitempty"` // where it redirects
	Timing    *Timing       `json:"timing,omitempty"`
	BytesWire int64         `json:"bytes_wire,omitempty"`
	BytesBody int64         `json:"bytes_body,omitempty"`
	Truncated string        `json:"truncated,omitempty"`

	Type          string      `json:"type,omitempty"` // what the bytes are
	MIME          string      `json:"mime,omitempty"` // what the server says
	Charset       string      `json:"charset,omitempty"`
	CharsetSource string      `json:"charset_source,omitempty"`
	Digest        string      `json:"digest,omitempty"`
	SimHash       string      `json:"simhash,omitempty"`
	Title         string      `json:"title,omitempty"`
	Lang          string      `json:"lang,omitempty"`
	Canonical     string      `json:"canonical,omitempty"`
	RobotsMeta    string      `json:"robots_meta,omitempty"` // meta robots and X-Robots-Tag
	NeedsJS       bool        `json:"needs_js,omitempty"`
	Words         int         `json:"words,omitempty"`
	LinksDropped  int         `json:"links_dropped,omitempty"` // beyond the limit of a page
	Links         []FetchLink `json:"links,omitempty"`
	Text          []TextSpan  `json:"text,omitempty"`
}

// DNSReport is what was found out about the host's addresses.
type DNSReport struct {
	Addrs  []string `json:"addrs,omitempty"`
	CNAME  string   `json:"cname,omitempty"`
	TTLS   int64    `json:"ttl_s,omitempty"`
	MS     int64    `json:"ms"`
	Detail string   `json:"detail,omitempty"`
}

// RobotsReport is what robots.txt says.
type RobotsReport struct {
	URL          string          `json:"url"`
	Allowed      bool            `json:"allowed"`
	Rule         string          `json:"rule,omitempty"` // the line that decided
	Line         int             `json:"line,omitempty"`
	Version      string          `json:"version,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	CrawlDelayMS int64           `json:"crawl_delay_ms,omitempty"`
	Contacts     []RobotsContact `json:"contacts,omitempty"`
}

// RobotsContact is one exchange for robots.txt.
type RobotsContact struct {
	URL      string `json:"url"`
	Outcome  string `json:"outcome"`
	Status   int    `json:"status,omitempty"`
	Location string `json:"location,omitempty"`
	TotalMS  int64  `json:"total_ms"`
}

// HeaderField is one header field of the response.
type HeaderField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Timing is how long the parts of an exchange took, in milliseconds.
type Timing struct {
	DNS     int64 `json:"dns_ms"`
	Connect int64 `json:"connect_ms"` // 0 when the connection was open
	TLS     int64 `json:"tls_ms"`
	TTFB    int64 `json:"ttfb_ms"`
	Total   int64 `json:"total_ms"`
	Reused  bool  `json:"reused"` // the connection of the robots.txt
}

// FetchLink is one link of the page.
type FetchLink struct {
	URL     string `json:"url,omitempty"` // resolved
	Ref     string `json:"ref,omitempty"` // as found, when it cannot be resolved
	Problem string `json:"problem,omitempty"`
	Kind    string `json:"kind"`
	Tag     string `json:"tag"`
	Rel     string `json:"rel,omitempty"`
	Anchor  string `json:"anchor,omitempty"`
}

// TextSpan is a piece of text under one tag, as an indexer gets it.
type TextSpan struct {
	Tag  string `json:"tag,omitempty"`
	Text string `json:"text"`
}

// OK reports whether a crawl that begins here would have something to go on with.
func (r *FetchReport) OK() bool {
	o, _ := outcome.Parse(r.Outcome)
	return o == outcome.OK || o == outcome.Redirect || o == outcome.NotModified
}

// refuse says that there was no contact.
func (r *FetchReport) refuse(o outcome.Outcome, detail string) {
	r.Outcome, r.Detail = o.String(), detail
}

func dnsReport(a dns.Answer, took time.Duration) *DNSReport {
	d := &DNSReport{CNAME: a.CNAME, TTLS: int64(a.TTL.Seconds()), MS: took.Milliseconds(), Detail: a.Detail}
	if a.Remote {
		d.TTLS, d.Detail = 0, "resolved by the proxy"
	}
	for _, addr := range a.Addrs {
		d.Addrs = append(d.Addrs, addr.String())
	}
	return d
}

// judge fills in what robots.txt says about u, and returns whether it may be fetched.
func (r *FetchReport) judge(u weburl.URL, a robots.Answer) bool {
	v := a.Rules.Check(u.RequestTarget())
	s := &r.Robots
	s.Allowed, s.Rule, s.Line, s.Version, s.Reason = v.Allowed, v.Rule, v.Line, a.Version, a.Reason
	if !v.Allowed {
		r.refuse(outcome.RobotsDenied, fmt.Sprintf("%s (line %d)", v.Rule, v.Line))
	}
	return v.Allowed
}

// describe fills in what came of the exchange.
func (r *FetchReport) describe(x *fetch.Exchange, u weburl.URL) error {
	r.Outcome, r.Detail, r.Status, r.Proto, r.Truncated = x.Outcome.String(), x.Detail, x.Status, x.Proto, x.Truncated
	r.IP, r.BytesWire, r.BytesBody = x.IP(), x.WireBytes, x.Body.Len()
	r.Timing = &Timing{Connect: x.Connect.Milliseconds(), TLS: x.TLSHandshake.Milliseconds(), TTFB: x.TTFB.Milliseconds(),
		Total: x.Total.Milliseconds(), Reused: x.Reused}
	if r.DNS != nil {
		r.Timing.DNS = r.DNS.MS
	}
	if x.TLS != nil {
		r.TLS = x.TLS.Version + " " + x.TLS.CipherSuite
	}
	for _, f := range x.Header {
		r.Headers = append(r.Headers, HeaderField(f))
	}
	if !x.Location.IsZero() {
		r.Location = x.Location.String()
	}
	r.MIME, _, _ = strings.Cut(strings.ToLower(x.Header.Get("Content-Type")), ";")
	r.MIME = strings.TrimSpace(r.MIME)
	if x.Outcome != outcome.OK {
		return nil
	}
	body, err := exchangeBody(x)
	if err != nil {
		return err
	}
	r.content(x, u, body)
	return nil
}

// content fills in what the body says.
func (r *FetchReport) content(x *fetch.Exchange, u weburl.URL, body []byte) {
	contentType := x.Header.Get("Content-Type")
	digest := sha256.Sum256(body)
	r.Digest = "sha256:" + hex.EncodeToString(digest[:])
	kind := parse.Sniff(body, contentType)
	r.Type = kind.String()
	parser := parse.NewParser(parse.Options{Text: true})
	asked := parse.ParseRobotsHeader(x.Header.Values("X-Robots-Tag"), Agent)
	base := u
	switch {
	case kind.HasLinks():
		page := parser.HTML(body, contentType, Agent)
		asked |= page.Robots
		base = r.page(page, u)
	case kind.IsSitemap():
		r.links(u, parser.Sitemap(body, contentType).Links())
	}
	r.links(base, parse.ParseLinkHeader(x.Header.Values("Link")))
	if ref, ok := parse.ParseRefresh(x.Header.Get("Refresh")); ok {
		r.links(base, []parse.Link{{Ref: ref, Kind: parse.Refresh, Tag: "header"}})
	}
	if asked != 0 {
		r.RobotsMeta = asked.String()
	}
}

// page fills in what an HTML page says, and returns the base of its links.
func (r *FetchReport) page(page *parse.Page, u weburl.URL) (base weburl.URL) {
	base = u
	if page.Base != "" {
		if b, err := u.Resolve(page.Base); err == nil {
			base = b
		}
	}
	r.Title, r.Lang, r.Charset, r.CharsetSource = page.Title, page.Lang, page.Charset, page.CharsetSource
	r.Words, r.NeedsJS, r.LinksDropped = page.Words, page.NeedsJS, page.LinksDropped
	if page.Canonical != "" {
		if c, err := base.Resolve(page.Canonical); err == nil {
			r.Canonical = c.String()
		}
	}
	sim := contentseen.NewSimHasher()
	for _, s := range page.Text {
		r.Text = append(r.Text, TextSpan(s))
		if s.Tag != "title" {
			sim.AddString(s.Text)
		}
	}
	hash, _ := sim.Sum()
	r.SimHash = jobdir.SimHashText(hash)
	r.links(base, page.Links)
	return base
}

func (r *FetchReport) links(base weburl.URL, links []parse.Link) {
	for i := range links {
		l := &links[i]
		f := FetchLink{Kind: l.Kind.String(), Tag: l.Tag, Rel: relText(l.Rel), Anchor: l.Anchor}
		if u, err := base.Resolve(l.Ref); err == nil {
			f.URL = u.String()
		} else {
			f.Ref, f.Problem = l.Ref, err.Error()
		}
		r.Links = append(r.Links, f)
	}
}

// relText names link types.
func relText(rel parse.Rel) string {
	var set []string
	for i, name := range [...]string{"nofollow", "ugc", "sponsored", "canonical", "next", "prev", "alternate", "stylesheet", "icon"} {
		if rel&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, " ")
}

// WriteJSON writes the report as JSON.
func (r *FetchReport) WriteJSON(w io.Writer) error { return writeJSON(w, "page_view", r) }
