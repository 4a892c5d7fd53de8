package frontier

import (
	"net/netip"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/store"
)

// Lease is the right to contact one host once, for one URL. While it is out no other lease of the host
// exists. It ends by exactly one of Claim returning false and Done.
type Lease struct {
	Item
	Host      string          // politeness key
	Partition store.Partition // of the host; keys about the URL go there
	LastEnd   time.Time       // end of the host's previous contact; zero if none is known
	Promised  time.Duration   // the rest promised then, measured from its start; zero if none
	Reason    GapReason       // what the host rested for
	Attempt   int             // number of this attempt, from 1
	Last      bool            // no further attempt will follow

	id   uint64
	seq  uint64 // place in the back queue
	from *host  // touched by the scheduler only
	live bool   // an urgent contact: known to memory only
}

// Concludes reports whether the outcome would be final for the URL.
func (l *Lease) Concludes(o outcome.Outcome) bool {
	if o == outcome.None {
		return false
	}
	return o.Retry() == outcome.Never || l.Last || l.Kind == Robots
}

// GapReason says what a host rests for: the largest of the rests that apply.
type GapReason uint8

// Reasons are stored with the host: their numbers never change meaning.
const (
	GapNone       GapReason = 0 // never contacted, or needs no rest
	GapFloor      GapReason = 1 // the least gap between contacts
	GapFactor     GapReason = 2 // factor x duration of the last exchange
	GapCrawlDelay GapReason = 3 // robots.txt asks for it
	GapRetryAfter GapReason = 4 // the server asks for it
	GapBackoff    GapReason = 5 // the host failed
	GapIP         GapReason = 6 // its address was busy or resting
	GapRestart    GapReason = 7 // the crawl stopped uncleanly, so a contact may be missing from the record
)

// String returns the name used in records.
func (r GapReason) String() string {
	if int(r) < len(gapReasons) {
		return gapReasons[r]
	}
	return "unknown"
}

var gapReasons = [...]string{"none", "floor", "factor", "crawl_delay", "retry_after", "backoff", "ip", "restart"}

// Exchange is what the frontier must know of a visit.
type Exchange struct {
	// Outcome of the URL. None means that it was not tried and stays at the head of its queue:
	// robots.txt was fetched instead, or could not be had.
	Outcome    outcome.Outcome
	Contact    bool // bytes were exchanged with the host, or that was tried
	Start, End time.Time
	Addr       netip.Addr    // contacted; the zero Addr if none
	CrawlDelay time.Duration // in force for this host by robots.txt; zero for none. Durable with the host
	RetryAfter time.Duration // asked for by the server
	HostFailed bool          // counts for the host's back-off although Outcome is None
	Until      time.Time     // the host rests at least until then
	Park       bool          // the host waits for an answer from another host; Wake or two minutes end it
	Urgent     []Item        // contacts to make on other hosts, ahead of everything; lost in a crash
	Wake       []string      // politeness keys to un-park
	Bytes      int64         // received
	Status     int           // HTTP status; 0 for none
}

// Visit is the caller's record of a visit. It travels through the frontier untouched and comes back from
// Collect.
type Visit interface{ Exchange() *Exchange }

// Finished is a visit that waits to become durable.
type Finished struct {
	Lease Lease
	Visit Visit

	fate      fate
	page      bool      // counts as a page concluded
	notBefore time.Time // of the next attempt, if rewritten
	state     manners   // of the host after the visit
}

// fate is what becomes of the leased URL.
type fate uint8

const (
	stays     fate = iota // untouched in its back queue
	rewritten             // in its back queue, to be tried again
	leaves                // concluded
)

// Work is what Collect hands to the step.
type Work struct {
	Finished []Finished
	Hungry   bool // workers starve: bring new URLs even if batches stay small

	needs needs
}

// needs is what the scheduler asks of the step side.
type needs struct {
	low     []low  // hosts with few URLs left in memory
	urgent  []Item // urgent contacts with hosts that are not in memory
	missing int    // due hosts that workers lack
}

// low is a host that has room for more URLs in memory.
type low struct {
	host string
	room int
}

// Refused is a URL that leaves the frontier without a visit.
type Refused struct {
	Item    Item
	Outcome outcome.Outcome
	Rule    string // the setting or the fact that refused it
}
