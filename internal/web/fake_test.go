package web

import (
	"testing"
	"time"

	"decorum/internal/frontier"
	"decorum/internal/meter"
	"decorum/internal/outcome"
)

// fake is a crawl that stands still, in a situation given by name.
type fake struct {
	began  time.Time
	meter  meter.Snapshot
	queues frontier.Snapshot
	known  uint64
}

// epoch is when fake crawls begin.
var epoch = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// fakeCrawl is a crawl of many hosts at full speed, at a time now after its beginning.
func fakeCrawl(now time.Time) *fake {
	f := &fake{began: now.Add(-724 * time.Second), known: 31207}
	f.meter = meter.Snapshot{Time: now, Pages: 4812, Fetches: 5103, Robots: 201, Sitemaps: 12, WireBytes: 182_400_000, BodyBytes: 611_000_000,
		WARCBytes: 178_000_000, Reused: 3300, LinksFound: 410_233, LinksPassed: 188_120, LinksNew: 31_207, Skipped: 295, Commits: 2890,
		Outcomes: map[outcome.Outcome]uint64{outcome.OK: 4611, outcome.NotFound: 61, outcome.Redirect: 120, outcome.ServerError: 9, outcome.Timeout: 11,
			outcome.RobotsDenied: 201, outcome.OutOfScope: 60, outcome.TrapRepeat: 12, outcome.TrapPattern: 10, outcome.Extension: 12},
		Status: [6]uint64{11, 0, 4611, 120, 61, 9}, FetchP50: 210 * time.Millisecond, FetchP95: 1900 * time.Millisecond,
		FirstByteP50: 150 * time.Millisecond, FirstByteP95: time.Second, CommitP50: 9 * time.Millisecond, CommitP95: 31 * time.Millisecond,
		LastCommit: now.Add(-120 * time.Millisecond)}
	q := &f.queues
	q.Waiting, q.Ready, q.Leased, q.InHand, q.Uncommitted, q.Intake = []uint64{120, 4210, 9800, 8012, 2100, 600, 0, 0}, 1258, 41, 431, 17, 903
	q.Hosts[frontier.Fetching], q.Hosts[frontier.Due], q.Hosts[frontier.Resting], q.Hosts[frontier.BackingOff], q.Hosts[frontier.Idle] = 41, 12, 2844, 14, 620
	q.Longest = frontier.HostState{Host: "docs.example", Phase: frontier.Resting, Queued: 64, Waiting: 748, Gap: 2 * time.Second, Reason: frontier.GapCrawlDelay,
		CrawlDelay: 2 * time.Second, Due: now.Add(800 * time.Millisecond), LastEnd: now.Add(-1200 * time.Millisecond), LastDuration: 80 * time.Millisecond,
		LastStatus: 200, Pages: 311, Bytes: 9_400_000, ETA: 812 * 2 * time.Second}
	q.Rows = []frontier.HostState{q.Longest,
		{Host: "www.library.example", Phase: frontier.Fetching, Queued: 64, Waiting: 402, Gap: time.Second, Reason: frontier.GapFloor, LastStatus: 200, Pages: 522, ETA: 466 * time.Second},
		{Host: "slow.archive.example", Phase: frontier.BackingOff, Queued: 31, Gap: time.Minute, Reason: frontier.GapBackoff, Failures: 2, Errors: 3, Pages: 12,
			Due: now.Add(43 * time.Second), ETA: 31 * time.Minute},
		{Host: "xn--bcher-kva.example", Phase: frontier.Due, Queued: 3, Gap: 4200 * time.Millisecond, Reason: frontier.GapFactor, LastStatus: 304, Pages: 40, ETA: 12600 * time.Millisecond}}
	return f
}

// situations are the crawls of the golden tests.
func situations(now time.Time) map[string]*fake {
	resting := fakeCrawl(now)
	resting.queues.Leased, resting.queues.Hosts[frontier.Fetching], resting.queues.Hosts[frontier.Due] = 0, 0, 0
	resting.queues.NextDue = now.Add(800 * time.Millisecond)
	disk := fakeCrawl(now)
	disk.queues.Paused, disk.queues.Leased = "disk: 1204 MiB free, less than --min-free 2048 MiB; fetching resumes when there is room", 2
	one := fakeCrawl(now)
	one.meter, one.known = meter.Snapshot{Time: now, Pages: 1, Fetches: 2, Robots: 1, WireBytes: 9000, Status: [6]uint64{2: 2}, FetchP50: 85 * time.Millisecond, FetchP95: 90 * time.Millisecond}, 412
	one.queues = frontier.Snapshot{Waiting: make([]uint64, 8), Ready: 411, InHand: 1, NextDue: now.Add(12 * time.Second)}
	one.queues.Hosts[frontier.Resting] = 1
	one.queues.Longest = frontier.HostState{Host: "example.org", Queued: 411, Gap: 20 * time.Second, ETA: 411 * 20 * time.Second}
	failing := fakeCrawl(now)
	failing.queues = frontier.Snapshot{Waiting: make([]uint64, 8), Ready: 20, InHand: 3, NextDue: now.Add(95 * time.Second)}
	failing.queues.Hosts[frontier.BackingOff] = 3
	empty := &fake{began: now.Add(-400 * time.Millisecond), queues: frontier.Snapshot{Waiting: make([]uint64, 8), Intake: 1}}
	return map[string]*fake{"crawling": fakeCrawl(now), "resting": resting, "disk": disk, "one_host": one, "failing": failing,
		"finishing": fakeCrawl(now), "empty": empty}
}

// monitor watches the fake.
func (f *fake) monitor(t testing.TB) *Monitor {
	t.Helper()
	m, err := NewMonitor(MonitorOptions{Meter: func() meter.Snapshot { return f.meter }, Known: func() uint64 { return f.known },
		Queues: func(rows int) frontier.Snapshot {
			q := f.queues
			q.Rows = q.Rows[:min(rows, len(q.Rows))]
			if rows == 0 {
				q.Longest = frontier.HostState{}
			}
			return q
		},
		Disk: func() (uint64, int) { return 61_000_000_000, 3 }, Tool: "decorum/test", Dir: "example.org.crawl", Run: 2, Began: f.began, Workers: 128})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
