package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"decorum/internal/jobdir"
	"decorum/internal/store"
)

// fault is something that disks do.
type fault struct {
	name   string
	on     func(store.Op) bool // operations that it hits
	action store.Action
	remedy string // what the message must tell a person to do
}

func onKinds(kinds ...store.OpKind) func(store.Op) bool {
	return func(op store.Op) bool {
		for _, k := range kinds {
			if op.Kind == k {
				return true
			}
		}
		return false
	}
}

var faults = []fault{
	{"full", onKinds(store.OpWrite, store.OpCreate, store.OpMkdir), store.Action{Err: syscall.ENOSPC}, "make room"},
	{"full in the middle", onKinds(store.OpWrite), store.Action{Err: syscall.ENOSPC, Part: 100}, "make room"},
	{"failing write", onKinds(store.OpWrite), store.Action{Err: syscall.EIO}, "system's log"},
	{"failing sync", onKinds(store.OpSync, store.OpSyncDir), store.Action{Err: syscall.EIO}, "system's log"},
	{"failing change of names", onKinds(store.OpRename, store.OpRemove, store.OpTruncate, store.OpLink), store.Action{Err: syscall.EIO}, "system's log"},
	{"too many files", onKinds(store.OpCreate, store.OpOpen), store.Action{Err: syscall.EMFILE}, "ulimit -n"},
	// Folders above that cannot be opened are no reason not to crawl: most people may not open all of theirs.
	{"no right", func(op store.Op) bool {
		return strings.Contains(op.Name, "/crawl") && onKinds(store.OpCreate, store.OpOpen, store.OpRename, store.OpRemove, store.OpTruncate)(op)
	}, store.Action{Err: syscall.EACCES}, "let this user"},
	{"failing read", onKinds(store.OpRead), store.Action{Err: syscall.EIO}, "system's log"},
	// In the last log a wrong bit and a torn write look the same: what follows was never acknowledged, or is fetched again.
	{"wrong bit", func(op store.Op) bool { return op.Kind == store.OpRead && !strings.HasSuffix(op.Name, ".log") }, store.Action{Flip: true}, "check"},
}

// Whatever the disk does wrong, and wherever: the run ends with a message that names the file and what to do, as trouble
// with the disk; and when that is over the same command goes on, with nothing lost and nothing damaged. So it does when the
// power goes together with the disk.
func TestDiskFaults(t *testing.T) {
	seed, crawls := crashSeed(t)
	if crawls < 0 {
		crawls = 2000
	}
	hits, stops := map[string]int{}, map[string]int{}
	for i := range crawls {
		f := faults[i%len(faults)]
		t.Run(fmt.Sprintf("%s/%d", f.name, i), func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := &faultSim{crashSim: newCrashSim(t, seed), f: f}
				s.r = rand.New(rand.NewPCG(seed, uint64(i)))
				s.suffer()
				hits[f.name] += s.hits
				stops[f.name] += s.stopped
			})
		})
	}
	t.Logf("%d crawls, seed %d; faults %v; runs that ended for them %v", crawls, seed, hits, stops)
}

// faultSim is a crawl on a disk with a fault.
type faultSim struct {
	*crashSim
	f       fault
	hits    int // operations that failed
	stopped int // runs that ended for it
}

// suffer crawls with the fault coming up now and then, once or for the rest of the run, and then without.
func (s *faultSim) suffer() {
	s.t.Helper()
	for range 3 {
		s.runWith(1+s.r.IntN(1<<s.r.IntN(10)), s.r.IntN(2) == 0)
		if s.r.IntN(3) == 0 {
			s.disk = s.disk.Image(s.r)
			s.fs = s.disk
		}
		time.Sleep(time.Duration(s.r.IntN(1500)) * time.Millisecond)
	}
	s.again(0, true)
	s.judgeCrashes()
}

// runWith runs the program for a while. The n-th operation that the fault can hit fails, with lasting all after it.
func (s *faultSim) runWith(n int, lasting bool) {
	s.t.Helper()
	soft, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	seen, hits := 0, 0
	s.disk.Follow(func(op store.Op) store.Action {
		if !s.f.on(op) {
			return store.Action{}
		}
		if seen++; seen != n && (seen < n || !lasting) {
			return store.Action{}
		}
		if hits++; hits == 1 {
			s.trace = append(s.trace, fmt.Sprintf("%s, lasting %v: %v", s.f.name, lasting, op))
		}
		return s.f.action
	})
	r, err := s.session(soft, context.Background(), &line{to: s.web.Dial})
	s.disk.Follow(nil)
	s.hits += hits
	if err == nil && r.Err == nil { // it did no harm, or did not come up
		s.archiveAgrees(records[jobdir.PageRecord](s.crashSim, jobdir.PagesName), records[jobdir.FetchRecord](s.crashSim, jobdir.FetchesName))
		return
	}
	s.crashes = append(s.crashes, time.Now())
	s.stopped++
	s.tell(&r, err)
}

// tell checks what a person is told.
func (s *faultSim) tell(r *Result, err error) {
	s.t.Helper()
	var disk *DiskError
	var path *fs.PathError
	switch {
	case r.Err != nil && r.Reason != jobdir.EndDisk, !errors.As(err, &disk):
		s.t.Errorf("%s: ended by %s: %v\n%s", s.f.name, r.Reason, err, s.story())
	case !strings.Contains(disk.Remedy, s.f.remedy):
		s.t.Errorf("%s: the advice is %q", s.f.name, disk.Error())
	case !strings.Contains(disk.Error(), "/crawl/") && !errors.As(err, &path):
		s.t.Errorf("%s: no file is named: %v", s.f.name, err)
	}
}
