package web

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"decorum/internal/jobdir"
	"decorum/internal/outcome"
)

// What a Feed keeps.
const (
	maxDots     = 2000 // fetches of the politeness plot
	maxExamples = 20   // skipped URLs of each reason
	maxLines    = 200  // of the log
	dnsWindow   = 200  // pages that the share of DNS is taken over
	maxText     = 2000 // bytes of a URL or log line
)

// Dot is one fetch in the politeness plot: what rest the host was promised, and what it got.
type Dot struct {
	Host     string `json:"host"`
	Kind     string `json:"kind"`
	Status   int    `json:"status"`
	Promised int64  `json:"promised_ms"`
	Actual   int64  `json:"actual_ms"`
	Reason   string `json:"reason"`
}

// Skip is a URL that will not be fetched.
type Skip struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
	Group  string `json:"group"` // the reason as the page names it
	Rule   string `json:"rule,omitempty"`
	Parent string `json:"parent,omitempty"`
	seq    uint64
}

// Line is a line of the log.
type Line struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// Feed keeps what happened last. It is fed by the crawl, whose committer calls the Observe methods: they take
// well under a microsecond and never wait for a viewer.
type Feed struct {
	mu    sync.Mutex
	dots  ring[Dot] // guarded by mu, like all below
	lines ring[Line]
	skips map[string]*ring[Skip] // by reason: a flood of one does not wash away the others
	seq   uint64                 // of skips
	dns   ring[dnsSample]
}

type dnsSample struct{ dns, total int64 }

// NewFeed returns an empty feed.
func NewFeed() *Feed {
	return &Feed{dots: ring[Dot]{limit: maxDots}, lines: ring[Line]{limit: maxLines}, skips: map[string]*ring[Skip]{}, dns: ring[dnsSample]{limit: dnsWindow}}
}

// ObserveFetch notes an exchange. The first contact with a host has no gap and is left out.
func (f *Feed) ObserveFetch(r *jobdir.FetchRecord) {
	promised, ok1 := r.PromisedMS.Get()
	actual, ok2 := r.GapMS.Get()
	if !ok1 || !ok2 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dots.add(Dot{Host: r.Host, Kind: r.Kind, Status: r.Status, Promised: promised, Actual: actual, Reason: r.GapReason})
}

// ObserveSkip notes a URL that will not be fetched.
func (f *Feed) ObserveSkip(r *jobdir.SkipRecord) {
	if o, ok := outcome.Parse(r.Reason); !ok || o.Class() != outcome.ClassSkipped || r.URL == "" {
		return // the number of rings is that of known reasons
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.skips[r.Reason]
	if of == nil {
		of = &ring[Skip]{limit: maxExamples}
		f.skips[r.Reason] = of
	}
	f.seq++
	of.add(Skip{URL: bounded(r.URL), Reason: r.Reason, Group: reasonName(r.Reason), Rule: bounded(r.Rule), Parent: bounded(r.Parent), seq: f.seq})
}

// ObservePage notes how long the name of a page's host took to resolve.
func (f *Feed) ObservePage(r *jobdir.PageRecord) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dns.add(dnsSample{r.DNSMS.Or(0), r.TotalMS.Or(0)})
}

// Log notes a line for people.
func (f *Feed) Log(format string, args ...any) {
	text := bounded(Clean(fmt.Sprintf(format, args...)))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines.add(Line{milli(time.Now()), text})
}

// Lines returns the log, oldest first.
func (f *Feed) Lines() []Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines.since(0)
}

func bounded(s string) string { return s[:min(len(s), maxText)] }

// dnsShare returns the part of the time of recent visits that went into resolving names, or 0 when too few are known.
func (f *Feed) dnsShare() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dns.items) < dnsWindow/10 {
		return 0
	}
	var dns, all int64
	for _, s := range f.dns.items {
		dns, all = dns+s.dns, all+s.dns+s.total
	}
	if all == 0 {
		return 0
	}
	return float64(dns) / float64(all)
}

// cursor is how far a viewer has read a feed.
type cursor struct{ dots, lines, skips uint64 }

// news is what happened since a cursor.
type news struct {
	Dots  []Dot  `json:"dots,omitempty"`
	Lines []Line `json:"log,omitempty"`
	Skips []Skip `json:"skips,omitempty"`
}

// since returns what happened since the cursor, and moves it.
func (f *Feed) since(c *cursor) news {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := news{Dots: f.dots.since(c.dots), Lines: f.lines.since(c.lines)}
	for _, of := range f.skips {
		for _, s := range of.since(0) {
			if s.seq > c.skips {
				n.Skips = append(n.Skips, s)
			}
		}
	}
	slices.SortFunc(n.Skips, func(a, b Skip) int { return int(int64(a.seq - b.seq)) })
	*c = cursor{f.dots.n, f.lines.n, f.seq}
	return n
}

// ring keeps the last items, at most limit.
type ring[T any] struct {
	items []T
	limit int
	n     uint64 // ever added
}

func (r *ring[T]) add(v T) {
	if len(r.items) < r.limit {
		r.items = append(r.items, v)
	} else {
		r.items[r.n%uint64(r.limit)] = v
	}
	r.n++
}

// since returns the items after the first n ever added that are still kept, oldest first.
func (r *ring[T]) since(n uint64) []T {
	kept := r.n - uint64(len(r.items))
	var out []T
	for i := max(n, kept); i < r.n; i++ {
		out = append(out, r.items[i%uint64(r.limit)])
	}
	return out
}
