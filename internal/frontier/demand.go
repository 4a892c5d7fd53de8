package frontier

import (
	"slices"
	"time"
)

// This file is the scheduler's side of the step: when a step is worthwhile, what it is asked for, and when
// the crawl ends.

// offerWork returns what the step side should do and the channel to send it on, or a nil channel if a step
// would be too early.
func (s *scheduler) offerWork(f *Frontier, now time.Time) (Work, chan Work) {
	hungry := s.starving() && !now.Before(s.hungerAt)
	if !hungry && !s.stepDue(now) {
		return Work{}, nil
	}
	return s.work(hungry, int(f.idle.Load())), f.works
}

// work is everything that waits for the step side.
func (s *scheduler) work(hungry bool, idle int) Work {
	return Work{Finished: s.finished, Hungry: hungry, needs: needs{
		low: s.low, urgent: s.homeless, missing: s.reserve() + idle - s.phases[Due],
	}}
}

// stepDue reports whether a step is worthwhile for reasons other than hunger.
func (s *scheduler) stepDue(now time.Time) bool {
	switch {
	case s.kicked, s.eager, len(s.homeless) > 0:
		return true
	case len(s.finished) == 0:
		return false
	}
	return len(s.finished) >= max(1, s.opt.MaxUncommitted/4) ||
		!now.Before(s.oldest.Add(s.opt.CommitDelay)) || s.nothingElse()
}

// nothingElse reports whether all that can happen next must come from the step side.
func (s *scheduler) nothingElse() bool {
	return s.leased+s.phases[Due]+s.phases[Resting]+s.phases[BackingOff]+s.phases[Parked]+s.phases[Address] == 0
}

// reserve is the number of due hosts to have at hand, so that a worker need not wait for a step: a step
// takes some 10 ms, in which a sixteenth of the workers come back if a visit takes 160 ms.
func (s *scheduler) reserve() int { return max(1, s.opt.Workers/16) }

// starving reports whether hosts are missing that the step side may be able to bring.
func (s *scheduler) starving() bool {
	return s.paused == "" && s.phases[Due] < s.reserve() && (s.disk.more || s.disk.intake != 0)
}

// collected takes note that the step side has the work.
func (s *scheduler) collected(now time.Time) {
	s.lastGroup = len(s.finished)
	s.finished, s.low, s.homeless = nil, nil, nil
	s.kicked, s.eager = false, false
	s.hungerAt = now.Add(s.hungerGap)
}

// offerEnd returns the channel to say why Next must fail, or nil, and why.
func (s *scheduler) offerEnd(ends chan error) (to chan error, why error) {
	switch {
	case s.exhausted():
		return ends, ErrExhausted
	case s.opt.MaxPages > 0 && s.concluded >= s.opt.MaxPages && s.leased+s.unsettled == 0:
		return ends, ErrLimit
	}
	return nil, nil
}

// exhausted counts: intake + waiting + ready + leased + uncommitted = 0.
func (s *scheduler) exhausted() bool {
	d := &s.disk
	if d.intake != 0 || d.ready != 0 || s.leased != 0 || s.unsettled != 0 || s.urgent != 0 {
		return false
	}
	return !slices.ContainsFunc(d.waiting, func(n uint64) bool { return n > 0 })
}
