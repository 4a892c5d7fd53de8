package inspect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
)

// BenchmarkAudit audits the record of 50,000 pages of 100 hosts, without an archive: what a record costs.
func BenchmarkAudit(b *testing.B) {
	const hosts, pages = 100, 50_000
	dir := filepath.Join(b.TempDir(), "x.crawl")
	d, err := jobdir.Open(dir, jobdir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	fetches, list := manyFetches(hosts, pages)
	for name, text := range map[string][]byte{jobdir.FetchesName: fetches, jobdir.PagesName: list} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(fetches) + len(list)))
	for b.Loop() {
		r, err := inspect.Audit(dir)
		if err != nil || !r.Polite || r.Pages != pages {
			b.Fatal(err, r.Verdict())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(hosts+pages), "us/record")
}

// manyFetches is the record of a polite crawl, and its pages.
func manyFetches(hosts, pages int) (fetches, list []byte) {
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	for i := range hosts + pages {
		host := fmt.Sprintf("h%d.test", i%hosts)
		ts := at.Add(time.Duration(i/hosts) * 2 * time.Second)
		r := jobdir.FetchRecord{Seq: int64(i + 1), Run: 1, TS: ts, EndTS: ts.Add(time.Second), Kind: jobdir.KindPage, Host: host, IP: fmt.Sprintf("10.0.0.%d", i%hosts),
			URL: fmt.Sprintf("http://%s/some/path/%d", host, i), Status: 200, Outcome: "ok", Attempt: 1, TotalMS: jobdir.Known(1000), RobotsVersion: "allow-all"}
		if i >= hosts {
			r.GapMS, r.PromisedMS, r.GapReason = jobdir.Known(1000), jobdir.Known(1000), jobdir.GapFloor
			list = (&jobdir.PageRecord{Seq: r.Seq, TS: ts, URL: r.URL, Host: host, Status: 200, Outcome: "ok", Title: "A page", Digest: "sha256:0123456789abcdef"}).AppendJSON(list)
		} else {
			r.Kind, r.URL, r.Status, r.RobotsVersion, r.Outcome = jobdir.KindRobots, "http://"+host+"/robots.txt", 404, "", "not_found"
		}
		fetches = r.AppendJSON(fetches)
	}
	return fetches, list
}

// BenchmarkCheck checks the folder of a crawl of 500 pages of 37 KB.
func BenchmarkCheck(b *testing.B) {
	o := simweb.Plain()
	o.Hosts, o.Pages, o.PageBytes = 10, 500, 37<<10
	s := newSite(b, o)
	s.cfg.Delay, s.cfg.IPGap = 0, 0 // its addresses are on loopback
	s.crawl(b)
	dir := s.dir
	b.ReportAllocs()
	for b.Loop() {
		r, err := inspect.Check(dir, inspect.CheckOptions{})
		if err != nil || !r.OK {
			b.Fatal(err, r.Verdict())
		}
		b.SetBytes(r.Bytes)
	}
}
