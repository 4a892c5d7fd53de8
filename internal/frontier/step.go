package frontier

import (
	"fmt"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/store"
)

// step is the side of the frontier that owns the disk. It belongs to the step goroutine.
type step struct {
	opt     *Options
	restart time.Time // the last open after an unclean stop; zero if there was none

	front   front
	census  census
	backs   map[string]*back // hosts with ready URLs, and hosts touched in this step
	inHand  int              // hosts with ready URLs: B
	touched []*back
	drains  []*back
	settled []*host

	thirsty map[string]int // hosts that have room for more URLs in memory
	asking  []string       // those of them whose back queue was not looked at since they asked
	urgent  []Item         // to be granted
	missing int            // due hosts that workers lack

	begun     bool   // a step was collected and is not applied
	ready     uint64 // URLs in all back queues
	concluded uint64 // pages
	again     bool   // there is more to do without new input
	barren    bool   // the last search for hosts found none
	refused   []Refused

	encoder encoder
	parts   map[string]store.Partition // cache of partitionOf
}

func newStep(o *Options) *step {
	return &step{
		opt: o, front: newFront(o), census: newCensus(),
		backs: map[string]*back{}, thirsty: map[string]int{}, parts: map[string]store.Partition{},
	}
}

// collect takes note of what the scheduler needs.
func (st *step) collect(n needs) {
	st.begun = true
	for _, l := range n.low {
		if q := st.backs[l.host]; q != nil && !q.draining {
			st.thirsty[l.host] = l.room
			st.asking = append(st.asking, l.host)
		}
	}
	st.urgent = append(st.urgent, n.urgent...)
	st.missing = n.missing
}

// settle writes the fate of visited URLs and the manners of their hosts.
func (st *step) settle(b *store.Batch, w Work) error {
	for i := range w.Finished {
		fin := &w.Finished[i]
		l := &fin.Lease
		q, err := st.back(l.Host, l.Partition)
		if err != nil {
			return err
		}
		st.touch(q)
		q.state, q.dirty = fin.state, true
		st.settled = append(st.settled, l.from)
		if fin.page {
			st.concluded++
		}
		switch {
		case l.live:
		case fin.fate == leaves:
			q.remove(b, l.seq)
			st.ready--
			st.left(q)
		case fin.fate == rewritten:
			it := l.Item
			it.Attempt, it.NotBefore = it.Attempt+1, fin.notBefore
			q.put(b, &st.encoder, l.seq, &it)
		}
		st.noteRefusal(q)
	}
	st.save(b)
	return nil
}

// noteRefusal makes a host that was given up or has spent its budget lose its URLs, from the next step on:
// then nothing of this step can interfere.
func (st *step) noteRefusal(q *back) {
	if q.draining || q.count == 0 || st.refusal(&q.state) == outcome.None {
		return
	}
	q.draining = true
	q.granted().drop = true
	st.touch(q)
	st.drains = append(st.drains, q)
	delete(st.thirsty, q.key)
	st.again = true
}

// refusal returns why URLs of the host must be refused, or None.
func (st *step) refusal(m *manners) outcome.Outcome {
	switch {
	case m.givenUp:
		return outcome.GaveUp
	case st.opt.HostPages > 0 && m.pages >= st.opt.HostPages:
		return outcome.HostBudget
	}
	return outcome.None
}

func (st *step) refuse(q *back, it Item, o outcome.Outcome) {
	rule := fmt.Sprintf("%d host failures in a row", q.state.failures)
	switch {
	case o == outcome.HostBudget:
		rule = fmt.Sprintf("%d pages of the host", st.opt.HostPages)
	case st.opt.endless(q.state.rest):
		rule = fmt.Sprintf("the host asks for a rest of more than %v (%v)", st.opt.LongestRest, q.state.reason)
	}
	st.refused = append(st.refused, Refused{Item: it, Outcome: o, Rule: rule})
}

// add puts new URLs into the front queues, and heads into the back queue of their host.
func (st *step) add(b *store.Batch, items []Item) error {
	var key string
	var q *back
	for i := range items {
		it := &items[i]
		if k := st.opt.PoliteKey(it.URL); k != key || i == 0 {
			key, q = k, st.backs[k]
		}
		part := st.partition(it, key)
		if it.Head {
			if err := st.addHead(b, key, part, it); err != nil {
				return err
			}
			q = st.backs[key]
			continue
		}
		st.front.add(b, part, st.levelOf(it), it)
		st.census.add(key, q != nil && q.count > 0)
		if q != nil {
			st.touch(q) // its scheduler learns that more is waiting
		}
	}
	st.front.endAdd(b)
	st.save(b)
	return nil
}

// levelOf returns the index of the item's front queue.
func (st *step) levelOf(it *Item) int {
	if it.Level == 0 {
		it.Level = st.opt.Prioritize(it)
	}
	it.Level = min(max(it.Level, 1), uint8(st.opt.Fronts))
	return int(it.Level) - 1
}

func (st *step) addHead(b *store.Batch, key string, part store.Partition, it *Item) error {
	q, err := st.back(key, part)
	if err != nil {
		return err
	}
	st.touch(q)
	switch {
	case st.refusal(&q.state) != outcome.None:
		q.push(b, &st.encoder, it, false) // to be drained
	case q.handed >= maxHeads:
		q.push(b, &st.encoder, it, false)
		st.asking = append(st.asking, key)
	default:
		q.pushHead(b, &st.encoder, it)
	}
	st.ready++
	st.entered(q)
	st.noteRefusal(q)
	return nil
}

// entered and left keep count of the hosts in hand after a URL came or went.
func (st *step) entered(q *back) {
	if q.count == 1 {
		st.inHand++
		st.census.entered(q.key)
	}
}

func (st *step) left(q *back) {
	if q.count == 0 {
		st.inHand--
		st.census.left(q.key)
		delete(st.thirsty, q.key)
	}
}

// back returns the back queue of a host, with its record from disk if it is not in memory.
func (st *step) back(key string, part store.Partition) (*back, error) {
	if q := st.backs[key]; q != nil {
		return q, nil
	}
	q := newBack(key, part)
	if err := st.read(q); err != nil {
		return nil, err
	}
	st.backs[key] = q
	st.touch(q) // so that Applied drops it again if it stays empty
	return q, nil
}

// read fills q from its record. A host without one is as new, except that after an unclean stop it might
// have been contacted.
func (st *step) read(q *back) error {
	data, ok, err := st.opt.DB.Get(hostKey(q.part, q.key))
	if err != nil {
		return err
	}
	var r record
	if ok {
		if r, err = decodeRecord(data); err != nil {
			return fmt.Errorf("frontier: host %q: %w", q.key, err)
		}
		q.head, q.tail, q.count = r.head, r.tail, r.count
		q.cursor, q.committed = r.head, r.tail
	}
	q.state = st.opt.restored(r.manners, q.key, time.Now(), st.restart)
	return nil
}

func (st *step) touch(q *back) {
	if !q.touched {
		q.touched = true
		st.touched = append(st.touched, q)
	}
}

// maxParts bounds the cache of partitions; it is emptied when full.
const maxParts = 4096

// partition returns the partition of an item: hash(registrable domain) mod P, so that a domain is never
// split.
func (st *step) partition(it *Item, key string) store.Partition {
	if q := st.backs[key]; q != nil {
		return q.part
	}
	host := it.URL.Host()
	if p, ok := st.parts[host]; ok {
		return p
	}
	if len(st.parts) >= maxParts {
		clear(st.parts)
	}
	p := st.opt.partitionOf(it.URL.Domain())
	st.parts[host] = p
	return p
}

// partitionOf returns the partition of a registrable domain.
func (o *Options) partitionOf(domain string) store.Partition {
	return store.Partition(o.Hasher.HostHash(domain) % uint64(o.Partitions))
}

// save writes what memory knows better than disk: records of hosts and the counts.
func (st *step) save(b *store.Batch) {
	for _, q := range st.touched {
		if q.dirty {
			q.save(b)
		}
	}
	st.saveCounts(b)
}

// applied ends the step and returns what the scheduler must know.
func (st *step) applied(intake int) update {
	u := update{disk: st.disk(intake), settled: st.settled, again: st.again}
	for _, q := range st.touched {
		if q.count > 0 || q.grant != nil {
			u.grants = append(u.grants, st.finish(q))
		}
		q.touched, q.grant, q.committed = false, nil, q.tail
		if q.count == 0 {
			delete(st.backs, q.key)
		}
	}
	st.touched, st.settled, st.again, st.missing, st.begun = nil, nil, false, 0, false
	if st.front.applied(); st.front.waiting() == 0 && !st.census.exact() {
		st.census = newCensus()
	}
	return u
}

// finish completes the grant of a host.
func (st *step) finish(q *back) *grant {
	g := q.granted()
	g.state, g.backlog, g.waiting = q.state, q.backlog(), uint64(st.census.hosts[q.key])
	return g
}

// disk describes the queues.
func (st *step) disk(intake int) diskState {
	d := diskState{intake: intake, ready: st.ready, inHand: st.inHand, waiting: make([]uint64, len(st.front.levels))}
	for i := range st.front.levels {
		d.waiting[i] = st.front.levels[i].waiting
	}
	d.barren = st.barren
	d.more = st.front.waiting() > 0 && st.census.mayBring() && (st.opt.Backs == Adaptive || st.lacks() > 0)
	return d
}
