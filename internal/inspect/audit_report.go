package inspect

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// finish closes the books: what is left over, and the tables.
func (a *auditor) finish() {
	a.at = 0
	a.leftovers()
	if !a.rep.InUse {
		a.whole()
	} else if len(a.tail) > 0 {
		a.note("%s at the end of the record could not be compared with files that are being written", count(len(a.tail), "exchange"))
	}
	rep := &a.rep
	rep.Hosts = len(a.hosts)
	for _, h := range a.hosts {
		rep.Rows = append(rep.Rows, h.row)
	}
	slices.SortFunc(rep.Rows, func(x, y HostRow) int {
		const far = 1 << 62 // a single contact is no gap
		return cmp.Or(cmp.Compare(y.Breaches, x.Breaches), cmp.Compare(x.Margin.Or(far), y.Margin.Or(far)), cmp.Compare(x.Host, y.Host))
	})
	rep.Rows = rep.Rows[:min(len(rep.Rows), MaxAuditRows)]
	for _, host := range slices.Sorted(maps.Keys(a.exempt)) {
		rep.Ignored = append(rep.Ignored, IgnoredHost{host, a.exempt[host]})
	}
	if len(a.archive.files) == 0 && rep.Contacts > 0 {
		a.note("there is no archive, so what robots.txt said cannot be read again")
	}
	if rep.InUse {
		a.note("%v: audited is what is on disk", a.f.inUse)
	}
	if n := len(a.parted); n > 0 {
		a.note("of %s a repair found archive or page record damaged: they were audited without", count(n, "exchange"))
	}
	if n := len(a.lost); n > 0 {
		a.note("of %s a repair left the number alone: they could not be audited, and %s may have gone by a robots.txt that was among them",
			count(n, "exchange"), count(a.blind, "other"))
	}
	rep.Polite = len(rep.Broken) == 0
}

// leftovers compares totals with the state, and finds archive records that nobody has heard of.
func (a *auditor) leftovers() {
	if a.f.committed() && a.seq != a.f.progress.Seq {
		a.breach(BreachState, nil, "the state counts %s, the record ends with number %d", count(a.f.progress.Seq, "exchange"), a.seq)
	}
	if left := len(a.archive.entries); left > len(a.lost)+len(a.parted) && !a.rep.InUse {
		a.breach(BreachArchive, nil, "the archive holds %s that fetches.jsonl does not know", count(left, "exchange"))
	}
}

// kindTexts say for each kind of breach what it means, worst first.
var kindTexts = []struct{ kind, text string }{
	{BreachOverlap, "two contacts at once"},
	{BreachGap, "less rest than promised"},
	{BreachCrawlDelay, "Crawl-delay not honoured"},
	{BreachDisallowed, "fetched though robots.txt forbids it"},
	{BreachRobots, "no valid robots.txt in force"},
	{BreachRepeated, "URL fetched twice"},
	{BreachSequence, "exchanges missing from the record"},
	{BreachRecord, "record damaged or altered"},
	{BreachArchive, "record and archive differ"},
	{BreachPages, "fetches.jsonl and pages.jsonl differ"},
	{BreachState, "record and state differ"},
}

// Verdict is the report in a few words: "polite", or what was broken.
func (r *AuditReport) Verdict() string {
	if r.Polite {
		return "polite"
	}
	var parts []string
	for _, k := range kindTexts {
		if n := r.Broken[k.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", k.text, thousands(n)))
		}
	}
	return "NOT polite: " + strings.Join(parts, ", ")
}

// Limits of the text form; the JSON form has more.
const (
	textRows     = 20
	textBreaches = 20
)

// WriteJSON writes the report as JSON.
func (r *AuditReport) WriteJSON(w io.Writer) error { return writeJSON(w, "audit", r) }

// WriteText writes the report for a person.
func (r *AuditReport) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s: %s", Clean(r.Dir), r.Verdict())
	if r.Contacts == 0 {
		p.line("  no contact with any host is on record")
		return p.err
	}
	p.line("  %s with %s in %s, %s to %s", count(r.Contacts, "contact"), count(r.Hosts, "host"), count(r.Runs, "run"),
		timeText(r.First), timeText(r.Last))
	p.line("  %s, %s, %d robots.txt (%s); %s held against the robots.txt in force", count(r.Pages, "page"), count(r.Sitemaps, "sitemap"),
		r.Robots, count(r.Versions, "version"), count(r.Checked, "URL"))
	for _, h := range r.Ignored {
		p.line("  robots.txt of %s was ignored, as the archive says: %s", Clean(h.Host), count(h.Fetches, "fetch"))
	}
	for _, n := range r.Notes {
		p.line("  note: %s", n)
	}
	r.writeRows(p)
	for i, b := range r.Breaches {
		if i == textBreaches {
			break
		}
		p.line("%s", b.String())
	}
	if all := r.total(); all > int64(min(len(r.Breaches), textBreaches)) {
		p.line("… and %s more (--json lists up to %s)", thousands(all-int64(min(len(r.Breaches), textBreaches))), thousands(MaxBreaches))
	}
	return p.err
}

func (r *AuditReport) total() (n int64) {
	for _, k := range r.Broken {
		n += k
	}
	return n
}

func (r *AuditReport) writeRows(p *printer) {
	p.line("  %-40s %9s %12s %14s %12s %9s", "host", "contacts", "least gap", "promised then", "least margin", "breaches")
	for i, h := range r.Rows {
		if i == textRows {
			p.line("  … and %s with a wider margin", count(r.Hosts-textRows, "host"))
			return
		}
		gap, promised, margin := "-", "-", "-"
		if n, ok := h.Gap.Get(); ok {
			gap, promised, margin = millis(n), millis(h.Promised.Or(0)), millis(h.Margin.Or(0))
		}
		p.line("  %-40s %9s %12s %14s %12s %9s", clip(Clean(h.Host), 40), thousands(h.Contacts), gap, promised, margin, thousands(h.Breaches))
	}
}

// String is the breach on one line.
func (b Breach) String() string {
	where := "breach"
	if b.Line > 0 {
		where = fmt.Sprintf("fetches.jsonl line %d", b.Line)
	}
	if b.URL != "" {
		where += " " + b.URL
	}
	return Clean(fmt.Sprintf("%s: %s: %s", where, b.Kind, b.Text))
}
