package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
)

// fetches marks exchanges whose record or page is lost, and leaves the numbers of damaged lines.
func (m *mending) fetches() error {
	n := &numbering{m: m, next: 1, last: m.f.progress.Seq}
	return m.rewrite(jobdir.FetchesName, n.line, n.end)
}

// numbering walks fetches.jsonl by the numbers of its lines, one line ahead of what it decides on.
type numbering struct {
	m       *mending
	next    int64 // number that should follow
	last    int64 // of all
	dropped int64 // lines since the one before that was taken
	held    *fetchLine
}

// fetchLine is a line of fetches.jsonl.
type fetchLine struct {
	line
	r  jobdir.FetchRecord
	ok bool
}

func (n *numbering) line(l line, out *rewriter) {
	l.text = bytes.Clone(l.text)
	f := &fetchLine{line: l}
	f.ok = json.Unmarshal(l.text, &f.r) == nil && (f.r.Type == "fetch" || f.r.Type == "lost")
	n.settle(f, out)
	n.held = f
}

func (n *numbering) end(out *rewriter) {
	n.settle(nil, out)
	for ; n.next <= n.last; n.next++ {
		out.add((&jobdir.LostRecord{Seq: n.next}).AppendJSON(nil))
		out.lost++
	}
}

// settle decides on the line that is held. A line whose number is not the next one is believed if as many lines were damaged as
// numbers are missing, or the line after it agrees.
func (n *numbering) settle(after *fetchLine, out *rewriter) {
	f := n.held
	if f == nil {
		return
	}
	ahead := f.r.Seq - n.next
	agrees := after != nil && after.ok && after.r.Seq == f.r.Seq+1 || after == nil && f.r.Seq == n.last
	if !f.ok || ahead < 0 || f.r.Seq > n.last || ahead > 0 && ahead != n.dropped && !agrees {
		out.drop(f.line, "damaged")
		n.dropped++
		return
	}
	for ; n.next < f.r.Seq; n.next++ {
		out.add((&jobdir.LostRecord{Seq: n.next}).AppendJSON(nil))
		out.lost++
	}
	n.next, n.dropped = n.next+1, 0
	if mark := n.m.mark(&f.r); mark != f.r.Lost {
		out.add(marked(f.text, mark))
		out.marked++
		return
	}
	out.keep(f.line)
}

// mark says what of an exchange is lost.
func (m *mending) mark(r *jobdir.FetchRecord) string {
	p := m.lost[r.URL]
	if p != nil && r.Kind == jobdir.KindSitemap {
		p.kind = frontier.Sitemap
	}
	if m.archived && r.Type == "fetch" && r.Lost != jobdir.LostCapture {
		o, _ := outcome.Parse(r.Outcome)
		answered, key := r.Status != 0 && o != outcome.None, m.captureKey(r.URL, r.TS)
		if answered != (m.captures[key] > 0) {
			return jobdir.LostCapture // or the line was altered
		}
		if answered {
			m.captures[key]--
		}
	}
	if r.Lost == "" && p != nil && r.Kind != jobdir.KindRobots {
		return jobdir.LostPage
	}
	return r.Lost
}

// marked is a line with the field lost, without its end.
func marked(text []byte, lost string) []byte {
	text = bytes.TrimRight(text, " \t\r")
	if i := bytes.LastIndex(text, []byte(`,"lost":`)); i >= 0 {
		text = append(text[:i:i], '}')
	}
	return fmt.Appendf(text[:len(text)-1:len(text)-1], `,"lost":%q}`+"\n", lost)
}
