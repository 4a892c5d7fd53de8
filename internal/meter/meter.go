// Package meter counts what a crawl does. There is one Crawl per running crawler; workers add to it, and
// everything that shows a number (screen, live page, log line, Prometheus) reads the one Snapshot type, so
// that no two places disagree.
//
// Counters only grow. They are atomic: safe for any number of writers, and a Snapshot is not a
// consistent cut but each of its values was true at some instant during the call.
package meter

import (
	"math/bits"
	"sync/atomic"
	"time"

	"decorum/internal/outcome"
)

// Counter is a number that only grows. The zero value is zero.
type Counter struct{ n atomic.Uint64 }

// Add adds n.
func (c *Counter) Add(n int) { c.n.Add(uint64(n)) }

// Load returns the count.
func (c *Counter) Load() uint64 { return c.n.Load() }

// histogramBuckets covers 1 us to 2^39 us (six days), four buckets to each power of two: a quantile is
// wrong by at most 19 %.
const histogramBuckets = 40 * 4

// Histogram counts durations in logarithmic buckets.
type Histogram struct {
	n [histogramBuckets]atomic.Uint64
}

// Observe counts a duration; a negative one counts as zero.
func (h *Histogram) Observe(d time.Duration) { h.n[bucket(d)].Add(1) }

func bucket(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 1))
	e := bits.Len64(us) - 1
	quarter := 0
	if e >= 2 {
		quarter = int(us>>(e-2)) & 3
	} else {
		quarter = int(us<<(2-e)) & 3
	}
	return min(e*4+quarter, histogramBuckets-1)
}

// upper returns the duration at which bucket i ends.
func upper(i int) time.Duration {
	return time.Duration(4+i%4+1) * (time.Microsecond << (i / 4)) / 4
}

// Quantile returns a duration that the fraction q (0 to 1) of the observations did not exceed, or zero
// when there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	var total uint64
	for i := range h.n {
		total += h.n[i].Load()
	}
	if total == 0 {
		return 0
	}
	rank, sum := uint64(q*float64(total-1))+1, uint64(0)
	for i := range h.n {
		if sum += h.n[i].Load(); sum >= rank {
			return upper(i)
		}
	}
	return upper(histogramBuckets - 1)
}

// Crawl is everything counted in one crawl. Durable counters are set by Restore when a crawl resumes.
type Crawl struct {
	Pages     Counter // URLs that reached a final outcome by being visited or by failing
	Fetches   Counter // exchanges, robots and sitemaps and failed ones included
	Robots    Counter // exchanges for robots.txt
	Sitemaps  Counter // sitemaps read
	WireBytes Counter // bytes received
	BodyBytes Counter // bytes of decoded bodies
	WARCBytes Counter // bytes appended to the archive
	Reused    Counter // exchanges on a kept connection

	LinksFound  Counter // links on pages, before any test
	LinksPassed Counter // links that passed the filter
	LinksCached Counter // of those, dropped by the cache of popular URLs
	LinksNew    Counter // URLs the sieve found new
	LinksSeen   Counter // URLs the sieve knew
	Skipped     Counter // URLs not to be fetched, each counted once as far as memory reaches

	Outcomes [256]Counter // by outcome.Outcome: visits and failures when final, skips when skipped
	Status   [6]Counter   // by hundreds of the status code; 0 = no response

	FetchTime  Histogram // whole exchange
	FirstByte  Histogram // request sent to first byte
	CommitTime Histogram // one group commit
	Commits    Counter

	lastCommit atomic.Int64 // unix nanoseconds
}

// Committed notes a group commit that ended at now and took d.
func (c *Crawl) Committed(now time.Time, d time.Duration) {
	c.Commits.Add(1)
	c.CommitTime.Observe(d)
	c.lastCommit.Store(now.UnixNano())
}

// Snapshot is the numbers of a crawl at one time.
type Snapshot struct {
	Time                                                                 time.Time
	Pages, Fetches, Robots, Sitemaps, WireBytes, BodyBytes, WARCBytes    uint64
	Reused, LinksFound, LinksPassed, LinksCached, LinksNew, LinksSeen    uint64
	Skipped, Commits                                                     uint64
	Outcomes                                                             map[outcome.Outcome]uint64 // zero counts left out
	Status                                                               [6]uint64
	FetchP50, FetchP95, FirstByteP50, FirstByteP95, CommitP50, CommitP95 time.Duration
	LastCommit                                                           time.Time
}

// Snapshot reads all counters.
func (c *Crawl) Snapshot(now time.Time) Snapshot {
	s := Snapshot{
		Time: now, Pages: c.Pages.Load(), Fetches: c.Fetches.Load(), Robots: c.Robots.Load(), Sitemaps: c.Sitemaps.Load(),
		WireBytes: c.WireBytes.Load(), BodyBytes: c.BodyBytes.Load(), WARCBytes: c.WARCBytes.Load(), Reused: c.Reused.Load(),
		LinksFound: c.LinksFound.Load(), LinksPassed: c.LinksPassed.Load(), LinksCached: c.LinksCached.Load(),
		LinksNew: c.LinksNew.Load(), LinksSeen: c.LinksSeen.Load(), Skipped: c.Skipped.Load(), Commits: c.Commits.Load(),
		Outcomes: map[outcome.Outcome]uint64{},
		FetchP50: c.FetchTime.Quantile(.5), FetchP95: c.FetchTime.Quantile(.95),
		FirstByteP50: c.FirstByte.Quantile(.5), FirstByteP95: c.FirstByte.Quantile(.95),
		CommitP50: c.CommitTime.Quantile(.5), CommitP95: c.CommitTime.Quantile(.95),
	}
	for i := range c.Outcomes {
		if n := c.Outcomes[i].Load(); n > 0 {
			s.Outcomes[outcome.Outcome(i)] = n
		}
	}
	for i := range c.Status {
		s.Status[i] = c.Status[i].Load()
	}
	if t := c.lastCommit.Load(); t != 0 {
		s.LastCommit = time.Unix(0, t)
	}
	return s
}

// Restore sets the durable counters to what an earlier run of the same crawl had reached.
func (c *Crawl) Restore(s Snapshot) {
	for _, v := range c.durable(&s) {
		v.counter.n.Store(*v.value)
	}
	for o, n := range s.Outcomes {
		c.Outcomes[o].n.Store(n)
	}
	for i, n := range s.Status {
		c.Status[i].n.Store(n)
	}
}

type pair struct {
	counter *Counter
	value   *uint64
}

func (c *Crawl) durable(s *Snapshot) []pair {
	return []pair{{&c.Pages, &s.Pages}, {&c.Fetches, &s.Fetches}, {&c.Robots, &s.Robots}, {&c.Sitemaps, &s.Sitemaps},
		{&c.WireBytes, &s.WireBytes}, {&c.BodyBytes, &s.BodyBytes}, {&c.WARCBytes, &s.WARCBytes}, {&c.Reused, &s.Reused},
		{&c.LinksFound, &s.LinksFound}, {&c.LinksPassed, &s.LinksPassed}, {&c.LinksCached, &s.LinksCached},
		{&c.LinksNew, &s.LinksNew}, {&c.LinksSeen, &s.LinksSeen}, {&c.Skipped, &s.Skipped}}
}

// Rate is a count per second over a sliding window of samples.
type Rate struct {
	times  [rateSamples]time.Time
	counts [rateSamples]uint64
	next   int
}

// rateSamples at four samples a second is a window of five seconds: calm enough to read, quick enough to see a stall.
const rateSamples = 20

// Sample notes the count at a time and returns the rate over the window.
func (r *Rate) Sample(now time.Time, count uint64) float64 {
	oldest := r.next % rateSamples
	if r.next < rateSamples {
		oldest = 0
	}
	t0, c0 := r.times[oldest], r.counts[oldest]
	r.times[r.next%rateSamples], r.counts[r.next%rateSamples] = now, count
	r.next++
	if span := now.Sub(t0).Seconds(); !t0.IsZero() && span > 0 {
		return float64(count-c0) / span
	}
	return 0
}
