package inspect

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"decorum/internal/jobdir"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// damage finds what of the folder is lost and plans how to go on without.
func (r *repairer) damage() error {
	m := &mending{repairer: r, places: newPlaces(), captures: map[xxh3.Uint128]int{}, lost: map[string]*lostPage{}}
	for _, part := range []func() error{m.archive, m.pages, m.fetches, m.others, m.summary} {
		if err := part(); err != nil {
			return err
		}
	}
	return m.requeue()
}

// mending is the repair of a damaged folder: what is whole, and what is lost.
type mending struct {
	*repairer
	places   *places
	archived bool                 // the crawl has, or had, an archive
	captures map[xxh3.Uint128]int // by URL and second: whole responses and revisits
	lost     map[string]*lostPage // by URL
	pageEnd  int64                // pages in pages.jsonl
}

// archive plans what becomes of each file of the archive, and makes the index anew.
func (m *mending) archive() error {
	names, err := m.archiveEnd()
	if err != nil {
		return err
	}
	at := m.f.progress.Archive
	m.archived = at.File != "" || len(names) > 0
	if at.File != "" && !slices.Contains(names, at.File) {
		m.progress.Archive = warc.Position{Serial: at.Serial + 1}
		m.act(path.Join(jobdir.ArchiveName, at.File), jobdir.Int{}, at.Offset, "the file is gone, and with it the end of the archive")
	}
	x := &indexer{}
	part := m.tmp + preparedName + "/" + jobdir.IndexPartName
	err = writeSynced(m.f.Path(part), func(f *os.File) error {
		x.w = bufio.NewWriter(f)
		for _, base := range names {
			if err := m.file(base, x); err != nil {
				return err
			}
		}
		return x.w.Flush()
	})
	if err != nil {
		return err
	}
	return m.index(part, x)
}

// file plans what becomes of one file of the archive.
func (m *mending) file(base string, x *indexer) error {
	name := path.Join(jobdir.ArchiveName, base)
	f, err := os.Open(m.f.Path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last := base == m.f.progress.Archive.File
	end := info.Size()
	if last {
		end = min(end, m.f.progress.Archive.Offset)
	}
	holes := warc.NewChecker().CheckAt(f, end, warc.ScanOptions{End: m.f.endOf(base)}).Damaged
	holes = widen(f, holes, end)
	for _, h := range holes {
		if err := m.hole(name, h, end); err != nil {
			return err
		}
		if h.End() == end {
			end = h.Offset
		}
	}
	if last && end < m.f.progress.Archive.Offset {
		m.progress.Archive.Offset = end
	}
	if last && info.Size() < m.f.progress.Archive.Offset {
		m.act(name, jobdir.Known(info.Size()), m.f.progress.Archive.Offset-info.Size(), "the file ends here, the state knows records behind it: they are gone")
	}
	note := m.places.note(base)
	warc.NewChecker().CheckAt(f, end, warc.ScanOptions{End: m.f.endOf(base), Head: warc.MaxHeaderBytes,
		Visit: func(e *warc.Entry, length int64, head []byte) {
			if inside(holes, e.Offset) {
				return
			}
			note(e, length, head)
			m.capture(e)
			x.record(base, e, length, head)
		}})
	return x.err
}

// capture notes a whole response by what fetches.jsonl knows of it.
func (m *mending) capture(e *warc.Entry) {
	if t := e.Type(); t != warc.Response && t != warc.Revisit {
		return
	}
	if at, err := e.Date(); err == nil {
		m.captures[m.captureKey(e.TargetURI(), at)]++
	}
}

func (m *mending) captureKey(url string, at time.Time) xxh3.Uint128 {
	return xxh3.HashString128Seed(at.UTC().Format(cdxTime)+" "+url, m.places.seed)
}

// widen makes holes that are too small for a filler, which no damaged record of ours is, take in the records behind them.
func widen(f *os.File, holes []warc.Extent, end int64) []warc.Extent {
	var wide []warc.Extent
	for _, h := range holes {
		if n := len(wide); n > 0 && wide[n-1].End() >= h.Offset {
			wide[n-1].Length = max(wide[n-1].End(), h.End()) - wide[n-1].Offset
			continue
		}
		for h.Length < warc.MinFiller && h.End() < end {
			next := int64(0)
			if e, err := warc.ReadAt(f, h.End(), end-h.End()); err == nil {
				next, _ = e.Length() // damaged as well, if it has none
			}
			if next <= 0 {
				next = end - h.End()
			}
			h.Length += next
		}
		wide = append(wide, h)
	}
	return wide
}

func inside(holes []warc.Extent, offset int64) bool {
	return slices.ContainsFunc(holes, func(h warc.Extent) bool { return h.Offset <= offset && offset < h.End() })
}

// hole plans what becomes of bytes that hold no whole record.
func (m *mending) hole(name string, h warc.Extent, end int64) error {
	if err := m.keepBytes(name, h.Offset, h.End()); err != nil {
		return err
	}
	if h.End() == end {
		m.step(step{Do: doCut, Name: name, Length: h.Offset})
		m.act(name, jobdir.Known(h.Offset), h.Length, "damaged up to the end; cut off and kept aside")
		return nil
	}
	m.act(name, jobdir.Known(h.Offset), h.Length, "damaged; kept aside, and a record that says so put in its place")
	now := time.Now().UTC().Truncate(time.Millisecond)
	for at := h.Offset; at < h.End(); {
		n := h.End() - at
		if n > warc.MaxFiller {
			n = warc.MaxFiller / 2 // so that the last one is not too small
		}
		m.step(step{Do: doFill, Name: name, Offset: at, Length: n, ID: warc.NewID(), Date: now, Text: fillerText})
		at += n
	}
	return nil
}

// fillerText is what stands in the archive where bytes were damaged.
const fillerText = "What was here was damaged and could not be read. Repaired by decorum.\n"

// index replaces the index if what was made from the archive differs.
func (m *mending) index(part string, x *indexer) error {
	same, err := sameFile(m.f.Path(jobdir.IndexPartName), m.f.Path(part), m.f.progress.Streams[jobdir.IndexPartName])
	if err != nil {
		return err
	}
	if same {
		if err := m.tail(jobdir.IndexPartName, m.f.progress.Streams[jobdir.IndexPartName]); err != nil {
			return err
		}
	} else {
		m.step(step{Do: doReplace, Name: jobdir.IndexPartName})
		m.act(jobdir.IndexPartName, jobdir.Int{}, 0, "made anew from the archive: %s", count(x.lines, "capture"))
		m.setEnd(jobdir.IndexPartName, x.bytes)
	}
	_, err = os.Stat(m.f.Index())
	if sorted := err == nil || m.f.clean; sorted && (!same || m.faulty("index")) {
		m.step(step{Do: doIndex, Name: jobdir.IndexName})
		m.act(jobdir.IndexName, jobdir.Int{}, 0, "sorted anew")
	}
	return nil
}

// faulty reports whether the check found damage in a part of the folder.
func (r *repairer) faulty(part string) bool {
	return slices.ContainsFunc(r.rep.Before.Parts, func(p CheckPart) bool { return p.Name == part && p.Faults > 0 })
}

// setEnd says where a stream will end.
func (m *mending) setEnd(name string, end int64) {
	ends := map[string]int64{}
	for k, v := range m.progress.Streams {
		ends[k] = v
	}
	ends[name] = end
	m.progress.Streams = ends
}

// sameFile compares the first n bytes of one file with all of another.
func sameFile(a, b string, n int64) (bool, error) {
	sums := make([][]byte, 2)
	for i, name := range [...]string{a, b} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return false, err
		}
		if i == 0 && info.Size() < n || i == 1 && info.Size() != n {
			return false, nil
		}
		h := sha256.New()
		if _, err := io.CopyN(h, f, n); err != nil {
			return false, err
		}
		sums[i] = h.Sum(nil)
	}
	return bytes.Equal(sums[0], sums[1]), nil
}

// indexer writes the lines of an index from the records of an archive, as the crawl does.
type indexer struct {
	w     *bufio.Writer
	err   error // the first
	buf   []byte
	lines int64
	bytes int64
}

// record takes in the next record of a file.
func (x *indexer) record(file string, e *warc.Entry, length int64, head []byte) {
	t := e.Type()
	if x.err != nil || t != warc.Response && t != warc.Revisit {
		return
	}
	u, err := weburl.Reparse(e.TargetURI())
	at, bad := e.Date()
	if err != nil || bad != nil {
		return // not of this crawl
	}
	line := jobdir.CDXRecord{URL: u, TS: at, Digest: e.Get("WARC-Payload-Digest"), Length: length, Offset: e.Offset, Filename: file}
	if line.Status, line.MIME = httpFacts(head); t == warc.Revisit {
		line.MIME = jobdir.RevisitMIME
	}
	x.buf = line.AppendLine(x.buf[:0])
	_, x.err = x.w.Write(x.buf)
	x.lines++
	x.bytes += int64(len(x.buf))
}

// httpFacts reads status and media type from the head of a response.
func httpFacts(head []byte) (status int, mime string) {
	for line := range bytes.Lines(head) {
		text := strings.TrimRight(string(line), "\r\n")
		switch name, value, _ := strings.Cut(text, ":"); {
		case text == "" && status >= 200:
			return status, mime
		case strings.HasPrefix(text, "HTTP/") && (status == 0 || status < 200):
			if _, rest, ok := strings.Cut(text, " "); ok {
				status, _ = strconv.Atoi(strings.TrimSpace(fmt.Sprintf("%.3s", strings.TrimLeft(rest, " "))))
			}
		case status >= 200 && mime == "" && strings.EqualFold(strings.TrimSpace(name), "Content-Type"):
			value, _, _ = strings.Cut(value, ";")
			mime = strings.ToLower(strings.TrimSpace(value))
		}
	}
	return status, mime
}
