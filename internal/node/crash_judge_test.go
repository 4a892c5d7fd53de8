package node

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"

	"decorum/internal/crawler"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/simweb"
	"decorum/internal/store"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// judgeCrashes holds a crawl that is finished against the truth, its parts against each other, and the server's log
// against what was promised: after one more loss of power, which may take nothing of it.
func (s *crashSim) judgeCrashes() {
	s.t.Helper()
	s.disk = s.disk.ImageOf(s.r, store.Nothing, store.Nothing)
	s.fs = s.disk
	missing, extra, repeated := s.web.Compare(s.visited(), "decorum")
	for what, urls := range map[string][]string{"missing": missing, "extra": extra, "repeated": repeated} {
		if len(urls) > 0 {
			s.t.Errorf("%d URLs %s: %q", len(urls), what, urls[:min(len(urls), 5)])
			s.explain(urls[0])
		}
	}
	fetches := records[jobdir.FetchRecord](s, jobdir.FetchesName)
	for i, f := range fetches {
		if f.Seq != int64(i+1) {
			s.t.Fatalf("fetch record %d has number %d", i+1, f.Seq)
		}
	}
	pages := records[jobdir.PageRecord](s, jobdir.PagesName)
	s.archiveAgrees(pages, fetches)
	s.stateAgrees(pages)
	s.summaryAgrees(pages, fetches)
	s.promisesKept(s.lost(fetches))
	if s.t.Failed() {
		s.t.Logf("%d crashes; the last:\n%s", len(s.crashes), s.story())
	}
}

// records reads a stream, of which every line must be right.
func records[T any, P interface{ *T }](s *crashSim, name string) (list []T) {
	s.t.Helper()
	raw := s.read(name)
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		s.t.Errorf("%s ends in the middle of a line", name)
	}
	switch out := any(&list).(type) {
	case *[]jobdir.FetchRecord:
		for r, err := range jobdir.Records[jobdir.FetchRecord](bytes.NewReader(raw)) {
			*out = append(*out, r)
			s.check(err)
		}
	case *[]jobdir.PageRecord:
		for r, err := range jobdir.Records[jobdir.PageRecord](bytes.NewReader(raw)) {
			*out = append(*out, r)
			s.check(err)
		}
	}
	return list
}

func (s *crashSim) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("after %d crashes: %v\n%s", len(s.crashes), err, s.story())
	}
}

// capture is one answer in the archive.
type capture struct {
	url, id      string
	date         time.Time
	file         string
	offset, size int64
}

// archived reads the whole archive: every member whole, every digest right.
func (s *crashSim) archived() (list []capture) {
	s.t.Helper()
	files, err := s.disk.List(s.dir + "/archive")
	s.check(err)
	checker := warc.NewChecker()
	for _, name := range files {
		raw := s.read("archive/" + name)
		if report := checker.Check(bytes.NewReader(raw)); !report.OK() {
			s.t.Errorf("%s: %v", name, report.Problems)
			continue
		}
		z := warc.NewReader(bytes.NewReader(raw))
		for {
			e, err := z.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			s.check(err)
			c := capture{url: e.TargetURI(), id: e.ID(), file: name, offset: e.Offset}
			c.date, err = time.Parse(time.RFC3339, e.Get("WARC-Date"))
			s.check(err)
			c.size, err = e.Length()
			s.check(err)
			if e.Type() == warc.Response || e.Type() == warc.Revisit {
				list = append(list, c)
			}
		}
	}
	return list
}

// archiveAgrees: every page is where its record says, every answer in the archive is of a known exchange, and the index
// lists exactly those.
func (s *crashSim) archiveAgrees(pages []jobdir.PageRecord, fetches []jobdir.FetchRecord) {
	s.t.Helper()
	captures := s.archived()
	byID := map[string]capture{}
	known := map[string]int{}
	for _, f := range fetches {
		known[f.URL+f.TS.Truncate(time.Millisecond).UTC().String()]++
	}
	var index []string
	for _, c := range captures {
		byID[c.id] = c
		key := c.url + c.date.UTC().String()
		if known[key]--; known[key] < 0 {
			s.t.Errorf("%s at %d: %s of %v is in no fetch record", c.file, c.offset, c.url, c.date)
		}
		index = append(index, fmt.Sprintf(`"length":"%d","offset":"%d","filename":"%s"}`, c.size, c.offset, c.file))
	}
	for _, p := range pages {
		c, ok := byID[p.WARC.RecordID]
		if p.WARC.File != "" && (!ok || c.url != p.URL || c.file != p.WARC.File || c.offset != p.WARC.Offset || c.size != p.WARC.Length) {
			s.t.Errorf("page %s at %+v: the archive has %+v", p.URL, p.WARC, c)
		}
	}
	lines := strings.SplitAfter(string(s.read(jobdir.IndexName)), "\n")
	lines = lines[:len(lines)-1]
	if !slices.IsSorted(lines) {
		s.t.Error("the index is not in order")
	}
	var listed []string
	for _, line := range lines {
		listed = append(listed, strings.TrimSuffix(line[strings.Index(line, `"length"`):], "\n"))
	}
	slices.Sort(index)
	slices.Sort(listed)
	if !slices.Equal(index, listed) {
		s.t.Errorf("the index lists %d captures, the archive has %d", len(listed), len(index))
	}
}

// stateAgrees: the state knows exactly the pages of pages.jsonl, each at its place in the archive, and vouches for
// every byte of every file.
func (s *crashSim) stateAgrees(pages []jobdir.PageRecord) {
	s.t.Helper()
	db, err := store.Open(store.Options{Dir: s.dir + "/state/db", FS: s.disk, ReadOnly: true})
	s.check(err)
	defer db.Close()
	listed := map[string]jobdir.PageRecord{}
	for _, p := range pages {
		listed[p.URL] = p
	}
	n := 0
	err = crawler.ScanPageStates(db, 64, func(_ weburl.Fingerprint, st crawler.PageState) bool {
		if st.Outcome.Class() == outcome.ClassSkipped {
			return true
		}
		n++
		if p := listed[st.URL]; p.WARC.File != st.File || p.WARC.Offset != st.Offset || p.WARC.Length != st.Length || p.Outcome != st.Outcome.String() {
			s.t.Errorf("state of %s: %+v, its record %+v", st.URL, st, p)
		}
		return true
	})
	s.check(err)
	if n != len(pages) {
		s.t.Errorf("the state knows %d pages, pages.jsonl %d", n, len(pages))
	}
	progress, err := crawler.ReadProgress(db)
	s.check(err)
	for name, sum := range progress.Sums {
		if crc := crc32.Checksum(s.read(name), crc32.MakeTable(crc32.Castagnoli)); sum.CRC != crc || sum.End != progress.Streams[name] {
			s.t.Errorf("%s has the checksum %08x, the state knows %+v", name, crc, sum)
		}
	}
	progress.Streams["archive/"+progress.Archive.File] = progress.Archive.Offset
	for name, end := range progress.Streams {
		if size := int64(len(s.read(name))); size != end {
			s.t.Errorf("%s has %d bytes, the state knows %d", name, size, end)
		}
	}
}

func (s *crashSim) summaryAgrees(pages []jobdir.PageRecord, fetches []jobdir.FetchRecord) {
	s.t.Helper()
	d, err := jobdir.Open(s.dir, jobdir.Options{ReadOnly: true, FS: store.Plain(s.disk)})
	s.check(err)
	sum, ok, err := d.ReadSummary()
	s.check(err)
	if !ok || sum.Pages != int64(len(pages)) || sum.Fetches != int64(len(fetches)) || sum.QueuedLeft != 0 || sum.EndReason != jobdir.EndExhausted {
		s.t.Errorf("summary: %d pages, %d exchanges, %d left, ended by %q; records: %d pages, %d exchanges",
			sum.Pages, sum.Fetches, sum.QueuedLeft, sum.EndReason, len(pages), len(fetches))
	}
}

// inFlight is how long before the power went an exchange may have ended and still be lost: a group is committed every
// 250 ms, and what ends during a commit waits for the next.
const inFlight = 750 * time.Millisecond

// lost returns the exchanges that the server saw and no record tells of. They must have been under way.
func (s *crashSim) lost(fetches []jobdir.FetchRecord) map[time.Time][]simweb.Request {
	s.t.Helper()
	begins := map[string][]time.Time{}
	for _, f := range fetches {
		begins[f.Host] = append(begins[f.Host], f.TS)
	}
	lost := map[time.Time][]simweb.Request{}
	for _, q := range s.web.Log() {
		// A connection that is no socket is watched for a millisecond before it is used again.
		if slices.ContainsFunc(begins[q.Host], func(t time.Time) bool { return q.Start.Sub(t).Abs() <= 2*time.Millisecond }) {
			continue
		}
		i, _ := slices.BinarySearchFunc(s.crashes, q.Start, time.Time.Compare)
		if i == len(s.crashes) || q.End.Before(s.crashes[i].Add(-inFlight)) {
			s.t.Errorf("%s, %v to %v, is in no record and was not under way at a crash", q.URL, q.Start, q.End)
			continue
		}
		lost[s.crashes[i]] = append(lost[s.crashes[i]], q)
	}
	return lost
}

// promisesKept: what the server asked for in an answer that was lost with the power cannot be known afterwards, so there
// the floor alone is promised; everywhere else all of it.
func (s *crashSim) promisesKept(lost map[time.Time][]simweb.Request) {
	s.t.Helper()
	p := s.promise()
	gone := map[string]bool{}
	for _, list := range lost {
		p.Repeats += len(list)
		p.MaxAttempts += len(list)
		for _, q := range list {
			gone[q.URL+q.Start.String()] = true
		}
	}
	violations := s.web.Verify(p)
	slices.SortFunc(violations, func(a, b simweb.Violation) int { return cmp.Compare(a.Text, b.Text) })
	shown := 0
	for _, v := range violations {
		excused := gone[v.First.URL+v.First.Start.String()] && (v.Breach == simweb.Gap || v.Breach == simweb.RetryAfter)
		if excused && v.Actual >= p.Floor {
			continue
		}
		if shown++; shown < 10 {
			s.t.Error(v)
		}
	}
}
