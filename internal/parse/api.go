package parse

import "time"

// Parser scans documents, reusing its buffers.
type Parser struct {
	opts Options
	page Page
}

// NewParser returns a parser; zero options mean defaults.
func NewParser(o Options) *Parser {
	o.EnsureDefaults()
	return &Parser{opts: o}
}

// HTML scans a page.
func (p *Parser) HTML(body []byte, contentType, agent string) *Page {
	p.page = Page{}
	return &p.page
}

// Robots is the set of what a page asks robots not to do.
type Robots uint8

// The requests of meta robots and X-Robots-Tag.
const (
	NoIndex Robots = 1 << iota
	NoFollow
	NoArchive
	None = NoIndex | NoFollow
)

// ParseRobotsHeader returns the union of X-Robots-Tag values that concern the agent.
func ParseRobotsHeader(values []string, agent string) Robots { return 0 }

// ParseLinkHeader returns the links of Link headers (RFC 8288).
func ParseLinkHeader(values []string) []Link { return nil }

// ParseRefresh returns the target of a Refresh header or meta refresh.
func ParseRefresh(value string) (ref string, ok bool) { return "", false }

// Sitemap is what was read from a sitemap, sitemap index, text sitemap, RSS or Atom feed.
type Sitemap struct {
	Type      Type
	Entries   []SitemapURL
	Truncated string // why entries are missing, or ""
}

// SitemapURL is an entry of a sitemap.
type SitemapURL struct {
	Loc          string
	LastModified time.Time // zero when unknown
	ChangeFreq   string    // lower case: always, hourly, daily, weekly, monthly, yearly, never, or ""
	Priority     float32   // 0 to 1, negative when not given
	IsIndex      bool      // Loc is another sitemap
}

// Links returns the entries as links.
func (s *Sitemap) Links() []Link { return nil }

// Sitemap reads a sitemap.
func (p *Parser) Sitemap(body []byte, contentType string) *Sitemap { return &Sitemap{} }

// Type is a kind of document.
type Type uint8

// The kinds of documents Sniff tells apart.
const (
	TypeUnknown Type = iota
	TypeHTML
	TypeXHTML
	TypeXML
	TypeSitemap
	TypeSitemapIndex
	TypeFeed
	TypeText
	TypeCSS
	TypeScript
	TypeJSON
	TypePDF
	TypeImage
	TypeMedia
	TypeFont
	TypeGzip
	TypeBinary
)

// Sniff says what body is.
func Sniff(body []byte, contentType string) Type { return TypeUnknown }
