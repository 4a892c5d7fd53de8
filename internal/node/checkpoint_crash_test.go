package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/store"
)

// Power that goes while a checkpoint is made or removed: the crawl loses nothing, and what looks like a checkpoint is one.
func TestCrashDuringCheckpoint(t *testing.T) {
	seed, crawls := crashSeed(t)
	var all int
	virtually(t, func(t *testing.T) {
		s := newCheckpointCrash(t, seed)
		s.run(0)
		all = s.seen
		if names := s.checkpoints(); len(names) != 1 || all < 20 {
			t.Fatalf("%d operations on checkpoints, %v left: the test shows little", all, names)
		}
		s.judgeCrashes()
	})
	step := max(1, 4*all/max(crawls, 1))
	if crawls < 0 {
		step = 1
	}
	r := rand.New(rand.NewPCG(seed, 3))
	whole := 0
	for at := 1; at <= all; at += step {
		k := at + r.IntN(step)
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newCheckpointCrash(t, seed)
				s.r = rand.New(rand.NewPCG(seed, uint64(k)))
				s.run(k)
				copies := s.copies()
				whole += len(copies)
				s.run(0)
				s.judgeCrashes()
				for _, dir := range copies {
					s.dir = dir
					s.run(0)
					if missing, extra, repeated := s.web.Compare(s.visited(), "decorum"); len(missing)+len(extra)+len(repeated) > 0 {
						t.Errorf("%s: missing %v, extra %v, repeated %v\n%s", dir, missing, extra, repeated, s.story())
					}
				}
			})
		})
	}
	t.Logf("%d operations on checkpoints; after the crashes %d checkpoints were there and went on", all, whole)
}

// checkpointCrash is a crawl that loses power at an operation on its checkpoints.
type checkpointCrash struct {
	*crashSim
	seen int // operations on checkpoints
}

func newCheckpointCrash(t *testing.T, seed uint64) *checkpointCrash {
	s := &checkpointCrash{crashSim: newCrashSim(t, seed)}
	s.cfg.CheckpointEvery, s.cfg.Checkpoints, s.cfg.SeenRecent = config.Duration(20*time.Second), 1, 16
	return s
}

// run crawls until the power goes before or after the k-th operation on checkpoints, or to the end.
func (s *checkpointCrash) run(k int) {
	s.t.Helper()
	l := &line{to: s.web.Dial}
	ctx, stop := context.WithTimeout(context.Background(), simLimit)
	defer stop()
	crashed, first := false, s.seen
	s.disk.Follow(func(op store.Op) (a store.Action) {
		if op.Kind > store.LastChange || !strings.Contains(op.Name, "/"+jobdir.CheckpointsName+"/") {
			return a
		}
		if s.seen++; s.seen != first+k {
			return a
		}
		s.trace = append(s.trace, op.String())
		crashed = true
		l.cut()
		stop()
		before := s.r.IntN(2) == 0
		return store.Action{Before: before, After: !before}
	})
	_, err := s.session(ctx, ctx, l)
	s.disk.Follow(nil)
	if !crashed {
		s.check(err)
		return
	}
	s.crashes = append(s.crashes, time.Now())
	s.disk = s.disk.Image(s.r)
	s.fs = s.disk
}

// checkpoints are the names of those that are whole.
func (s *checkpointCrash) checkpoints() (names []string) {
	s.t.Helper()
	list, err := s.disk.List(path.Join(s.dir, jobdir.CheckpointsName))
	s.check(err)
	for _, name := range list {
		if checkpointName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// copies copies them elsewhere.
func (s *checkpointCrash) copies() (dirs []string) {
	s.t.Helper()
	for _, name := range s.checkpoints() {
		to := path.Join(filepath.Dir(s.dir), name)
		s.check(copyTree(s.disk, path.Join(s.dir, jobdir.CheckpointsName, name), to))
		dirs = append(dirs, to)
	}
	return dirs
}

func copyTree(fs store.FS, from, to string) error {
	info, err := fs.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return store.CopyPrefix(context.Background(), fs, from, to, info.Size())
	}
	names, err := fs.List(from)
	if err == nil {
		err = fs.MkdirAll(to, 0o755)
	}
	for _, name := range names {
		if err != nil {
			break
		}
		err = copyTree(fs, path.Join(from, name), path.Join(to, name))
	}
	return err
}
