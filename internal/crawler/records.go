package crawler

import (
	"encoding/hex"
	"strings"
	"time"

	"decorum/internal/contentseen"
	"decorum/internal/fetch"
	"decorum/internal/jobdir"
	"decorum/internal/parse"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// noteFetch begins the record of an exchange.
func (v *visit) noteFetch(u weburl.URL, x *fetch.Exchange, run int) {
	l := &v.lease
	v.fetch = &jobdir.FetchRecord{Run: run, TS: x.Start, EndTS: x.End, Kind: l.Kind.String(), URL: u.String(), Host: l.Host,
		IP: x.IP(), Status: x.Status, Outcome: x.Outcome.String(), Attempt: l.Attempt,
		TotalMS: jobdir.Millis(x.Total), RobotsVersion: v.version, RobotsRule: v.allowed, Reused: x.Reused, BytesWire: jobdir.Known(x.WireBytes)}
	v.mime = mediaType(x.Header.Get("Content-Type"))
	if !l.LastEnd.IsZero() {
		v.fetch.GapMS = jobdir.Millis(x.Start.Sub(l.LastEnd))
		v.fetch.PromisedMS, v.fetch.GapReason = jobdir.Millis(l.Promised), l.Reason.String()
	}
}

// identity is a page record with what is known before any contact.
func (v *visit) identity(seeds []string) *jobdir.PageRecord {
	l := &v.lease
	r := &jobdir.PageRecord{TS: v.exchange.Start, URL: l.URL.String(), Host: l.Host, Parent: l.Parent, Anchor: l.Anchor,
		Depth: int(l.Depth), Hops: strings.ToUpper(l.Hops), Attempt: l.Attempt, Level: int(l.Level), DNSMS: jobdir.Millis(v.dnsTime)}
	if int(l.Seed) < len(seeds) {
		r.Seed = seeds[l.Seed]
	}
	if r.TS.IsZero() {
		r.TS = time.Now()
	}
	return r
}

// pageRecord begins the record of a page from its exchange.
func (v *visit) pageRecord(x *fetch.Exchange, seeds []string) {
	r := v.identity(seeds)
	r.IP, r.Status, r.Outcome, r.Proto = x.IP(), x.Status, x.Outcome.String(), x.Proto
	r.MIME = v.mime
	r.BytesWire, r.BytesBody, r.Truncated = jobdir.Known(x.WireBytes), jobdir.Known(x.Body.Len()), x.Truncated
	r.ETag, r.LastModified = x.Header.Get("ETag"), x.Header.Get("Last-Modified")
	if !x.Reused {
		r.ConnectMS = jobdir.Millis(x.Connect)
	}
	if x.TLSHandshake > 0 {
		r.TLSMS = jobdir.Millis(x.TLSHandshake)
	}
	r.TTFBMS, r.TotalMS = jobdir.Millis(x.TTFB), jobdir.Millis(x.Total)
	r.GapMS, r.GapReason = v.fetch.GapMS, v.fetch.GapReason
	if x.Detail != "" {
		v.rule = x.Detail
	}
	v.page = r
}

// indexLine appends the CDXJ line of the main record.
func (v *visit) indexLine(dst []byte, place warc.Place, m warc.Member) []byte {
	u, err := weburl.Reparse(v.fetch.URL)
	if err != nil {
		return dst
	}
	r := jobdir.CDXRecord{URL: u, TS: v.exchange.Start, Status: v.exchange.Status, Digest: m.PayloadDigest,
		Length: place.Length, Offset: place.Offset, Filename: place.File}
	if r.MIME = v.mime; m.Type == warc.Revisit {
		r.MIME = jobdir.RevisitMIME
	}
	return r.AppendLine(dst)
}

func digestText(d contentseen.Digest) string { return "sha256:" + hex.EncodeToString(d[:]) }

// mediaType is a Content-Type without parameters, cut where a media type cannot go on: indexes divide their fields by spaces.
func mediaType(contentType string) string {
	t := strings.TrimLeft(contentType, " \t")
	if end := strings.IndexAny(t, "; \t,"); end >= 0 {
		t = t[:end]
	}
	return strings.ToLower(t)
}

// robotsText names what a page asks robots not to do.
func robotsText(asked parse.Robots) string {
	return names(uint16(asked), []string{"noindex", "nofollow", "noarchive"})
}

// relText names the link types that matter.
func relText(rel parse.Rel) string {
	return names(uint16(rel), []string{"nofollow", "ugc", "sponsored", "canonical", "next", "prev", "alternate", "stylesheet", "icon"})
}

// names joins the names of the bits that are set, lowest first.
func names(bits uint16, of []string) string {
	var set []string
	for i, name := range of {
		if bits&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, " ")
}
