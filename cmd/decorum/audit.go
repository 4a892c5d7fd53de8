package main

import "decorum/internal/inspect"

// auditCmd is `decorum audit`.
type auditCmd struct {
	Dir  string `arg:"" optional:"" placeholder:"PATH" help:"Crawl folder; without one, the only *.crawl folder here."`
	JSON bool   `help:"Print JSON."`
}

// Run audits. A breach is an exit code of 1.
func (a *auditCmd) Run(e *env) error {
	dir, err := folderHere(a.Dir)
	if err != nil {
		return err
	}
	r, err := inspect.Audit(dir)
	if err != nil {
		return err
	}
	write := r.WriteText
	if a.JSON {
		write = r.WriteJSON
	}
	if err := write(e.stdout); err != nil {
		return err
	}
	if !r.Polite {
		return &exitError{exitInternal, "audit: " + r.Verdict()}
	}
	return nil
}
