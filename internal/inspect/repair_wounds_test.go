package inspect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"decorum/internal/jobdir"
)

// edit changes a file of a folder.
func edit(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, change(raw), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wounds are kinds of damage to a folder.
var wounds = []struct {
	name   string
	damage func(t *testing.T, dir string)
	again  bool // pages must be fetched again
}{
	{"nothing", func(*testing.T, string) {}, false},
	{"bytes of the archive", func(t *testing.T, dir string) {
		path, _ := firstWARC(t, dir)
		edit(t, path, func(b []byte) []byte {
			for i := 1; i < 9; i++ {
				b[len(b)*i/9] ^= 0x10
			}
			return b
		})
	}, true},
	{"a stretch of the archive", func(t *testing.T, dir string) {
		path, _ := firstWARC(t, dir)
		edit(t, path, func(b []byte) []byte { clear(b[len(b)/3 : len(b)/2]); return b })
	}, true},
	{"archive cut", func(t *testing.T, dir string) {
		path, _ := firstWARC(t, dir)
		edit(t, path, func(b []byte) []byte { return b[:len(b)*2/3] })
	}, true},
	{"archive gone", func(t *testing.T, dir string) {
		path, _ := firstWARC(t, dir)
		os.Remove(path)
	}, true},
	{"archive longer", func(t *testing.T, dir string) {
		path, _ := firstWARC(t, dir)
		edit(t, path, func(b []byte) []byte { return append(b, b[:300]...) })
	}, false},
	{"a stray archive file", func(t *testing.T, dir string) {
		path, raw := firstWARC(t, dir)
		os.WriteFile(filepath.Join(filepath.Dir(path), "decorum-99990101000000-00009.warc.gz"), raw[:100], 0o644)
	}, false},
	{"bytes before a record", func(t *testing.T, dir string) {
		path, raw := firstWARC(t, dir)
		at := memberOffsets(t, raw)[7]
		edit(t, path, func(b []byte) []byte { return slices.Insert(b, int(at), []byte("junk")...) })
	}, true},
	{"page line", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.PagesName), func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[5] = bytes.Replace(lines[5], []byte(`"status":`), []byte(`"status";`), 1)
			lines[9] = bytes.Replace(lines[9], []byte(`"record_id":"urn:uuid:`), []byte(`"record_id":"urn:uuid:0`), 1)
			lines[0] = nil
			return bytes.Join(lines, nil)
		})
	}, true},
	{"pages cut", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.PagesName), func(b []byte) []byte { return b[:len(b)*3/4] })
	}, true},
	{"pages gone", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, jobdir.PagesName)) }, true},
	{"fetch lines", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.FetchesName), func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[3] = bytes.Replace(lines[3], []byte(`"seq":`), []byte(`"seq":9`), 1)
			lines[6][len(lines[6])-1] = '#' // two lines become one
			clear(lines[12][10:50])
			clear(lines[14][10:50])
			return bytes.Join(lines, nil)
		})
	}, false},
	{"fetch lines altered", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.FetchesName), func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[3] = bytes.Replace(lines[3], []byte(`"status":`), []byte(`"statis":`), 1)
			lines[20] = bytes.Replace(lines[20], []byte(`sim0.test/`), []byte(`sim0.test/x`), 1)
			return bytes.Join(lines, nil)[:len(b)]
		})
	}, false},
	{"fetches cut", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.FetchesName), func(b []byte) []byte { return b[:len(b)/2] })
	}, false},
	{"a line without end", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.FetchesName), func(b []byte) []byte {
			at := bytes.IndexByte(b[len(b)/2:], '\n') + len(b)/2 + 1
			return slices.Insert(b, at, append(bytes.Repeat([]byte("x"), 3<<20), '\n')...)
		})
	}, false},
	{"skipped and links", func(t *testing.T, dir string) {
		for _, name := range []string{jobdir.SkippedName, jobdir.LinksName} {
			edit(t, filepath.Join(dir, name), func(b []byte) []byte { clear(b[200:230]); return b[:len(b)-4] })
		}
	}, false},
	{"index gone", func(t *testing.T, dir string) {
		os.Remove(filepath.Join(dir, jobdir.IndexName))
		os.Remove(filepath.Join(dir, jobdir.IndexPartName))
	}, false},
	{"index line", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.IndexPartName), func(b []byte) []byte { b[20] = 0; return b })
	}, false},
	{"sorted index", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.IndexName), func(b []byte) []byte { return b[:len(b)/2] })
	}, false},
	{"summary", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.SummaryName), func(b []byte) []byte { return bytes.Replace(b, []byte(`"pages": `), []byte(`"pages": 1`), 1) })
	}, false},
	{"summary broken", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, jobdir.SummaryName), func(b []byte) []byte { return b[:50] })
	}, false},
	{"leftovers", func(t *testing.T, dir string) {
		for _, name := range []string{"summary.json.tmp", "indexes/index.cdxj.3.run", "state/seen/00000099.run"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}, false},
	{"all at once", func(t *testing.T, dir string) {
		path, _ := firstWARC(t, dir)
		edit(t, path, func(b []byte) []byte { clear(b[len(b)/3 : len(b)/2]); return b[:len(b)-100] })
		for _, name := range []string{jobdir.PagesName, jobdir.FetchesName, jobdir.SkippedName, jobdir.LinksName, jobdir.IndexPartName} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 100 {
				continue
			}
			edit(t, filepath.Join(dir, name), func(b []byte) []byte { clear(b[len(b)/4:][:2]); clear(b[len(b)/2:][:20]); return b[:len(b)-3] })
		}
	}, true},
}
