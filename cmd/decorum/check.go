package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"decorum/internal/inspect"
)

// checkCmd is `decorum check`.
type checkCmd struct {
	Path   string `arg:"" optional:"" placeholder:"PATH" help:"Crawl folder, WARC file or folder of WARC files; without one, the only *.crawl folder here."`
	Repair bool   `help:"Make a damaged crawl folder sound again: what is lost is listed, kept aside, and fetched again by the next run."`
	JSON   bool   `help:"Print JSON."`
}

// Run checks, and repairs if asked to. Damage that is there at the end is an exit code of 5.
func (c *checkCmd) Run(e *env) error {
	path, err := folderHere(c.Path)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return usage("check: %s is not there", inspect.Clean(path))
	case err == nil && !info.IsDir() && c.Repair:
		return usage("check --repair: %s is a file; only a crawl folder can be repaired", inspect.Clean(path))
	}
	if c.Repair {
		return c.repair(e, path)
	}
	progress := e.readProgress()
	r, err := inspect.Check(path, inspect.CheckOptions{Progress: progress})
	e.endProgress(progress)
	if err != nil {
		return err
	}
	return c.show(e, &r, r.OK)
}

func (c *checkCmd) repair(e *env, path string) error {
	stored, err := storedCrawl(path)
	if err != nil {
		return err
	}
	why, err := whyOptions(stored)
	if err != nil {
		return err
	}
	progress := e.readProgress()
	r, err := inspect.Repair(path, inspect.RepairOptions{Progress: progress, PoliteKey: why.PoliteKey, Resume: "decorum crawl --dir " + quoted(path)})
	e.endProgress(progress)
	if err != nil {
		return err
	}
	return c.show(e, &r, r.OK)
}

// report is what check and repair have to say.
type report interface {
	Verdict() string
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

// show prints a report.
func (c *checkCmd) show(e *env, r report, ok bool) error {
	write := r.WriteText
	if c.JSON {
		write = r.WriteJSON
	}
	if err := write(e.stdout); err != nil {
		return err
	}
	if !ok {
		return &exitError{exitState, inspect.Clean("check: " + r.Verdict())}
	}
	return nil
}

// clearLine goes to the beginning of the line and empties it.
const clearLine = "\r\x1b[K"

// endProgress removes what readProgress showed.
func (e *env) endProgress(progress func(string, int64, int64)) {
	if progress != nil {
		fmt.Fprint(e.stderr, clearLine)
	}
}

// readProgress shows on a terminal how far a long reading is.
func (e *env) readProgress() func(file string, done, all int64) {
	f, ok := e.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func(file string, done, all int64) {
		fmt.Fprintf(e.stderr, clearLine+"reading %s  %d of about %d MB", inspect.Clean(file), done>>20, max(done, all)>>20)
	}
}
