package frontier

import (
	"slices"
	"time"
)

// This file is what the step side tells the scheduler, and what the scheduler makes of it.

// diskState is what the step side tells the scheduler about the queues.
type diskState struct {
	intake  int // -1 while unknown
	waiting []uint64
	ready   uint64
	inHand  int
	more    bool // the front queues may hold hosts that are not in hand
	barren  bool // but the last search found none
}

// update is what Applied hands to the scheduler.
type update struct {
	disk    diskState
	grants  []*grant
	settled []*host // one per visit
	again   bool    // the step side has more to do by itself
}

// grant brings a host's URLs to the scheduler.
type grant struct {
	back    *back
	state   manners // used if the host is not in memory
	items   []queued
	heads   []queued
	urgent  []Item
	backlog uint64
	waiting uint64
	drop    bool // the step side refuses what is queued
}

// apply takes over what the step side has done.
func (s *scheduler) apply(u update, now time.Time) {
	progress := u.disk.intake != s.disk.intake || !u.disk.barren && !slices.Equal(u.disk.waiting, s.disk.waiting)
	s.disk = u.disk
	s.kicked = s.kicked || u.again
	for _, g := range u.grants {
		s.grant(g, now)
	}
	s.unsettled -= len(u.settled)
	for _, h := range u.settled {
		if h.unsettled--; h.phase == Idle && h.heap == 0 {
			s.place(h, now)
		}
	}
	s.hungerGap = min(2*s.hungerGap, maxHungerPause)
	if progress {
		s.hungerGap = hungerPause
	}
	s.hungerAt = now.Add(s.hungerGap)
}

// grant takes over one host's URLs.
func (s *scheduler) grant(g *grant, now time.Time) {
	h := s.table[g.back.key]
	if h == nil {
		if len(g.items)+len(g.heads)+len(g.urgent) == 0 {
			return
		}
		h = &host{key: g.back.key, part: g.back.part, manners: g.state}
		s.table[h.key] = h
		s.phases[h.phase]++
	}
	h.backlog, h.waiting = g.backlog, g.waiting
	if g.drop {
		h.window, h.later = deque[queued]{}, nil
	}
	for _, q := range g.items {
		if wait := q.item.NotBefore; wait.After(now) {
			q.item.NotBefore = earliest(wait, now.Add(s.opt.BackoffMax)) // the wall clock may have gone back
			h.postpone(q)
		} else {
			h.window.pushBack(q)
		}
	}
	for i := len(g.heads) - 1; i >= 0; i-- {
		h.window.pushFront(g.heads[i])
	}
	h.urgent = append(h.urgent, g.urgent...)
	if len(g.items)+len(g.heads) > 0 {
		h.low = false
	}
	s.noteLow(h)
	s.replace(h, now)
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
