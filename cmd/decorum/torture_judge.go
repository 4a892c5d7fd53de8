package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/web"
)

// findings are what came of one crawl.
type findings struct {
	took                     time.Duration
	requests, pages          int
	missing, extra, repeated []string      // of the pages recorded, by canonical URL
	again                    int           // pages fetched again because a kill came before they were durable
	longest                  time.Duration // between the end of such a fetch and the kill
	needless                 []string      // pages fetched again although no kill was near
	forgotten                int           // gaps that were asked for by answers that a kill took back
	violations               []simweb.Violation
	check, audit             string        // "" when clean
	clockSet                 time.Duration // by how much the machine's clock was set meanwhile
	checkpoint               string        // what came of the one that was kept
	checkpointFailed         bool
}

func (k *tortured) ok() bool {
	v := &k.findings
	return k.failure == "" && len(v.missing)+len(v.extra)+len(v.repeated)+len(v.needless)+len(v.violations) == 0 && v.check == "" && v.audit == "" &&
		!v.checkpointFailed
}

// durableWithin is how long after its end a fetch may be lost to a kill. A group commit comes every 250 ms; the rest is
// for a busy disk, since a commit is several syncs.
const durableWithin = time.Second

// lost returns how long before a kill a request ended, if that is so little that its answer may be lost, or if the kill cut it.
func (k *tortured) lost(r *simweb.Request) (before time.Duration, ok bool) {
	for i := range k.kills {
		at := k.kills[i].at
		if d := at.Sub(r.End); d < durableWithin && r.Start.Before(at.Add(closing)) {
			return d, true
		}
	}
	return 0, false
}

// closing is how long the server takes to notice that a client is gone.
const closing = 100 * time.Millisecond

// judge holds the crawl against the truth, the server's log against what was promised, and the folder against itself.
func (k *tortured) judge() error {
	k.took = time.Since(k.began)
	k.watchClock()
	visited, err := pageRecords(k.dir)
	if err != nil {
		return err
	}
	k.pages = len(visited)
	k.missing, k.extra, k.repeated = k.web.Compare(visited, "decorum")
	k.judgeFetches()
	k.judgeManners()
	k.check, k.audit = checked(k.dir), k.audited(k.dir)
	return nil
}

// watchClock notes by how much the machine's clock was set since the crawl began.
func (k *tortured) watchClock() {
	now := time.Now()
	if d := now.Round(0).Sub(k.began.Round(0)) - now.Sub(k.began); d.Abs() > k.clockSet.Abs() {
		k.clockSet = d
	}
}

// judgeFetches looks for pages that were fetched again.
func (k *tortured) judgeFetches() {
	log := k.web.Log()
	k.requests = len(log)
	last := map[string]*simweb.Request{}
	for i := range log {
		r := &log[i]
		if r.Page == "" || r.Failed || r.Kind == simweb.KindLimited || r.Kind == simweb.KindSitemap || r.Kind == simweb.KindRobots {
			continue
		}
		if first := last[r.Page]; first != nil {
			if before, ok := k.lost(first); ok {
				k.again++
				k.longest = max(k.longest, before)
			} else {
				k.needless = append(k.needless, r.Page)
			}
		}
		last[r.Page] = r
	}
}

// lateness is how much later than it happened the server may note the end of an answer on a busy machine.
const lateness = 30 * time.Millisecond

// judgeManners holds the server's log against what was promised. Of an answer that a kill took back only the floor is known: how
// long it took, and the rest that it asked for, nobody remembers.
func (k *tortured) judgeManners() {
	p := simweb.Promise{Floor: tortureDelay, Factor: 10, AddrFloor: tortureIPGap, HonourCrawlDelay: true, Agent: "decorum", MaxAttempts: 4 + len(k.kills),
		Revisits: true, Tolerance: lateness}
	for _, v := range k.web.Verify(p) {
		_, lost := k.lost(&v.First)
		if lost && (v.Breach == simweb.Gap || v.Breach == simweb.RetryAfter) && v.Actual+lateness >= tortureDelay {
			k.forgotten++
			continue
		}
		k.violations = append(k.violations, v)
	}
}

// judgeCheckpoint lets the checkpoint that was kept go on to the end.
func (k *tortured) judgeCheckpoint() error {
	if k.kept == "" {
		k.checkpoint = "none was kept"
		return nil
	}
	had, err := pageRecords(k.kept)
	if err != nil {
		return err
	}
	p, err := k.t.spawn([]string{"crawl", "--dir", k.kept, "--listen", "off", "--progress", "off", "-q", "--checkpoint-every", "0"})
	if err != nil {
		return err
	}
	<-p.done
	visited, err := pageRecords(k.kept)
	if err != nil {
		return err
	}
	missing, extra, repeated := k.web.Compare(visited, "decorum")
	faults := append([]string{checked(k.kept), k.audited(k.kept)}, missing...)
	faults = append(append(faults, extra...), repeated...)
	if p.err != nil {
		faults = append(faults, fmt.Sprintf("%v: %s", p.err, p.stderr.String()))
	}
	k.checkpoint = fmt.Sprintf("%d pages, went on to %d", len(had), len(visited))
	for _, f := range faults {
		if f != "" {
			k.checkpointFailed = true
			k.checkpoint += "; " + f
		}
	}
	return nil
}

// checked is what `decorum check` finds wrong.
func checked(dir string) string {
	r, err := inspect.Check(dir, inspect.CheckOptions{})
	if err != nil {
		return err.Error()
	}
	if r.OK {
		return ""
	}
	return r.Verdict()
}

// audited is what `decorum audit` finds wrong. A record whose times contradict each other is no fault when the clock was set
// meanwhile: the audit cannot know of that.
func (k *tortured) audited(dir string) string {
	r, err := inspect.Audit(dir)
	k.watchClock()
	switch {
	case err != nil:
		return err.Error()
	case r.Polite, k.clockSet.Abs() >= time.Millisecond && len(r.Broken) == 1 && r.Broken[inspect.BreachRecord] > 0:
		return ""
	}
	return r.Verdict()
}

// pageRecords reads the URLs of pages.jsonl.
func pageRecords(dir string) (urls []string, err error) {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(jobdir.PagesName)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for r, err := range jobdir.Records[jobdir.PageRecord](f) {
		if err != nil {
			return nil, err
		}
		urls = append(urls, r.URL)
	}
	return urls, nil
}

// kinds counts kills by aim, and what they hit.
func (k *tortured) kinds() (aimed [aims]int, checkpoints, runs int) {
	for _, hit := range k.kills {
		aimed[hit.aim]++
		if hit.checkpoint {
			checkpoints++
		}
		if hit.run {
			runs++
		}
	}
	return aimed, checkpoints, runs
}

// printTorture prints a column for each crawl, and what is wrong.
func printTorture(w io.Writer, crawls []*tortured) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(*tortured) string) {
		fmt.Fprint(t, name)
		for _, k := range crawls {
			fmt.Fprint(t, "\t", cell(k))
		}
		fmt.Fprintln(t)
	}
	number := func(name string, n func(*tortured) int) {
		row(name, func(k *tortured) string { return fmt.Sprint(n(k)) })
	}
	row("CRAWL", func(k *tortured) string { return filepath.Base(k.dir) })
	number("kills -9", func(k *tortured) int { return len(k.kills) })
	for a := range aims {
		number("  aimed "+a.String(), func(k *tortured) int { aimed, _, _ := k.kinds(); return aimed[a] })
	}
	number("  in the middle of a checkpoint", func(k *tortured) int { _, n, _ := k.kinds(); return n })
	number("  in the middle of a flush or merge", func(k *tortured) int { _, _, n := k.kinds(); return n })
	number("starts", func(k *tortured) int { return k.starts })
	row("took", func(k *tortured) string { return web.Elapsed(k.took) })
	number("requests", func(k *tortured) int { return k.requests })
	number("pages recorded", func(k *tortured) int { return k.pages })
	number("missing", func(k *tortured) int { return len(k.missing) })
	number("too many", func(k *tortured) int { return len(k.extra) })
	number("recorded twice", func(k *tortured) int { return len(k.repeated) })
	number("fetched again, lost to a kill", func(k *tortured) int { return k.again })
	row("  longest from fetch to kill", func(k *tortured) string { return k.longest.Round(time.Millisecond).String() })
	number("fetched again needlessly", func(k *tortured) int { return len(k.needless) })
	number("promises broken", func(k *tortured) int { return len(k.violations) })
	number("  asked for by answers lost to a kill", func(k *tortured) int { return k.forgotten })
	row("check", func(k *tortured) string { return clean(k.check) })
	row("audit", func(k *tortured) string { return clean(k.audit) })
	row("machine's clock set by", func(k *tortured) string { return k.clockSet.Round(time.Millisecond).String() })
	row("a checkpoint", func(k *tortured) string { return k.checkpoint })
	t.Flush()
	for _, k := range crawls {
		k.printFaults(w)
	}
}

func clean(fault string) string {
	if fault == "" {
		return "clean"
	}
	return "NOT CLEAN"
}

// maxFaults is how many examples are printed of each kind.
const maxFaults = 5

func (k *tortured) printFaults(w io.Writer) {
	faults := func(what string, list []string) {
		for _, f := range list[:min(len(list), maxFaults)] {
			fmt.Fprintf(w, "%s: %s: %s\n", filepath.Base(k.dir), what, web.Clean(f))
		}
	}
	if k.failure != "" {
		faults("failed", []string{k.failure})
	}
	faults("missing", k.missing)
	faults("too many", k.extra)
	faults("recorded twice", k.repeated)
	faults("needlessly fetched again", k.needless)
	for _, v := range k.violations[:min(len(k.violations), maxFaults)] {
		faults("promise", []string{v.String()})
	}
	for _, f := range []string{k.check, k.audit} {
		if f != "" {
			faults("not clean", []string{f})
		}
	}
}
