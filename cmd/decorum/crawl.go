package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/outcome"
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

// guessFolder is folder without reading seeds from files or standard input.
func (c *crawlCmd) guessFolder() string {
	if c.Dir != "" || len(c.Seeds) == 0 {
		return c.Dir
	}
	s, err := config.ParseSeed(c.Seeds[0])
	if err != nil {
		return ""
	}
	return jobdir.DirFor(s.URL)
}

// Run crawls.
func (c *crawlCmd) Run(e *env) error {
	if err := c.Validate(); err != nil {
		return err
	}
	seeds, err := c.ReadSeeds(e.stdin)
	if err != nil {
		return &exitError{exitUsage, err.Error()}
	}
	dir, err := c.folder(seeds)
	if err != nil {
		return err
	}
	if err := c.prepare(e, dir, seeds); err != nil {
		return err
	}
	if c.DryRun {
		return c.dryRun(e, dir, seeds)
	}
	out, err := c.pageOutput(e)
	if err != nil {
		return err
	}
	defer out.close()
	return e.crawl(node.Options{Config: c.Crawl, Seeds: seeds, Dir: dir, Version: version, OnPage: out.page()}, "decorum crawl "+c.again(dir, seeds))
}

// prepare checks the options against those the folder was started with, and empties it for --fresh.
func (c *crawlCmd) prepare(e *env, dir string, seeds []config.Seed) error {
	if c.Fresh {
		return c.startOver(e, dir)
	}
	stored, err := storedOptions(dir)
	if err != nil {
		return err
	}
	if stored == nil {
		if len(seeds) == 0 {
			return usage("%s holds no crawl, and no seed is given", dir)
		}
		return nil
	}
	return c.Conflict(stored)
}

// storedOptions reads the options of an existing crawl folder; nil if there is none.
func storedOptions(dir string) (config.Values, error) {
	if dir == "" {
		return nil, nil
	}
	values, err := config.ReadFile(filepath.Join(dir, jobdir.ConfigName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return values, err
}

// again is what to type to resume.
func (c *crawlCmd) again(dir string, seeds []config.Seed) string {
	if c.Dir == "" && len(c.Seeds) > 0 {
		return strings.Join(c.Seeds, " ")
	}
	return "--dir " + dir
}

func (c *crawlCmd) dryRun(e *env, dir string, seeds []config.Seed) error {
	fmt.Fprintf(e.stderr, "folder %s\nidentifying as %s\nscope %s of %d seeds, nothing fetched\n", dir, c.UserAgent(version), c.Scope, len(seeds))
	for _, s := range seeds {
		fmt.Fprintln(e.stdout, s)
	}
	return nil
}

// crawl runs a node until it ends or is interrupted, with the screen, and turns the result into an exit code.
func (e *env) crawl(o node.Options, resume string) error {
	screen := newScreen(e.stderr, &o.Config)
	o.Log = screen.log
	observe(screen, &o)
	n, err := node.Open(o)
	if err != nil {
		return err
	}
	soft, hard, stop := interruptible(screen)
	defer stop()
	screen.start(n, o.Dir)
	r, err := n.Run(soft, hard)
	screen.finish(&r, resume)
	if err != nil {
		return errors.Join(err, n.Close())
	}
	end := verdict(n, &o.Config, &r)
	if err := errors.Join(n.Finish(&r, codeOf(end), resume), n.Close()); err != nil {
		return err
	}
	return end
}

// observe lets the screen see what is committed.
func observe(s *screen, o *node.Options) {
	out := o.OnPage
	o.OnPage = func(r *jobdir.PageRecord) {
		s.page(r)
		if out != nil {
			out(r)
		}
	}
	o.OnFetch, o.OnSkip = s.fetched, s.feed.ObserveSkip
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

// interruptible returns the contexts that a first and a second interrupt end.
func interruptible(s *screen) (soft, hard context.Context, stop func()) {
	soft, pause := context.WithCancel(context.Background())
	hard, cut := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
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
	}()
	return soft, hard, func() { signal.Stop(signals); close(done); pause(); cut() }
}

// verdict is the exit code of a run.
func verdict(n *node.Node, c *config.Crawl, r *node.Result) error {
	switch r.Reason {
	case jobdir.EndDisk:
		return &exitError{exitState, fmt.Sprintf("%s; make room or repair, then run the same command", r.Detail)}
	case jobdir.EndError:
		return &exitError{exitInternal, r.Detail}
	case jobdir.EndInterrupted:
		switch {
		case r.Guard:
			return &exitError{exitGuard, r.Detail}
		case r.Forced:
			return &exitError{exitForced, ""}
		}
		return &exitError{exitInterrupted, ""}
	}
	if failed, err := n.SeedsFailed(); err != nil {
		return err
	} else if failed {
		return &exitError{exitSeedsFailed, "no seed could be fetched; see `decorum why` or fetches.jsonl"}
	}
	for _, name := range c.FailOn {
		if hits := r.Summary.Outcomes[name] + r.Summary.Skipped[name]; hits > 0 {
			return &exitError{exitFailOn, fmt.Sprintf("--fail-on %s: %d URLs", name, hits)}
		}
	}
	return nil
}

// pageOutput is -o: page records for another program.
type pageOutput struct {
	w   io.Writer
	f   *os.File
	buf []byte
	err error
}

func (c *crawlCmd) pageOutput(e *env) (*pageOutput, error) {
	for _, name := range c.FailOn {
		if _, ok := outcome.Parse(name); !ok {
			return nil, usage("--fail-on: %q is no outcome; see `decorum config print --outcomes`", name)
		}
	}
	switch c.OutFile {
	case "":
		return &pageOutput{}, nil
	case "-":
		return &pageOutput{w: e.stdout}, nil
	}
	f, err := os.OpenFile(c.OutFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, usage("-o: %v", err)
	}
	return &pageOutput{w: f, f: f}, nil
}

// page returns the receiver of page records, or nil if none are wanted.
func (o *pageOutput) page() func(*jobdir.PageRecord) {
	if o.w == nil {
		return nil
	}
	return func(r *jobdir.PageRecord) {
		if o.err == nil { // a reader that went away does not stop the crawl
			o.buf = r.AppendJSON(o.buf[:0])
			_, o.err = o.w.Write(o.buf)
		}
	}
}

func (o *pageOutput) close() {
	if o.f != nil {
		o.f.Close()
	}
}
