package inspect_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/warc"
)

func mustCheck(t *testing.T, path string) inspect.CheckReport {
	t.Helper()
	r, err := inspect.Check(path, inspect.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func checkText(r inspect.CheckReport) string {
	var b bytes.Buffer
	r.WriteText(&b)
	return b.String()
}

// firstWARC returns the path of the first archive file and its bytes.
func firstWARC(t *testing.T, dir string) (string, []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "archive", "*.warc.gz"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	raw, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return names[0], raw
}

func TestCheckFindsAFlippedByteInTheArchive(t *testing.T) {
	dir := variedFolder(t)
	path, raw := firstWARC(t, dir)
	members := memberOffsets(t, raw)
	for i := 1; i < 12; i++ {
		at := len(raw) * i / 12
		if n, at0 := slices.BinarySearch(members, int64(at)); at0 || n > 0 && int64(at)-members[n-1] < gzipHead {
			at += gzipHead // time and system in the head of a member mean nothing, and nothing covers them
		}
		bad := bytes.Clone(raw)
		bad[at] ^= 0x10
		loose := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(loose, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		r := mustCheck(t, loose)
		if r.OK {
			t.Errorf("byte %d flipped, nothing found", at)
			continue
		}
		n, _ := slices.BinarySearch(members, int64(at)+1)
		if offset, _ := r.Parts[0].Findings[0].Offset.Get(); offset != members[n-1] {
			t.Errorf("byte %d flipped, in the record at %d: %s", at, members[n-1], checkText(r))
		}
	}
}

// gzipHead is the length of the head of a gzip member (RFC 1952 §2.3).
const gzipHead = 10

// memberOffsets returns where the records begin.
func memberOffsets(t *testing.T, raw []byte) (at []int64) {
	t.Helper()
	for r := warc.NewReader(bytes.NewReader(raw)); ; {
		e, err := r.Next()
		if err == io.EOF {
			return at
		}
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, e.Offset)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	dir := variedFolder(t)
	edit := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(raw), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(share float64) func([]byte) []byte {
		return func(b []byte) []byte { b[int(float64(len(b))*share)] ^= 0x10; return b }
	}
	cut := func(b []byte) []byte { return b[:len(b)-7] }
	swap := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	path, _ := firstWARC(t, dir)
	file := filepath.Join("archive", filepath.Base(path))
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	largest := func(sub string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			var name string
			var size int64
			entries, err := os.ReadDir(filepath.Join(dir, sub))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				info, _ := e.Info()
				if info.Size() > size && !strings.HasPrefix(e.Name(), "OPTIONS") {
					name, size = e.Name(), info.Size()
				}
			}
			edit(filepath.Join(sub, name), flip(.5))(t, dir)
		}
	}
	for _, c := range []struct {
		name   string
		part   string
		where  string // of the first finding, if it must be there
		damage func(*testing.T, string)
	}{
		{"archive byte", "archive", "", edit(file, flip(.4))},
		{"archive cut", "archive", "", edit(file, cut)},
		{"archive longer", "archive", "", edit(file, func(b []byte) []byte { return append(b, b[:300]...) })},
		{"archive file gone", "archive", "", remove(file)},
		{"index line lost", "index", "", edit(jobdir.IndexPartName, func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] })},
		{"index offset", "index", "(line 1)", edit(jobdir.IndexPartName, swap(`"offset":"`, `"offset":"1`))},
		{"sorted index order", "index", "indexes/index.cdxj: offset", edit(jobdir.IndexName, func(b []byte) []byte {
			i := bytes.IndexByte(b, '\n') + 1
			return append(bytes.Clone(b[i:]), b[:i]...)
		})},
		{"sorted index gone", "index", "", remove(jobdir.IndexName)},
		{"sorted index line altered", "index", "", edit(jobdir.IndexName, swap(`"status":"200"`, `"status":"201"`))},
		{"page line broken", "pages", "pages/pages.jsonl: offset", edit(jobdir.PagesName, swap(`"seq":`, `"seq";`))},
		{"page of another record", "pages", "(line ", edit(jobdir.PagesName, swap(`"offset":`, `"offset":1`))},
		{"page record id", "pages", "(line ", edit(jobdir.PagesName, swap(`"record_id":"urn:uuid:`, `"record_id":"urn:uuid:0`))},
		{"page status", "state", "", edit(jobdir.PagesName, swap(`"status":200`, `"status":201`))},
		{"page lost", "state", "", edit(jobdir.PagesName, func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] })},
		{"fetches cut", "fetches", "fetches.jsonl: offset", edit(jobdir.FetchesName, cut)},
		{"fetches zeroed", "fetches", "fetches.jsonl: offset", edit(jobdir.FetchesName, func(b []byte) []byte { clear(b[100:200]); return b })},
		{"skipped line", "skipped", "skipped.jsonl: offset", edit(jobdir.SkippedName, swap(`"type":"skip"`, `"type":"slip"`))},
		{"state gone", "state", "", remove("state/db")},
		{"seen-set gone", "", "", remove("state/seen")},
		{"state byte", "state", "", largest("state/db")},
		{"summary", "summary", "", edit(jobdir.SummaryName, swap(`"pages": `, `"pages": 1`))},
		{"summary broken", "summary", "", edit(jobdir.SummaryName, cut)},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := copyOf(t, dir)
			c.damage(t, bad)
			r := mustCheck(t, bad)
			if c.part == "" {
				return // it may be rebuilt, but must not make check fail
			}
			i := slices.IndexFunc(r.Parts, func(p inspect.CheckPart) bool { return p.Name == c.part })
			if r.OK || r.Parts[i].Faults == 0 || !strings.Contains(r.Parts[i].Findings[0].String(), c.where) {
				t.Error(checkText(r))
			}
		})
	}
}

func TestCheckOfNothing(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := inspect.Check(path, inspect.CheckOptions{}); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

func TestCheckOfLooseFiles(t *testing.T) {
	path, _ := firstWARC(t, variedFolder(t))
	for _, p := range []string{path, filepath.Dir(path)} {
		if r := mustCheck(t, p); !r.OK || len(r.Parts) != 1 {
			t.Error(checkText(r))
		}
	}
}
