package inspect

import (
	"fmt"

	"decorum/internal/crawler"
	"decorum/internal/dns"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/urlfilter"
)

// Live is a crawl that runs, by its open parts. All of them allow what is done here at any time.
type Live struct {
	Dir      *jobdir.Dir
	DB       *store.DB
	Frontier *frontier.Frontier
	Filter   *urlfilter.Filter
	Policy   *dns.Policy
}

// WhyLive is Why for a crawl that runs in this process: it answers from what is committed, and from what the frontier has
// in hand. Of the options Keys, PoliteKey and IgnoreRobots matter.
func WhyLive(l Live, raw string, o WhyOptions) (WhyReport, error) {
	o.EnsureDefaults()
	w := &reasoner{o: o, live: &l, rep: WhyReport{Dir: l.Dir.Root()}, listed: map[outcome.Outcome]int{}}
	if !w.parse(raw) {
		return w.rep, nil
	}
	w.f = &folder{Dir: l.Dir, db: l.DB} // never closed: nothing of it is ours
	var err error
	if w.f.facts, _, err = ReadFacts(l.DB); err == nil {
		w.f.progress, err = crawler.ReadProgress(l.DB)
	}
	if err == nil {
		err = w.explain()
	}
	if err != nil {
		return w.rep, fmt.Errorf("why %s: %w", w.u, err)
	}
	return w.rep, nil
}

// rounds is how often the state and the queues are gone through. In a crawl that runs, a URL may go past a look: it moves from the
// intake towards the state, the looks go the other way. It cannot do so three times, for each move is a group commit.
func (w *reasoner) rounds() int {
	if w.live != nil {
		return 3
	}
	return 1
}

// frontier is the one that is open, or one opened to look at.
func (w *reasoner) frontier() (*frontier.Frontier, error) {
	if w.live != nil {
		return w.live.Frontier, nil
	}
	return w.f.frontier(w.o.Keys, w.o.PoliteKey)
}

func (w *reasoner) closeFrontier(f *frontier.Frontier) {
	if w.live == nil {
		f.Close() // read-only: nothing to lose
	}
}
