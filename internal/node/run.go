package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"decorum/internal/crawler"
	"decorum/internal/frontier"
	"decorum/internal/housekeeping"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Result says how a run ended.
type Result struct {
	Reason  jobdir.EndReason
	Detail  string // for a person
	Err     error  // with EndDisk and EndError
	Forced  bool   // requests under way were cut
	Guard   bool   // a guard paused the crawl
	Proxy   error  // the proxy cannot be used; with EndInterrupted
	Summary jobdir.Summary
}

func (n *Node) openCrawl() error {
	c, err := crawler.New(n.parts, n.crawlerOptions())
	if err != nil {
		return err
	}
	n.crawl = c
	n.hosts.remember(n.facts.Strangers)
	progress, err := crawler.ReadProgress(n.db)
	if err != nil {
		return err
	}
	for _, s := range progress.Seeds {
		if u, err := weburl.Reparse(s); err == nil {
			n.parts.Filter.AddSeeds([]weburl.URL{u})
		}
	}
	cfg := &n.opt.Config
	n.keeper = housekeeping.New(housekeeping.Options{Frontier: n.parts.Frontier, MinFree: uint64(cfg.MinFree),
		Free: func() (uint64, error) { return n.opt.Free(n.dir.Root()) }, MaxTime: time.Duration(cfg.MaxTime), Log: n.opt.Log,
		Checkpoint: n.Checkpoint, CheckpointEvery: time.Duration(cfg.CheckpointEvery)})
	return nil
}

// Run crawls until nothing is left, a limit is reached, or soft is done: then requests under way finish. When
// hard is done too they are cut. Either way everything finished is durable when Run returns. Finish follows.
func (n *Node) Run(soft, hard context.Context) (Result, error) {
	n.began = time.Now()
	soft, end := context.WithCancel(soft)
	defer end()
	n.keeper.OnEnd(func(why string) {
		n.mu.Lock()
		n.timeOver = why
		n.mu.Unlock()
		end()
	})
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { n.keeper.Run(watching) })
	err := n.crawl.Run(soft, hard)
	stop()
	watch.Wait()
	r := n.result(err)
	r.Forced = hard.Err() != nil
	n.facts.WallMS += time.Since(n.began).Milliseconds()
	n.failed = r.Err != nil
	if r.Summary, err = n.summary(&r); n.failed {
		return r, nil // the summary is what could be had
	}
	return r, diskTrouble(err, n.opt.Dir)
}

// result names the end of a run.
func (n *Node) result(err error) Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &n.opt.Config
	var guard guardError
	switch {
	case errors.Is(err, frontier.ErrExhausted):
		return Result{Reason: jobdir.EndExhausted, Detail: "nothing is left to fetch"}
	case errors.Is(err, frontier.ErrLimit):
		return Result{Reason: jobdir.EndMaxPages, Detail: fmt.Sprintf("%d pages, as asked", c.MaxPages)}
	case errors.Is(err, crawler.ErrMaxBytes):
		return Result{Reason: jobdir.EndMaxBytes, Detail: fmt.Sprintf("one more page would pass %v", c.MaxBytes)}
	case n.timeOver != "":
		return Result{Reason: jobdir.EndMaxTime, Detail: n.timeOver}
	case errors.As(err, &guard):
		return Result{Reason: jobdir.EndInterrupted, Detail: guard.Error(), Guard: true}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Result{Reason: jobdir.EndInterrupted, Detail: "interrupted"}
	}
	if r, ok := proxyTrouble(err); ok {
		return r
	}
	if err = diskTrouble(err, n.opt.Dir); errors.As(err, new(*DiskError)) {
		return Result{Reason: jobdir.EndDisk, Detail: err.Error(), Err: err}
	}
	return Result{Reason: jobdir.EndError, Detail: err.Error(), Err: err}
}

// Finish sorts the index and writes the summary, with the exit code and, unless nothing is left, the command that
// resumes. After disk or state trouble it leaves everything alone.
func (n *Node) Finish(r *Result, exitCode int, resume string) error {
	r.Summary.ExitCode = exitCode
	if r.Reason != jobdir.EndExhausted {
		r.Summary.Resume = resume
	}
	if r.Err != nil {
		return nil
	}
	n.facts.Strangers = n.hosts.strangers()
	err := n.dir.SortIndex(context.Background(), 0, n.parts.Index.Sum())
	if err == nil {
		err = n.facts.save(n.db)
	}
	if err == nil {
		err = n.dir.WriteSummary(r.Summary)
	}
	return diskTrouble(err, n.opt.Dir)
}

func (n *Node) summary(r *Result) (jobdir.Summary, error) {
	m, f := n.parts.Meter.Snapshot(time.Now()), n.parts.Frontier.Snapshot(0)
	s := jobdir.Summary{Tool: n.opt.tool(), Started: n.facts.Created, Ended: time.Now(), WallMS: n.facts.WallMS, Runs: n.facts.Runs,
		EndReason: r.Reason, EndDetail: r.Detail, Seeds: int64(len(n.facts.Seeds)), Pages: int64(m.Pages), Fetches: int64(m.Fetches),
		Found: int64(n.parts.Seen.Known()), QueuedLeft: int64(f.WaitingTotal()+f.Ready) + int64(f.Intake), BytesWire: int64(m.WireBytes),
		BytesBody: int64(m.BodyBytes), BytesArchived: int64(m.WARCBytes), Outcomes: map[string]int64{}, Skipped: map[string]int64{},
		Status: map[string]int64{}}
	if files, err := n.dir.ArchiveFiles(); err == nil {
		s.WARCFiles = len(files)
	}
	for o, count := range m.Outcomes {
		if o.Class() == outcome.ClassSkipped {
			s.Skipped[o.String()] = int64(count)
		} else {
			s.Outcomes[o.String()] = int64(count)
		}
	}
	for i, count := range m.Status {
		if i > 0 && count > 0 {
			s.Status[fmt.Sprintf("%dxx", i)] = int64(count)
		}
	}
	return s, n.summarizeHosts(&s)
}

// summarizeHosts lists the hosts with most pages and queued URLs.
func (n *Node) summarizeHosts(s *jobdir.Summary) error {
	err := n.parts.Frontier.Hosts(func(h frontier.HostState) bool {
		s.HostsTotal++
		if h.Queued > 0 {
			s.HostsLeft++
		}
		s.Hosts = append(s.Hosts, jobdir.HostSummary{Host: h.Host, Pages: int64(h.Pages), Failed: int64(h.Errors), QueuedLeft: int64(h.Queued),
			BytesWire: int64(h.Bytes), GapMS: h.Gap.Milliseconds(), GapReason: h.Reason.String()})
		if len(s.Hosts) >= 2*jobdir.MaxSummaryHosts {
			s.Hosts = largest(s.Hosts)
		}
		return true
	})
	s.Hosts = largest(s.Hosts)
	return err
}

func largest(hosts []jobdir.HostSummary) []jobdir.HostSummary {
	slices.SortFunc(hosts, func(a, b jobdir.HostSummary) int {
		return cmp.Or(cmp.Compare(b.Pages+b.QueuedLeft, a.Pages+a.QueuedLeft), cmp.Compare(a.Host, b.Host))
	})
	return hosts[:min(len(hosts), jobdir.MaxSummaryHosts)]
}

// Pause and Resume hold back and release leases.
func (n *Node) Pause()  { n.keeper.Pause() }
func (n *Node) Resume() { n.keeper.Resume() }

// Facts returns the seeds of all runs, the number of this run, and whether the crawl folder is new.
func (n *Node) Facts() (seeds []string, runs int, first bool) {
	return n.facts.Seeds, n.facts.Runs, n.first
}

// Limits past which a crawl must say whom to complain to.
const (
	anonymousHosts = 100
	anonymousPages = 50_000
)

// guardError ends a crawl that should not go on as it is.
type guardError string

func (e guardError) Error() string { return string(e) }

// admit is asked before each contact. It ends a large crawl that gives site owners no way to reach its operator. Hosts on
// local addresses do not count: their owner is at hand.
func (n *Node) admit(host string, local bool) error {
	strangers := n.hosts.note(host, local)
	const advice = "site owners must be able to reach you; add --contact and run the same command"
	switch {
	case local || n.opt.Config.Contact != "":
		return nil
	case strangers > anonymousHosts:
		return guardError(fmt.Sprintf("%d hosts contacted without --contact: %s", anonymousHosts, advice))
	case n.parts.Meter.Pages.Load() >= anonymousPages:
		return guardError(fmt.Sprintf("%d pages fetched without --contact: %s", anonymousPages, advice))
	}
	return nil
}

// SeedsFailed tells what became of the first seed if every seed was tried in vain, and "" otherwise. A seed that only
// led elsewhere counts by what the crawl found there.
func (n *Node) SeedsFailed() (why string, err error) {
	found := n.parts.Meter.Outcomes[outcome.OK].Load() > 0
	for _, s := range n.seeds() {
		st, ok, err := crawler.LoadPageState(n.db, n.parts.Frontier.PartitionOf(s.URL), n.hasher.Fingerprint(s.URL))
		switch {
		case err != nil:
			return "", err
		case !ok, st.Outcome == outcome.OK, st.Outcome == outcome.Duplicate, st.Outcome == outcome.NotModified, st.Outcome == outcome.Redirect && found:
			return "", nil
		case why == "":
			why = fmt.Sprintf("%s: %s", s.URL, st.Outcome.Text())
			if st.Rule != "" {
				why += " (" + st.Rule + ")"
			}
		}
	}
	return why, nil
}
