package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"decorum/internal/crawler"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// lostPage is a page that will be fetched again.
type lostPage struct {
	fp    weburl.Fingerprint
	state crawler.PageState
	why   string
	line  jobdir.PageRecord // what is left of its page record
	kind  frontier.Kind
}

func (m *mending) lose(fp weburl.Fingerprint, s *crawler.PageState, format string, args ...any) *lostPage {
	p := m.lost[s.URL]
	if p == nil {
		p = &lostPage{fp: fp, state: *s, why: fmt.Sprintf(format, args...)}
		m.lost[s.URL] = p
	}
	return p
}

// pages finds the pages that are lost and drops their lines. It goes through the state up to three times rather than keep all
// URLs in memory.
func (m *mending) pages() error {
	unmatched := map[xxh3.Uint128]struct{}{} // pages that no line was found for
	err := m.eachPage(func(fp weburl.Fingerprint, s *crawler.PageState) {
		unmatched[m.stateHash(s)] = struct{}{}
		if s.File == "" {
			return
		}
		if _, err := m.places.find(s.File, s.Offset, s.Length, s.URL); err != nil {
			m.lose(fp, s, "its record in the archive is lost: %v", err)
		}
	})
	if err != nil {
		return err
	}
	bad, err := m.badPageLines(unmatched)
	if err != nil {
		return err
	}
	if len(unmatched) > 0 {
		err = m.eachPage(func(fp weburl.Fingerprint, s *crawler.PageState) {
			if _, ok := unmatched[m.stateHash(s)]; ok {
				m.lose(fp, s, "its line in pages.jsonl is lost").line = bad.left[s.URL]
			}
		})
	}
	if err == nil && len(m.lost) > 0 {
		err = m.shared()
	}
	if err != nil {
		return err
	}
	return m.dropPages(bad)
}

// shared loses the pages whose record is a revisit of one that is lost. An original is no revisit itself.
func (m *mending) shared() error {
	return m.eachPage(func(fp weburl.Fingerprint, s *crawler.PageState) {
		if s.DupOf == "" || m.lost[s.DupOf] == nil || s.File == "" {
			return
		}
		if at, err := m.places.find(s.File, s.Offset, s.Length, s.URL); err == nil && at.revisit {
			m.lose(fp, s, "its body was that of %s, which is lost", s.DupOf)
		}
	})
}

// eachPage visits the state of each page, that is of each URL that must have a page record.
func (m *mending) eachPage(visit func(weburl.Fingerprint, *crawler.PageState)) error {
	return crawler.ScanPageStates(m.f.db, m.f.facts.Partitions, func(fp weburl.Fingerprint, s crawler.PageState) bool {
		if class := s.Outcome.Class(); class == outcome.ClassVisited || class == outcome.ClassFailed {
			visit(fp, &s)
		}
		return true
	})
}

func (m *mending) stateHash(s *crawler.PageState) xxh3.Uint128 {
	return pageHash(m.places.seed, s.URL, s.Outcome, s.Status, s.File, s.Offset, s.Length)
}

// badLines are the lines of pages.jsonl that are of no page as the state knows it.
type badLines struct {
	numbers map[int]bool
	left    map[string]jobdir.PageRecord // what can be made out of them, by URL
}

// badPageLines strikes off the pages that have a line, and returns the lines that have no page.
func (m *mending) badPageLines(unmatched map[xxh3.Uint128]struct{}) (badLines, error) {
	bad := badLines{map[int]bool{}, map[string]jobdir.PageRecord{}}
	err := m.eachLine(jobdir.PagesName, func(l line) {
		if l.number == 1 && isPagesHeader(l.text) {
			return
		}
		var p jobdir.PageRecord
		if json.Unmarshal(l.text, &p) == nil && p.Type == "page" {
			o, _ := outcome.Parse(p.Outcome)
			h := pageHash(m.places.seed, p.URL, o, p.Status, p.WARC.File, p.WARC.Offset, p.WARC.Length)
			if _, ok := unmatched[h]; ok && m.recordOf(&p) {
				delete(unmatched, h)
				return
			}
		} else {
			p = scrape(l.text)
		}
		bad.numbers[l.number], bad.left[p.URL] = true, p
	})
	return bad, err
}

// recordOf reports whether the record that a page names is where it says. One that is lost is found by its state.
func (m *mending) recordOf(p *jobdir.PageRecord) bool {
	if p.WARC.File == "" {
		return true
	}
	at, err := m.places.find(p.WARC.File, p.WARC.Offset, p.WARC.Length, p.URL)
	return err != nil || at.id == m.places.hash(p.WARC.RecordID)
}

func isPagesHeader(text []byte) bool {
	return bytes.Contains(text, []byte(`"format":"json-pages-1.0"`))
}

// dropPages rewrites pages.jsonl without the lines of lost pages, and without those that are of no page.
func (m *mending) dropPages(bad badLines) error {
	header := []byte(jobdir.StreamHeader(jobdir.PagesName))
	headed := false
	return m.rewrite(jobdir.PagesName, func(l line, out *rewriter) {
		if !headed {
			headed = true
			if l.number == 1 && isPagesHeader(l.text) {
				out.keep(l)
				return
			}
			out.add(header)
		}
		var p jobdir.PageRecord
		if bad.numbers[l.number] || json.Unmarshal(l.text, &p) != nil {
			out.drop(l, "damaged, or of no page that the state knows")
			return
		}
		if lost := m.lost[p.URL]; lost != nil {
			lost.line = p
			out.drop(l, "of pages that are lost")
			return
		}
		m.pageEnd++
		out.keep(l)
	}, func(out *rewriter) {
		if !headed {
			out.add(header)
		}
	})
}

// others drops damaged lines of skipped URLs and links, and the links of pages that are lost.
func (m *mending) others() error {
	err := m.rewrite(jobdir.SkippedName, func(l line, out *rewriter) {
		var r jobdir.SkipRecord
		out.keepIf(l, json.Unmarshal(l.text, &r) == nil && (r.Type == "skip" || r.Type == "skip_count"), "damaged")
	}, nil)
	if err != nil {
		return err
	}
	return m.rewrite(jobdir.LinksName, func(l line, out *rewriter) {
		var r jobdir.LinkRecord
		whole := json.Unmarshal(l.text, &r) == nil && r.Type == "link"
		if whole && m.lost[r.Source] != nil {
			out.drop(l, "of pages that are lost")
			return
		}
		out.keepIf(l, whole, "damaged")
	}, nil)
}

// summary corrects the numbers of summary.json, or removes one that cannot be read: the next run writes it.
func (m *mending) summary() error {
	s, ok, err := m.f.ReadSummary()
	switch {
	case err != nil:
		m.step(step{Do: doKeep, Name: jobdir.SummaryName})
		m.act(jobdir.SummaryName, jobdir.Int{}, 0, "cannot be read; moved aside, the next run writes it")
		return nil
	case !ok || !m.f.clean:
		return nil
	}
	was := fmt.Sprint(s)
	s.Pages, s.Fetches = m.pageEnd, m.f.progress.Seq
	if n := len(m.lost); n > 0 {
		s.QueuedLeft += int64(n)
		s.EndReason, s.EndDetail, s.Resume = jobdir.EndInterrupted, count(n, "page")+" lost and queued again by a repair", m.o.Resume
		for _, p := range m.lost {
			if o := p.state.Outcome.String(); s.Outcomes[o] > 0 {
				s.Outcomes[o]--
			}
		}
	}
	if was != fmt.Sprint(s) || len(m.lost) > 0 {
		m.step(step{Do: doSummary, Name: jobdir.SummaryName, Sum: &s})
		m.act(jobdir.SummaryName, jobdir.Int{}, 0, "corrected: %s, %s", count(s.Pages, "page"), count(s.Fetches, "exchange"))
	}
	return nil
}

// requeue queues the lost pages again.
func (m *mending) requeue() error {
	urls := make([]string, 0, len(m.lost))
	for url := range m.lost {
		urls = append(urls, url)
	}
	slices.Sort(urls)
	for _, url := range urls {
		p := m.lost[url]
		it, err := m.item(p)
		if err != nil {
			return err
		}
		m.again = append(m.again, crawler.Again{Item: it, Outcome: p.state.Outcome, Body: p.line.BytesBody.Or(0)})
		if len(m.rep.Pages) < MaxFindings {
			m.rep.Pages = append(m.rep.Pages, LostPage{Clean(url), Clean(p.why)})
		}
	}
	m.rep.Again = int64(len(urls))
	return nil
}

// item is a lost page as it waited before it was fetched, as far as that is known.
func (m *mending) item(p *lostPage) (frontier.Item, error) {
	u, err := weburl.Reparse(p.state.URL)
	if err != nil {
		return frontier.Item{}, fmt.Errorf("state: page %x: %w", p.fp, err)
	}
	l := &p.line
	if l.URL == "" {
		m.fromMetadata(p)
	}
	it := frontier.Item{URL: u, FP: p.fp, Kind: p.kind, Depth: uint16(min(max(l.Depth, 0), 1<<16-1)), Hops: l.Hops, Parent: l.Parent, Anchor: l.Anchor,
		Level: uint8(min(max(l.Level, 0), 255))}
	steps := strings.TrimRight(l.Hops, "R")
	it.Embed = strings.HasSuffix(steps, "E")
	it.Redirects = uint8(min(len(l.Hops)-len(steps), 255))
	it.Seed = uint32(max(slices.Index(m.f.facts.Seeds, l.Seed), 0))
	return it, nil
}

// fromMetadata reads from the archive how a page was found whose line is lost: the metadata record follows the response.
func (m *mending) fromMetadata(p *lostPage) {
	if p.state.File == "" {
		return
	}
	f, err := os.Open(m.f.Path(jobdir.ArchiveName + "/" + p.state.File))
	if err != nil {
		return
	}
	defer f.Close()
	from := p.state.Offset + p.state.Length
	r := warc.NewReader(io.NewSectionReader(f, from, 1<<62-from))
	for range 2 { // request, metadata
		e, err := r.Next()
		if err != nil || e.TargetURI() != p.state.URL {
			return
		}
		if e.Type() != warc.Metadata {
			continue
		}
		block, _ := io.ReadAll(io.LimitReader(e.Block, maxInfo))
		for text := range strings.Lines(string(block)) {
			name, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
			switch name {
			case "via":
				p.line.Parent = value
			case "hopsFromSeed":
				p.line.Hops = value
			}
		}
		p.line.Depth = len(p.line.Hops) - strings.Count(p.line.Hops, "R") - strings.Count(p.line.Hops, "E")
	}
}

// scrape makes out what it can of a damaged page line.
func scrape(text []byte) (p jobdir.PageRecord) {
	for name, to := range map[string]any{"url": &p.URL, "parent": &p.Parent, "anchor": &p.Anchor, "hops": &p.Hops, "seed": &p.Seed, "depth": &p.Depth, "level": &p.Level} {
		if _, value, ok := bytes.Cut(text, []byte(`"`+name+`":`)); ok {
			_ = json.NewDecoder(bytes.NewReader(value)).Decode(to) // what cannot be read is not known
		}
	}
	return p
}
