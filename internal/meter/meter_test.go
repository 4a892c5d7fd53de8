package meter

import (
	"testing"
	"testing/quick"
	"time"

	"decorum/internal/outcome"
)

func TestQuantileIsWithinABucketOfTheTruth(t *testing.T) {
	var h Histogram
	for i := 1; i <= 1000; i++ {
		h.Observe(time.Duration(i) * time.Millisecond)
	}
	for _, q := range []float64{.01, .5, .95, 1} {
		truth := time.Duration(q*1000) * time.Millisecond
		if got := h.Quantile(q); got < truth || got > truth*13/10 {
			t.Errorf("quantile %v = %v, want %v to %v", q, got, truth, truth*13/10)
		}
	}
	if got := new(Histogram).Quantile(.5); got != 0 {
		t.Errorf("quantile of nothing = %v", got)
	}
}

func TestBucketHoldsItsDuration(t *testing.T) {
	holds := func(d time.Duration) bool {
		if d < 0 {
			d = -d
		}
		d = d.Truncate(time.Microsecond)
		i := bucket(d)
		return i == histogramBuckets-1 || d <= upper(i) && (i == 0 || d >= upper(i-1) || i%4 != 0 && d.Microseconds() < 4)
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
}

func TestSnapshotRestoresIntoAnotherCrawl(t *testing.T) {
	var a, b Crawl
	a.Pages.Add(7)
	a.LinksNew.Add(3)
	a.Outcomes[outcome.OK].Add(5)
	a.Status[2].Add(5)
	b.Restore(a.Snapshot(time.Time{}))
	if s := b.Snapshot(time.Time{}); s.Pages != 7 || s.LinksNew != 3 || s.Outcomes[outcome.OK] != 5 || s.Status[2] != 5 {
		t.Errorf("restored %+v", s)
	}
}

func TestRateOverTheWindow(t *testing.T) {
	var r Rate
	start, got := time.Unix(1000, 0), 0.0
	for i := range 3 * rateSamples {
		got = r.Sample(start.Add(time.Duration(i)*250*time.Millisecond), uint64(i)*5)
	}
	if got < 19.9 || got > 20.1 {
		t.Errorf("rate = %v, want 20", got)
	}
}
