package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/store"
	"decorum/internal/urlseen"
	"decorum/internal/weburl"
)

// streamNames are the streams that the state knows the ends of.
var streamNames = [...]string{jobdir.PagesName, jobdir.FetchesName, jobdir.SkippedName, jobdir.LinksName, jobdir.IndexPartName}

func (r *repairer) step(s step) { r.plan.Steps = append(r.plan.Steps, s) }

// leftovers removes files that were being written when the program was killed.
func (r *repairer) leftovers() error {
	for _, dir := range [...]string{".", path.Dir(jobdir.PagesName), path.Dir(jobdir.IndexName), jobdir.StateName} {
		entries, err := os.ReadDir(r.f.Path(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			run := strings.HasPrefix(e.Name(), path.Base(jobdir.IndexName)+".") && strings.HasSuffix(e.Name(), ".run")
			if e.Type().IsRegular() && (run || strings.HasSuffix(e.Name(), tmpSuffix)) {
				name := path.Join(dir, e.Name())
				r.step(step{Do: doRemove, Name: name})
				r.act(name, jobdir.Int{}, size(e), "left over; removed")
			}
		}
	}
	return r.strayRuns()
}

func size(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return info.Size()
}

// strayRuns removes runs of the seen-set that were not taken over, or not removed after their merge. A seen-set that is damaged is
// made anew.
func (r *repairer) strayRuns() error {
	files, err := filepath.Glob(filepath.Join(r.f.Path(seenName), "*.run"))
	if err != nil {
		return err
	}
	seen, err := urlseen.Open(urlseen.Options{DB: r.f.db, Dir: r.f.Path(seenName), Partitions: r.f.facts.Partitions, ReadOnly: true})
	if err == nil {
		if n := len(files) - seen.Stats().Runs; n > 0 {
			r.step(step{Do: doSeen, Name: seenName})
			r.act(seenName, jobdir.Int{}, 0, "%s unknown to the state; removed", count(n, "run"))
		}
		if !r.rep.Before.OK {
			err = seen.Verify(context.Background())
		}
		err = errors.Join(err, seen.Close())
	}
	if err != nil {
		r.step(step{Do: doRebuild, Name: seenName})
		r.act(seenName, jobdir.Int{}, 0, "%v; made anew from the queues and the pages", err)
	}
	return nil
}

// eachKnown calls yield for each URL that the crawl knows: those it is done with, and those that wait. That is what the seen-set
// holds.
func (f *folder) eachKnown(yield func(urlseen.Key) error) error {
	var bad error
	scan := func(p store.Partition, s store.Space, visit func(id, value []byte) error) {
		if bad == nil {
			err := f.db.Scan(store.Range{Partition: p, Space: s}, func(id, value []byte) bool {
				bad = visit(id, value)
				return bad == nil
			})
			bad = errors.Join(bad, err)
		}
	}
	for p := range store.Partition(f.facts.Partitions) {
		items := func(_, value []byte) error {
			list, err := frontier.DecodeItems(value)
			for i := 0; err == nil && i < len(list); i++ {
				err = yield(urlseen.Key{Partition: p, FP: list[i].FP})
			}
			return err
		}
		scan(p, store.Front, items)
		scan(p, store.Ready, items)
		scan(p, store.Page, func(id, _ []byte) error {
			var fp weburl.Fingerprint
			copy(fp[:], id)
			return yield(urlseen.Key{Partition: p, FP: fp})
		})
	}
	return bad
}

// tails cuts what lies behind the ends that the state knows.
func (r *repairer) tails() error {
	for _, name := range streamNames {
		if end, known := r.f.progress.Streams[name]; known {
			if err := r.tail(name, end); err != nil {
				return err
			}
		}
	}
	_, err := r.archiveEnd()
	return err
}

// tail cuts a file that is longer than its committed end. In a folder that was closed in good order nothing should be
// there, so it is kept aside; otherwise it is what every crash leaves.
func (r *repairer) tail(name string, end int64) error {
	info, err := os.Stat(r.f.Path(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= end {
		return nil
	}
	if err != nil {
		return err
	}
	what := "not committed; cut off"
	if r.f.clean {
		what = "behind the end that the state knows; cut off and kept aside"
		if err := r.keepBytes(name, end, info.Size()); err != nil {
			return err
		}
	}
	r.step(step{Do: doCut, Name: name, Length: end})
	r.act(name, jobdir.Known(end), info.Size()-end, "%s", what)
	return nil
}

// archiveEnd cuts the archive where the state ends it, and returns the names of the files up to there.
func (r *repairer) archiveEnd() ([]string, error) {
	names, err := archiveFiles(r.f.Archive())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	at := r.f.progress.Archive
	if err != nil || at.File == "" {
		return names, err
	}
	kept := names[:0:0]
	for _, base := range names {
		name := path.Join(jobdir.ArchiveName, base)
		switch {
		case base < at.File:
			kept = append(kept, base)
		case base == at.File:
			kept = append(kept, base)
			if err := r.tail(name, at.Offset); err != nil {
				return nil, err
			}
		case r.f.clean:
			r.step(step{Do: doKeep, Name: name})
			r.act(name, jobdir.Int{}, 0, "behind the end that the state knows; moved aside")
		default:
			r.step(step{Do: doRemove, Name: name})
			r.act(name, jobdir.Int{}, 0, "not committed; removed")
		}
	}
	return kept, nil
}

// keepBytes copies a stretch of a file into the folder of the repair.
func (r *repairer) keepBytes(name string, from, to int64) error {
	in, err := os.Open(r.f.Path(name))
	if err != nil {
		return err
	}
	defer in.Close()
	aside := fmt.Sprintf("%s/%s.%d-%d", r.tmp, name, from, to)
	return writeSynced(r.f.Path(aside), func(out *os.File) error {
		_, err := io.Copy(out, &salvager{io.NewSectionReader(in, from, to-from), 0, to - from})
		return err
	})
}

// salvager reads what the disk gives, and zeros for what it does not.
type salvager struct {
	r       io.ReaderAt
	at, end int64
}

// salvageBlock is the least that disks fail to give.
const salvageBlock = 4096

func (s *salvager) Read(p []byte) (int, error) {
	if s.at >= s.end {
		return 0, io.EOF
	}
	n, err := s.r.ReadAt(p[:min(int64(len(p)), s.end-s.at)], s.at)
	if n == 0 && err != nil && err != io.EOF {
		n = int(min(int64(len(p)), s.end-s.at, salvageBlock))
		clear(p[:n])
		err = nil
	}
	s.at += int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, err
}
