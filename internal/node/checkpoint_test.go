package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/config"
	"decorum/internal/crawler"
	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
)

// checkpointSim is a crawl on a real disk, whose archive has several files and whose seen-set has runs.
func checkpointSim(t *testing.T) *sim {
	o := simweb.Realistic()
	o.Hosts, o.Pages, o.PageBytes = 10, 250, 48<<10
	s := newSim(t, o)
	s.fs = store.Syncing(store.OS(), func(func() error) error { return nil }) // links are real, the power stays on
	s.cfg.Memory, s.cfg.WARCSize, s.cfg.SeenRecent, s.cfg.CheckpointEvery = 64<<20, 1<<20, 32, 0
	s.cfg.Out = append(s.cfg.Out, "links")
	return s
}

// crawlWith crawls to the end, and meanwhile does something with the running node.
func (s *sim) crawlWith(do func(*Node)) {
	s.t.Helper()
	n := s.open()
	done := make(chan struct{})
	go func() { defer close(done); do(n) }()
	r, err := n.Run(context.Background(), context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	<-done
	if err := errors.Join(n.Finish(&r, 0, ""), n.Close()); err != nil {
		s.t.Fatal(err)
	}
	if r.Reason != jobdir.EndExhausted && s.cfg.MaxPages == 0 {
		s.t.Errorf("ended by %s: %s", r.Reason, r.Detail)
	}
}

// contents are the hashes of all files in a folder, but for its checkpoints.
func contents(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == jobdir.CheckpointsName {
				return fs.SkipDir
			}
			return nil
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		sums[rel] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func sameContents(t *testing.T, what string, before, after map[string][32]byte) {
	t.Helper()
	for name, sum := range before {
		if now, ok := after[name]; !ok {
			t.Errorf("%s: %s is gone", what, name)
		} else if now != sum {
			t.Errorf("%s: %s is another", what, name)
		}
	}
}

func wholeFolder(t *testing.T, dir string) {
	t.Helper()
	rep, err := inspect.Check(dir, inspect.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.OK {
		t.Errorf("%s: %d faults, first %s: %+v", dir, rep.Faults, rep.First, rep.Parts)
	}
}

// A checkpoint made in the middle of a crawl, copied elsewhere, goes on from where it was made; the crawl itself takes
// no notice.
func TestCheckpointGoesOnElsewhere(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := checkpointSim(t)
		s.cfg.MaxPages = 50
		s.crawl()
		s.cfg.MaxPages = 0
		var folder string
		s.crawlWith(func(n *Node) {
			for n.parts.Meter.Pages.Load() < 200 {
				time.Sleep(time.Second)
			}
			var err error
			if folder, err = n.Checkpoint(t.Context()); err != nil {
				t.Error(err)
			}
		})
		s.judge()
		wholeFolder(t, s.dir)
		wholeFolder(t, folder)
		original := contents(t, s.dir)
		for _, shared := range []string{"archive/*.warc.gz", "state/seen/*.run", "state/db/*.sst"} {
			if names, _ := filepath.Glob(filepath.Join(folder, shared)); len(names) == 0 || len(names) == 1 && shared[0] == 'a' {
				t.Errorf("%d files %s: the test shows little", len(names), shared)
			}
		}

		elsewhere := *s
		elsewhere.dir = filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Rename(folder, elsewhere.dir); err != nil { // moved, not copied: it shares files with the original
			t.Fatal(err)
		}
		before := elsewhere.visited()
		if all := s.visited(); len(before) == 0 || len(before) >= len(all) {
			t.Fatalf("the checkpoint has %d of %d pages", len(before), len(all))
		}
		asked := len(s.web.Log())
		elsewhere.crawlWith(func(*Node) {})
		wholeFolder(t, elsewhere.dir)
		if missing, extra, repeated := s.web.Compare(elsewhere.visited(), "decorum"); len(missing)+len(extra)+len(repeated) > 0 {
			t.Errorf("missing %v, extra %v, repeated %v", missing, extra, repeated)
		}
		known := map[string]bool{}
		for _, u := range before {
			known[s.web.Canonical(u)] = true
		}
		for _, r := range s.web.Log()[asked:] {
			if r.Page != "" && known[r.Page] && !r.Failed {
				t.Errorf("%s was in the checkpoint and is fetched again", r.URL)
			}
		}
		promise := s.promise()
		promise.Revisits = true
		for _, v := range s.web.Verify(promise) {
			t.Error(v)
		}
		sameContents(t, "the crawl", original, contents(t, s.dir))
		wholeFolder(t, s.dir)
	})
}

// Checkpoints are made by themselves, and only the last ones are kept. Removing them takes nothing from the crawl, nor from
// those that stay.
func TestCheckpointsAreKeptByNumber(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := checkpointSim(t)
		s.cfg.CheckpointEvery, s.cfg.Checkpoints = config.Duration(time.Minute), 3
		kept := map[string]map[string][32]byte{}
		var names []string
		s.crawlWith(func(n *Node) {
			for range 12 {
				time.Sleep(time.Minute)
				synctest.Wait()
				names, _, _ = n.checkpointer().list()
				for _, name := range names {
					dir := filepath.Join(n.dir.Checkpoints(), name)
					if now := contents(t, dir); kept[name] == nil {
						kept[name] = now
					} else {
						sameContents(t, name, kept[name], now)
					}
				}
			}
		})
		s.judge()
		if len(kept) < 6 || len(names) != 3 {
			t.Errorf("%d checkpoints were made, %d kept, want many and 3", len(kept), len(names))
		}
		folder, err := CheckpointFolder(t.Context(), s.dir, "test", 1)
		if err != nil {
			t.Fatal(err)
		}
		original := contents(t, s.dir)
		left, err := os.ReadDir(filepath.Join(s.dir, jobdir.CheckpointsName))
		if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(folder) {
			t.Errorf("asked to keep one: %v, %v", left, err)
		}
		wholeFolder(t, folder)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		sameContents(t, "the crawl", original, contents(t, s.dir))
		wholeFolder(t, s.dir)
	})
}

// What an interrupted checkpoint leaves is removed; a checkpoint into which somebody crawls is not.
func TestUnfinishedCheckpoints(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := checkpointSim(t)
		s.cfg.MaxPages, s.cfg.Checkpoints = 40, 1
		s.crawl()
		torn := filepath.Join(s.dir, jobdir.CheckpointsName, "20000101T000000Z-0007"+unfinished)
		if err := os.MkdirAll(filepath.Join(torn, jobdir.StateName), 0o755); err != nil {
			t.Fatal(err)
		}
		used, err := CheckpointFolder(t.Context(), s.dir, "test", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(torn); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the interrupted one is still there: %v", err)
		}
		held, err := jobdir.Open(used, jobdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		next, err := CheckpointFolder(t.Context(), s.dir, "test", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{used, next} {
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCheckpointFails(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := checkpointSim(t)
		if _, err := CheckpointFolder(t.Context(), s.dir, "test", 1); !errors.Is(err, jobdir.ErrNoCrawl) {
			t.Errorf("of nothing: %v", err)
		}
		s.fs = nil // with the locks of the system
		s.cfg.MaxPages = 100
		var after *Node
		s.crawlWith(func(n *Node) {
			after = n
			time.Sleep(10 * time.Second)
			if _, err := CheckpointFolder(t.Context(), s.dir, "test", 1); !errors.Is(err, jobdir.ErrInUse) {
				t.Errorf("of a crawl that runs: %v", err)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := n.Checkpoint(gone); !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that is done: %v", err)
			}
			n.opt.Config.MinFree = 1 << 60
			if _, err := n.Checkpoint(t.Context()); err == nil {
				t.Error("without room: no error")
			}
		})
		if _, err := after.Checkpoint(t.Context()); !errors.Is(err, crawler.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
		if left, err := os.ReadDir(filepath.Join(s.dir, jobdir.CheckpointsName)); err != nil || len(left) > 0 {
			t.Errorf("they left %v, %v", left, err)
		}
	})
}
