package web

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"decorum/internal/jobdir"
)

func mustMkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestRing holds the ring against a slice.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ring[int]{limit: rapid.IntRange(1, 9).Draw(t, "limit")}
		var all []int
		for i := range rapid.IntRange(0, 40).Draw(t, "added") {
			r.add(i)
			all = append(all, i)
		}
		n := rapid.IntRange(0, len(all)).Draw(t, "read")
		want := all[max(n, len(all)-r.limit):]
		if got := r.since(uint64(n)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("since %d: %v, not %v", n, got, want)
		}
	})
}

func TestFeedIsBounded(t *testing.T) {
	f := NewFeed()
	f.ObserveSkip(&jobdir.SkipRecord{URL: "https://a.example/rare", Reason: "robots", Rule: "Disallow: /rare"})
	for i := range 5000 {
		f.ObserveSkip(&jobdir.SkipRecord{URL: fmt.Sprint("https://b.example/", i), Reason: "scope"})
		f.ObserveFetch(&jobdir.FetchRecord{Host: "a.example", PromisedMS: jobdir.Known(1000), GapMS: jobdir.Known(1001)})
		f.Log("line %d %s", i, strings.Repeat("x", 2*maxText))
	}
	var c cursor
	n := f.since(&c)
	if len(n.Dots) != maxDots || len(n.Lines) != maxLines || len(n.Skips) != maxExamples+1 {
		t.Errorf("%d dots, %d lines, %d skips", len(n.Dots), len(n.Lines), len(n.Skips))
	}
	if n.Skips[0].Reason != "robots" || n.Skips[maxExamples].URL != "https://b.example/4999" {
		t.Errorf("a flood of one reason washed away another, or the order is wrong: %+v", n.Skips)
	}
	if len(n.Lines[0].Text) > maxText {
		t.Error("a line of", len(n.Lines[0].Text))
	}
	if again := f.since(&c); again.Dots != nil || again.Lines != nil || again.Skips != nil {
		t.Errorf("old news: %+v", again)
	}
}

func TestFeedLeavesOutWhatItCannotShow(t *testing.T) {
	f := NewFeed()
	f.ObserveFetch(&jobdir.FetchRecord{Host: "first.contact"})
	f.ObserveSkip(&jobdir.SkipRecord{Host: "a.example", Reason: "scope", Count: 300}) // stands for many
	f.ObserveSkip(&jobdir.SkipRecord{URL: "https://a.example/", Reason: "no such reason"})
	f.ObserveSkip(&jobdir.SkipRecord{URL: "https://a.example/", Reason: "ok"})
	f.Log("escape \x1b[2J")
	n := f.since(new(cursor))
	if n.Dots != nil || n.Skips != nil || n.Lines[0].Text != `escape \x1b[2J` {
		t.Errorf("%+v", n)
	}
}

func TestShareOfDNS(t *testing.T) {
	f := NewFeed()
	page := func(dns, total int64) {
		f.ObservePage(&jobdir.PageRecord{DNSMS: jobdir.Known(dns), TotalMS: jobdir.Known(total)})
	}
	page(1000, 1)
	if s := f.dnsShare(); s != 0 {
		t.Errorf("%v after one page", s)
	}
	for range dnsWindow {
		page(300, 100)
	}
	within(t, "share", f.dnsShare(), .74, .76)
	for range dnsWindow {
		page(0, 0)
	}
	within(t, "share of nothing", f.dnsShare(), 0, 0)
}

func BenchmarkObserve(b *testing.B) {
	f := NewFeed()
	fetch := &jobdir.FetchRecord{Host: "a.example", PromisedMS: jobdir.Known(1000), GapMS: jobdir.Known(1001)}
	skip := &jobdir.SkipRecord{URL: "https://a.example/", Reason: "scope"}
	b.ReportAllocs()
	for b.Loop() {
		f.ObserveFetch(fetch)
		f.ObserveSkip(skip)
	}
}
