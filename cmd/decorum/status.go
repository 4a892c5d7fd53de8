package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/web"
)

// statusCmd is `decorum status`: how a crawl stands. While it runs its own answer is shown, else the summary of
// its last run. With --json that is an object of type "status", of type "summary", or of type "none" when
// no run has ended yet.
type statusCmd struct {
	Dir  string `arg:"" optional:"" name:"dir" help:"Crawl folder; without one, the only *.crawl folder here."`
	JSON bool   `help:"Print JSON."`
}

// Run shows the state of the crawl.
func (s *statusCmd) Run(e *env) error {
	path, err := crawlFolder(s.Dir)
	if err != nil {
		return err
	}
	dir, err := jobdir.Open(path, jobdir.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer dir.Close()
	live, found, err := web.ReadLive(path)
	if err != nil {
		return err
	}
	if !found || !alive(live.PID) {
		return s.last(e.stdout, dir, found)
	}
	if live.URL == "" {
		return &exitError{exitInternal, fmt.Sprintf("%s: running as process %d, but with --listen off it cannot be asked", path, live.PID)}
	}
	st, err := live.Status(context.Background(), web.MaxRows)
	if err != nil {
		return &exitError{exitInternal, fmt.Sprintf("%s: running as process %d, which does not answer: %v", path, live.PID, err)}
	}
	if s.JSON {
		return printJSON(e.stdout, st)
	}
	for _, line := range st.Block(outputWidth(e.stdout), "live page "+st.Page) {
		fmt.Fprintln(e.stdout, web.Clean(line))
	}
	return nil
}

// crawlFolder is the named folder, or the only one here.
func crawlFolder(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	found, err := filepath.Glob("*.crawl")
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", usage("no *.crawl folder here; name one: decorum status DIR")
	}
	return "", usage("several crawl folders here; name one: %s", strings.Join(found, ", "))
}

// alive reports whether a process runs. Where the system cannot tell it is taken to: it will be asked.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0)) // kill(2): 0 only checks
	return err == nil || os.IsPermission(err) || !strings.Contains(err.Error(), "finished") && err != syscall.ESRCH
}

// noWidth is the width of what is not a terminal: lines are not cut.
const noWidth = 1 << 16

func outputWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return noWidth
}

// last shows the last run of a crawl that does not run. With cut, its last run did not end in order.
func (s *statusCmd) last(w io.Writer, dir *jobdir.Dir, cut bool) error {
	sum, ok, err := dir.ReadSummary()
	if err != nil {
		return err
	}
	if s.JSON {
		if !ok {
			return printJSON(w, map[string]any{"v": 1, "type": "none", "cut": cut})
		}
		return printJSON(w, sum)
	}
	if cut {
		fmt.Fprintln(w, "not running: the last run was cut off; nothing that was committed is lost, and the same command resumes")
	} else {
		fmt.Fprintln(w, "not running")
	}
	if !ok {
		fmt.Fprintf(w, "no run has ended yet; resume: decorum crawl --dir %s\n", web.Clean(dir.Root()))
		return nil
	}
	describe(w, &sum, dir.Root())
	return nil
}

// describe writes a summary as a person reads it.
func describe(w io.Writer, sum *jobdir.Summary, root string) {
	resume := sum.Resume
	if resume == "" {
		resume = "decorum crawl --dir " + root
	}
	r := node.Result{Reason: sum.EndReason, Detail: sum.EndDetail, Summary: *sum}
	fmt.Fprintf(w, "%s, %s: %s\n", sum.Tool, sum.Ended.Local().Format(time.DateTime), web.Clean(ending(&r, resume)))
	fmt.Fprintf(w, "  found %s   queued %s (%s)   received %s\n", web.Count(uint64(sum.Found)), web.Count(uint64(sum.QueuedLeft)),
		number(uint64(sum.HostsLeft), "host"), web.Bytes(uint64(sum.BytesWire)))
	if len(sum.Outcomes) > 0 {
		fmt.Fprint(w, "  outcomes")
		for _, c := range web.Ranked(sum.Outcomes) {
			fmt.Fprintf(w, "  %s %s", c.Name, web.Count(c.Count))
		}
		fmt.Fprintln(w)
	}
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
