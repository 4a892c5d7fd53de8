package inspect

import (
	"fmt"
	"io"
	"time"
)

// chainShown is how many steps of a chain the text form shows; the JSON form has all.
const chainShown = 12

// anchorShown is how much of a link's text is shown.
const anchorShown = 60

// WriteJSON writes the report as JSON.
func (r *WhyReport) WriteJSON(w io.Writer) error { return writeJSON(w, "why", r) }

// verdictTexts are the verdicts in words.
var verdictTexts = map[string]string{WhyFetched: "fetched", WhyFailed: "tried in vain", WhyRefused: "not fetched", WhySkipped: "skipped",
	WhyLeased: "in hand", WhyReady: "queued", WhyWaiting: "queued", WhyFound: "found", WhyUnknown: "never found", WhyNoURL: "not a URL to crawl"}

// WriteText writes the report for a person.
func (r *WhyReport) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", Clean(r.URL))
	head := verdictTexts[r.Verdict]
	if r.Time != nil {
		head += " " + timeText(*r.Time)
	}
	if r.Status != 0 {
		head += fmt.Sprintf(", status %d", r.Status)
	}
	p.line("  %s: %s", head, Clean(r.Text))
	r.field(p, "decided by", r.Rule)
	r.field(p, "same page as", r.SameAs)
	r.field(p, "same body as", r.DupOf)
	if r.WARC != nil {
		p.line("  archive: %s offset %d, %s, record %s", Clean(r.WARC.File), r.WARC.Offset, count(r.WARC.Length, "byte"), r.WARC.RecordID)
	}
	if r.Attempt > 1 {
		p.line("  attempts: %d", r.Attempt)
	}
	if h := r.Host; h != nil {
		p.line("  host %s: %s", Clean(h.Key), h.text())
	}
	r.writeChain(p)
	for _, n := range r.Notes {
		p.line("  note: %s", Clean(n))
	}
	return p.err
}

func (r *WhyReport) field(p *printer, name, value string) {
	if value != "" {
		p.line("  %s: %s", name, Clean(value))
	}
}

func (h *WhyHost) text() string {
	s := fmt.Sprintf("%s, %s, %s in its queue", h.Phase, count(h.Pages, "page"), count(h.Queued, "URL"))
	if h.Due != nil {
		s += fmt.Sprintf(", rests until %s (%s, %v)", timeText(*h.Due), h.Reason, time.Duration(h.GapMS)*time.Millisecond)
	}
	return s
}

func (r *WhyReport) writeChain(p *printer) {
	steps := r.Chain
	if len(steps) == 0 {
		return
	}
	p.line("  found:")
	if r.Cut {
		p.line("    … from a page without a record")
	}
	for i, s := range steps {
		if hidden := len(steps) - chainShown; hidden > 0 && i > 0 && i <= hidden {
			if i == hidden {
				p.line("    … %s", count(hidden, "step"))
			}
			continue
		}
		text := fmt.Sprintf("    %-8s %s", s.How, Clean(s.URL))
		if s.Anchor != "" {
			text += fmt.Sprintf("  “%s”", Clean(clip(s.Anchor, anchorShown)))
		}
		p.line("%s", text)
	}
}
