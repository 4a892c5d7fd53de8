package robots

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Lifetime is the age beyond which no copy is used, whatever happens (RFC 9309 §2.4).
const Lifetime = 24 * time.Hour

// Options of a cache. A zero field takes its default.
type Options struct {
	Agent           string        // product token the rules are compiled for; required
	MaxAge          time.Duration // age at which a copy is fetched again; default and maximum 24 h
	MaxEntries      int           // origins kept; default 65,536
	MaxMemory       int64         // bytes kept, roughly: bodies and compiled rules; default 64 MiB
	ErrorBackoff    time.Duration // rest after a first failure; doubles with each; default 1 min
	ErrorBackoffMax time.Duration // where doubling ends; Retry-After may be longer; default 6 h
	MaxRedirects    int           // hops followed; default and minimum of RFC 9309 §2.3.1.2: 5
}

// EnsureDefaults fills in the zero fields.
func (o *Options) EnsureDefaults() {
	setDefault(&o.MaxAge, Lifetime)
	setDefault(&o.MaxEntries, 65_536)
	setDefault(&o.MaxMemory, 64<<20)
	setDefault(&o.ErrorBackoff, time.Minute)
	setDefault(&o.ErrorBackoffMax, 6*time.Hour)
	setDefault(&o.MaxRedirects, 5)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports the first field out of range.
func (o *Options) Validate() error {
	switch {
	case o.Agent == "" || productToken(o.Agent) != o.Agent:
		return fmt.Errorf("robots: agent %q is not a product token: letters, '-' and '_' only", o.Agent)
	case o.MaxAge < 0 || o.MaxAge > Lifetime:
		return fmt.Errorf("robots: max age %v is not within 0 to 24h (RFC 9309 §2.4)", o.MaxAge)
	case o.MaxEntries < 0 || o.MaxMemory < 0:
		return fmt.Errorf("robots: negative limit of the cache")
	case o.ErrorBackoff < 0 || o.ErrorBackoffMax < o.ErrorBackoff:
		return fmt.Errorf("robots: back-off %v to %v is no range", o.ErrorBackoff, o.ErrorBackoffMax)
	case o.MaxRedirects < 5:
		return fmt.Errorf("robots: %d redirects are fewer than the five of RFC 9309 §2.3.1.2", o.MaxRedirects)
	}
	return nil
}

// Action is what the crawler must do before it may fetch a URL.
type Action uint8

const (
	Use       Action = iota + 1 // Rules are valid until Until: check them
	Fetch                       // contact Target first; it is on the same host
	Elsewhere                   // Target is on another host: queue it there, park this host meanwhile
	Defer                       // robots.txt could not be had: the host rests until Until
)

// String returns the name of the action.
func (a Action) String() string {
	names := [...]string{Use: "use", Fetch: "fetch", Elsewhere: "elsewhere", Defer: "defer"}
	if int(a) < len(names) && a > 0 {
		return names[a]
	}
	return "none"
}

// Answer says what to do about one origin.
type Answer struct {
	Action  Action
	Rules   *Rules     // with Use
	Target  weburl.URL // with Fetch and Elsewhere
	Until   time.Time  // with Use: when the rules expire; with Defer: when to try again
	Version string     // with Use: Rules.Version
	Reason  string     // for a person: why

	// Cold says that nothing is known of the origin in memory: Restore what the store has of it, if
	// anything, and look up again before making the contact.
	Cold bool

	// Errors counts the failures in a row, Since is the time of the first: the crawler gives up on a host
	// by them. RFC 9309 §2.3.1.4 would let it allow after 30 days; this package does not.
	Errors int
	Since  time.Time
}

// Stats counts what a cache did since it was opened.
type Stats struct {
	Lookups   uint64 // calls of Lookup
	Hits      uint64 // of these, answered with Use
	Responses uint64 // results of contacts taken in
	Evictions uint64 // origins dropped for want of room
	Entries   int    // origins held now
	Memory    int64  // bytes held now, roughly
}

// HitRate returns hits per lookup, 0 to 1.
func (s Stats) HitRate() float64 {
	if s.Lookups == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Lookups)
}

// Cache knows the robots.txt of each origin: scheme, host and port. Safe for concurrent use.
type Cache struct {
	options Options

	mu      sync.Mutex
	origins map[string]*list.Element // of *state
	recent  *list.List               // most recently used first
	stats   Stats
}

// NewCache returns an empty cache. It panics if the options do not validate: they are ours.
func NewCache(o Options) *Cache {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		panic(err)
	}
	return &Cache{options: o, origins: make(map[string]*list.Element), recent: list.New()}
}

// Lookup says what must be done before u is fetched at the time now.
func (c *Cache) Lookup(u weburl.URL, now time.Time) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Lookups++
	s := c.find(u.Origin())
	if s == nil {
		target, err := robotsOf(u.Origin())
		if err != nil {
			return Answer{Action: Defer, Until: now.Add(c.options.ErrorBackoffMax), Reason: err.Error()}
		}
		return Answer{Action: Fetch, Target: target, Cold: true, Reason: "robots.txt not fetched yet"}
	}
	a := s.answer(now, c.options.MaxAge)
	if a.Action == Use {
		c.stats.Hits++
	}
	return a
}

// Response takes in the result of one contact that Lookup or Response asked for on behalf of origin.
// Status 0 is a failure of the network, a time limit or the name; body is decoded and may be cut at
// MaxBytes; redirect is the target of a 3xx, zero if it has none that can be used. The answer says what is
// next: with Use, go on; with Fetch, the contact of the next hop is due like any other contact.
func (c *Cache) Response(
	origin string, status int, body []byte, redirect weburl.URL, retryAfter time.Duration, now time.Time,
) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Responses++
	now = now.Round(0) // ages are of the calendar: a machine may sleep
	s := c.find(origin)
	if s == nil {
		home, err := robotsOf(origin)
		if err != nil {
			return Answer{Action: Defer, Until: now.Add(c.options.ErrorBackoffMax), Reason: err.Error()}
		}
		s = c.insert(&state{entry: Entry{Origin: origin}, home: home})
	}
	c.take(s, status, body, redirect, retryAfter, now)
	c.resize(s)
	return s.answer(now, c.options.MaxAge)
}

// take moves s to its next state.
func (c *Cache) take(
	s *state, status int, body []byte, redirect weburl.URL, retryAfter time.Duration, now time.Time,
) {
	switch {
	case status >= 200 && status < 300:
		asked := s.target()
		s.succeed(status, body, now, c.options.Agent)
		c.share(s, asked)
	case status >= 300 && status < 400 && !redirect.IsZero():
		c.follow(s, status, redirect, now)
	case status >= 400 && status < 500 && status != 429:
		s.succeed(status, nil, now, c.options.Agent)
	default: // 5xx, 429, no answer; also 1xx, 600 and redirects to nowhere: nothing that opens the host
		rest := outcome.Backoff(s.entry.Errors+1, c.options.ErrorBackoff, c.options.ErrorBackoffMax)
		s.fail(status, max(rest, retryAfter), now)
	}
}

// follow goes one hop further. A robots.txt that is already known needs no contact; a loop and one hop too
// many leave the origin without robots.txt.
func (c *Cache) follow(s *state, status int, redirect weburl.URL, now time.Time) {
	if redirect == s.home || s.visited(redirect) || len(s.hops) >= c.options.MaxRedirects {
		s.succeed(status, nil, now, c.options.Agent)
		return
	}
	s.hops = append(s.hops, redirect)
	if redirect.RequestTarget() != Path {
		return
	}
	if at, ok := c.origins[redirect.Origin()]; ok {
		if known := at.Value.(*state); known.fresh(now, c.options.MaxAge) {
			s.adopt(known)
		}
	}
}

// share records the copy under the origin it came from, too: after http redirects to https, one contact
// serves both.
func (c *Cache) share(s *state, asked weburl.URL) {
	if asked == s.home || asked.RequestTarget() != Path {
		return
	}
	other := c.find(asked.Origin())
	if other == nil {
		other = c.insert(&state{entry: Entry{Origin: asked.Origin()}, home: asked})
	}
	other.adopt(s)
	c.resize(other)
}

// Snapshot returns what is known of the origin, to be stored, and whether there is anything.
func (c *Cache) Snapshot(origin string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.origins[origin]
	if !ok {
		return Entry{}, false
	}
	e := at.Value.(*state).snapshot()
	return e, !e.FetchedAt.IsZero() || e.Errors > 0
}

// Restore puts back what Snapshot returned, perhaps in another process, unless something newer is known.
func (c *Cache) Restore(e Entry) error {
	home, err := robotsOf(e.Origin)
	if err != nil {
		return err
	}
	s := &state{entry: e, home: home}
	s.compile(c.options.Agent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.origins[e.Origin]; !ok {
		c.resize(c.insert(s))
	}
	return nil
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = c.recent.Len()
	return s
}

// find returns the state of origin and marks it as used, or nil.
func (c *Cache) find(origin string) *state {
	at, ok := c.origins[origin]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(at)
	return at.Value.(*state)
}

func (c *Cache) insert(s *state) *state {
	c.origins[s.entry.Origin] = c.recent.PushFront(s)
	return s
}

// resize counts the memory of s anew and makes room, least recently used first; the newest always stays.
func (c *Cache) resize(s *state) {
	c.stats.Memory += s.cost() - s.counted
	s.counted = s.cost()
	for c.recent.Len() > 1 && (c.recent.Len() > c.options.MaxEntries || c.stats.Memory > c.options.MaxMemory) {
		old := c.recent.Remove(c.recent.Back()).(*state)
		delete(c.origins, old.entry.Origin)
		c.stats.Memory -= old.counted
		c.stats.Evictions++
	}
}

// robotsOf returns the URL of the robots.txt of an origin.
func robotsOf(origin string) (weburl.URL, error) {
	u, err := weburl.Reparse(origin + Path)
	if err != nil {
		return weburl.URL{}, fmt.Errorf("robots of origin %q: %w", origin, err)
	}
	return u, nil
}
