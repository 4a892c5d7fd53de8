package robots

import (
	"fmt"
	"slices"
	"time"

	"decorum/internal/weburl"
)

// state is what a cache knows of one origin; its mutex guards it.
type state struct {
	entry   Entry        // without its body, which the rules hold
	home    weburl.URL   // the robots.txt of the origin
	hops    []weburl.URL // redirects followed in the fetch under way
	rules   *Rules       // compiled from the entry; nil: there is no copy
	counted int64        // bytes the cache counts for it
}

// answer says what to do with the state as it is.
func (s *state) answer(now time.Time, maxAge time.Duration) Answer {
	a := Answer{Errors: s.entry.Errors, Since: s.entry.Since}
	switch {
	case s.fresh(now, maxAge):
		s.use(&a, maxAge)
	case len(s.hops) > 0:
		s.ask(&a, fmt.Sprintf("robots.txt redirects, hop %d", len(s.hops)))
	case s.deferred(now) && s.fresh(now, Lifetime):
		s.use(&a, Lifetime)
		a.Until = earlier(a.Until, s.entry.Until)
		a.Reason += "; an earlier copy, as " + s.failure()
	case s.deferred(now):
		a.Action, a.Until, a.Reason = Defer, s.entry.Until, s.failure()
	case s.entry.Errors > 0:
		s.ask(&a, "robots.txt is tried again, as "+s.failure())
	case s.rules != nil:
		s.ask(&a, "robots.txt has expired")
	default:
		s.ask(&a, "robots.txt not fetched yet")
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (s *state) use(a *Answer, maxAge time.Duration) {
	a.Action, a.Rules, a.Version = Use, s.rules, s.rules.Version()
	a.Until = s.entry.FetchedAt.Add(maxAge)
	switch {
	case s.entry.Status < 300:
		a.Reason = "robots.txt ok"
	case s.entry.Status < 400:
		a.Reason = "robots.txt redirects too often: all is allowed (RFC 9309 §2.3.1.2)"
	default:
		a.Reason = fmt.Sprintf("no robots.txt (status %d): all is allowed (RFC 9309 §2.3.1.3)", s.entry.Status)
	}
}

func (s *state) ask(a *Answer, reason string) {
	a.Action, a.Target, a.Reason = Fetch, s.target(), reason
	if a.Target.Host() != s.home.Host() {
		a.Action = Elsewhere
	}
}

// failure says what the last contact met.
func (s *state) failure() string {
	if s.entry.LastStatus == 0 {
		return "robots.txt got no answer"
	}
	return fmt.Sprintf("robots.txt answered with status %d", s.entry.LastStatus)
}

// target is the next URL to contact.
func (s *state) target() weburl.URL {
	if n := len(s.hops); n > 0 {
		return s.hops[n-1]
	}
	return s.home
}

func (s *state) visited(u weburl.URL) bool { return slices.Contains(s.hops, u) }

// fresh reports whether there is a copy younger than age. One from the future, by a clock set back, is not.
func (s *state) fresh(now time.Time, age time.Duration) bool {
	return s.rules != nil && !now.Before(s.entry.FetchedAt) && now.Sub(s.entry.FetchedAt) < age
}

// deferred reports whether a failure keeps the next contact away. By a clock that was set back to before the failures
// the end of the rest means nothing; the host itself rests in any case, by a clock that cannot be set.
func (s *state) deferred(now time.Time) bool {
	return now.Before(s.entry.Until) && !now.Before(s.entry.Since)
}

// succeed ends a fetch with the word of a server: a copy, or none.
func (s *state) succeed(status int, body []byte, now time.Time, agent string) {
	s.entry = Entry{Origin: s.entry.Origin, FetchedAt: now, Status: status, Body: body}
	s.compile(agent)
}

// compile makes the rules of the entry and forgets a fetch under way.
func (s *state) compile(agent string) {
	s.hops, s.rules = nil, nil
	switch {
	case s.entry.FetchedAt.IsZero():
	case s.entry.Status >= 200 && s.entry.Status < 300:
		s.rules = Parse(s.entry.Body, agent)
	default:
		s.rules = AllowAll()
	}
	s.entry.Body = nil
}

// adopt takes over the copy of another origin, with its age.
func (s *state) adopt(from *state) {
	origin := s.entry.Origin
	s.entry = from.entry
	s.entry.Origin = origin
	s.hops, s.rules = nil, from.rules
}

// fail ends a fetch without one; an earlier copy stays.
func (s *state) fail(status int, rest time.Duration, now time.Time) {
	s.hops = nil
	if s.entry.Errors == 0 {
		s.entry.Since = now
	}
	s.entry.Errors++
	s.entry.LastStatus = status
	s.entry.Until = now.Add(rest)
}

// snapshot returns the entry with its body.
func (s *state) snapshot() Entry {
	e := s.entry
	if s.rules != nil && s.rules.text != "" {
		e.Body = []byte(s.rules.text)
	}
	return e
}

// cost estimates the bytes kept.
func (s *state) cost() int64 {
	const fixed = 512 // maps, list element, structs
	n := int64(fixed)
	if s.rules != nil {
		n += s.rules.cost()
	}
	return n
}
