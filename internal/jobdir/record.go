package jobdir

import (
	"strconv"
	"time"
)

// Head is what every line begins with. AppendJSON writes its own; a reader finds here what was read.
type Head struct {
	V    int    `json:"v"`
	Type string `json:"type"`
}

// Values of `type`.
const (
	typePage      = "page"
	typeFetch     = "fetch"
	typeSkip      = "skip"
	typeSkipCount = "skip_count"
	typeLink      = "link"
)

// Why a host rested as long as it did: gap_reason.
const (
	GapFloor      = "floor"       // the minimum delay
	GapFactor     = "factor"      // a multiple of the last fetch
	GapCrawlDelay = "crawl_delay" // robots.txt
	GapRetryAfter = "retry_after" // the server
	GapBackoff    = "backoff"     // errors
	GapIP         = "ip"          // another host on the same address
)

// PageRecord is a line of pages.jsonl: one visit of a URL and what came of it.
type PageRecord struct {
	Head
	// Identity.
	ID           string    `json:"id"` // of the WARC record
	Seq          int64     `json:"seq"`
	TS           time.Time `json:"ts"` // when the exchange began
	URL          string    `json:"url"`
	RequestedURL string    `json:"requested_url"` // when the URL was found in another spelling
	Host         string    `json:"host"`          // politeness key
	IP           string    `json:"ip"`
	// Provenance.
	Seed    string `json:"seed"`
	Parent  string `json:"parent"`
	Anchor  string `json:"anchor"`
	Depth   int    `json:"depth"`
	Hops    string `json:"hops"` // from the seed: L link, R redirect, E embedded, S sitemap
	Attempt int    `json:"attempt"`
	Level   int    `json:"level"` // front queue
	// Response.
	Status       int    `json:"status"`
	Outcome      string `json:"outcome"` // outcome.Outcome by name
	Proto        string `json:"proto"`
	MIME         string `json:"mime"`
	Charset      string `json:"charset"`
	BytesWire    Int    `json:"bytes_wire"` // head and body as received
	BytesBody    Int    `json:"bytes_body"` // body decoded
	Truncated    string `json:"truncated"`  // why the body is not whole
	ETag         string `json:"etag"`
	LastModified string `json:"last_modified"`
	// Timing, milliseconds.
	WaitMS    Int    `json:"wait_ms"` // ready until leased
	DNSMS     Int    `json:"dns_ms"`
	ConnectMS Int    `json:"connect_ms"`
	TLSMS     Int    `json:"tls_ms"`
	TTFBMS    Int    `json:"ttfb_ms"`
	TotalMS   Int    `json:"total_ms"`
	GapMS     Int    `json:"gap_ms"` // rest since the exchange before with the host
	GapReason string `json:"gap_reason"`
	// Content.
	Digest     string `json:"digest"` // WARC-Payload-Digest
	SimHash    string `json:"simhash"`
	DupOf      string `json:"dup_of"`
	NearDupOf  string `json:"near_dup_of"` // first page of the host with nearly the same text
	Title      string `json:"title"`
	Canonical  string `json:"canonical"`
	RobotsMeta string `json:"robots_meta"`
	Words      Int    `json:"words"`
	NeedsJS    bool   `json:"needs_js"`
	// Links.
	LinksOut Int `json:"links_out"`
	LinksNew Int `json:"links_new"`
	// Storage.
	WARC WARCPlace `json:"warc"`
}

// WARCPlace is where a record lies in the archive. Without a File there is none.
type WARCPlace struct {
	File     string `json:"file"` // base name
	Offset   int64  `json:"offset"`
	Length   int64  `json:"length"`
	RecordID string `json:"record_id"`
}

// SimHashText is the form of a 64-bit SimHash in a record: 16 hex digits, because JSON numbers lose bits.
func SimHashText(h uint64) string {
	b := strconv.AppendUint(make([]byte, 0, 32), h, 16)
	return "0000000000000000"[len(b):] + string(b)
}

// AppendJSON appends the record as one line.
func (r *PageRecord) AppendJSON(dst []byte) []byte {
	o := begin(dst, typePage)
	r.identity(&o)
	r.response(&o)
	r.timing(&o)
	r.content(&o)
	return o.end()
}

func (r *PageRecord) identity(o *object) {
	o.str("id", r.ID)
	o.num("seq", r.Seq)
	o.time("ts", r.TS)
	o.str("url", r.URL)
	o.str("requested_url", r.RequestedURL)
	o.str("host", r.Host)
	o.str("ip", r.IP)
	o.str("seed", r.Seed)
	o.str("parent", r.Parent)
	o.str("anchor", r.Anchor)
	o.always("depth", int64(r.Depth))
	o.str("hops", r.Hops)
	o.num("attempt", int64(r.Attempt))
	o.num("level", int64(r.Level))
}

func (r *PageRecord) response(o *object) {
	o.num("status", int64(r.Status))
	o.str("outcome", r.Outcome)
	o.str("proto", r.Proto)
	o.str("mime", r.MIME)
	o.str("charset", r.Charset)
	o.int("bytes_wire", r.BytesWire)
	o.int("bytes_body", r.BytesBody)
	o.str("truncated", r.Truncated)
	o.str("etag", r.ETag)
	o.str("last_modified", r.LastModified)
}

func (r *PageRecord) timing(o *object) {
	o.int("wait_ms", r.WaitMS)
	o.int("dns_ms", r.DNSMS)
	o.int("connect_ms", r.ConnectMS)
	o.int("tls_ms", r.TLSMS)
	o.int("ttfb_ms", r.TTFBMS)
	o.int("total_ms", r.TotalMS)
	o.int("gap_ms", r.GapMS)
	o.str("gap_reason", r.GapReason)
}

func (r *PageRecord) content(o *object) {
	o.str("digest", r.Digest)
	o.str("simhash", r.SimHash)
	o.str("dup_of", r.DupOf)
	o.str("near_dup_of", r.NearDupOf)
	o.str("title", r.Title)
	o.str("canonical", r.Canonical)
	o.str("robots_meta", r.RobotsMeta)
	o.int("words", r.Words)
	o.flag("needs_js", r.NeedsJS)
	o.int("links_out", r.LinksOut)
	o.int("links_new", r.LinksNew)
	if r.WARC.File != "" {
		o.key("warc")
		w := object{b: append(o.b, '{')}
		w.str("file", r.WARC.File)
		w.always("offset", r.WARC.Offset)
		w.always("length", r.WARC.Length)
		w.str("record_id", r.WARC.RecordID)
		o.b = append(w.b, '}')
	}
}

// What a fetch was for: FetchRecord.Kind.
const (
	KindPage    = "page"
	KindRobots  = "robots"
	KindSitemap = "sitemap"
)

// FetchRecord is a line of fetches.jsonl: one exchange with a host, whatever it was for and however it
// ended. It is the evidence that `audit` goes by.
type FetchRecord struct {
	Head
	Seq           int64     `json:"seq"`    // rises by one with each exchange of the crawl
	Run           int       `json:"run"`    // which start of the program
	TS            time.Time `json:"ts"`     // begin
	EndTS         time.Time `json:"end_ts"` // end; gaps count from here
	Kind          string    `json:"kind"`
	URL           string    `json:"url"`
	Host          string    `json:"host"` // politeness key
	IP            string    `json:"ip"`
	Status        int       `json:"status"`
	Outcome       string    `json:"outcome"` // outcome.Outcome by name
	Attempt       int       `json:"attempt"`
	TotalMS       Int       `json:"total_ms"`
	GapMS         Int       `json:"gap_ms"`      // actual rest since the end of the exchange before with the host
	PromisedMS    Int       `json:"promised_ms"` // rest that was owed
	GapReason     string    `json:"gap_reason"`
	RobotsVersion string    `json:"robots_version"` // which robots.txt was in force
	RobotsRule    string    `json:"robots_rule"`    // the line that allowed it
	Reused        bool      `json:"reused"`         // an open connection
	BytesWire     Int       `json:"bytes_wire"`
	For           string    `json:"for"`  // origin, for robots.txt reached through a redirect
	Lost          string    `json:"lost"` // what a repair found damaged
}

// AppendJSON appends the record as one line.
func (r *FetchRecord) AppendJSON(dst []byte) []byte {
	o := begin(dst, typeFetch)
	o.num("seq", r.Seq)
	o.num("run", int64(r.Run))
	o.time("ts", r.TS)
	o.time("end_ts", r.EndTS)
	o.str("kind", r.Kind)
	o.str("url", r.URL)
	o.str("host", r.Host)
	o.str("ip", r.IP)
	o.num("status", int64(r.Status))
	o.str("outcome", r.Outcome)
	o.num("attempt", int64(r.Attempt))
	o.int("total_ms", r.TotalMS)
	o.int("gap_ms", r.GapMS)
	o.int("promised_ms", r.PromisedMS)
	o.str("gap_reason", r.GapReason)
	o.str("robots_version", r.RobotsVersion)
	o.str("robots_rule", r.RobotsRule)
	o.flag("reused", r.Reused)
	o.int("bytes_wire", r.BytesWire)
	o.str("for", r.For)
	o.str("lost", r.Lost)
	return o.end()
}

// SkipRecord is a line of skipped.jsonl: one URL that will not be fetched, and why. With Count it stands
// for many URLs of one host that had the same reason and are not listed (type "skip_count").
type SkipRecord struct {
	Head
	URL    string `json:"url"`
	Host   string `json:"host"`
	Reason string `json:"reason"` // outcome.Outcome by name
	Rule   string `json:"rule"`   // what matched: a pattern, a robots.txt line, a limit
	Parent string `json:"parent"`
	Depth  int    `json:"depth"`
	Count  int64  `json:"count"`
}

// AppendJSON appends the record as one line.
func (r *SkipRecord) AppendJSON(dst []byte) []byte {
	if r.Count > 0 {
		o := begin(dst, typeSkipCount)
		o.str("host", r.Host)
		o.str("reason", r.Reason)
		o.num("count", r.Count)
		return o.end()
	}
	o := begin(dst, typeSkip)
	o.str("url", r.URL)
	o.str("host", r.Host)
	o.str("reason", r.Reason)
	o.str("rule", r.Rule)
	o.str("parent", r.Parent)
	o.always("depth", int64(r.Depth))
	return o.end()
}

// LinkRecord is a line of links.jsonl: one link as it stands on a page.
type LinkRecord struct {
	Head
	Source   string `json:"source"`
	Target   string `json:"target"`
	Anchor   string `json:"anchor"`
	Rel      string `json:"rel"`
	Position int    `json:"position"` // among the links of the page, from 0
	Tag      string `json:"tag"`
}

// AppendJSON appends the record as one line.
func (r *LinkRecord) AppendJSON(dst []byte) []byte {
	o := begin(dst, typeLink)
	o.str("source", r.Source)
	o.str("target", r.Target)
	o.str("anchor", r.Anchor)
	o.str("rel", r.Rel)
	o.always("position", int64(r.Position))
	o.str("tag", r.Tag)
	return o.end()
}
