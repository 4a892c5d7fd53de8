package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"decorum/internal/inspect"
)

// checkCmd is `decorum check`.
type checkCmd struct {
	Path string `arg:"" optional:"" placeholder:"PATH" help:"Crawl folder, WARC file or folder of WARC files; without one, the only *.crawl folder here."`
	JSON bool   `help:"Print JSON."`
}

// Run checks. Damage is an exit code of 5.
func (c *checkCmd) Run(e *env) error {
	path, err := folderHere(c.Path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return usage("check: %s is not there", inspect.Clean(path))
	}
	progress := e.readProgress()
	r, err := inspect.Check(path, inspect.CheckOptions{Progress: progress})
	if progress != nil {
		fmt.Fprint(e.stderr, clearLine)
	}
	if err != nil {
		return err
	}
	write := r.WriteText
	if c.JSON {
		write = r.WriteJSON
	}
	if err := write(e.stdout); err != nil {
		return err
	}
	if !r.OK {
		return &exitError{exitState, inspect.Clean("check: " + r.Verdict())}
	}
	return nil
}

// clearLine goes to the beginning of the line and empties it.
const clearLine = "\r\x1b[K"

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
