package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"decorum/internal/fetch"
	"decorum/internal/jobdir"
	"decorum/internal/robots"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// cdxTime is the form of the second field of an index line.
const cdxTime = "20060102150405"

// capture is where a record lies in the archive.
type capture struct {
	file           uint32 // index into archive.files
	count          uint32 // records of the same URL in the same second; the place is that of the last
	offset, length int64
}

// archive is the archive folder as the index knows it.
type archive struct {
	dir     string
	files   []string // base names, in order of first use
	opened  map[uint32]*os.File
	seed    uint64 // of the hashes: drawn for each use, so that no site can make its URLs collide
	entries map[xxh3.Uint128]capture
	replay  *fetch.Transport // reads what is on next; nil until needed
	next    io.Reader
}

// openArchive reads the index: 48 bytes of memory for each capture.
func openArchive(f *folder) (*archive, error) {
	a := &archive{dir: f.Archive(), opened: map[uint32]*os.File{}, seed: rand.Uint64(), entries: map[xxh3.Uint128]capture{}}
	s, err := f.open(jobdir.IndexPartName)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	names := map[string]uint32{}
	lines := newLineReader(s)
	for {
		l, err := lines.read()
		if err == io.EOF || l.torn {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		e, err := parseIndexLine(l.text)
		if err != nil {
			continue // check names it; here the capture is missing, which is a breach of its own
		}
		n, ok := names[e.File]
		if !ok {
			n = uint32(len(a.files))
			names[e.File], a.files = n, append(a.files, e.File)
		}
		key := a.key(e.URL, e.stamp)
		a.entries[key] = capture{file: n, count: a.entries[key].count + 1, offset: e.Offset, length: e.Length}
	}
}

func (a *archive) key(url, stamp string) xxh3.Uint128 {
	return xxh3.HashString128Seed(stamp+" "+url, a.seed)
}

// take returns the capture of an exchange and strikes it off the list.
func (a *archive) take(url string, ts time.Time) (capture, bool) {
	key := a.key(url, ts.UTC().Format(cdxTime))
	c, ok := a.entries[key]
	if !ok {
		return c, false
	}
	if c.count > 1 {
		left := c
		left.count--
		a.entries[key] = left
	} else {
		delete(a.entries, key)
	}
	return c, true
}

func (a *archive) Close() error {
	var errs []error
	for _, f := range a.opened {
		errs = append(errs, f.Close())
	}
	if a.replay != nil {
		errs = append(errs, a.replay.Close())
	}
	return errors.Join(errs...)
}

// maxOpenFiles bounds the archive files held open: audits go through the archive in order, with glances back.
const maxOpenFiles = 64

func (a *archive) open(n uint32) (*os.File, error) {
	if f, ok := a.opened[n]; ok {
		return f, nil
	}
	if len(a.opened) >= maxOpenFiles {
		for k, f := range a.opened {
			f.Close()
			delete(a.opened, k)
		}
	}
	f, err := os.Open(filepath.Join(a.dir, a.files[n]))
	if err == nil {
		a.opened[n] = f
	}
	return f, err
}

// exchange reads a capture through the same code that fetched it: framing and codings are undone alike. The
// caller closes it.
func (a *archive) exchange(ctx context.Context, c capture, u weburl.URL) (*fetch.Exchange, error) {
	f, err := a.open(c.file)
	if err != nil {
		return nil, err
	}
	e, err := warc.ReadAt(f, c.offset, c.length)
	if err != nil {
		return nil, err
	}
	if t := e.Type(); t != warc.Response && t != warc.Revisit || e.TargetURI() != u.String() {
		return nil, fmt.Errorf("the record at %d of %s is a %s of %s", c.offset, a.files[c.file], t, Clean(e.TargetURI()))
	}
	if a.replay == nil {
		dial := func(context.Context, string, string) (net.Conn, error) { return &recorded{a.next}, nil }
		if a.replay, err = fetch.New(fetch.Options{Dial: dial}); err != nil {
			return nil, err
		}
	}
	a.next = e.Block
	plain, err := weburl.Parse("http" + strings.TrimPrefix(u.String(), u.Scheme())) // what is archived is inside TLS
	if err != nil {
		return nil, err
	}
	return a.replay.Do(ctx, &fetch.Request{URL: plain, Addr: netip.AddrPortFrom(netip.IPv4Unspecified(), 80), MaxBody: robots.MaxBytes})
}

// recorded is a connection on which a response comes that was recorded before.
type recorded struct{ io.Reader }

func (*recorded) Write(p []byte) (int, error)      { return len(p), nil }
func (*recorded) Close() error                     { return nil }
func (*recorded) LocalAddr() net.Addr              { return nil }
func (*recorded) RemoteAddr() net.Addr             { return nil }
func (*recorded) SetDeadline(time.Time) error      { return nil }
func (*recorded) SetReadDeadline(time.Time) error  { return nil }
func (*recorded) SetWriteDeadline(time.Time) error { return nil }

// indexEntry is a line of a CDXJ index.
type indexEntry struct {
	key    string // SURT
	stamp  string // 14 digits
	URL    string `json:"url"`
	File   string `json:"filename"`
	MIME   string `json:"mime"`
	Offset int64  `json:"-"`
	Length int64  `json:"-"`
}

// parseIndexLine reads what jobdir.CDXRecord wrote.
func parseIndexLine(text []byte) (e indexEntry, err error) {
	surt, rest, ok := bytes.Cut(text, []byte(" "))
	stamp, fields, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok || !ok2 || len(stamp) != len(cdxTime) {
		return e, errors.New("not key, time and JSON")
	}
	e.key, e.stamp = string(surt), string(stamp)
	if _, err := time.Parse(cdxTime, e.stamp); err != nil {
		return e, fmt.Errorf("time %q", e.stamp)
	}
	numbers := struct {
		*indexEntry
		Offset string `json:"offset"`
		Length string `json:"length"`
	}{indexEntry: &e}
	if err := json.Unmarshal(fields, &numbers); err != nil {
		return e, err
	}
	if e.Offset, err = strconv.ParseInt(numbers.Offset, 10, 64); err != nil || e.Offset < 0 {
		return e, fmt.Errorf("offset %q", numbers.Offset)
	}
	if e.Length, err = strconv.ParseInt(numbers.Length, 10, 64); err != nil || e.Length <= 0 {
		return e, fmt.Errorf("length %q", numbers.Length)
	}
	if e.File == "" || filepath.Base(e.File) != e.File {
		return e, fmt.Errorf("file name %q", e.File)
	}
	return e, nil
}

// archiveFiles lists the WARC files of a folder in the order they were written.
func archiveFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && (strings.HasSuffix(n, ".warc.gz") || strings.HasSuffix(n, ".warc")) {
			names = append(names, n)
		}
	}
	slices.Sort(names) // prefix, time, serial
	return names, nil
}

func readBody(b fetch.Body) ([]byte, error) {
	buf := make([]byte, b.Len())
	if _, err := io.ReadFull(b.Reader(), buf); err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return buf, nil
}
