package web

import (
	"slices"
	"strings"
	"time"

	"decorum/internal/outcome"
)

// statusVersion is the version of the JSON form of Status: it rises when a field changes its meaning or goes away.
const statusVersion = 1

// State is what a crawl does at the moment, in one word.
type State string

// The states.
const (
	Starting  State = "starting"  // nothing was asked of any host yet
	Crawling  State = "crawling"  // requests are under way or about to be
	Waiting   State = "waiting"   // every host with URLs rests
	Paused    State = "paused"    // leases are held back
	Finishing State = "finishing" // no further leases; requests under way end
	Ended     State = "ended"
)

// Status is a running crawl at one moment: the answer of GET /api/status. Durations are milliseconds, sizes
// bytes, times RFC 3339; what is unknown is absent. Counts are over all runs of the crawl unless they say otherwise.
type Status struct {
	V    int    `json:"v"`              // 1
	Type string `json:"type"`           // "status"
	Tool string `json:"tool"`           // name and version of the program
	Dir  string `json:"dir"`            // crawl folder
	Page string `json:"page,omitempty"` // address of the live page
	PID  int    `json:"pid"`
	Run  int    `json:"run"` // number of this start of the program on the folder, from 1

	Time      time.Time `json:"time"`
	Began     time.Time `json:"began"`      // this run
	ElapsedMS int64     `json:"elapsed_ms"` // of this run
	State     State     `json:"state"`
	Paused    string    `json:"paused,omitempty"` // why, in state paused
	Bound     Bound     `json:"bound"`            // why it is not faster

	Pages    uint64 `json:"pages"`          // URLs with a final outcome
	Fetches  uint64 `json:"fetches"`        // exchanges of any kind
	Robots   uint64 `json:"robots_fetches"` // exchanges for robots.txt
	Sitemaps uint64 `json:"sitemaps"`       // read
	Reused   uint64 `json:"reused"`         // exchanges on a kept connection
	Found    uint64 `json:"found"`          // distinct URLs known
	Queued   uint64 `json:"queued"`         // URLs to fetch, those under way included
	Skipped  uint64 `json:"skipped"`        // URLs not to be fetched

	Outcomes  map[string]uint64 `json:"outcomes"`   // pages by outcome
	SkippedBy map[string]uint64 `json:"skipped_by"` // skipped URLs by reason
	Responses Responses         `json:"responses"`
	Links     Links             `json:"links"`

	Rates   Rates   `json:"rates"`
	Bytes   Volume  `json:"bytes"`
	Latency Latency `json:"latency"`
	Commit  Commit  `json:"commit"`
	Queues  Queues  `json:"queues"`
	Hosts   Hosts   `json:"hosts"`
	Machine Machine `json:"machine"`

	Longest *Host  `json:"longest,omitempty"` // the host that will take longest
	Rows    []Host `json:"rows,omitempty"`    // hosts with most URLs queued, most first; as many as asked for
}

// Responses counts exchanges by the hundreds of the status code.
type Responses struct {
	S1xx uint64 `json:"1xx,omitempty"`
	S2xx uint64 `json:"2xx"`
	S3xx uint64 `json:"3xx"`
	S4xx uint64 `json:"4xx"`
	S5xx uint64 `json:"5xx"`
	None uint64 `json:"none"` // no response: an error of name, connection, TLS or time
}

// Links counts links on pages.
type Links struct {
	Found  uint64 `json:"found"`  // before any test
	Passed uint64 `json:"passed"` // the filter
	New    uint64 `json:"new"`    // not known before
}

// Rates are per second: over the last five seconds unless they say otherwise.
type Rates struct {
	Pages        float64 `json:"pages"`
	PagesAverage float64 `json:"pages_average"` // since this run began
	Fetches      float64 `json:"fetches"`
	Bytes        float64 `json:"bytes"` // received
}

// Volume is amounts of bytes.
type Volume struct {
	Wire     uint64 `json:"wire"`     // received
	Body     uint64 `json:"body"`     // bodies, decoded
	Archived uint64 `json:"archived"` // written to the archive
}

// Latency is how long exchanges take.
type Latency struct {
	FetchP50     int64 `json:"fetch_p50_ms"`
	FetchP95     int64 `json:"fetch_p95_ms"`
	FirstByteP50 int64 `json:"first_byte_p50_ms"`
	FirstByteP95 int64 `json:"first_byte_p95_ms"`
}

// Commit is about the group commits that make results durable.
type Commit struct {
	Count uint64    `json:"count"` // in this run
	P50   int64     `json:"p50_ms"`
	P95   int64     `json:"p95_ms"`
	Last  time.Time `json:"last,omitzero"`
}

// Queues is where URLs wait.
type Queues struct {
	Levels      []uint64 `json:"levels"` // front queues; the first is the most urgent
	Ready       uint64   `json:"ready"`  // in back queues, those under way included
	Urgent      int      `json:"urgent"` // robots.txt, redirects and retries
	Leased      int      `json:"leased"` // requests under way
	Intake      int      `json:"intake"` // links not yet known to be new
	Uncommitted int      `json:"uncommitted"`
}

// Hosts counts hosts in memory by what they do.
type Hosts struct {
	WithURLs   int       `json:"with_urls"` // all but idle and given up
	Fetching   int       `json:"fetching"`
	Due        int       `json:"due"` // wait for a worker
	Resting    int       `json:"resting"`
	BackingOff int       `json:"backing_off"` // rest after a failure
	Address    int       `json:"address"`     // wait for their address, which other hosts share
	Parked     int       `json:"parked"`      // wait for robots.txt
	Idle       int       `json:"idle"`
	GivenUp    int       `json:"given_up"`
	InHand     int       `json:"in_hand"`           // back queues
	NextDue    time.Time `json:"next_due,omitzero"` // when none is due now
}

// Machine is what the process uses of its machine.
type Machine struct {
	RSS          uint64  `json:"rss,omitempty"` // resident memory
	CPU          float64 `json:"cpu"`           // cores busy, over the last five seconds
	Cores        int     `json:"cores"`         // it may use
	Workers      int     `json:"workers"`       // requests that may be under way at once
	DiskFree     uint64  `json:"disk_free,omitempty"`
	ArchiveFiles int     `json:"archive_files"`
}

// Host is a host as the frontier sees it.
type Host struct {
	Host         string    `json:"host"`
	Phase        string    `json:"phase"` // frontier.Phase
	Queued       uint64    `json:"queued"`
	Due          time.Time `json:"due,omitzero"` // next contact; absent if it may be contacted now
	GapMS        int64     `json:"gap_ms"`
	GapReason    string    `json:"gap_reason,omitempty"`
	CrawlDelayMS int64     `json:"crawl_delay_ms,omitempty"`
	LastEnd      time.Time `json:"last_end,omitzero"`
	LastMS       int64     `json:"last_ms,omitempty"` // duration of the last contact
	LastStatus   int       `json:"last_status,omitempty"`
	Failures     int       `json:"failures,omitempty"` // in a row
	Pages        uint64    `json:"pages"`
	Errors       uint64    `json:"errors"`
	Bytes        uint64    `json:"bytes"`
	ETAMS        int64     `json:"eta_ms"` // until its URLs are fetched at the present gap
}

// Reason is a number of skipped URLs with their reason in words.
type Reason struct {
	Name  string
	Count uint64
}

// Reasons lists why URLs were skipped, most first; the kinds of traps are one.
func (s *Status) Reasons() []Reason { return ranked(s.SkippedBy) }

func reasonName(name string) string {
	if strings.HasPrefix(name, "trap_") {
		return "trap"
	}
	return strings.ReplaceAll(name, "_", " ")
}

func ranked[N uint64 | int64](counts map[string]N) []Reason {
	sums := map[string]uint64{}
	for name, n := range counts {
		sums[reasonName(name)] += uint64(n)
	}
	var list []Reason
	for name, n := range sums {
		list = append(list, Reason{name, n})
	}
	slices.SortFunc(list, func(a, b Reason) int {
		if a.Count != b.Count {
			if a.Count > b.Count {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// Ranked lists counts by reason as Reasons does, for those of a summary.
func Ranked(counts map[string]int64) []Reason { return ranked(counts) }

// split divides outcome counts into pages and skipped URLs.
func split(counts map[outcome.Outcome]uint64) (pages, skipped map[string]uint64) {
	pages, skipped = map[string]uint64{}, map[string]uint64{}
	for o, n := range counts {
		if o.Class() == outcome.ClassSkipped {
			skipped[o.String()] = n
		} else {
			pages[o.String()] = n
		}
	}
	return pages, skipped
}
