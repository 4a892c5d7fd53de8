package web

import (
	"time"

	"decorum/internal/meter"
)

// Point is the counters of a crawl at one time; rates are differences of points.
type Point struct {
	MS     int64     `json:"ms"` // since this run began
	Pages  uint64    `json:"pages"`
	Bytes  uint64    `json:"bytes"`
	Queued uint64    `json:"queued"`
	Status [6]uint64 `json:"status"` // by hundreds; 0 = no response
}

func point(elapsed time.Duration, c *meter.Snapshot, queued uint64) Point {
	return Point{MS: elapsed.Milliseconds(), Pages: c.Pages, Bytes: c.WireBytes, Queued: queued, Status: c.Status}
}

// maxPoints bounds the history: more than a plot has columns to show apart.
const maxPoints = 512

// history is the course of a crawl, however long, in at most maxPoints points: when it is full every other
// point goes, and from then on they are taken half as often. The zero value takes one a second.
type history struct {
	points []Point
	period time.Duration
	last   time.Time
}

// due reports whether it is time for another point.
func (h *history) due(now time.Time) bool { return h.last.IsZero() || now.Sub(h.last) >= h.period }

func (h *history) add(now time.Time, p Point) {
	if h.period == 0 {
		h.period = time.Second
	}
	if len(h.points) == maxPoints {
		for i := range maxPoints / 2 {
			h.points[i] = h.points[2*i+1]
		}
		h.points = h.points[:maxPoints/2]
		h.period *= 2
	}
	h.points, h.last = append(h.points, p), now
}

// History returns the course of the crawl so far, oldest first.
func (m *Monitor) History() []Point {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Point{}, m.history.points...)
}
