package web

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"decorum/internal/frontier"
	"decorum/internal/meter"
)

// MonitorOptions say what a Monitor watches. The functions must be safe for concurrent use.
type MonitorOptions struct {
	Meter  func() meter.Snapshot            // required
	Queues func(rows int) frontier.Snapshot // required
	Known  func() uint64                    // distinct URLs; required
	Disk   func() (free uint64, files int)  // bytes free for the crawl folder and archive files; nil: unknown
	Feed   *Feed                            // tells the share of DNS; nil: unknown

	Tool, Dir, Page string // see Status
	Run             int
	Began           time.Time // default now
	Workers         int       // requests that may be under way at once
	MaxUncommitted  int       // visits not yet durable at which leases stop; default that of the frontier, 1024
}

// EnsureDefaults replaces zero values.
func (o *MonitorOptions) EnsureDefaults() {
	if o.Disk == nil {
		o.Disk = func() (uint64, int) { return 0, 0 }
	}
	if o.Feed == nil {
		o.Feed = NewFeed()
	}
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	if o.MaxUncommitted == 0 {
		o.MaxUncommitted = 1024
	}
}

// Validate reports an option that cannot work.
func (o *MonitorOptions) Validate() error {
	if o.Meter == nil || o.Queues == nil || o.Known == nil {
		return errors.New("web: a monitor needs meter, queues and the number of known URLs")
	}
	return nil
}

// samplePeriod makes the window of meter.Rate five seconds.
const samplePeriod = 250 * time.Millisecond

// MaxRows bounds the hosts listed in a Status.
const MaxRows = 200

// slowPeriod is how old what is dear to look at may be: the rows of hosts (a walk over the host table), the
// disk and the memory of the process. All viewers share one look.
const slowPeriod = time.Second

// Monitor makes a Status of what it watches. Run keeps its rates and its history; without Run those are zero.
type Monitor struct {
	opt   MonitorOptions
	first meter.Snapshot // as this run began
	stage atomic.Int32   // 0 running, 1 finishing, 2 ended

	mu      sync.Mutex
	pages   meter.Rate // guarded by mu, like all below
	fetches meter.Rate
	wire    meter.Rate
	cpu     meter.Rate
	rates   Rates
	cores   float64
	history history
	slow    slowLook
}

// slowLook is the result of what is looked at once a second.
type slowLook struct {
	at      time.Time
	rows    []frontier.HostState
	longest frontier.HostState
	free    uint64
	files   int
	rss     uint64
}

// NewMonitor returns a monitor of a crawl that begins now.
func NewMonitor(o MonitorOptions) (*Monitor, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Monitor{opt: o, first: o.Meter()}, nil
}

// Run samples four times a second until ctx is done.
func (m *Monitor) Run(ctx context.Context) {
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	for {
		m.sample(time.Now(), cpuTime())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Monitor) sample(now time.Time, cpu time.Duration) {
	c := m.opt.Meter()
	var queued uint64
	m.mu.Lock()
	due := m.history.due(now)
	m.mu.Unlock()
	if due {
		q := m.opt.Queues(0)
		queued = q.WaitingTotal() + q.Ready
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rates.Pages = m.pages.Sample(now, c.Pages)
	m.rates.Fetches = m.fetches.Sample(now, c.Fetches)
	m.rates.Bytes = m.wire.Sample(now, c.WireBytes)
	m.cores = m.cpu.Sample(now, uint64(cpu.Microseconds())) / 1e6
	if due {
		m.history.add(now, point(now.Sub(m.opt.Began), &c, queued))
	}
}

// Finish says that no further leases are taken; End that the crawl is over.
func (m *Monitor) Finish() { m.stage.CompareAndSwap(0, 1) }

// End says that the crawl is over.
func (m *Monitor) End() { m.stage.Store(2) }

// Status looks at the crawl; rows is how many hosts to list, at most MaxRows.
func (m *Monitor) Status(rows int) Status {
	now := time.Now()
	c, q, slow := m.opt.Meter(), m.opt.Queues(0), m.lookSlow(now)
	q.Longest = slow.longest
	m.mu.Lock()
	rates, cores := m.rates, m.cores
	m.mu.Unlock()
	s := Status{V: statusVersion, Type: "status", Tool: m.opt.Tool, Dir: m.opt.Dir, Page: m.opt.Page, PID: os.Getpid(), Run: m.opt.Run,
		Time: milli(now), Began: milli(m.opt.Began), ElapsedMS: now.Sub(m.opt.Began).Milliseconds(), Found: m.opt.Known(), Rates: rates}
	s.count(&c)
	s.queue(&q)
	s.Machine = Machine{RSS: slow.rss, CPU: cores, Cores: runtime.GOMAXPROCS(0), Workers: m.opt.Workers, DiskFree: slow.free, ArchiveFiles: slow.files}
	if secs := now.Sub(m.opt.Began).Seconds(); secs > 0 {
		s.Rates.PagesAverage = float64(c.Pages-min(c.Pages, m.first.Pages)) / secs
	}
	if slow.longest.Host != "" {
		h := host(&slow.longest)
		s.Longest = &h
	}
	for i := range slow.rows[:min(len(slow.rows), max(rows, 0))] {
		s.Rows = append(s.Rows, host(&slow.rows[i]))
	}
	s.State = m.state(&s)
	s.Bound = bound(&s, m.opt.MaxUncommitted, m.opt.Feed.dnsShare())
	return s
}

// noticed is how long nothing must be about to happen for a person to ask whether the crawl is stuck.
const noticed = 500 * time.Millisecond

func (m *Monitor) state(s *Status) State {
	switch m.stage.Load() {
	case 1:
		return Finishing
	case 2:
		return Ended
	}
	switch {
	case s.Paused != "":
		return Paused
	case s.Fetches == m.first.Fetches && s.Hosts.WithURLs == 0:
		return Starting
	case s.Queues.Leased == 0 && s.Hosts.NextDue.Sub(s.Time) > noticed:
		return Waiting
	}
	return Crawling
}

// lookSlow returns what was looked at within the last second, or looks again.
func (m *Monitor) lookSlow(now time.Time) slowLook {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.slow.at.IsZero() && now.Sub(m.slow.at) < slowPeriod {
		return m.slow
	}
	q := m.opt.Queues(MaxRows)
	m.slow = slowLook{at: now, rows: q.Rows, longest: q.Longest, rss: residentMemory()}
	m.slow.free, m.slow.files = m.opt.Disk()
	return m.slow
}

// count fills in what the meter knows.
func (s *Status) count(c *meter.Snapshot) {
	s.Pages, s.Fetches, s.Robots, s.Sitemaps, s.Reused, s.Skipped = c.Pages, c.Fetches, c.Robots, c.Sitemaps, c.Reused, c.Skipped
	s.Outcomes, s.SkippedBy = split(c.Outcomes)
	s.Responses = Responses{None: c.Status[0], S1xx: c.Status[1], S2xx: c.Status[2], S3xx: c.Status[3], S4xx: c.Status[4], S5xx: c.Status[5]}
	s.Links = Links{Found: c.LinksFound, Passed: c.LinksPassed, New: c.LinksNew}
	s.Bytes = Volume{Wire: c.WireBytes, Body: c.BodyBytes, Archived: c.WARCBytes}
	s.Latency = Latency{FetchP50: c.FetchP50.Milliseconds(), FetchP95: c.FetchP95.Milliseconds(),
		FirstByteP50: c.FirstByteP50.Milliseconds(), FirstByteP95: c.FirstByteP95.Milliseconds()}
	s.Commit = Commit{Count: c.Commits, P50: c.CommitP50.Milliseconds(), P95: c.CommitP95.Milliseconds(), Last: milli(c.LastCommit)}
}

// queue fills in what the frontier knows.
func (s *Status) queue(q *frontier.Snapshot) {
	s.Paused, s.Queued = q.Paused, q.WaitingTotal()+q.Ready
	s.Queues = Queues{Levels: q.Waiting, Ready: q.Ready, Urgent: q.Urgent, Leased: q.Leased, Intake: q.Intake, Uncommitted: q.Uncommitted}
	h := &q.Hosts
	s.Hosts = Hosts{Fetching: h[frontier.Fetching], Due: h[frontier.Due], Resting: h[frontier.Resting], BackingOff: h[frontier.BackingOff],
		Address: h[frontier.Address], Parked: h[frontier.Parked], Idle: h[frontier.Idle], GivenUp: h[frontier.GivenUp], InHand: q.InHand,
		NextDue: milli(q.NextDue)}
	s.Hosts.WithURLs = s.Hosts.Fetching + s.Hosts.Due + s.Hosts.Resting + s.Hosts.BackingOff + s.Hosts.Address + s.Hosts.Parked
}

func host(h *frontier.HostState) Host {
	out := Host{Host: h.Host, Phase: h.Phase.String(), Queued: h.Queued + h.Waiting, Due: milli(h.Due), GapMS: h.Gap.Milliseconds(),
		CrawlDelayMS: h.CrawlDelay.Milliseconds(), LastEnd: milli(h.LastEnd), LastMS: h.LastDuration.Milliseconds(), LastStatus: h.LastStatus,
		Failures: h.Failures, Pages: h.Pages, Errors: h.Errors, Bytes: h.Bytes, ETAMS: h.ETA.Milliseconds()}
	if h.Reason != frontier.GapNone {
		out.GapReason = h.Reason.String()
	}
	return out
}

// milli is the form of times in JSON: UTC, to the millisecond.
func milli(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// residentMemory returns the bytes of memory the process holds, or 0 where the system does not say.
func residentMemory() uint64 {
	raw, err := os.ReadFile("/proc/self/statm") // proc(5): size resident shared ..., in pages
	if err != nil {
		return 0
	}
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64) // garbage reads as unknown
	return pages * uint64(os.Getpagesize())
}
