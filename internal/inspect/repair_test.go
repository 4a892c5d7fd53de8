package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
	"decorum/internal/warc"
)

func mustRepair(t *testing.T, dir string) inspect.RepairReport {
	t.Helper()
	r, err := inspect.Repair(dir, inspect.RepairOptions{Resume: "decorum crawl"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func repairText(r inspect.RepairReport) string {
	var b bytes.Buffer
	r.WriteText(&b)
	return b.String()
}

// small is a web with everything in it, duplicates and sitemaps too, crawled in a moment.
func small() simweb.Options {
	o := varied()
	o.Hosts, o.Pages = 3, 30
	return o
}

// crawledSite is a finished crawl in a folder that a test may damage and resume.
func crawledSite(t *testing.T, o simweb.Options) *site {
	t.Helper()
	s := newSite(t, o)
	s.cfg.Out = []string{"pages", "warc", "links"}
	s.dir = filepath.Join(t.TempDir(), "site.crawl")
	synctest.Test(t, func(t *testing.T) { s.crawl(t) })
	return s
}

// TestRepair damages a folder, repairs it, and goes on with the crawl: then everything is there again, and what was fetched
// again is what was lost.
func TestRepair(t *testing.T) {
	s := crawledSite(t, small())
	whole := s.dir
	want := pageURLs(t, whole)
	for _, w := range wounds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel() // disks are slow to sync
			dir := copyOf(t, whole)
			w.damage(t, dir)
			r := mustRepair(t, dir)
			if !r.OK || (r.Again > 0) != w.again || r.Resumed {
				t.Fatalf("again: %d\n%s", r.Again, repairText(r))
			}
			if again := mustRepair(t, dir); !again.OK || len(again.Actions) > 0 {
				t.Errorf("a second repair:\n%s", repairText(again))
			}
			mustBePolite(t, dir)
			lost := len(want) - len(pageURLs(t, dir))
			if int64(lost) != r.Again {
				t.Errorf("%d lines of pages are gone, %d pages will be fetched again\n%s", lost, r.Again, repairText(r))
			}
			s.resume(t, dir)
			if missing := missingFrom(pageURLs(t, dir), want); missing != "" {
				t.Errorf("after going on %s is missing", missing)
			}
			if r := mustCheck(t, dir); !r.OK {
				t.Error(checkText(r))
			}
			mustBePolite(t, dir)
		})
	}
}

// missingFrom returns the first of want that got has not, once. More may be there: which of two equal pages is the duplicate, so
// that its links are not followed, depends on the order.
func missingFrom(got, want []string) string {
	for _, url := range want {
		if i, ok := slices.BinarySearch(got, url); !ok || i+1 < len(got) && got[i+1] == url {
			return url
		}
	}
	return ""
}

// TestLostPagesAndNoOthersAreFetchedAgain counts the contacts after a repair, in a web without duplicates and failures.
func TestLostPagesAndNoOthersAreFetchedAgain(t *testing.T) {
	o := simweb.Plain()
	o.Hosts, o.Pages = 3, 24
	s := newSite(t, o)
	s.dir = filepath.Join(t.TempDir(), "site.crawl")
	synctest.Test(t, func(t *testing.T) { s.crawl(t) })
	want := pageURLs(t, s.dir)
	for _, w := range wounds {
		if !w.again {
			continue
		}
		dir := copyOf(t, s.dir)
		w.damage(t, dir)
		r := mustRepair(t, dir)
		var lost, fetched []string
		for _, p := range r.Pages {
			lost = append(lost, p.URL)
		}
		s.web.ResetLog()
		s.resume(t, dir)
		for _, q := range s.web.Log() {
			if url := "http://" + q.Host + q.Target; !strings.HasSuffix(url, "/robots.txt") {
				fetched = append(fetched, url)
			}
		}
		slices.Sort(fetched)
		if !slices.Equal(fetched, lost) {
			t.Errorf("%s: %d pages fetched, %d lost\n%s", w.name, len(fetched), len(lost), repairText(r))
		}
		if got := pageURLs(t, dir); !slices.Equal(got, want) {
			t.Errorf("%s: %d pages at the end, want %d", w.name, len(got), len(want))
		}
	}
}

// TestPagesThatShareALostBody damages the record of a page whose body another page has as well: both are fetched again, and the
// second refers to what is there then.
func TestPagesThatShareALostBody(t *testing.T) {
	w := &toy{pages: map[string]string{"a.test/": html(`<a href="/1">1</a> <a href="/2">2</a> <a href="/3">3</a>`),
		"a.test/1": html("the same"), "a.test/2": html("the same"), "a.test/3": html("another")}}
	dir := crawlToy(t, w, toyConfig())
	path, raw := firstWARC(t, dir)
	page := pageOf(t, dir, "http://a.test/1")
	if pageOf(t, dir, "http://a.test/2").DupOf != page.URL {
		t.Fatal("no duplicate")
	}
	raw[page.WARC.Offset+page.WARC.Length/2] ^= 0xff
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	r := mustRepair(t, dir)
	if !r.OK || r.Again != 2 || r.Pages[0].URL != "http://a.test/1" || r.Pages[1].Why != "its body was that of http://a.test/1, which is lost" {
		t.Fatal(repairText(r))
	}
	o := toyOptions(t, w, toyConfig())
	o.Dir = dir
	synctest.Test(t, func(t *testing.T) { time.Sleep(time.Hour); run(t, o) })
	first, second := pageOf(t, dir, "http://a.test/1"), pageOf(t, dir, "http://a.test/2")
	if first.DupOf == second.URL {
		first, second = second, first
	}
	raw, _ = os.ReadFile(path)
	e, err := warc.ReadAt(bytes.NewReader(raw), second.WARC.Offset, second.WARC.Length)
	if err != nil || second.DupOf != first.URL || e.Type() == warc.Revisit && e.Get("WARC-Refers-To") != "<"+first.WARC.RecordID+">" {
		t.Errorf("%v: %+v\n%+v", err, first, second)
	}
	if r := mustCheck(t, dir); !r.OK {
		t.Error(checkText(r))
	}
	mustBePolite(t, dir)
}

func pageOf(t *testing.T, dir, url string) (p jobdir.PageRecord) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, jobdir.PagesName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r, err := range jobdir.Records[jobdir.PageRecord](f) {
		if err != nil {
			t.Fatal(err)
		}
		if r.URL == url {
			p = r
		}
	}
	return p
}

func mustBePolite(t *testing.T, dir string) {
	t.Helper()
	audit, err := inspect.Audit(dir)
	if err != nil || !audit.Polite {
		t.Errorf("%v\n%s", err, textOf(t, func(b *bytes.Buffer) error { return audit.WriteText(b) }))
	}
}

// resume goes on with the crawl in a copy of its folder.
func (s *site) resume(t *testing.T, dir string) {
	t.Helper()
	other := *s
	other.dir = dir
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // bubbles begin at the same time
		other.crawl(t)
	})
}

// pageURLs returns the URLs of pages.jsonl, sorted.
func pageURLs(t *testing.T, dir string) (urls []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, jobdir.PagesName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r, err := range jobdir.Records[jobdir.PageRecord](f) {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, r.URL)
	}
	slices.Sort(urls)
	return urls
}

// TestRepairAfterACrash is about what kill -9 leaves: nothing but tails is cut, and nothing is lost.
func TestRepairAfterACrash(t *testing.T) {
	s := crawledSite(t, small())
	dir := copyOf(t, s.dir)
	os.Remove(filepath.Join(dir, jobdir.SummaryName)) // not written yet
	want := treeOf(t, dir)
	path, raw := firstWARC(t, dir)
	for _, name := range []string{path, filepath.Join(dir, jobdir.PagesName), filepath.Join(dir, jobdir.FetchesName)} {
		edit(t, name, func(b []byte) []byte { return append(b, "{torn"...) })
	}
	os.WriteFile(filepath.Join(filepath.Dir(path), "decorum-99990101000000-00009.warc.gz"), raw[:100], 0o644)
	r := mustRepair(t, dir)
	if !r.OK || r.Again > 0 || len(r.Actions) != 4 || !r.Before.OK {
		t.Error(repairText(r))
	}
	got := treeOf(t, dir)
	for name := range got {
		if strings.HasPrefix(name, "repairs/") || strings.HasPrefix(name, "state/") {
			delete(got, name)
		}
	}
	for name, content := range want {
		if !strings.HasPrefix(name, "state/") && got[name] != content {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// treeOf reads a folder.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		tree[name] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// An index made anew is the one that the crawl wrote, to the byte.
func TestIndexIsMadeAnewAsItWas(t *testing.T) {
	s := crawledSite(t, small())
	want := treeOf(t, s.dir)
	dir := copyOf(t, s.dir)
	os.Remove(filepath.Join(dir, jobdir.IndexPartName))
	os.Remove(filepath.Join(dir, jobdir.IndexName))
	if r := mustRepair(t, dir); !r.OK {
		t.Fatal(repairText(r))
	}
	got := treeOf(t, dir)
	for _, name := range []string{jobdir.IndexPartName, jobdir.IndexName} {
		if got[name] != want[name] {
			t.Errorf("%s differs:\n%s", name, firstDifference(got[name], want[name]))
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s\nwant\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

var errInterrupted = errors.New("interrupted")

// TestInterruptedRepair ends a repair before each of its stages and repairs again: the end is the same. Once it is decided,
// no crawl can be started before that.
func TestInterruptedRepair(t *testing.T) {
	o := small()
	o.Hosts, o.Pages = 1, 12
	s := crawledSite(t, o)
	damaged := copyOf(t, s.dir)
	wounds[len(wounds)-1].damage(t, damaged)
	straight := copyOf(t, damaged)
	want := mustRepair(t, straight)
	for stop := 0; ; stop++ {
		dir := copyOf(t, damaged)
		var stages []string
		_, err := inspect.Repair(dir, inspect.Interrupted("decorum crawl", func(stage string) error {
			if stages = append(stages, stage); len(stages) > stop {
				return errInterrupted
			}
			return nil
		}))
		if err == nil {
			if len(stages) < 10 {
				t.Errorf("only %d stages: %v", len(stages), stages)
			}
			return
		}
		if !errors.Is(err, errInterrupted) {
			t.Fatalf("%v: %v", stages, err)
		}
		decided := len(stages) > 2
		if c := mustCheck(t, dir); c.OK {
			t.Errorf("interrupted before %s: it is sound", stages[stop])
		}
		r := mustRepair(t, dir)
		if !r.OK || r.Resumed != decided || r.Again != want.Again {
			t.Errorf("interrupted before %s: %s", stages[stop], repairText(r))
		}
		if got, want := shapeOf(t, dir), shapeOf(t, straight); got != want {
			t.Errorf("interrupted before %s:\n%s\nwant\n%s", stages[stop], got, want)
		}
	}
}

// shapeOf is a folder without what differs from repair to repair: times and ids.
func shapeOf(t *testing.T, dir string) string {
	var b strings.Builder
	tree := treeOf(t, dir)
	for name, content := range tree {
		switch parts := strings.Split(name, "/"); parts[0] {
		case "state":
			continue
		case "repairs":
			if parts[1] = "*"; parts[len(parts)-1] == "repair.json" {
				content = ""
			}
			name = strings.Join(parts, "/")
		}
		fmt.Fprintln(&b, name, len(content))
	}
	lines := strings.Split(b.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// What cannot be repaired is not touched.
func TestRepairWithoutAState(t *testing.T) {
	dir := copyOf(t, variedFolder(t))
	if err := os.RemoveAll(filepath.Join(dir, "state/db")); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	r := mustRepair(t, dir)
	if r.OK || r.Failed == "" || len(r.Actions) > 0 {
		t.Error(repairText(r))
	}
	delete(before, "state/lock")
	after := treeOf(t, dir)
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestRepairOfNoCrawl(t *testing.T) {
	path, _ := firstWARC(t, variedFolder(t))
	for _, p := range []string{path, t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := inspect.Repair(p, inspect.RepairOptions{}); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
}

// TestSeenSetIsMadeAnew damages the seen-set of a crawl that was stopped half way: what it held is known from queues and pages.
func TestSeenSetIsMadeAnew(t *testing.T) {
	s := newSite(t, small())
	s.dir = filepath.Join(t.TempDir(), "site.crawl")
	synctest.Test(t, func(t *testing.T) {
		n := s.open(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := n.Run(ctx, context.Background())
		if err := errors.Join(err, n.Finish(&r, 130, "decorum crawl"), n.Close()); err != nil || r.Summary.QueuedLeft == 0 {
			t.Fatal(err, r.Summary.QueuedLeft)
		}
	})
	before := mustCheck(t, s.dir)
	db, err := store.Open(store.Options{Dir: filepath.Join(s.dir, "state", "db")})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	b.Set(store.Key{Partition: store.Global, Space: store.Seen, ID: []byte("manifest")}, []byte("?"))
	if err := errors.Join(b.Commit(true), db.Close()); err != nil {
		t.Fatal(err)
	}
	r := mustRepair(t, s.dir)
	if !r.OK || r.Again > 0 || len(r.Actions) != 1 {
		t.Fatal(repairText(r))
	}
	seen := func(r inspect.CheckReport) string {
		i := slices.IndexFunc(r.Parts, func(p inspect.CheckPart) bool { return p.Name == "state" })
		text, _, _ := strings.Cut(r.Parts[i].Text, ",")
		return text
	}
	if seen(before) != seen(r.After) {
		t.Errorf("%s, before %s", seen(r.After), seen(before))
	}
	whole := crawledSite(t, small())
	s.resume(t, s.dir)
	if got, want := len(pageURLs(t, s.dir)), len(pageURLs(t, whole.dir)); got < want {
		t.Errorf("%d pages, want %d", got, want)
	}
}
