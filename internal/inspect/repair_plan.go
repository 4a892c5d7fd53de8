package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"decorum/internal/crawler"
	"decorum/internal/jobdir"
	"decorum/internal/store"
	"decorum/internal/urlseen"
	"decorum/internal/warc"
)

// repairsName is the folder, in that of the crawl, of what repairs cut out: a folder for each, named by its time. One that is being
// prepared has a name of its own.
const (
	repairsName  = "repairs"
	preparedName = "/new" // in the folder of a repair: files that are to replace others
	tmpSuffix    = ".tmp"
)

// plan is what is left to do after a repair was decided. Every step can be done twice.
type plan struct {
	Tmp   string `json:"tmp"`  // what was prepared, to be renamed to
	Kept  string `json:"kept"` // this
	Steps []step `json:"steps"`

	Actions []Action   `json:"actions"` // of the report: who resumes a repair wants to know as well
	Again   int64      `json:"again"`
	Pages   []LostPage `json:"pages"`
}

// What a step does.
const (
	doReplace = "replace" // put the file of that name from the folder of the repair in the place of Name
	doFill    = "fill"    // write a filler over Length bytes at Offset
	doCut     = "cut"     // cut Name to Length bytes
	doKeep    = "keep"    // move Name into the folder of the repair
	doRemove  = "remove"
	doSeen    = "seen"    // remove runs that the seen-set does not know
	doRebuild = "rebuild" // make the seen-set anew
	doIndex   = "index"   // sort the index
	doSummary = "summary" // write summary.json
)

// step is a change to one file.
type step struct {
	Do     string          `json:"do"`
	Name   string          `json:"name,omitempty"` // relative to the crawl folder, with slashes
	Offset int64           `json:"offset,omitempty"`
	Length int64           `json:"length,omitempty"`
	ID     string          `json:"id,omitempty"` // of the record of a filler
	Date   time.Time       `json:"date,omitzero"`
	Text   string          `json:"text,omitempty"`
	Sum    *jobdir.Summary `json:"summary,omitempty"`
}

func (p *plan) journal() ([]byte, error) { return json.Marshal(p) }

func (p *plan) read(db *store.DB) error {
	raw, err := crawler.RepairJournal(db)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, p); err != nil {
		return fmt.Errorf("state: journal of a repair: %w", err)
	}
	return nil
}

// report takes over what the report says so far.
func (p *plan) report(r *RepairReport) { p.Actions, p.Again, p.Pages = r.Actions, r.Again, r.Pages }

// carryOut does what the plan says, and ends the repair.
func (r *repairer) carryOut() error {
	r.rep.Kept, r.rep.Actions, r.rep.Again, r.rep.Pages = r.plan.Kept, r.plan.Actions, r.plan.Again, r.plan.Pages
	if err := r.o.interrupt("rename"); err != nil {
		return err
	}
	if err := rename(r.f.Path(r.plan.Tmp), r.f.Path(r.plan.Kept)); err != nil {
		return err
	}
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		if err := r.o.interrupt(s.Do + " " + s.Name); err != nil {
			return err
		}
		if err := r.do(s); err != nil {
			return fmt.Errorf("%s %s: %w", s.Do, s.Name, err)
		}
	}
	if err := r.o.interrupt("end"); err != nil {
		return err
	}
	kept := r.f.Path(r.plan.Kept)
	if err := errors.Join(os.RemoveAll(kept+filepath.FromSlash(preparedName)), syncDir(kept)); err != nil {
		return err
	}
	return crawler.EndRepair(r.f.db)
}

func (r *repairer) do(s *step) error {
	name := r.f.Path(s.Name)
	switch s.Do {
	case doReplace:
		return rename(r.f.Path(r.plan.Kept+preparedName+"/"+s.Name), name)
	case doKeep:
		return rename(name, r.f.Path(r.plan.Kept+"/"+s.Name))
	case doFill:
		return fill(name, s)
	case doCut:
		return cut(name, s.Length)
	case doRemove:
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return syncDir(filepath.Dir(name))
	case doSeen:
		seen, err := urlseen.Open(urlseen.Options{DB: r.f.db, Dir: name, Partitions: r.f.facts.Partitions})
		if err != nil {
			return err
		}
		return seen.Close()
	case doRebuild:
		_, err := urlseen.Rebuild(urlseen.Options{DB: r.f.db, Dir: name, Partitions: r.f.facts.Partitions}, r.f.eachKnown)
		return err
	case doIndex:
		return jobdir.SortIndex(context.Background(), name, 0)
	case doSummary:
		return r.f.WriteSummary(*s.Sum)
	}
	return errors.New("a step that this program does not know: use the newer program")
}

// rename moves a file or folder, durably, unless that was done before.
func rename(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(syncDir(filepath.Dir(to)), syncDir(filepath.Dir(from)))
}

// fill puts a record in the place of damaged bytes.
func fill(name string, s *step) error {
	b, err := warc.Filler(s.Length, s.ID, s.Date, s.Text)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, s.Offset)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func cut(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > size {
		err = f.Truncate(size)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// removeEmpty removes a folder unless something is in it.
func removeEmpty(name string) error {
	entries, err := os.ReadDir(name)
	if err != nil || len(entries) > 0 {
		return err
	}
	return os.Remove(name)
}

// syncDir makes the names in a folder durable.
func syncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there, and NTFS journals names by itself
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// syncTree makes the names in a folder and those below it durable; the files in it are already.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = syncDir(name)
		}
		return err
	})
}

// makeTmp makes the folder of this repair, and removes those of repairs that were never decided.
func (r *repairer) makeTmp() error {
	root := r.f.Path(repairsName)
	old, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	taken := map[string]bool{}
	for _, e := range old {
		if taken[e.Name()] = true; strings.HasSuffix(e.Name(), tmpSuffix) {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return err
			}
		}
	}
	stamp := time.Now().UTC().Format("20060102T150405Z")
	name := stamp
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", stamp, n)
	}
	r.plan.Kept = path.Join(repairsName, name)
	r.plan.Tmp = r.plan.Kept + tmpSuffix
	r.tmp = r.plan.Tmp
	return os.MkdirAll(r.f.Path(r.tmp), 0o755)
}

// writeReport leaves the report of what was done beside what was cut out.
func (r *repairer) writeReport() error {
	raw, err := json.MarshalIndent(&r.plan, "", "  ")
	if err != nil {
		return err
	}
	return writeSynced(r.f.Path(r.tmp+"/repair.json"), func(f *os.File) error { _, err := f.Write(append(raw, '\n')); return err })
}

// writeSynced makes a file and what is above it.
func writeSynced(name string, write func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
