package inspect_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/config"
	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

// varied is a small web with every kind of robots.txt.
func varied() simweb.Options {
	o := simweb.Realistic()
	o.Hosts, o.Pages = 14, 110
	o.Robots = simweb.RobotsMix{None: .1, Parts: .2, Delay: .15, Moved: .1, Elsewhere: .1, Flaky: .1, Slow: .1}
	return o
}

func TestAuditOfRealCrawlsIsPolite(t *testing.T) {
	plain, big, shared, kinds := simweb.Plain(), simweb.Realistic(), simweb.Realistic(), simweb.Realistic()
	plain.Hosts, plain.Pages = 5, 100
	big.Hosts, big.Pages = 12, 200
	shared.Hosts, shared.Pages, shared.HostsPerAddr = 9, 100, 4
	kinds.Hosts, kinds.Pages, kinds.CrawlDelay = 26, 120, []time.Duration{1500 * time.Millisecond, 4 * time.Second}
	const some = 0.08
	kinds.Robots = simweb.RobotsMix{None: some, Forbidden: some, Parts: some, DenyAll: some, Agent: some, Delay: some, Flaky: some, Moved: some, Elsewhere: some,
		Junk: some, Slow: some, Down: some}
	for name, c := range map[string]struct {
		web    simweb.Options
		change func(*config.Crawl)
	}{
		"plain":            {plain, nil},
		"realistic":        {big, nil},
		"shared addresses": {shared, nil},
		"kinds of robots":  {kinds, nil},
		"by domain":        {varied(), func(c *config.Crawl) { c.PoliteBy = "domain" }},
		"no delay":         {varied(), func(c *config.Crawl) { c.Delay = 0 }},
		"page limit":       {varied(), func(c *config.Crawl) { c.MaxPages = 50 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.web)
			if c.change != nil {
				c.change(&s.cfg)
			}
			synctest.Test(t, func(t *testing.T) { s.crawl(t) })
			r, err := inspect.Audit(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Polite || r.Contacts == 0 || len(r.Notes) > 0 {
				t.Error(textOf(t, func(b *bytes.Buffer) error { return r.WriteText(b) }))
			}
			if r.Checked < r.Pages {
				t.Errorf("%d of %d pages were held against robots.txt", r.Checked, r.Pages)
			}
			if r := mustCheck(t, s.dir); !r.OK {
				t.Error(checkText(r))
			}
		})
	}
}

// lines is a stream as a test alters it: one map for each line.
type lines []map[string]any

func readLines(t *testing.T, path string) lines {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ls lines
	for text := range bytes.Lines(raw) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		m := map[string]any{}
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		ls = append(ls, m)
	}
	return ls
}

func (ls lines) write(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	for _, m := range ls {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// find returns the first line that fits, but not the first of its host.
func (ls lines) find(t *testing.T, fits func(map[string]any) bool) int {
	t.Helper()
	seen := map[any]bool{}
	for i, m := range ls {
		if seen[m["host"]] && fits(m) {
			return i
		}
		seen[m["host"]] = true
	}
	t.Fatal("no such line")
	return 0
}

func num(m map[string]any, name string) int64 {
	n, _ := m[name].(json.Number)
	v, _ := n.Int64()
	return v
}

// shift moves a time of a record by milliseconds.
func shift(m map[string]any, name string, ms int64) {
	at, err := time.Parse(time.RFC3339Nano, m[name].(string))
	if err != nil {
		panic(err)
	}
	m[name] = at.Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

func page(m map[string]any) bool { return m["kind"] == "page" && m["status"] == json.Number("200") }

// previous is the index of the record before i of the same host.
func (ls lines) previous(i int) int {
	for j := i - 1; j >= 0; j-- {
		if ls[j]["host"] == ls[i]["host"] {
			return j
		}
	}
	return -1
}

func renumber(ls lines) lines {
	for i, m := range ls {
		m["seq"] = json.Number(fmt.Sprint(i + 1))
	}
	return ls
}

func TestAuditCatchesTampering(t *testing.T) {
	dir := variedFolder(t)
	delayed := func(m map[string]any) bool { return page(m) && m["gap_reason"] == "crawl_delay" }
	for _, c := range []struct {
		name string
		want string // kind of breach
		edit func(t *testing.T, ls lines) lines
	}{
		{"gap shortened", inspect.BreachGap, func(t *testing.T, ls lines) lines {
			m := ls[ls.find(t, page)]
			m["gap_ms"] = json.Number("10")
			return ls
		}},
		{"gap lengthened to hide a contact", inspect.BreachRecord, func(t *testing.T, ls lines) lines {
			m := ls[ls.find(t, page)]
			m["gap_ms"] = json.Number(fmt.Sprint(num(m, "gap_ms") + 5000))
			return ls
		}},
		{"times moved, gap and all", inspect.BreachGap, func(t *testing.T, ls lines) lines {
			m := ls[ls.find(t, page)]
			by := num(m, "gap_ms") - 100
			shift(m, "ts", -by)
			shift(m, "end_ts", -by)
			m["gap_ms"] = json.Number("100")
			return ls
		}},
		{"promise lowered with the gap", inspect.BreachCrawlDelay, func(t *testing.T, ls lines) lines {
			m := ls[ls.find(t, delayed)]
			by := num(m, "gap_ms") - 100
			shift(m, "ts", -by)
			shift(m, "end_ts", -by)
			m["gap_ms"], m["promised_ms"] = json.Number("100"), json.Number("50")
			return ls
		}},
		{"promise raised", inspect.BreachGap, func(t *testing.T, ls lines) lines {
			m := ls[ls.find(t, page)]
			m["promised_ms"] = json.Number(fmt.Sprint(num(m, "gap_ms") + 5))
			return ls
		}},
		{"promise removed", inspect.BreachRecord, func(t *testing.T, ls lines) lines {
			delete(ls[ls.find(t, page)], "promised_ms")
			return ls
		}},
		{"two contacts at once", inspect.BreachOverlap, func(t *testing.T, ls lines) lines {
			i := ls.find(t, page)
			shift(ls[ls.previous(i)], "end_ts", num(ls[i], "gap_ms")+5)
			return ls
		}},
		{"duration altered", inspect.BreachRecord, func(t *testing.T, ls lines) lines {
			shift(ls[ls.find(t, page)], "end_ts", 50)
			return ls
		}},
		{"end before begin", inspect.BreachRecord, func(t *testing.T, ls lines) lines {
			shift(ls[ls.find(t, page)], "end_ts", -60_000)
			return ls
		}},
		{"record removed", inspect.BreachSequence, func(t *testing.T, ls lines) lines {
			i := ls.find(t, page)
			return slices.Delete(ls, i, i+1)
		}},
		{"record removed and renumbered", inspect.BreachArchive, func(t *testing.T, ls lines) lines {
			i := ls.find(t, page)
			return renumber(slices.Delete(ls, i, i+1))
		}},
		{"first contact of a host removed", inspect.BreachSequence, func(t *testing.T, ls lines) lines {
			return renumber(ls[1:])
		}},
		{"URL repeated", inspect.BreachRepeated, func(t *testing.T, ls lines) lines {
			i := ls.find(t, page)
			again := map[string]any{}
			for k, v := range ls[i] {
				again[k] = v
			}
			shift(again, "ts", 900_000)
			shift(again, "end_ts", 900_000)
			return renumber(append(ls, again))
		}},
		{"robots version changed", inspect.BreachRobots, func(t *testing.T, ls lines) lines {
			ls[ls.find(t, page)]["robots_version"] = "0123456789abcdef"
			return ls
		}},
		{"robots version of another host", inspect.BreachRobots, func(t *testing.T, ls lines) lines {
			i := ls.find(t, func(m map[string]any) bool { return page(m) && m["robots_version"] != "allow-all" })
			for _, m := range ls {
				if v := m["robots_version"]; v != nil && v != ls[i]["robots_version"] && v != "allow-all" {
					ls[i]["robots_version"] = v
					return ls
				}
			}
			t.Fatal("all hosts have the same robots.txt")
			return nil
		}},
		{"robots version removed", inspect.BreachRobots, func(t *testing.T, ls lines) lines {
			delete(ls[ls.find(t, page)], "robots_version")
			return ls
		}},
		{"robots fetch removed", inspect.BreachRobots, func(t *testing.T, ls lines) lines {
			i := slices.IndexFunc(ls, func(m map[string]any) bool { return m["kind"] == "robots" && m["status"] == json.Number("200") })
			return slices.Delete(ls, i, i+1)
		}},
		{"robots.txt too old", inspect.BreachRobots, func(t *testing.T, ls lines) lines {
			m := ls[len(ls)-1]
			shift(m, "ts", 26*3600*1000)
			shift(m, "end_ts", 26*3600*1000)
			return ls
		}},
		{"disallowed URL", inspect.BreachDisallowed, func(t *testing.T, ls lines) lines {
			return disallowedFetch(t, dir, ls)
		}},
		{"status altered", inspect.BreachPages, func(t *testing.T, ls lines) lines {
			ls[ls.find(t, page)]["status"] = json.Number("304")
			return ls
		}},
		{"URL altered", inspect.BreachArchive, func(t *testing.T, ls lines) lines {
			m := ls[ls.find(t, page)]
			m["url"] = m["url"].(string) + "x"
			return ls
		}},
		{"outcome unknown", inspect.BreachRecord, func(t *testing.T, ls lines) lines {
			ls[ls.find(t, page)]["outcome"] = "fine"
			return ls
		}},
		{"kind unknown", inspect.BreachRecord, func(t *testing.T, ls lines) lines {
			ls[ls.find(t, page)]["kind"] = "ping"
			return ls
		}},
		{"run goes back", inspect.BreachSequence, func(t *testing.T, ls lines) lines {
			ls[3]["run"] = json.Number("2")
			return ls
		}},
		{"records at the end removed", inspect.BreachState, func(t *testing.T, ls lines) lines {
			return ls[:len(ls)-2]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := copyOf(t, dir)
			path := filepath.Join(bad, jobdir.FetchesName)
			c.edit(t, readLines(t, path)).write(t, path)
			r, err := inspect.Audit(bad)
			if err != nil {
				t.Fatal(err)
			}
			if r.Polite || r.Broken[c.want] == 0 {
				t.Errorf("want %s, got %v", c.want, r.Broken)
			}
			kinds := map[string]bool{}
			for _, b := range r.Breaches {
				kinds[b.Kind] = true
			}
			if !kinds[c.want] {
				t.Errorf("no breach of kind %s is listed", c.want)
			}
		})
	}
}

// disallowedFetch moves a page of a host whose robots.txt bars something to a URL that it bars: in the record,
// the pages and the archive's index, so that nothing else is wrong with it.
func disallowedFetch(t *testing.T, dir string, ls lines) lines {
	skipped := readLines(t, filepath.Join(dir, jobdir.SkippedName))
	for _, s := range skipped {
		if s["reason"] != "robots" {
			continue
		}
		for _, m := range ls {
			if m["host"] == s["host"] && page(m) && m["robots_version"] != "allow-all" {
				m["url"] = s["url"]
				return ls
			}
		}
	}
	t.Fatal("nothing is disallowed in this web")
	return nil
}

func TestAuditCatchesAlteredFiles(t *testing.T) {
	dir := variedFolder(t)
	cut := func(name string, keep func([]byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, keep(raw), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	withoutLine := func(n int) func([]byte) []byte {
		return func(raw []byte) []byte {
			ls := strings.SplitAfter(string(raw), "\n")
			return []byte(strings.Join(slices.Delete(ls, n, n+1), ""))
		}
	}
	for _, c := range []struct {
		name, want string
		damage     func(t *testing.T, dir string)
	}{
		{"page record removed", inspect.BreachPages, cut(jobdir.PagesName, withoutLine(3))},
		{"capture removed from the index", inspect.BreachArchive, cut(jobdir.IndexPartName, withoutLine(5))},
		{"last line cut", inspect.BreachState, cut(jobdir.FetchesName, func(b []byte) []byte { return b[:len(b)-5] })},
		{"line appended", inspect.BreachState, cut(jobdir.FetchesName, func(b []byte) []byte {
			return append(b, b[bytes.LastIndexByte(b[:len(b)-1], '\n')+1:]...)
		})},
		{"garbage", inspect.BreachRecord, cut(jobdir.FetchesName, func(b []byte) []byte { b[0] = 'x'; return b })},
		{"archive gone", inspect.BreachArchive, func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, jobdir.ArchiveName)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := copyOf(t, dir)
			c.damage(t, bad)
			r, err := inspect.Audit(bad)
			if err != nil {
				t.Fatal(err)
			}
			if r.Polite || r.Broken[c.want] == 0 {
				t.Errorf("want %s, got %v", c.want, r.Broken)
			}
		})
	}
}
