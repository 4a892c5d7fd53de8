package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"decorum/internal/outcome"
)

// manners is what is owed to a host and remembered of it. It outlives the host's back queue.
//
// A rest is kept as its start and its length, not as its end: after a restart the time since the start is
// counted by the wall clock, and when that went backwards the whole length is waited again.
type manners struct {
	lastEnd    time.Time     // end of the last contact
	restFrom   time.Time     // start of the rest in force
	rest       time.Duration // its length
	reason     GapReason     // for its length
	lastTook   time.Duration // duration of the last contact
	crawlDelay time.Duration // in force by robots.txt
	failures   int           // host failures in a row
	givenUp    bool          // too many of them, or a rest that no crawl waits for
	pages      uint64        // concluded
	errors     uint64        // exchanges without a usable response
	bytes      uint64        // received
	lastStatus int           // HTTP; 0 if none
}

// due is the next contact time.
func (m *manners) due() time.Time { return m.restFrom.Add(m.rest) }

// after returns the manners after an exchange that ended a lease granted at leased. It is the pacing rule:
// the longest of the rests that apply, from the end of the exchange (US 6,321,265 claim 1; IR-book 20.2.3).
func (o *Options) after(m manners, key string, x *Exchange, leased, now time.Time) manners {
	end := x.End
	if end.IsZero() || end.After(now) {
		end = now
	}
	if end.Before(leased) {
		end = leased // the contact cannot have ended before it was allowed
	}
	m.count(x)
	m.failures = failuresAfter(m.failures, x)
	m.givenUp = m.givenUp || (o.HostGiveUp > 0 && m.failures >= o.HostGiveUp)
	if x.Contact {
		m.lastEnd, m.lastTook = end, max(0, x.End.Sub(x.Start))
	}
	if x.Contact || x.CrawlDelay > 0 {
		m.crawlDelay = max(0, x.CrawlDelay)
	}
	rest, reason := o.rest(&m, key, x, end)
	if x.Contact || end.Add(rest).After(m.due()) {
		m.restFrom, m.rest, m.reason = end, rest, reason
	}
	m.givenUp = m.givenUp || o.endless(m.rest)
	return m
}

// endless reports whether a rest is longer than any crawl waits, as with a Retry-After of the year 9999. The operator's own
// floor is waited for whatever it is.
func (o *Options) endless(rest time.Duration) bool { return rest > max(o.LongestRest, o.Floor) }

// count adds the exchange to the host's counters, except for concluded pages.
func (m *manners) count(x *Exchange) {
	m.bytes += uint64(max(0, x.Bytes))
	if x.Status != 0 {
		m.lastStatus = x.Status
	}
	if x.Outcome.Class() == outcome.ClassFailed || x.HostFailed {
		m.errors++
	}
}

// failuresAfter returns the host failures in a row. Only a response proves that a host is well; a time-out
// of one URL proves nothing.
func failuresAfter(n int, x *Exchange) int {
	switch {
	case x.HostFailed || x.Outcome.Retry() == outcome.RetryHost:
		return n + 1
	case x.Contact && (x.Outcome == outcome.None || x.Outcome.Class() == outcome.ClassVisited):
		return 0
	}
	return n
}

// rest returns the longest rest that applies, and why.
func (o *Options) rest(m *manners, key string, x *Exchange, end time.Time) (rest time.Duration, reason GapReason) {
	apply := func(d time.Duration, r GapReason) {
		if d > rest {
			rest, reason = d, r
		}
	}
	if x.Contact {
		apply(o.floor(key), GapFloor)
		apply(o.factorGap(key, m.lastTook), GapFactor)
		apply(m.crawlDelay, GapCrawlDelay)
	}
	if m.failures > 0 && (x.HostFailed || x.Outcome.Retry() == outcome.RetryHost) {
		apply(outcome.Backoff(m.failures, o.HostBackoff, o.BackoffMax), GapBackoff)
	}
	if !x.Until.IsZero() {
		apply(x.Until.Sub(end), GapBackoff)
	}
	apply(x.RetryAfter, GapRetryAfter)
	if x.Outcome == outcome.None && !x.Contact {
		apply(idleVisit, GapBackoff)
	}
	return rest, reason
}

// idleVisit is the rest after a visit that did nothing at all, so that a URL which cannot be tried yet does
// not go in circles.
const idleVisit = 50 * time.Millisecond

func (o *Options) floor(key string) time.Duration {
	if o.Fast(key) {
		return 0
	}
	return o.Floor
}

func (o *Options) factorGap(key string, took time.Duration) time.Duration {
	if o.Factor <= 0 || o.Fast(key) {
		return 0
	}
	return time.Duration(min(o.Factor*float64(took), float64(o.MaxFactorGap)))
}

// restored returns manners read from disk as they apply now: the rest continues, on the monotonic clock. A
// host whose record is older than the last restart after an unclean stop waits one full gap from that
// restart, because a contact may be missing from the record. The rest in force may be less than a gap: that of a
// visit without contact is.
func (o *Options) restored(m manners, key string, now, restart time.Time) manners {
	old := !restart.IsZero() && m.restFrom.Before(restart)
	if !m.restFrom.IsZero() {
		m.restFrom = resumed(m.restFrom, m.rest, now)
	}
	if gap := max(m.rest, o.floor(key), o.factorGap(key, m.lastTook), m.crawlDelay); old && gap > 0 {
		if from := resumed(restart, gap, now); from.Add(gap).After(m.due()) {
			m.restFrom, m.rest, m.reason = from, gap, GapRestart
		}
	}
	return m
}

// resumed returns the start of a rest on the monotonic clock of now. By the wall clock it began at from; if
// that is in the future the clock went backwards, and the rest begins again.
func resumed(from time.Time, rest time.Duration, now time.Time) time.Time {
	elapsed := max(0, now.Round(0).Sub(from.Round(0)))
	return now.Add(-min(elapsed, rest))
}

// record is a host on disk: its manners and where its back queue begins, ends and how long it is.
//
//	version (1 byte), flags (1 byte: given up), reason (1 byte)
//	end of last contact, start of rest (Unix nanoseconds, varints; 0 for none)
//	rest, last duration, crawl-delay (nanoseconds, uvarints)
//	failures, pages, errors, bytes, status (uvarints)
//	head, tail (8 bytes each), count (uvarint)
type record struct {
	manners
	head, tail, count uint64
}

const recordVersion = 1

var errRecord = errors.New("malformed host record")

func (r *record) append(b []byte) []byte {
	var flags byte
	if r.givenUp {
		flags = 1
	}
	b = append(b, recordVersion, flags, byte(r.reason))
	b = binary.AppendVarint(b, unixNano(r.lastEnd))
	b = binary.AppendVarint(b, unixNano(r.restFrom))
	for _, n := range [...]uint64{
		uint64(r.rest), uint64(r.lastTook), uint64(r.crawlDelay),
		uint64(r.failures), r.pages, r.errors, r.bytes, uint64(r.lastStatus),
	} {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.BigEndian.AppendUint64(b, r.head)
	b = binary.BigEndian.AppendUint64(b, r.tail)
	return binary.AppendUvarint(b, r.count)
}

func decodeRecord(b []byte) (record, error) {
	const most = 1<<63 - 1
	d := decoder{b: b}
	if v := d.byte(); v != recordVersion {
		return record{}, fmt.Errorf("%w: version %d, want %d", errRecord, v, recordVersion)
	}
	var r record
	r.givenUp = d.byte()&1 != 0
	r.reason = GapReason(d.byte())
	r.lastEnd = fromUnixNano(d.varint())
	r.restFrom = fromUnixNano(d.varint())
	r.rest = time.Duration(d.uvarint(most))
	r.lastTook = time.Duration(d.uvarint(most))
	r.crawlDelay = time.Duration(d.uvarint(most))
	r.failures = int(d.uvarint(most))
	r.pages, r.errors, r.bytes = d.uvarint(most), d.uvarint(most), d.uvarint(most)
	r.lastStatus = int(d.uvarint(most))
	r.head, r.tail = d.uint64(), d.uint64()
	r.count = d.uvarint(most)
	if d.bad || r.head > r.tail || r.count > r.tail-r.head {
		return record{}, errRecord
	}
	return r, nil
}

func (d *decoder) uint64() uint64 {
	if p := d.take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}
