package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"decorum/internal/config"
	"decorum/internal/fetch"
	"decorum/internal/jobdir"
	"decorum/internal/node"
)

// crawlCmd is `decorum crawl`.
type crawlCmd struct {
	config.Crawl `embed:""`
	Config       string `placeholder:"FILE" help:"TOML file of options; any flag may stand in it."`
}

// folder is where the crawl lives: --dir, or named after the first seed.
func (c *crawlCmd) folder(seeds []config.Seed) (string, error) {
	switch {
	case c.Dir != "":
		return c.Dir, nil
	case len(seeds) > 0:
		return jobdir.DirFor(seeds[0].URL), nil
	}
	return "", usage("no seed and no --dir; try: decorum crawl https://example.org")
}

// guessFolder is folder without reading standard input, before the options of the folder are known: "" when it cannot be
// told.
func (c *crawlCmd) guessFolder() string {
	if c.Dir != "" || slices.Contains(c.Seeds, "-") {
		return c.Dir
	}
	seeds, err := c.ReadSeeds(nil)
	if err != nil || len(seeds) == 0 {
		return "" // reported by Run
	}
	return jobdir.DirFor(seeds[0].URL)
}

// Run crawls.
func (c *crawlCmd) Run(e *env) error {
	seeds, err := c.ReadSeeds(e.stdin)
	if err != nil {
		return &exitError{exitUsage, err.Error()}
	}
	dir, err := c.folder(seeds)
	if err != nil {
		return err
	}
	stored, err := c.compare(dir, seeds)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.dryRun(e, dir, seeds, stored != nil)
	}
	if c.Fresh {
		if err := startOver(e, dir); err != nil {
			return err
		}
	}
	out, err := openPageOutput(c.OutFile, e.stdout)
	if err != nil {
		return err
	}
	defer out.close()
	return e.crawl(job{node: node.Options{Config: c.Crawl, Seeds: seeds, Dir: dir, Version: version}, again: "decorum crawl " + c.again(dir), out: out})
}

// compare holds the options against those the folder was started with, if it holds a crawl that is to go on, and
// returns the latter.
func (c *crawlCmd) compare(dir string, seeds []config.Seed) (stored config.Values, err error) {
	if !c.Fresh {
		if stored, err = storedOptions(dir); err != nil {
			return nil, err
		}
	}
	switch {
	case stored != nil:
		return stored, c.Conflict(stored)
	case len(seeds) > 0:
		return nil, nil
	case c.Fresh:
		return nil, usage("--fresh needs a seed to begin with; nothing was removed")
	}
	return nil, usage("%s holds no crawl, and no seed is given", dir)
}

// storedOptions reads the options of an existing crawl folder; nil if there is none.
func storedOptions(dir string) (config.Values, error) {
	if dir == "" {
		return nil, nil
	}
	switch folder, err := jobdir.Open(dir, jobdir.Options{ReadOnly: true}); {
	case errors.Is(err, jobdir.ErrNoCrawl):
		return nil, nil
	case err != nil:
		return nil, err // from a newer version, for instance: then its options mean nothing to this one
	default:
		folder.Close()
	}
	values, err := config.ReadFile(filepath.Join(dir, jobdir.ConfigName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usage("%v", err)
	}
	return values, nil
}

// again is what to type to resume.
func (c *crawlCmd) again(dir string) string {
	if c.Dir != "" || len(c.Seeds) == 0 || slices.Contains(c.Seeds, "-") {
		return "--dir " + quoted(dir)
	}
	var words []string
	for _, seed := range c.Seeds {
		words = append(words, quoted(seed))
	}
	return strings.Join(words, " ")
}

// quoted is a word that a shell takes as it is.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// dryRun says what would happen. The seeds go to standard output, one a line.
func (c *crawlCmd) dryRun(e *env, dir string, seeds []config.Seed, known bool) error {
	what := "new"
	if _, err := os.Stat(dir); err == nil && c.Fresh {
		what = "to be emptied"
	} else if known {
		what = "holds a crawl, to be resumed"
	}
	fmt.Fprintf(e.stderr, "folder %s: %s\nidentifying as %s\nscope %s, seeds of this run: %d; nothing fetched\n", dir, what, c.UserAgent(version), c.Scope, len(seeds))
	for _, s := range seeds {
		fmt.Fprintln(e.stdout, s)
	}
	return nil
}

// job is a crawl as a verb wants it.
type job struct {
	node  node.Options
	again string      // what to type to resume
	out   *pageOutput // nil: none
}

// crawl runs a node until it ends or is interrupted, with the screen, and turns the result into an exit code.
func (e *env) crawl(j job) error {
	c := &j.node.Config
	screen := newScreen(e.stderr, c)
	j.node.Log = screen.log
	observe(screen, &j)
	n, err := node.Open(j.node)
	if err != nil {
		return openError(err, j.node.Dir)
	}
	soft, hard, stop := interruptible(screen)
	defer stop()
	screen.start(n, j.node.Dir)
	r, err := n.Run(soft, hard)
	resume := goOn(j.again, r.Reason)
	screen.finish(&r, resume)
	if err != nil {
		return errors.Join(err, n.Close())
	}
	end := verdict(n, c, &r, j.out)
	err = errors.Join(n.Finish(&r, codeOf(end), resume), n.Close())
	if err != nil && r.Err == nil { // otherwise it follows from what is told already
		return err
	}
	return end
}

// openError is why a node cannot be opened. What is not a matter of options is one of the state in the folder.
func openError(err error, dir string) error {
	if code, _ := judge(err); code != exitInternal {
		return err
	}
	return &exitError{exitState, fmt.Sprintf("%v; `decorum check %s` tells what is damaged", err, quoted(dir))}
}

// goOn is the command that continues a crawl. One that ended by its limit on pages or bytes would end again at once.
func goOn(again string, why jobdir.EndReason) string {
	switch why {
	case jobdir.EndMaxPages:
		return again + " --max-pages 0"
	case jobdir.EndMaxBytes:
		return again + " --max-bytes 0"
	}
	return again
}

// observe lets screen and output see what is committed. An output that fails pauses the crawl: its reader would miss
// pages.
func observe(s *screen, j *job) {
	j.node.OnPage = func(r *jobdir.PageRecord) {
		s.page(r)
		if j.out == nil || j.out.failed != nil {
			return
		}
		if j.out.write(r); j.out.failed != nil {
			s.log("-o: %v; pausing", j.out.failed)
			s.stop()
		}
	}
	j.node.OnFetch, j.node.OnSkip = s.fetched, s.feed.ObserveSkip
}

// codeOf is the exit code that fail will give an error of verdict.
func codeOf(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	}
	return exitInternal
}

// interruptible returns the contexts that a first and a second interrupt end. A third one ends the process: no state
// is lost by that either.
func interruptible(s *screen) (soft, hard context.Context, stop func()) {
	soft, pause := context.WithCancel(context.Background())
	hard, cut := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE) // writing to a reader that went away is an error like any other
	done := make(chan struct{})
	s.stop = pause
	go func() {
		for _, act := range []func(){func() { s.pausing(); pause() }, func() { s.log("stopping now"); cut() }} {
			select {
			case <-signals:
				act()
			case <-done:
				return
			}
		}
		signal.Stop(signals)
	}()
	return soft, hard, func() { signal.Stop(signals); signal.Reset(syscall.SIGPIPE); close(done); pause(); cut() }
}

// verdict is the exit code of a run.
func verdict(n *node.Node, c *config.Crawl, r *node.Result, out *pageOutput) error {
	switch {
	case r.Reason == jobdir.EndDisk:
		return &exitError{exitState, r.Detail}
	case r.Reason == jobdir.EndError:
		return &exitError{exitInternal, r.Detail}
	case out != nil && out.failed != nil:
		return &exitError{exitState, fmt.Sprintf("-o: %v; the same command resumes", out.failed)}
	case r.Guard:
		return &exitError{exitGuard, r.Detail}
	case errors.Is(r.Proxy, fetch.ErrProxyRefused):
		return &exitError{exitUsage, r.Detail + "; correct --proxy and run the same command"}
	case r.Proxy != nil:
		return &exitError{exitState, r.Detail + "; the same command resumes"}
	case r.Reason == jobdir.EndInterrupted && r.Forced:
		return &exitError{exitForced, ""}
	case r.Reason == jobdir.EndInterrupted:
		return &exitError{exitInterrupted, ""}
	}
	if why, err := n.SeedsFailed(); err != nil {
		return err
	} else if why != "" {
		return &exitError{exitSeedsFailed, "no seed could be fetched: " + why}
	}
	for _, name := range c.FailOn {
		if hits := r.Summary.Outcomes[name] + r.Summary.Skipped[name]; hits > 0 {
			return &exitError{exitFailOn, fmt.Sprintf("--fail-on %s: %s", name, number(uint64(hits), "URL"))}
		}
	}
	return nil
}

// pageOutput is -o: page records for another program.
type pageOutput struct {
	w      io.Writer
	file   *os.File // nil: standard output
	buf    []byte
	failed error // the first error; nothing is written after it
}

// openPageOutput opens a file, or standard output for "-"; without a name there is none. A file is appended to.
func openPageOutput(name string, stdout io.Writer) (*pageOutput, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return &pageOutput{w: stdout}, nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, usage("-o: %v", err)
	}
	return &pageOutput{w: f, file: f}, nil
}

func (o *pageOutput) write(r *jobdir.PageRecord) {
	o.buf = r.AppendJSON(o.buf[:0])
	_, o.failed = o.w.Write(o.buf)
}

func (o *pageOutput) close() {
	if o != nil && o.file != nil {
		o.file.Close()
	}
}
