package parse

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Limits of sitemaps (https://www.sitemaps.org/protocol.html): what is beyond is not read.
const (
	MaxSitemapURLs  = 50000
	MaxSitemapBytes = 50 << 20 // decoded
)

// Sitemap is what was read from a sitemap, sitemap index, text sitemap, RSS or Atom feed.
type Sitemap struct {
	Type      Type // TypeSitemap, TypeSitemapIndex, TypeFeed, TypeText, or what the document is instead
	Entries   []SitemapURL
	Truncated string // why entries may be missing, or ""
}

// SitemapURL is an entry of a sitemap.
type SitemapURL struct {
	Loc          string    // as found, character references decoded, white space around it removed
	LastModified time.Time // zero when unknown or not a date
	ChangeFreq   string    // lower case: always, hourly, daily, weekly, monthly, yearly, never; or ""
	Priority     float32   // 0 to 1; -1 when not given
	IsIndex      bool      // Loc is another sitemap
}

// Links returns the entries as links.
func (s *Sitemap) Links() []Link {
	links := make([]Link, 0, len(s.Entries))
	for i, e := range s.Entries {
		l := Link{Ref: e.Loc, Kind: SitemapEntry, Tag: "loc", Position: i, LastModified: e.LastModified, Priority: e.Priority}
		if e.IsIndex {
			l.Kind = SitemapIndex
		}
		links = append(links, l)
	}
	return links
}

// Sitemap reads a sitemap of any form: XML sitemap or index, RSS, Atom, or text with a URL on each line;
// plain or compressed with gzip. It is lenient: the namespace does not matter, broken XML gives the entries
// that can be told, and of a cut document those before the cut. The result is not touched by later calls.
func (p *Parser) Sitemap(body []byte, contentType string) *Sitemap {
	p.reset("")
	out := &Sitemap{}
	body = gunzip(body, out)
	out.Type = Sniff(body, contentType)
	if out.Type == TypeGzip || len(body) == 0 {
		return out
	}
	name := bomCharset(body)
	if name == "" {
		name = xmlCharset(body[:min(len(body), prescanBytes)])
	}
	if name == "" {
		name = headerCharset(contentType)
	}
	if name != "" {
		body = p.decodeAs(body, name)
	}
	switch root := xmlRoot(body[:min(len(body), xmlRootBytes)]); {
	case root.IsSitemap():
		out.Type = root
		readXML(body, out)
	case out.Type == TypeText || out.Type == TypeUnknown:
		out.Type = TypeText
		readLines(body, out)
	}
	return out
}

// xmlRootBytes is how far the root element of a sitemap may be from its start.
const xmlRootBytes = 64 << 10

// gunzip returns body decompressed, once more if it was compressed twice, up to MaxSitemapBytes.
func gunzip(body []byte, out *Sitemap) []byte {
	for range 2 {
		if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
			break
		}
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			out.Truncated = "broken gzip"
			return nil
		}
		if body, err = io.ReadAll(io.LimitReader(r, MaxSitemapBytes+1)); err != nil {
			out.Truncated = "broken gzip" // what came before is used
		}
	}
	if len(body) > MaxSitemapBytes {
		out.Truncated = fmt.Sprintf("larger than %d MiB", MaxSitemapBytes>>20)
		body = body[:MaxSitemapBytes]
	}
	return body
}

// add appends an entry and reports whether there may be more.
func (s *Sitemap) add(e SitemapURL) bool {
	if len(s.Entries) == MaxSitemapURLs {
		s.Truncated = fmt.Sprintf("more than %d URLs", MaxSitemapURLs)
		return false
	}
	s.Entries = append(s.Entries, e)
	return true
}

// readLines reads a text sitemap. Lines that are not absolute http URLs are left out: what claims to be
// a sitemap may be any text.
func readLines(body []byte, out *Sitemap) {
	for line := range bytes.Lines(skipBOM(body)) {
		line = trimSpace(line)
		if len(line) > maxLoc || !isHTTP(line) {
			continue
		}
		if !out.add(SitemapURL{Loc: string(appendClean(nil, line)), Priority: -1}) {
			return
		}
	}
}

// maxLoc bounds a location, in bytes; weburl refuses longer ones.
const maxLoc = 4096

func isHTTP(b []byte) bool {
	return len(b) > 7 && equalFold(b[:7], "http://") || len(b) > 8 && equalFold(b[:8], "https://")
}

// entry collects the text of one entry.
type entry struct {
	loc, guid, date, freq, priority, text string
	links                                 []string // of an Atom entry
}

// add turns the entry into URLs and reports whether there may be more.
func (e *entry) add(out *Sitemap, index bool) bool {
	locs := e.links
	switch {
	case e.loc != "":
		locs = append(locs, e.loc)
	case len(locs) > 0:
	case isHTTP([]byte(e.guid)):
		locs = append(locs, e.guid)
	case isHTTP([]byte(e.text)):
		locs = append(locs, e.text)
	}
	for _, loc := range locs {
		u := SitemapURL{Loc: loc, LastModified: parseDate(e.date), ChangeFreq: changeFreq(e.freq), Priority: priority(e.priority), IsIndex: index}
		if !out.add(u) {
			return false
		}
	}
	return true
}

func changeFreq(s string) string {
	switch s = strings.ToLower(s); s {
	case "always", "hourly", "daily", "weekly", "monthly", "yearly", "never":
		return s
	}
	return ""
}

func priority(s string) float32 {
	f, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 32)
	if err != nil || !(f >= 0 && f <= 1) {
		return -1
	}
	return float32(f)
}

// dateLayouts are the W3C date forms of sitemaps and Atom, and those of RFC 822 in RSS with and without
// day of week, century and zone. Without a zone it is UTC.
var dateLayouts = [...]string{
	time.RFC3339Nano, "2006-01-02", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01", "2006",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05-07",
	"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05", "2 Jan 06 15:04:05 -0700", "2 Jan 06 15:04:05 MST",
	"2 Jan 06 15:04:05", "2 Jan 2006 15:04 -0700", "2 Jan 2006 15:04 MST", "2 Jan 2006",
}

// parseDate returns the time s means in UTC, or zero.
func parseDate(s string) time.Time {
	if s = strings.TrimSpace(s); len(s) > len("Wednesday, 02 January 2006 15:04:05.999999999 +0000") {
		return time.Time{}
	}
	if day, rest, ok := strings.Cut(s, ","); ok && len(day) <= len("Wednesday") {
		s = strings.TrimSpace(rest)
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}
