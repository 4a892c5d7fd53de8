package crawler

import (
	"errors"

	"decorum/internal/contentseen"
	"decorum/internal/frontier"
	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// ErrRepair says that a repair of the folder was begun and not ended: its files are in between two states.
var ErrRepair = errors.New("a repair was interrupted; run decorum check --repair once more")

// journalKey holds what is left to do of a repair, and exists as long as that is so.
var journalKey = store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("repair")}

// RepairJournal returns what Repair.Commit left to do, or nil.
func RepairJournal(db *store.DB) ([]byte, error) {
	journal, _, err := db.Get(journalKey)
	return journal, err
}

// EndRepair says that everything in the journal is done and durable.
func EndRepair(db *store.DB) error {
	b := db.NewBatch()
	b.Delete(journalKey)
	return b.Commit(true)
}

// Repair is a change to the state of a crawl that does not run. Its files are changed after it was committed, by what the
// journal says, so that a repair that is interrupted can be taken up again; until EndRepair the crawl cannot be opened.
type Repair struct {
	Progress Progress
	Journal  []byte
	Again    []Again
}

// Again is a page that is to be fetched again.
type Again struct {
	Item    frontier.Item
	Outcome outcome.Outcome // that it had, and counts no more
	Body    int64           // bytes of its decoded body
}

// Commit makes the change durable, in one batch. Of the frontier options DB, Hasher, Partitions, PoliteKey and
// Prioritize matter.
func (r *Repair) Commit(o frontier.Options) error {
	b := o.DB.NewBatch()
	defer b.Discard()
	items, gone := make([]frontier.Item, len(r.Again)), map[weburl.Fingerprint]bool{}
	for i := range r.Again {
		a := &r.Again[i]
		items[i], gone[a.Item.FP] = a.Item, true
		r.Progress.uncount(a)
		p := store.Partition(o.Hasher.HostHash(a.Item.URL.Domain()) % uint64(o.Partitions))
		b.Delete(pageKey(p, a.Item.FP))
	}
	if err := frontier.Requeue(o, b, items); err != nil {
		return err
	}
	if len(gone) > 0 {
		if _, err := contentseen.Forget(o.DB, o.Partitions, b, func(first contentseen.Ref) bool { return gone[first.FP] }); err != nil {
			return err
		}
	}
	r.Progress.Sums = nil // the streams are rewritten; the next run reads them
	if err := r.Progress.save(b); err != nil {
		return err
	}
	b.Set(journalKey, r.Journal)
	return b.Commit(true)
}

// uncount takes a page back.
func (p *Progress) uncount(a *Again) {
	c := &p.Counts
	c.Pages -= min(c.Pages, 1)
	c.BodyBytes -= min(c.BodyBytes, uint64(max(a.Body, 0)))
	if n := c.Outcomes[a.Outcome]; n > 0 {
		c.Outcomes[a.Outcome] = n - 1
	}
}
