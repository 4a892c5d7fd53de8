package inspect

import (
	"encoding/json"
	"io"

	"decorum/internal/jobdir"
	"decorum/internal/outcome"
)

// pageLine is what the audit and the check need of a page record.
type pageLine struct {
	jobdir.Head
	Seq     int64            `json:"seq"`
	URL     string           `json:"url"`
	Host    string           `json:"host"`
	Status  int              `json:"status"`
	Outcome string           `json:"outcome"`
	WARC    jobdir.WARCPlace `json:"warc"`
}

// pageCursor walks pages.jsonl beside fetches.jsonl: both are written in the order of commit, and a page has
// the number of its exchange.
type pageCursor struct {
	lines *lineReader
	page  pageLine
	at    int  // its line
	held  bool // page is not yet matched
	ended bool
}

// peek returns the next page record, or false at the end. Lines that cannot be read are passed over: check
// names them, and here the page is missing.
func (p *pageCursor) peek() (bool, error) {
	for !p.held && !p.ended {
		l, err := p.lines.read()
		if err == io.EOF || l.torn {
			p.ended = true
			return false, nil
		}
		if err != nil {
			return false, err
		}
		p.page = pageLine{}
		p.at = l.number
		p.held = json.Unmarshal(l.text, &p.page) == nil && p.page.Type == "page"
	}
	return p.held, nil
}

// page compares the record of an exchange with the page record that came of it.
func (a *auditor) page(r *jobdir.FetchRecord) error {
	if r.Lost != "" {
		return nil // what page record there was went with it
	}
	for {
		more, err := a.pages.peek()
		if err != nil {
			return err
		}
		p := &a.pages.page
		if !more || p.Seq > r.Seq {
			break
		}
		if p.Seq == r.Seq && p.URL == r.URL && r.Kind != jobdir.KindRobots {
			a.pages.held = false
			if p.Status != r.Status || p.Host != r.Host {
				a.breach(BreachPages, r, "its page record has host %q and status %d, not %q and %d", p.Host, p.Status, r.Host, r.Status)
			}
			return nil
		}
		if p.Seq == r.Seq && !a.contactless(p) {
			break // belongs to a record that is to come, or to none
		}
		a.skipPage(p)
	}
	if o, _ := outcome.Parse(r.Outcome); r.Kind != jobdir.KindRobots && o != outcome.None && o.Retry() == outcome.Never {
		a.breach(BreachPages, r, "pages.jsonl has no record of this page")
	}
	return nil
}

// contactless reports whether a page record needs no exchange: its host had no address.
func (a *auditor) contactless(p *pageLine) bool {
	o, ok := outcome.Parse(p.Outcome)
	return ok && (o == outcome.DNSFailure || o == outcome.DNSNotFound) && p.Status == 0
}

// skipPage passes over a page record that belongs to no exchange.
func (a *auditor) skipPage(p *pageLine) {
	a.pages.held = false
	if !a.contactless(p) && !a.lost[p.Seq] && !a.parted[p.Seq] {
		a.breach(BreachPages, &jobdir.FetchRecord{Seq: p.Seq, Host: p.Host, URL: p.URL},
			"line %d of pages.jsonl is of exchange %d, which is not on record", a.pages.at, p.Seq)
	}
}

// pagesEnd passes over the page records behind the last exchange.
func (a *auditor) pagesEnd() error {
	for {
		more, err := a.pages.peek()
		if err != nil || !more {
			return err
		}
		a.skipPage(&a.pages.page)
	}
}
