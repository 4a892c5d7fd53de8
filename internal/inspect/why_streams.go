package inspect

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/robots"
)

// maxChain bounds the pages between a seed and a URL that are looked up; a report shows the last of them.
const maxChain = 1000

// skipsListed is how many URLs of one host and reason skipped.jsonl lists in full in one run (jobdir.SkipOptions).
const skipsListed = 100

// fromStreams answers without the state.
func (w *reasoner) fromStreams() error {
	found, err := w.fromPages()
	if found || err != nil {
		return err
	}
	if found, err := w.fromSkipped(); found || err != nil {
		return err
	}
	w.rep.Verdict, w.rep.Text = WhyUnknown, "neither fetched nor listed as skipped so far; whether it is queued will be known when the crawl stops"
	return nil
}

// fromPages looks for a page record.
func (w *reasoner) fromPages() (bool, error) {
	p, _, err := w.pageRecords(w.u.String(), 1)
	if err != nil || len(p) == 0 {
		return false, err
	}
	o, _ := outcome.Parse(p[0].Outcome)
	r := &w.rep
	r.Outcome, r.Text, r.Status, r.DupOf, r.Verdict = p[0].Outcome, o.Text(), p[0].Status, p[0].DupOf, WhyFetched
	if o.Class() == outcome.ClassFailed {
		r.Verdict = WhyFailed
	}
	at := p[0].TS
	r.Time = &at
	if place := p[0].WARC; place.File != "" {
		r.WARC = &place
	}
	return true, w.chain(w.u.String())
}

// skipRecord returns the first line of skipped.jsonl about a URL, or nil, and notes what it says of others.
func (w *reasoner) skipRecord(url string) (*jobdir.SkipRecord, error) {
	s, err := w.f.open(jobdir.SkippedName)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var first *jobdir.SkipRecord
	others := 0
	host := []byte(`"host":"` + w.u.Host() + `"`)
	for lines := newLineReader(s); ; {
		l, err := lines.read()
		if err == io.EOF || l.torn {
			break
		}
		if err != nil {
			return nil, err
		}
		var r jobdir.SkipRecord
		if !bytes.Contains(l.text, host) || json.Unmarshal(l.text, &r) != nil {
			continue
		}
		o, _ := outcome.Parse(r.Reason)
		w.listed[o]++
		switch {
		case r.URL != url:
		case first == nil:
			first = &r
		default:
			others++
		}
	}
	if first != nil {
		w.rep.Depth = first.Depth
		w.rep.Chain = []ChainStep{{URL: first.Parent}, {URL: url, How: "link"}}
	}
	if others > 0 {
		w.note("it was dropped on %s as well", count(others, "other occasion"))
	}
	return first, nil
}

// chain finds the way from a seed to a URL, going by the page records, the last first.
func (w *reasoner) chain(url string) error {
	from := url
	var tail []ChainStep
	if known := w.rep.Chain; len(known) == 2 { // of a URL without a page record
		from, tail = known[0].URL, known[1:]
	}
	w.rep.Chain = nil
	if from == "" {
		w.rep.Chain = tail
		return nil
	}
	pages, whole, err := w.pageRecords(from, maxChain)
	if err != nil {
		return err
	}
	if n := len(pages); n > 0 && !whole && isRobots(pages[n-1].Parent) {
		w.rep.Chain, whole = []ChainStep{{URL: pages[n-1].Parent, How: "robots"}}, true
	}
	for _, p := range slices.Backward(pages) {
		w.rep.Chain = append(w.rep.Chain, ChainStep{URL: p.URL, Anchor: p.Anchor, How: how(p.Hops, p.Parent)})
	}
	if len(pages) == 0 && len(tail) > 0 {
		step := ChainStep{URL: from, How: "link"}
		if whole = isRobots(from); whole {
			step.How = "robots"
		}
		w.rep.Chain = []ChainStep{step}
	}
	w.rep.Cut = !whole && len(w.rep.Chain) > 0
	if len(pages) > 0 && len(tail) == 0 {
		own := pages[0]
		w.rep.Depth, w.rep.Attempt, w.rep.Level = own.Depth, own.Attempt, own.Level
		if w.rep.WARC != nil {
			w.rep.WARC.RecordID = own.WARC.RecordID
		}
	}
	w.rep.Chain = append(w.rep.Chain, tail...)
	return nil
}

// isRobots tells the URL of a robots.txt, which has no page record: sitemaps are found there.
func isRobots(url string) bool { return strings.HasSuffix(url, robots.Path) }

// chainOf is chain for a URL that is queued.
func (w *reasoner) chainOf(it *frontier.Item) error {
	w.rep.Chain = []ChainStep{{URL: it.Parent}, {URL: it.URL.String(), Anchor: it.Anchor, How: how(strings.ToUpper(it.Hops), it.Parent)}}
	return w.chain(it.URL.String())
}

// how names the last step of a path from a seed.
func how(hops, parent string) string {
	if parent == "" {
		return "seed"
	}
	switch {
	case strings.HasSuffix(hops, "R"):
		return "redirect"
	case strings.HasSuffix(hops, "E"):
		return "embed"
	case strings.HasSuffix(hops, "S"):
		return "sitemap"
	}
	return "link"
}

// pageRecords returns the page record of a URL, that of its parent, and so on, at most limit of them; whole
// says that the last one has no parent. A page is on record before the pages found on it, so one reading from the
// end suffices.
func (w *reasoner) pageRecords(url string, limit int) (found []jobdir.PageRecord, whole bool, err error) {
	s, err := w.f.open(jobdir.PagesName)
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	needle := jsonString(url)
	err = linesBackward(s, s.Size(), func(text []byte) bool {
		var p jobdir.PageRecord
		if !bytes.Contains(text, needle) || json.Unmarshal(text, &p) != nil || p.URL != url {
			return true
		}
		found = append(found, p)
		url, needle = p.Parent, jsonString(p.Parent)
		whole = url == ""
		return !whole && len(found) < limit
	})
	return found, whole, err
}

// jsonString is how a URL, which is printable ASCII, stands in a record as the value of url.
func jsonString(url string) []byte {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(url)
	return []byte(`"url":"` + quoted + `"`)
}
