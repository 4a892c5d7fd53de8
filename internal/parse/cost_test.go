package parse

import (
	"strings"
	"testing"
)

// hostileInput is a unit to repeat, and what comes before and after.
type hostileInput struct{ name, before, unit, after string }

func (h hostileInput) body(size int) []byte {
	return []byte(h.before + strings.Repeat(h.unit, size/len(h.unit)) + h.after)
}

// maxCost bounds the bytes examined per byte of input. Two passes over a style sheet and one over its
// references make the most.
const maxCost = 6

// hostile are shapes of input that make careless scanners quadratic, each repeated to a size.
var hostile = []hostileInput{
	{"one line", "", "lorem ipsum ", ""},
	{"open tags", "", "<", ""},
	{"open names", "", "<a", ""},
	{"unclosed tags", "", "<a ", ""},
	{"nesting", "", "<div>", ""},
	{"end tags", "", "</div>", ""},
	{"unclosed comments", "", "<!--", ""},
	{"comment of ends", "<!--", "->", ""},
	{"comment of tag ends", "<!--", ">", ""},
	{"dashes", "<!--", "-", ""},
	{"unclosed scripts", "", "<script>", ""},
	{"escaped scripts", "<script>", "<!--<script></script>", ""},
	{"script ends", "<script><!--", "</scripX", ""},
	{"unclosed styles", "", "<style>", ""},
	{"unclosed titles", "", "<title>", ""},
	{"unclosed textareas", "<textarea>", "</textare", ""},
	{"processing instructions", "", "<?", ""},
	{"declarations", "", "<!x", ""},
	{"doctypes", "", "<!doctype ", ""},
	{"CDATA", "<svg>", "<![CDATA[", ""},
	{"svg", "", "<svg><desc>", ""},
	{"broken out", "", "<svg><p>", ""},
	{"attributes", "<a ", "x=y ", ">"},
	{"equal attributes", "<a ", "href=y ", ">"},
	{"equals signs", "<a ", "=", ">"},
	{"slashes", "<a ", "/", ">"},
	{"spaces in a tag", "<a ", " ", "href=x>"},
	{"one value", "<a href='", "x", "'>"},
	{"unclosed value", "<a href='", "x <b>", ""},
	{"quotes", "", "<a href='\"", ""},
	{"ampersands", "", "&", ""},
	{"references", "", "&notit;", ""},
	{"long reference", "&", "a", ";"},
	{"long number", "&#", "0", "65;"},
	{"references in a value", "<a href='", "&amp", "'>"},
	{"links", "", "<a href=x>y", ""},
	{"images in a link", "<a href=x>", "<img alt=x>", ""},
	{"candidates", "<img srcset='", "a,", "'>"},
	{"parentheses", "<img srcset='", "a (", "'>"},
	{"frames", "", "<iframe srcdoc='<a href=x>'>", ""},
	{"frames in frames", "", "<iframe srcdoc=\"<iframe srcdoc='", ""},
	{"css", "<style>", "url(", ""},
	{"css quotes", "<style>", "url('url(\"", ""},
	{"css imports", "<style>", "@import '", ""},
	{"css spaces", "<style>", "url( @import ", ""},
	{"css attributes", "", "<p style='url(x)'>", ""},
	{"robots", "", "<meta name=robots content=noindex>", ""},
	{"refresh", "", "<meta http-equiv=refresh content='1;url=x'>", ""},
	{"bold", "", "<b>x", ""},
	{"alternating", "", "a<b>b</b>", ""},
	{"noscript", "", "<noscript>", ""},
	{"NUL", "", "\x00", ""},
	{"invalid UTF-8", "", "\xff", ""},
	{"wide spaces", "", "\u00a0\u3000", ""},
}

// TestCostIsLinear counts the bytes examined for hostile input of two sizes.
func TestCostIsLinear(t *testing.T) {
	p := NewParser(Options{Text: true})
	for _, h := range hostile {
		for _, size := range []int{1 << 14, 1 << 19} {
			body := h.body(size)
			page := p.HTML(body, "text/html; charset=utf-8", "decorum")
			if p.s.examined > maxCost*len(body)+100 {
				t.Errorf("%s: %d bytes examined of %d", h.name, p.s.examined, len(body))
			}
			if kept := len(p.arena) + len(p.text.b) + len(p.title.b); kept > 3*len(body)+100 {
				t.Errorf("%s: %d bytes kept of %d", h.name, kept, len(body))
			}
			if len(page.Links) > p.opts.MaxLinks {
				t.Errorf("%s: %d links", h.name, len(page.Links))
			}
		}
	}
}

// TestLimits checks what is kept of large pages, and that the rest is counted.
func TestLimits(t *testing.T) {
	p := NewParser(Options{Text: true})
	million := p.HTML([]byte(strings.Repeat("<a href=x>y", 1_000_000)), "", "")
	if len(million.Links) != 10000 || million.LinksDropped != 990_000 || million.Links[9999].Position != 9999 {
		t.Errorf("%d links, %d dropped", len(million.Links), million.LinksDropped)
	}
	long := strings.Repeat("x", 1<<20)
	page := p.HTML([]byte("<title>"+long+"</title><a href=/"+long+">dropped</a><a href=/kept>"+long+"</a>"+long+" "+long), "", "")
	if len(page.Links) != 2 || page.LinksDropped != 0 || len(page.Links[0].Ref) != 4097 || page.Links[1].Ref != "/kept" || len(page.Links[1].Anchor) != 120 {
		t.Errorf("%d links, %d dropped", len(page.Links), page.LinksDropped)
	}
	if len(page.Title) != 1024 || len(p.text.b) != 1<<20 {
		t.Errorf("title of %d bytes, text of %d", len(page.Title), len(p.text.b))
	}
	cut := NewParser(Options{MaxAnchor: 5}).HTML([]byte("<a href=x>ab\u00e9\u00e9\u00e9"), "text/html; charset=utf-8", "")
	if got := cut.Links[0].Anchor; got != "ab\u00e9" {
		t.Errorf("anchor cut to %q", got)
	}
}

// TestBuffersAreNotKept checks that one huge page does not stay in memory.
func TestBuffersAreNotKept(t *testing.T) {
	p := NewParser(Options{Text: true})
	p.HTML([]byte(strings.Repeat("<a href=/a/long/path/to/somewhere>text ", 1<<17)), "", "")
	p.HTML([]byte("<a href=x>y"), "", "")
	if n := cap(p.arena) + cap(p.text.b) + 128*cap(p.links) + 32*cap(p.refs) + cap(p.decoded); n > 4*keepBuffer {
		t.Errorf("%d bytes kept", n)
	}
}

// TestStringsMayBeKept scans another page and looks at the strings of the first.
func TestStringsMayBeKept(t *testing.T) {
	p := NewParser(Options{Text: true})
	page := p.HTML([]byte("<title>one</title><base href=/one/><a href=1>first</a>"), "", "")
	link, title, base, text := page.Links[0], page.Title, page.Base, page.Text[0].Text
	p.HTML([]byte("<title>two</title><base href=/two/><a href=2>second</a>"), "", "")
	if link.Ref != "1" || link.Anchor != "first" || title != "one" || base != "/one/" || text != "one\n" {
		t.Errorf("%+v %q %q %q", link, title, base, text)
	}
}

// TestLongReferences checks that one byte more than a URL can have is kept of a longer reference, so that it resolves to nothing
// else: not to what white space at the cut or half a character would leave.
func TestLongReferences(t *testing.T) {
	p := NewParser(Options{MaxURL: 10})
	for ref, want := range map[string]string{
		"/123456789":                "/123456789",
		"/1234567890":               "/1234567890",
		"/12345678901":              "/1234567890",
		"/123456789#fragment":       "/123456789#",
		"/a         b":              "/a        x",
		"/12345678\u00e9x":          "/12345678xx",
		"/123456789\u00e9":          "/123456789x",
		"/12345678\u20acx":          "/12345678xx",
		"/\u20ac\u20ac\u20ac\u20ac": "/\u20ac\u20ac\u20acx",
	} {
		page := p.HTML([]byte("<a href='"+ref+"'>x</a>"), "text/html; charset=utf-8", "")
		if len(page.Links) != 1 || page.Links[0].Ref != want {
			t.Errorf("%q: %+v, want %q", ref, page.Links, want)
		}
	}
}
