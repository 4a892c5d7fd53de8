package frontier

import (
	"time"

	"decorum/internal/outcome"
	"decorum/internal/store"
)

// refill brings URLs to where they can be leased: from back queues into memory, and from front queues into
// back queues.
func (st *step) refill(b *store.Batch) ([]Refused, error) {
	st.refused = nil
	for _, part := range [...]func(*store.Batch) error{st.grantUrgent, st.loadWindows, st.drain, st.pull} {
		if err := part(b); err != nil {
			return nil, err
		}
	}
	st.save(b)
	return st.refused, nil
}

// grantUrgent hands urgent contacts to the scheduler with the manners of their hosts.
func (st *step) grantUrgent(*store.Batch) error {
	for _, it := range st.urgent {
		key := st.opt.PoliteKey(it.URL)
		q, err := st.back(key, st.partition(&it, key))
		if err != nil {
			return err
		}
		g := q.granted()
		g.urgent = append(g.urgent, it)
		st.touch(q)
	}
	st.urgent = nil
	return nil
}

// loadWindows reads back queues of hosts that have room in memory.
func (st *step) loadWindows(*store.Batch) error {
	asking := st.asking
	st.asking = nil
	for _, key := range asking {
		q, room := st.backs[key], st.thirsty[key]
		if q == nil || room == 0 || q.backlog() == 0 || q.draining {
			continue
		}
		n, err := q.load(st.opt.DB, room)
		if err != nil {
			return err
		}
		st.touch(q)
		st.quench(key, n)
		if n < room && q.backlog() > 0 { // the rest was written in this step
			st.asking = append(st.asking, key)
			st.again = true
		}
	}
	return nil
}

// quench counts URLs handed to a host that has room.
func (st *step) quench(key string, n int) {
	if room, ok := st.thirsty[key]; ok && n >= room {
		delete(st.thirsty, key)
	} else if ok {
		st.thirsty[key] = room - n
	}
}

// drain refuses URLs of hosts that were given up or have spent their budget.
func (st *step) drain(b *store.Batch) error {
	left := drainScan
	for i := 0; i < len(st.drains) && left > 0; i++ {
		q := st.drains[i]
		if q.grant != nil && q.grant.drop {
			continue // from the next step on
		}
		n, err := st.drainHost(b, q, left)
		if err != nil {
			return err
		}
		left -= n
	}
	kept := st.drains[:0]
	for _, q := range st.drains {
		if q.count > 0 {
			kept = append(kept, q)
		}
	}
	clear(st.drains[len(kept):])
	st.drains = kept
	st.again = st.again || len(kept) > 0
	return nil
}

func (st *step) drainHost(b *store.Batch, q *back, limit int) (n int, err error) {
	why := st.refusal(&q.state)
	err = q.scan(st.opt.DB, q.head, func(seq uint64, it Item) bool {
		b.Delete(readyKey(q.part, q.key, seq))
		st.refuse(q, it, why)
		q.head = seq + 1
		n++
		return n < limit
	})
	q.cursor = max(q.cursor, q.head)
	q.count -= uint64(n)
	q.handed, q.dirty = 0, true // the scheduler has dropped what it held
	st.ready -= uint64(n)
	st.touch(q)
	if n > 0 {
		st.left(q)
	}
	q.draining = q.count > 0
	return n, err
}

// pull takes URLs from the front queues: first until enough hosts are in hand, then, when no other host
// waits, until the hosts in hand have enough URLs in memory.
func (st *step) pull(b *store.Batch) error {
	now, lacking, left := time.Now(), st.lacks(), refillScan
	brought := 0
	for ; left > 0 && lacking > 0 && st.census.mayBring(); left-- {
		q, _, err := st.pullOne(b)
		if err != nil || q == nil {
			return err
		}
		// Starving workers are helped by a host that is due, not by one that rests.
		if q.count == 1 && (st.opt.Backs != Adaptive || !q.state.due().After(now)) {
			lacking--
			brought++
		}
	}
	st.barren = left == 0 && brought == 0 && !st.census.exact() // a census knows that going on will help
	if lacking > 0 && left == 0 && st.opt.Backs != Adaptive {
		st.again = true // Adaptive asks again by itself as long as workers starve
	}
	if !st.census.exact() || st.census.fresh > 0 {
		return nil
	}
	return st.pullThirsty(b, left)
}

// pullThirsty takes URLs while the front queues hold some of a host that has room for them.
func (st *step) pullThirsty(b *store.Batch, left int) error {
	for wanting := st.countWanting(); wanting > 0; left-- {
		if left == 0 {
			st.again = true
			return nil
		}
		q, handed, err := st.pullOne(b)
		if err != nil || q == nil {
			return err
		}
		if handed && !st.wants(q.key) {
			wanting--
		}
	}
	return nil
}

// countWanting counts the hosts that want, by the smaller of the maps that know.
func (st *step) countWanting() (n int) {
	count := func(key string) {
		if st.wants(key) {
			n++
		}
	}
	if len(st.thirsty) < len(st.census.hosts) {
		for key := range st.thirsty {
			count(key)
		}
	} else {
		for key := range st.census.hosts {
			count(key)
		}
	}
	return n
}

// wants reports whether the host has room in memory that only the front queues can fill.
func (st *step) wants(key string) bool {
	q := st.backs[key]
	return st.thirsty[key] > 0 && st.census.hosts[key] > 0 && q != nil && q.backlog() == 0
}

// lacks returns how many more hosts should be in hand.
func (st *step) lacks() int {
	switch st.opt.Backs {
	case Adaptive:
		return st.missing
	case Times3:
		return 3*st.opt.Workers - st.inHand
	}
	return int(st.opt.Backs) - st.inHand
}

// pullOne moves one URL from a front queue to the back queue of its host, and tells whether it was also
// handed to the scheduler. q is nil when there is no URL to move.
func (st *step) pullOne(b *store.Batch) (q *back, handed bool, err error) {
	it, part, ok, err := st.front.take(b)
	if !ok {
		return nil, false, err
	}
	key := st.opt.PoliteKey(it.URL)
	if q, err = st.back(key, part); err != nil {
		return nil, false, err
	}
	st.touch(q)
	st.census.take(key, q.count > 0)
	if why := st.refusal(&q.state); why != outcome.None {
		st.refuse(q, it, why)
		return q, false, nil
	}
	if q.count == 0 {
		st.thirsty[key] = st.opt.firstWant(key)
	}
	handed = q.backlog() == 0 && st.thirsty[key] > 0
	q.push(b, &st.encoder, &it, handed)
	if handed {
		st.quench(key, 1)
	}
	st.ready++
	st.entered(q)
	return q, handed, nil
}
