package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"decorum/internal/frontier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file of testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update writes it. Now:\n%s", path, got)
	}
}

// status looks at a fake, with what depends on the machine replaced.
func (f *fake) status(t testing.TB, rows int, more ...func(*Monitor)) Status {
	m := f.monitor(t)
	m.rates, m.first.Pages = Rates{Pages: 6.94, Fetches: 7.4, Bytes: 2_100_000}, min(34, f.meter.Pages)
	for _, change := range more {
		change(m)
	}
	s := m.Status(rows)
	s.PID, s.Machine.Cores = 4242, 2
	if s.Machine.RSS > 0 {
		s.Machine.RSS = 141_000_000
	}
	return s
}

func TestBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		all := situations(time.Now())
		for _, name := range slices.Sorted(maps.Keys(all)) {
			s := all[name].status(t, 0, func(m *Monitor) {
				if name == "finishing" {
					m.Finish()
				}
			})
			s.Machine.RSS = 141_000_000
			for _, width := range []int{120, 80, 40} {
				fmt.Fprintf(&out, "--- %s, %d columns\n", name, width)
				for _, line := range s.Block(width, "ctrl-c pause", "live page http://127.0.0.1:7070/") {
					if n := Columns(line); n > width {
						t.Errorf("%d columns in a block of %d: %s", n, width, line)
					}
					fmt.Fprintln(&out, line)
				}
			}
			fmt.Fprintf(&out, "--- %s, as a line\n%s\n", name, s.Line())
		}
		golden(t, "block.golden", out.Bytes())
	})
}

func TestStatusJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeCrawl(time.Now()).status(t, 2)
		s.Machine.RSS = 141_000_000
		raw, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "status.golden.json", append(raw, '\n'))
		var back Status
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s, back) {
			t.Errorf("read back as\n%+v\nwritten as\n%+v", back, s)
		}
	})
}

func TestNoRowsUnlessAsked(t *testing.T) {
	f := fakeCrawl(time.Now())
	for _, rows := range []int{-1, 0, 1, 3, 1000} {
		if n, want := len(f.status(t, rows).Rows), min(max(rows, 0), 4); n != want {
			t.Errorf("%d rows for %d asked", n, rows)
		}
	}
}

func TestBound(t *testing.T) {
	now := time.Now()
	cases := map[string]struct {
		change func(f *fake)
		cores  float64
		dns    float64
		kind   string
		text   string
	}{
		"politeness": {kind: BoundPoliteness, text: "bound by politeness: 2,911 hosts left; longest docs.example 812 URLs x 2.0s ≈ 27m"},
		"at the commit limit": {change: func(f *fake) { f.queues.Uncommitted = 1024 }, kind: BoundDisk,
			text: "bound by disk: 1,024 visits wait to be durable, commits take 31ms (p95)"},
		"every core busy":    {cores: 1.93, kind: BoundCPU, text: "bound by CPU: 1.9 of 2 cores busy"},
		"no worker free":     {change: func(f *fake) { f.queues.Leased = 128 }, kind: BoundWorkers, text: "bound by workers: all 128 are busy and 12 hosts are due; raise --concurrency"},
		"names":              {dns: .61, kind: BoundDNS, text: "bound by DNS: 61% of the time of a visit is spent on resolving names"},
		"paused comes first": {change: func(f *fake) { f.queues.Paused, f.queues.Uncommitted = "paused by request", 5000 }, kind: BoundPaused, text: "paused by request; 41 requests still under way"},
		"paused, all quiet":  {change: func(f *fake) { f.queues.Paused, f.queues.Leased = "paused by request", 0 }, kind: BoundPaused, text: "paused by request"},
		"links only":         {change: func(f *fake) { f.queues.Hosts = frontier.Snapshot{}.Hosts }, kind: BoundLinks, text: "new links are being sorted into the queues"},
		"nothing":            {change: func(f *fake) { f.queues = frontier.Snapshot{Waiting: make([]uint64, 8)} }, kind: BoundNothing, text: "nothing is left to fetch"},
	}
	for name, c := range cases {
		f := fakeCrawl(now)
		if c.change != nil {
			c.change(f)
		}
		s := f.status(t, 0, func(m *Monitor) {
			if m.first.Fetches--; name == "starting" {
				m.first.Fetches++
			}
		})
		s.Machine.CPU = c.cores
		if got := bound(&s, 1024, c.dns); got.Kind != c.kind || got.Text != c.text {
			t.Errorf("%s: %s %q, not %s %q", name, got.Kind, got.Text, c.kind, c.text)
		}
	}
}

func TestStates(t *testing.T) {
	now := time.Now()
	all := situations(now)
	paused := fakeCrawl(now)
	paused.queues.Paused = "paused by request"
	for _, c := range []struct {
		f     *fake
		want  State
		stage func(*Monitor)
	}{
		{all["crawling"], Crawling, nil}, {all["resting"], Waiting, nil}, {all["failing"], Waiting, nil}, {all["disk"], Paused, nil}, {paused, Paused, nil},
		{all["empty"], Starting, nil}, {all["crawling"], Finishing, (*Monitor).Finish}, {paused, Ended, (*Monitor).End},
		{paused, Ended, func(m *Monitor) { m.End(); m.Finish() }},
	} {
		s := c.f.status(t, 0, func(m *Monitor) {
			if c.stage != nil {
				c.stage(m)
			}
		})
		if s.State != c.want {
			t.Errorf("%s (%s), not %s", s.State, s.Bound.Text, c.want)
		}
	}
}

// TestRates drives a crawl of ten pages and a kilobyte a second in virtual time.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeCrawl(time.Now())
		f.began = time.Now()
		m := f.monitor(t)
		start := f.meter
		for i := range 4 * 60 {
			f.meter.Pages, f.meter.WireBytes = start.Pages+uint64(i)*10/4, start.WireBytes+uint64(i)*1000/4
			m.sample(time.Now(), time.Duration(i)*samplePeriod*3/2)
			time.Sleep(samplePeriod)
		}
		s := m.Status(0)
		within(t, "pages/s", s.Rates.Pages, 9.9, 10.1)
		within(t, "pages/s on average", s.Rates.PagesAverage, 9.8, 10.1)
		within(t, "bytes/s", s.Rates.Bytes, 990, 1010)
		within(t, "cores", s.Machine.CPU, 1.49, 1.51)
		for i := range 4 * 6 { // a stall shows within six seconds
			m.sample(time.Now(), time.Duration(i))
			time.Sleep(samplePeriod)
		}
		if r := m.Status(0).Rates.Pages; r != 0 {
			t.Errorf("%v pages/s after a stall", r)
		}
	})
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: %v is not between %v and %v", what, got, low, high)
	}
}

// TestHistoryIsBounded runs a crawl of a week: the history keeps its ends, its order and its size.
func TestHistoryIsBounded(t *testing.T) {
	var h history
	now := epoch
	for range 7 * 24 * 3600 {
		if h.due(now) {
			h.add(now, Point{MS: now.Sub(epoch).Milliseconds()})
		}
		now = now.Add(time.Second)
	}
	if n := len(h.points); n > maxPoints || n < maxPoints/2 {
		t.Errorf("%d points", n)
	}
	if !slices.IsSortedFunc(h.points, func(a, b Point) int { return int(a.MS - b.MS) }) {
		t.Error("out of order")
	}
	first, last := h.points[0].MS, h.points[len(h.points)-1].MS
	if span := last - first; span < (6*24*time.Hour + 20*time.Hour).Milliseconds() {
		t.Errorf("covers %v", time.Duration(span)*time.Millisecond)
	}
}

// TestOneLookForAllViewers: however many look, the table of hosts is walked once a second.
func TestOneLookForAllViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeCrawl(time.Now())
		m := f.monitor(t)
		walks := 0
		inner := m.opt.Queues
		m.opt.Queues = func(rows int) frontier.Snapshot {
			if rows > 0 {
				walks++
			}
			return inner(rows)
		}
		for range 100 {
			m.Status(50)
			time.Sleep(100 * time.Millisecond)
		}
		if walks > 11 {
			t.Errorf("%d walks in ten seconds", walks)
		}
	})
}

func TestReasonsAreRanked(t *testing.T) {
	s := fakeCrawl(time.Now()).status(t, 0)
	var got []string
	for _, r := range s.Reasons() {
		got = append(got, fmt.Sprint(r.Name, " ", r.Count))
	}
	if text := strings.Join(got, ", "); text != "robots 201, scope 60, trap 22, extension 12" {
		t.Error(text)
	}
}

func BenchmarkStatus(b *testing.B) {
	m := fakeCrawl(time.Now()).monitor(b)
	b.ReportAllocs()
	for b.Loop() {
		m.Status(50)
	}
}
