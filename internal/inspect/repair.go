package inspect

import (
	"errors"
	"fmt"
	"os"
	"time"

	"decorum/internal/crawler"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/weburl"
)

// RepairReport says what was repaired, and what was lost for it.
type RepairReport struct {
	Path    string      `json:"path"`
	OK      bool        `json:"ok"`             // the folder is sound now
	Resumed bool        `json:"resumed"`        // an earlier repair, interrupted, was brought to its end first
	Kept    string      `json:"kept,omitempty"` // folder of what was cut out, relative to Path
	Actions []Action    `json:"actions"`
	Again   int64       `json:"again"`           // pages that will be fetched again
	Pages   []LostPage  `json:"pages,omitempty"` // the first MaxFindings of them
	Failed  string      `json:"failed,omitempty"`
	Before  CheckReport `json:"before"`
	After   CheckReport `json:"after"`
	Elapsed int64       `json:"elapsed_ms"`
}

// Action is one thing that was changed.
type Action struct {
	File   string     `json:"file,omitempty"`
	Offset jobdir.Int `json:"offset,omitzero"` // in bytes
	Bytes  int64      `json:"bytes,omitempty"` // that are no longer there
	Text   string     `json:"text"`
}

// LostPage is a page whose record was lost.
type LostPage struct {
	URL string `json:"url"`
	Why string `json:"why"`
}

// RepairOptions configure Repair. The zero value is the default.
type RepairOptions struct {
	// Progress is told from time to time how far the reading is. Default: nobody.
	Progress func(file string, done, all int64)
	// PoliteKey says who must not be disturbed, as in the crawl. Default: the host.
	PoliteKey func(weburl.URL) string
	// Resume is the command that goes on with the crawl, for summary.json.
	Resume string

	interrupt func(stage string) error // for tests: called before each stage; an error ends the repair there
}

// EnsureDefaults fills zero fields.
func (o *RepairOptions) EnsureDefaults() {
	if o.PoliteKey == nil {
		o.PoliteKey = weburl.URL.Host
	}
	if o.interrupt == nil {
		o.interrupt = func(string) error { return nil }
	}
}

// Repair makes a crawl folder sound again as far as that can be, and says at what price. What it does:
//
//   - Files that are longer than the state says are cut back to there, as the next run would; leftovers are removed.
//   - Bytes of the archive that hold no whole record are kept aside and replaced by a record that says so, or cut off at the
//     end of a file. Pages whose record that was are taken out of state and pages.jsonl and queued again: the
//     next run fetches them. So are pages that shared the body of such a page.
//   - Damaged lines are kept aside and dropped; of a page line, its page is queued again. In fetches.jsonl a number
//     remains of a line, and exchanges whose record is lost are marked.
//   - The index is made anew from the archive, summary.json and, if it is damaged, the seen-set from the state.
//
// Everything is prepared beside the folder's files first; then one batch of the state decides, and with it what is left to do
// is on record. A repair that is interrupted before has changed nothing, and one that is interrupted
// after is brought to its end by the next; in between, no crawl can be started.
//
// A state that cannot be read cannot be repaired. An error means that nothing could be tried.
func Repair(path string, o RepairOptions) (RepairReport, error) {
	o.EnsureDefaults()
	began := time.Now()
	r := &repairer{o: o, rep: RepairReport{Path: path, Actions: []Action{}}}
	if err := r.repair(path); err != nil {
		return RepairReport{}, fmt.Errorf("repair: %w", err)
	}
	r.rep.OK = r.rep.After.OK && r.rep.Failed == ""
	r.rep.Elapsed = time.Since(began).Milliseconds()
	return r.rep, nil
}

// repairer is one repair.
type repairer struct {
	o    RepairOptions
	rep  RepairReport
	f    *folder
	plan plan
	tmp  string // folder of what is prepared, relative to that of the crawl

	progress crawler.Progress // as it will be
	again    []crawler.Again
}

func (r *repairer) repair(path string) error {
	if err := r.locked(path, r.resume); err != nil {
		return err
	}
	var err error
	check := CheckOptions{Progress: r.o.Progress}
	if r.rep.Before, err = Check(path, check); err != nil {
		return err
	}
	if err := r.locked(path, r.mend); err != nil {
		return err
	}
	if len(r.plan.Steps) == 0 {
		r.rep.After = r.rep.Before
		return nil
	}
	r.rep.After, err = Check(path, check)
	return err
}

// locked runs do with the folder open.
func (r *repairer) locked(path string, do func() error) error {
	f, err := openToRepair(path)
	if err != nil {
		return err
	}
	r.f = f
	return errors.Join(do(), f.Close())
}

// resume brings an interrupted repair to its end.
func (r *repairer) resume() error {
	if !errors.Is(r.f.broken, crawler.ErrRepair) {
		return nil
	}
	if err := r.plan.read(r.f.db); err != nil {
		return err
	}
	r.rep.Resumed = true
	return r.carryOut()
}

// mend makes a plan and carries it out.
func (r *repairer) mend() error {
	if r.f.broken != nil {
		r.rep.Failed = fmt.Sprintf("the state cannot be read (%v), and nothing else knows what belongs together: go back to a checkpoint, or begin anew beside it", r.f.broken)
		return nil
	}
	if err := r.prepare(); err != nil {
		return err
	}
	if len(r.plan.Steps) == 0 {
		r.plan.Kept = ""
		return errors.Join(os.RemoveAll(r.f.Path(r.tmp)), removeEmpty(r.f.Path(repairsName)))
	}
	if err := r.decide(); err != nil {
		return err
	}
	return r.carryOut()
}

// prepare finds out what to do and puts new files and copies of what is lost beside the old ones. Nothing that matters is
// changed.
func (r *repairer) prepare() error {
	r.plan, r.progress = plan{}, r.f.progress
	if err := r.o.interrupt("prepare"); err != nil {
		return err
	}
	if err := r.makeTmp(); err != nil {
		return err
	}
	if err := r.leftovers(); err != nil {
		return err
	}
	if r.rep.Before.OK {
		return r.tails()
	}
	return r.damage()
}

// decide commits the plan.
func (r *repairer) decide() error {
	r.plan.report(&r.rep)
	if err := errors.Join(r.writeReport(), syncTree(r.f.Path(r.tmp)), syncDir(r.f.Path(repairsName))); err != nil {
		return err
	}
	if err := r.o.interrupt("decide"); err != nil {
		return err
	}
	journal, err := r.plan.journal()
	if err != nil {
		return err
	}
	change := crawler.Repair{Progress: r.progress, Journal: journal, Again: r.again}
	return change.Commit(frontier.Options{DB: r.f.db, Hasher: weburl.NewHasher(r.f.facts.Secret, weburl.KeyRules{}),
		Partitions: r.f.facts.Partitions, PoliteKey: r.o.PoliteKey})
}

func (r *repairer) act(file string, offset jobdir.Int, bytes int64, format string, args ...any) {
	r.rep.Actions = append(r.rep.Actions, Action{File: file, Offset: offset, Bytes: bytes, Text: Clean(fmt.Sprintf(format, args...))})
}
