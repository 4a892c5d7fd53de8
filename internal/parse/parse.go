package parse

import (
	"fmt"
	"time"
)

// Options bound what a Parser keeps of one page. Zero means default.
type Options struct {
	MaxLinks  int  // links kept per page; default 10000; more are counted in LinksDropped
	MaxURL    int  // bytes of one reference; default 4096, the limit of weburl; longer ones are cut behind MaxURL+1, which is none
	MaxAnchor int  // bytes of anchor text kept per link; default 120
	MaxTitle  int  // bytes of title kept; default 1024
	MaxText   int  // bytes of text kept per page; default 1 MiB
	Text      bool // collect Page.Text and count Page.Words; default false
}

// EnsureDefaults replaces zero fields by their defaults.
func (o *Options) EnsureDefaults() {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&o.MaxLinks, 10000)
	set(&o.MaxURL, 4096)
	set(&o.MaxAnchor, 120)
	set(&o.MaxTitle, 1024)
	set(&o.MaxText, 1<<20)
}

// Validate reports the first field that makes no sense.
func (o *Options) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"MaxLinks", o.MaxLinks}, {"MaxURL", o.MaxURL}, {"MaxAnchor", o.MaxAnchor}, {"MaxTitle", o.MaxTitle}, {"MaxText", o.MaxText}} {
		if f.value < 0 {
			return fmt.Errorf("parse option %s: %d is negative", f.name, f.value)
		}
	}
	return nil
}

// Kind says what following a link means.
type Kind uint8

// The kinds of links.
const (
	Anchor       Kind = iota // navigation: a, area, and references by cite and longdesc
	LinkElement              // link element: stylesheet, icon, next, prev, alternate, ...
	Frame                    // iframe, frame: a document inside this one
	Embed                    // image, script, media, object: a part of this page
	Refresh                  // meta refresh
	Canonical                // link rel=canonical
	SitemapEntry             // a page named by a sitemap or feed
	SitemapIndex             // a sitemap named by a sitemap index
	Feed                     // link rel=alternate to an RSS or Atom feed
)

var kindNames = [...]string{"anchor", "link", "frame", "embed", "refresh", "canonical", "sitemap", "sitemapindex", "feed"}

// String returns a lower-case name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Rel is the set of link types that matter to a crawler; others are ignored.
type Rel uint16

// The link types.
const (
	RelNofollow Rel = 1 << iota
	RelUGC
	RelSponsored
	RelCanonical
	RelNext
	RelPrev
	RelAlternate
	RelStylesheet
	RelIcon
)

// Link is one reference found on a page or in a sitemap.
type Link struct {
	Ref      string // as found: character references decoded, UTF-8, white space around it removed; not resolved
	Kind     Kind
	Rel      Rel
	Tag      string // element the link came from: "a", "img", ..., "header"; a constant string
	Anchor   string // anchor text, white space collapsed, at most MaxAnchor bytes; alt text where that is all there is
	Position int    // ordinal of the link in document order, from 0; dropped links count too

	LastModified time.Time // sitemaps only; zero when unknown
	Priority     float32   // sitemaps only; 0 to 1, negative when not given; 0 for all other links
}

// Span is a piece of text under one tag. The concatenation of all spans of a page is its text: white
// space is collapsed to one space, blocks are separated by a newline. Where tags nest, the strongest
// counts: title, then heading, then bold, then link.
type Span struct {
	Tag  string // "", "title", "h1" to "h6", "b" (b and strong), "a"
	Text string
}

// Page is what a scan of an HTML document found.
type Page struct {
	Links         []Link
	LinksDropped  int    // links beyond MaxLinks
	Base          string // href of the first base element that has one, as found; resolve every Ref against it
	Canonical     string // href of the first link rel=canonical, as found
	Title         string
	Robots        Robots // union of meta robots and the meta element of the agent
	RobotsText    string // contents of those elements, joined by ", "
	Refresh       string // target of the first meta refresh that has one, as found
	Charset       string // canonical name in the Encoding Standard, lower case
	CharsetSource string // how it was found: "bom", "header", "meta", "utf-8" (valid), "detected", "default"
	Text          []Span // with Options.Text
	Words         int    // words in Text without the title; a CJK character counts as one; with Options.Text
	NeedsJS       bool   // looks like an empty shell that scripts would fill
	Lang          string // lang of the html element
}
