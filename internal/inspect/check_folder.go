package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/warc"
)

// folderCheck is the check of one crawl folder: what its parts say, to be compared.
type folderCheck struct {
	*checker
	f      *folder
	seed   uint64 // of the sums
	places *places
	limits map[string]int64 // ends of archive files that may be longer

	inArchive  int64 // responses and revisits in the archive
	inFetches  int64 // exchanges on record with a response
	inIndex    int64
	fetchLines int64
	lostLines  int64 // of those, with nothing but a number since a repair, or without a record that agrees
	pageLines  int64
	indexSum   sum // of the lines of the index as written
	pageSum    sum // of what page records say
}

// sum is the sum of the hashes of lines: equal for equal sets of lines, in whatever order.
type sum struct{ hi, lo uint64 }

func (s *sum) add(h xxh3.Uint128) { s.hi, s.lo = s.hi+h.Hi, s.lo+h.Lo }

func (c *checker) folder(f *folder) error {
	k := &folderCheck{checker: c, f: f, seed: rand.Uint64(), places: newPlaces(), limits: map[string]int64{}}
	c.rep.InUse = f.inUse != nil
	if c.rep.InUse {
		c.note("%v: checked is what is on disk; the state, and the ends of files, cannot be judged before it stops", f.inUse)
	}
	for _, part := range []struct {
		name  string
		check func() error
	}{{"archive", k.checkArchive}, {"index", k.checkIndex}, {"pages", k.checkPages}, {"fetches", k.checkFetches},
		{"skipped", k.checkSkipped}, {"links", k.checkLinks}, {"state", k.checkState}, {"summary", k.checkSummary}} {
		c.begin(part.name)
		if err := part.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkArchive reads the WARC files as far as they are committed.
func (k *folderCheck) checkArchive() error {
	names, err := archiveFiles(k.f.Archive())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	if k.rep.InUse { // up to where the last record of the index ends
		err = k.f.indexLines(func(e *indexEntry) { k.limits[e.File] = max(k.limits[e.File], e.Offset+e.Length) })
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := k.limits[name]; k.rep.InUse && !ok {
			k.limits[name] = 0
		}
	}
	if at := k.f.progress.Archive; k.f.committed() && at.File != "" {
		names = k.archiveEnd(names, at)
	}
	k.all = sizes(k.f.Archive(), names)
	by, err := k.archive(k.f.Archive(), names, k.limits, func(name string) warc.ScanOptions {
		return warc.ScanOptions{Visit: k.places.note(name), End: k.f.endOf(name)}
	})
	k.inArchive = by[warc.Response] + by[warc.Revisit]
	return err
}

// archiveEnd compares the archive with its committed end and returns the files up to there.
func (k *folderCheck) archiveEnd(names []string, at warc.Position) []string {
	last := slices.Index(names, at.File)
	if last < 0 {
		k.faultf(at.File, "the state ends the archive with this file, but it is not there")
		return names
	}
	size := sizes(k.f.Archive(), names[last:last+1])
	switch {
	case size < at.Offset:
		k.faultAt(at.File, size, "the file ends here, the state knows records up to %d", at.Offset)
	case k.f.clean && (size > at.Offset || last+1 < len(names)):
		k.faultAt(at.File, at.Offset, "the archive goes on behind the end that the state knows")
	case size > at.Offset || last+1 < len(names):
		k.note("the crawl was not ended in good order: what lies behind %s offset %d will be cut off and fetched again", at.File, at.Offset)
		k.limits[at.File] = at.Offset
		return names[:last+1]
	}
	return names
}

// eachLine reads a stream, checks that its lines are whole and that it ends where the state says.
func (k *folderCheck) eachLine(name string, visit func(line)) (n int64, err error) {
	s, err := k.f.open(name)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	lines := newLineReader((&progressReader{r: s, c: k.checker, name: name, from: k.rep.Bytes}).stream(s.Size()))
	for {
		l, err := lines.read()
		if err == io.EOF || l.torn {
			k.streamEnd(name, s, l)
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
		visit(l)
	}
}

// streamEnd checks how a stream ends: with a whole line, where the state says.
func (k *folderCheck) streamEnd(name string, s *stream, last line) {
	if last.torn && !k.rep.InUse {
		k.fault(Finding{File: name, Offset: jobdir.Known(last.at), Line: last.number, Text: "the last line has no end"})
	}
	if err := s.length(k.f.clean); err != nil {
		k.faultAt(name, min(s.size, s.end), "%v", err)
	}
}

// record decodes a line of JSON into r, which must be of one of the types.
func (k *folderCheck) record(name string, l line, r any, head *jobdir.Head, types ...string) bool {
	err := json.Unmarshal(l.text, r)
	at := l.at
	if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
		at += bad.Offset
	}
	if err == nil && !slices.Contains(types, head.Type) {
		err = fmt.Errorf("a record of type %q", head.Type)
	}
	if err != nil {
		k.fault(Finding{File: name, Offset: jobdir.Known(at), Line: l.number, Text: err.Error()})
	}
	return err == nil
}

// checkIndex checks the index in the order of fetching, with the place of every record, then the sorted one.
func (k *folderCheck) checkIndex() error {
	n, err := k.eachLine(jobdir.IndexPartName, func(l line) {
		e, err := parseIndexLine(l.text)
		if err == nil {
			_, _, err = k.placeOf(e.File, e.Offset, e.Length, e.URL)
		}
		if err != nil {
			k.fault(Finding{File: jobdir.IndexPartName, Offset: jobdir.Known(l.at), Line: l.number, Text: err.Error()})
		}
		k.inIndex++
		k.indexSum.add(xxh3.Hash128Seed(l.text, k.seed))
	})
	if err != nil {
		return err
	}
	k.part.Text = count(n, "capture")
	if !k.rep.InUse && k.f.broken == nil && k.inArchive != k.inIndex {
		k.faultf("", "the archive holds %d responses and revisits, the index %d", k.inArchive, k.inIndex)
	}
	return k.checkSorted()
}

// checkSorted checks the index that replay tools read. It is made at the end of each run.
func (k *folderCheck) checkSorted() error {
	file, err := os.Open(k.f.Index())
	if errors.Is(err, os.ErrNotExist) {
		if k.f.clean {
			k.faultf(jobdir.IndexName, "it is not there")
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	var got sum
	var before []byte
	info, err := file.Stat()
	if err != nil {
		return err
	}
	lines := newLineReader((&progressReader{r: file, c: k.checker, name: jobdir.IndexName, from: k.rep.Bytes}).stream(info.Size()))
	for {
		l, err := lines.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		bad := func(text string) {
			k.fault(Finding{File: jobdir.IndexName, Offset: jobdir.Known(l.at), Line: l.number, Text: text})
		}
		if _, err := parseIndexLine(l.text); err != nil {
			bad(err.Error())
		}
		if bytes.Compare(before, l.text) > 0 {
			bad("out of order: replay tools search this file by halving")
		}
		before = append(before[:0], l.text...)
		got.add(xxh3.Hash128Seed(l.text, k.seed))
	}
	if k.f.clean && got != k.indexSum {
		k.faultf(jobdir.IndexName, "its lines are not those of %s", jobdir.IndexPartName)
	}
	return nil
}

// placeOf looks a place up: there must be a response or revisit of the URL that ends where it should. In a folder in use,
// what was written since the archive was read is not judged: known is false.
func (k *folderCheck) placeOf(file string, offset, length int64, url string) (at place, known bool, err error) {
	if end := k.limits[file]; k.rep.InUse && offset >= end {
		return at, false, nil
	}
	at, err = k.places.find(file, offset, length, url)
	return at, err == nil, err
}

func (k *folderCheck) checkPages() error {
	first := true
	_, err := k.eachLine(jobdir.PagesName, func(l line) {
		if first {
			first = false
			if bytes.Contains(l.text, []byte(`"format":"json-pages-1.0"`)) {
				return
			}
			k.fault(Finding{File: jobdir.PagesName, Offset: jobdir.Known(0), Line: 1, Text: "the header line of WACZ is missing"})
		}
		var p pageLine
		if !k.record(jobdir.PagesName, l, &p, &p.Head, "page") {
			return
		}
		k.pageLines++
		o, _ := outcome.Parse(p.Outcome)
		k.pageSum.add(pageHash(k.seed, p.URL, o, p.Status, p.WARC.File, p.WARC.Offset, p.WARC.Length))
		if p.WARC.File == "" {
			return
		}
		at, known, err := k.placeOf(p.WARC.File, p.WARC.Offset, p.WARC.Length, p.URL)
		if known && at.id != k.places.hash(p.WARC.RecordID) {
			err = fmt.Errorf("its record is %s, but another lies there", p.WARC.RecordID)
		}
		if err != nil {
			k.fault(Finding{File: jobdir.PagesName, Offset: jobdir.Known(l.at), Line: l.number, Text: err.Error()})
		}
	})
	k.part.Text = count(k.pageLines, "page")
	return err
}

// pageHash is the hash of what page record and state both know of a page.
func pageHash(seed uint64, url string, o outcome.Outcome, status int, file string, offset, length int64) xxh3.Uint128 {
	return xxh3.HashString128Seed(fmt.Sprint(url, " ", o, status, file, " ", offset, length), seed)
}

func (k *folderCheck) checkFetches() error {
	_, err := k.eachLine(jobdir.FetchesName, func(l line) {
		var r jobdir.FetchRecord
		if !k.record(jobdir.FetchesName, l, &r, &r.Head, "fetch", "lost") {
			return
		}
		k.fetchLines++
		if r.Type == "lost" || r.Lost == jobdir.LostCapture {
			k.lostLines++
		}
		if o, _ := outcome.Parse(r.Outcome); r.Status != 0 && o != outcome.None && r.Lost != jobdir.LostCapture {
			k.inFetches++
		}
	})
	k.part.Text = count(k.fetchLines, "exchange")
	archived := k.inArchive > 0 || k.inIndex > 0
	least, most := k.inFetches, k.inFetches+k.lostLines
	if archived && !k.rep.InUse && k.f.broken == nil && (k.inArchive < least || k.inArchive > most) {
		k.faultf(jobdir.FetchesName, "%d exchanges had a response, the archive holds %d", k.inFetches, k.inArchive)
	}
	return err
}

func (k *folderCheck) checkSkipped() error {
	n, err := k.eachLine(jobdir.SkippedName, func(l line) {
		var r jobdir.SkipRecord
		k.record(jobdir.SkippedName, l, &r, &r.Head, "skip", "skip_count")
	})
	k.part.Text = count(n, "line")
	return err
}

func (k *folderCheck) checkLinks() error {
	n, err := k.eachLine(jobdir.LinksName, func(l line) {
		var r jobdir.LinkRecord
		k.record(jobdir.LinksName, l, &r, &r.Head, "link")
	})
	k.part.Text = count(n, "line")
	return err
}

// checkSummary compares summary.json with the state and the streams.
func (k *folderCheck) checkSummary() error {
	s, ok, err := k.f.ReadSummary()
	switch {
	case err != nil:
		k.faultf(jobdir.SummaryName, "%v", err)
		return nil
	case !ok:
		k.part.Text = "none yet"
		return nil
	}
	k.part.Text = fmt.Sprintf("%s: %s, %s, ended %s: %s", count(s.Runs, "run"), count(s.Pages, "page"), count(s.Fetches, "exchange"),
		s.Ended.UTC().Format(time.DateTime), s.EndReason)
	if !k.f.clean {
		return nil // it is of an earlier run
	}
	for _, c := range []struct {
		what      string
		said, got int64
	}{{"pages", s.Pages, k.pageLines}, {"fetches", s.Fetches, k.fetchLines}, {"pages in the state", s.Pages, int64(k.f.progress.Counts.Pages)}} {
		if c.said != c.got {
			k.faultf(jobdir.SummaryName, "%s: it says %d, there are %d", c.what, c.said, c.got)
		}
	}
	return nil
}
