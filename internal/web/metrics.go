package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds the scrapes answered at once; further ones get 503.
const maxScrapes = 4

// metrics answers GET /metrics from the same Status as everything else, in a registry of its own.
func (s *Server) metrics() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(s.opt.Monitor))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// metric is one family of samples.
type metric struct {
	name, help string
	label      string // "" for a single sample
	kind       prometheus.ValueType
	read       func(s *Status, emit func(label string, value float64))
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// one is a family of a single sample.
func one[N uint64 | int | float64](name, help string, kind prometheus.ValueType, read func(*Status) N) metric {
	return metric{name, help, "", kind, func(s *Status, emit func(string, float64)) { emit("", float64(read(s))) }}
}

// counts is a family of samples by name.
func counts(name, help, label string, kind prometheus.ValueType, read func(*Status) map[string]uint64) metric {
	return metric{name, help, label, kind, func(s *Status, emit func(string, float64)) {
		for l, n := range read(s) {
			emit(l, float64(n))
		}
	}}
}

// quantiles is a family of two quantiles in seconds, given in milliseconds.
func quantiles(name, help string, read func(*Status) (p50, p95 int64)) metric {
	return metric{name, help, "quantile", gauge, func(s *Status, emit func(string, float64)) {
		p50, p95 := read(s)
		emit("0.5", float64(p50)/1000)
		emit("0.95", float64(p95)/1000)
	}}
}

// families lists what is exported. Names end in their unit, counters in _total.
func families() []metric {
	return []metric{
		one("decorum_pages_total", "URLs with a final outcome.", counter, func(s *Status) uint64 { return s.Pages }),
		one("decorum_fetches_total", "Exchanges of any kind.", counter, func(s *Status) uint64 { return s.Fetches }),
		one("decorum_robots_fetches_total", "Exchanges for robots.txt.", counter, func(s *Status) uint64 { return s.Robots }),
		one("decorum_sitemaps_total", "Sitemaps read.", counter, func(s *Status) uint64 { return s.Sitemaps }),
		one("decorum_reused_connections_total", "Exchanges on a kept connection.", counter, func(s *Status) uint64 { return s.Reused }),
		one("decorum_received_bytes_total", "Bytes received.", counter, func(s *Status) uint64 { return s.Bytes.Wire }),
		one("decorum_body_bytes_total", "Bytes of bodies, decoded.", counter, func(s *Status) uint64 { return s.Bytes.Body }),
		one("decorum_archive_bytes_total", "Bytes written to the archive.", counter, func(s *Status) uint64 { return s.Bytes.Archived }),
		one("decorum_commits_total", "Group commits of this run.", counter, func(s *Status) uint64 { return s.Commit.Count }),
		counts("decorum_responses_total", "Exchanges by the hundreds of the status code.", "class", counter, func(s *Status) map[string]uint64 {
			r := &s.Responses
			return map[string]uint64{"1xx": r.S1xx, "2xx": r.S2xx, "3xx": r.S3xx, "4xx": r.S4xx, "5xx": r.S5xx, "none": r.None}
		}),
		counts("decorum_outcomes_total", "Pages by outcome.", "outcome", counter, func(s *Status) map[string]uint64 { return s.Outcomes }),
		counts("decorum_skipped_total", "URLs not to be fetched, by reason.", "reason", counter, func(s *Status) map[string]uint64 { return s.SkippedBy }),
		counts("decorum_links_total", "Links on pages: found, passed by the filter, new.", "stage", counter, func(s *Status) map[string]uint64 {
			return map[string]uint64{"found": s.Links.Found, "passed": s.Links.Passed, "new": s.Links.New}
		}),
		one("decorum_known_urls", "Distinct URLs known.", gauge, func(s *Status) uint64 { return s.Found }),
		counts("decorum_front_queue_urls", "URLs in the front queues, by level.", "level", gauge, func(s *Status) map[string]uint64 {
			levels := map[string]uint64{}
			for i, n := range s.Queues.Levels {
				levels[strconv.Itoa(i+1)] = n
			}
			return levels
		}),
		one("decorum_back_queue_urls", "URLs in back queues.", gauge, func(s *Status) uint64 { return s.Queues.Ready }),
		one("decorum_back_queues", "Hosts in hand.", gauge, func(s *Status) int { return s.Hosts.InHand }),
		one("decorum_intake_links", "Links not yet known to be new.", gauge, func(s *Status) int { return s.Queues.Intake }),
		one("decorum_requests_under_way", "Requests under way.", gauge, func(s *Status) int { return s.Queues.Leased }),
		one("decorum_uncommitted_visits", "Finished visits not yet durable.", gauge, func(s *Status) int { return s.Queues.Uncommitted }),
		counts("decorum_hosts", "Hosts in memory, by what they do.", "phase", gauge, hostPhases),
		one("decorum_paused", "1 while leases are held back.", gauge, func(s *Status) int { return oneIf(s.Paused != "") }),
		quantiles("decorum_fetch_duration_seconds", "Duration of exchanges.", func(s *Status) (int64, int64) { return s.Latency.FetchP50, s.Latency.FetchP95 }),
		quantiles("decorum_first_byte_duration_seconds", "Time from request to first byte.", func(s *Status) (int64, int64) { return s.Latency.FirstByteP50, s.Latency.FirstByteP95 }),
		quantiles("decorum_commit_duration_seconds", "Duration of group commits.", func(s *Status) (int64, int64) { return s.Commit.P50, s.Commit.P95 }),
		one("decorum_disk_free_bytes", "Bytes of disk free for the crawl folder.", gauge, func(s *Status) uint64 { return s.Machine.DiskFree }),
		one("decorum_resident_memory_bytes", "Resident memory of the process.", gauge, func(s *Status) uint64 { return s.Machine.RSS }),
		one("decorum_cpu_cores", "Cores busy, over five seconds.", gauge, func(s *Status) float64 { return s.Machine.CPU }),
		one("decorum_run_seconds", "How long this run goes on.", gauge, func(s *Status) float64 { return (time.Duration(s.ElapsedMS) * time.Millisecond).Seconds() }),
	}
}

func hostPhases(s *Status) map[string]uint64 {
	h := &s.Hosts
	out := map[string]uint64{}
	for name, n := range map[string]int{"fetching": h.Fetching, "due": h.Due, "resting": h.Resting, "backing_off": h.BackingOff, "address": h.Address,
		"parked": h.Parked, "idle": h.Idle, "given_up": h.GivenUp} {
		out[name] = uint64(max(n, 0))
	}
	return out
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// collector reads one Status for each scrape.
type collector struct {
	monitor  *Monitor
	families []metric
	descs    []*prometheus.Desc
}

func newCollector(m *Monitor) *collector {
	c := &collector{monitor: m, families: families()}
	for _, f := range c.families {
		var labels []string
		if f.label != "" {
			labels = []string{f.label}
		}
		c.descs = append(c.descs, prometheus.NewDesc(f.name, f.help, labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.monitor.Status(0)
	for i, f := range c.families {
		f.read(&s, func(label string, value float64) {
			if f.label == "" {
				out <- prometheus.MustNewConstMetric(c.descs[i], f.kind, value)
			} else {
				out <- prometheus.MustNewConstMetric(c.descs[i], f.kind, value, label)
			}
		})
	}
}
