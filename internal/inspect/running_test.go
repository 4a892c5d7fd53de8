package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/node"
)

// TestAuditAndCheckOfARunningCrawl looks at a folder every few seconds while a crawl writes it.
func TestAuditAndCheckOfARunningCrawl(t *testing.T) {
	s := newSite(t, varied())
	synctest.Test(t, func(t *testing.T) {
		n := s.open(t)
		done := make(chan node.Result)
		go func() {
			r, err := n.Run(context.Background(), context.Background())
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		for range 6 {
			time.Sleep(3111 * time.Millisecond)
			synctest.Wait()
			audit, err := inspect.Audit(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			if !audit.Polite || !audit.InUse || audit.Contacts == 0 {
				t.Errorf("%s\n%s", audit.Verdict(), textOf(t, func(b *bytes.Buffer) error { return audit.WriteText(b) }))
			}
			if r := mustCheck(t, s.dir); !r.OK || !r.InUse {
				t.Error(checkText(r))
			}
		}
		r := <-done
		if err := errors.Join(n.Finish(&r, 0, ""), n.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAfterACrash copies the folder of a running crawl, which is what kill -9 leaves, with some bytes more at the
// end of its files, and looks at the copy.
func TestAfterACrash(t *testing.T) {
	s := newSite(t, varied())
	crashed := filepath.Join(t.TempDir(), "crashed.crawl") // of this test: the bubble cleans up after itself
	synctest.Test(t, func(t *testing.T) {
		n := s.open(t)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := n.Run(ctx, context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(crashed, os.DirFS(s.dir)); err != nil { // without Finish and Close
			t.Fatal(err)
		}
		n.Close()
	})
	names, _ := filepath.Glob(filepath.Join(crashed, "archive", "*.warc.gz"))
	for _, name := range append(names, filepath.Join(crashed, jobdir.FetchesName), filepath.Join(crashed, jobdir.PagesName), filepath.Join(crashed, jobdir.IndexPartName)) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(`{"v":1,"type":"torn`)
		f.Close()
	}
	audit, err := inspect.Audit(crashed)
	if err != nil || !audit.Polite || audit.InUse {
		t.Errorf("%v\n%s", err, textOf(t, func(b *bytes.Buffer) error { return audit.WriteText(b) }))
	}
	r := mustCheck(t, crashed)
	if !r.OK || !slices.ContainsFunc(r.Notes, func(n string) bool { return len(n) > 0 }) {
		t.Error(checkText(r))
	}
}

// TestRunsAddUp audits a crawl that was interrupted, cut and resumed.
func TestRunsAddUp(t *testing.T) {
	s := newSite(t, varied())
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{5 * time.Second, 11 * time.Second} { // a soft and a hard stop
			n := s.open(t)
			ctx, cancel := context.WithTimeout(context.Background(), after)
			hard := context.Background()
			if after > 10*time.Second {
				hard = ctx
			}
			r, err := n.Run(ctx, hard)
			if err == nil {
				err = errors.Join(n.Finish(&r, 130, "decorum crawl"), n.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			time.Sleep(time.Hour)
		}
		time.Sleep(30 * time.Hour) // robots.txt expires
		s.crawl(t)
	})
	audit, err := inspect.Audit(s.dir)
	if err != nil || !audit.Polite || audit.Runs != 3 {
		t.Errorf("%v\n%s", err, textOf(t, func(b *bytes.Buffer) error { return audit.WriteText(b) }))
	}
	if r := mustCheck(t, s.dir); !r.OK {
		t.Error(checkText(r))
	}
}

func TestAuditNamesHostsWhoseRobotsAreIgnored(t *testing.T) {
	c := toyConfig()
	c.IgnoreRobots = []string{"a.test"}
	dir := crawlToy(t, reasons(), c)
	r, err := inspect.Audit(dir)
	if err != nil || !r.Polite || len(r.Ignored) != 1 || r.Ignored[0].Host != "a.test" || r.Ignored[0].Fetches == 0 || r.Robots != 0 {
		t.Errorf("%v\n%s", err, textOf(t, func(b *bytes.Buffer) error { return r.WriteText(b) }))
	}
}

func TestAuditWithoutAnArchive(t *testing.T) {
	c := toyConfig()
	c.Out = []string{"pages"}
	dir := crawlToy(t, reasons(), c)
	r, err := inspect.Audit(dir)
	if err != nil || !r.Polite || len(r.Notes) != 1 {
		t.Errorf("%v\n%s", err, textOf(t, func(b *bytes.Buffer) error { return r.WriteText(b) }))
	}
	if r := mustCheck(t, dir); !r.OK {
		t.Error(checkText(r))
	}
}
