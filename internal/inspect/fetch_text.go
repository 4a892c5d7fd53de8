package inspect

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"decorum/internal/outcome"
)

// WriteText writes the report for a person, with the text of the page if asked.
func (r *FetchReport) WriteText(w io.Writer, text bool) error {
	p := &printer{w: w}
	p.line("%s", Clean(r.URL))
	if r.Key != r.URL {
		r.row(p, "known as", r.Key)
	}
	r.row(p, "robots", r.Robots.text())
	for _, c := range r.Robots.Contacts {
		r.row(p, "", c.text())
	}
	if r.DNS != nil {
		r.row(p, "dns", r.DNS.text())
	}
	if r.RestedMS > 0 {
		r.row(p, "rested", fmt.Sprintf("%s (%s)", millis(r.RestedMS), r.RestReason))
	}
	r.row(p, "outcome", r.outcomeText())
	r.row(p, "redirects", r.Location)
	if r.Status != 0 {
		r.writeResponse(p)
	}
	r.writeLinks(p)
	if text && len(r.Text) > 0 {
		r.writeSpans(p)
	}
	return p.err
}

// row writes one fact, if there is one.
func (r *FetchReport) row(p *printer, name, value string) {
	if value != "" {
		p.line("  %-10s %s", name, Clean(value))
	}
}

func (s *RobotsReport) text() string {
	verdict := "disallowed"
	switch {
	case s.Version == "":
		return s.Reason
	case s.Allowed:
		verdict = "allowed"
	}
	by := "no rule matches"
	if s.Line > 0 {
		by = fmt.Sprintf("by %q, line %d", s.Rule, s.Line)
	}
	text := fmt.Sprintf("%s, %s · %s, version %s", verdict, by, s.Reason, s.Version)
	if s.CrawlDelayMS > 0 {
		text += " · Crawl-delay " + millis(s.CrawlDelayMS)
	}
	return text
}

func (c *RobotsContact) text() string {
	text := fmt.Sprintf("%s: %s", c.URL, c.Outcome)
	if c.Status != 0 {
		text = fmt.Sprintf("%s: status %d, %s", c.URL, c.Status, millis(c.TotalMS))
	}
	if c.Location != "" {
		text += ", redirects to " + c.Location
	}
	return text
}

func (d *DNSReport) text() string {
	text := strings.Join(d.Addrs, " ")
	if text == "" {
		text = d.Detail
	}
	if d.CNAME != "" {
		text += " (" + d.CNAME + ")"
	}
	return fmt.Sprintf("%s · %s", text, millis(d.MS))
}

func (r *FetchReport) outcomeText() string {
	o, _ := outcome.Parse(r.Outcome)
	text := r.Outcome + ": " + o.Text()
	if r.Status != 0 {
		text = fmt.Sprintf("%s · status %d, %s from %s", text, r.Status, r.Proto, cmp.Or(r.IP, "behind the proxy"))
	}
	if r.Detail != "" {
		text += " · " + r.Detail
	}
	return text
}

// writeResponse writes what is known of the response.
func (r *FetchReport) writeResponse(p *printer) {
	r.row(p, "tls", r.TLS)
	if t := r.Timing; t != nil {
		connect := "connect " + millis(t.Connect)
		if t.Reused {
			connect = "connection reused"
		} else if r.TLS != "" {
			connect += " · tls " + millis(t.TLS)
		}
		r.row(p, "timing", fmt.Sprintf("dns %s · %s · first byte %s · total %s", millis(t.DNS), connect, millis(t.TTFB), millis(t.Total)))
	}
	size := fmt.Sprintf("%s received, body %s", bytesText(r.BytesWire), bytesText(r.BytesBody))
	if r.Truncated != "" {
		size += " · cut: " + r.Truncated
	}
	r.row(p, "size", size)
	kind := r.Type
	if r.MIME != "" {
		kind += " (" + r.MIME + ")"
	}
	if r.Charset != "" {
		kind += fmt.Sprintf(", charset %s (%s)", r.Charset, r.CharsetSource)
	}
	r.row(p, "type", strings.TrimSpace(kind))
	r.row(p, "title", r.Title)
	r.row(p, "language", r.Lang)
	r.row(p, "canonical", r.Canonical)
	r.row(p, "asks", r.RobotsMeta)
	if r.NeedsJS {
		r.row(p, "script", "looks like an empty shell that scripts would fill")
	}
	if r.Digest != "" {
		r.row(p, "content", fmt.Sprintf("%s · %s", count(r.Words, "word"), r.Digest))
	}
	r.row(p, "simhash", r.SimHash)
	p.line("  headers")
	for _, h := range r.Headers {
		p.line("    %s: %s", Clean(h.Name), Clean(h.Value))
	}
}

func (r *FetchReport) writeLinks(p *printer) {
	if len(r.Links) == 0 {
		return
	}
	p.line("  %s", count(len(r.Links), "link"))
	for _, l := range r.Links {
		to := l.URL
		if to == "" {
			to = fmt.Sprintf("%s (%s)", l.Ref, l.Problem)
		}
		text := fmt.Sprintf("    %-10s %s", l.Tag, Clean(to))
		if l.Rel != "" {
			text += " [" + l.Rel + "]"
		}
		if l.Anchor != "" {
			text += fmt.Sprintf("  “%s”", Clean(clip(l.Anchor, anchorShown)))
		}
		p.line("%s", text)
	}
	if r.LinksDropped > 0 {
		p.line("    … %s beyond the limit of a page", count(r.LinksDropped, "link"))
	}
}

// writeSpans writes the text with its tags, a span on each line.
func (r *FetchReport) writeSpans(p *printer) {
	p.line("  text")
	for _, s := range r.Text {
		for line := range strings.SplitSeq(s.Text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				p.line("    %-6s %s", s.Tag, Clean(line))
			}
		}
	}
}
