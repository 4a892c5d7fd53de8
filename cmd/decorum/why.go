package main

import (
	"path/filepath"
	"strings"
)

// whyCmd is `decorum why`.
type whyCmd struct {
	URL  string `arg:"" help:"The URL to explain."`
	Dir  string `placeholder:"PATH" help:"Crawl folder."`
	JSON bool   `help:"Print JSON."`
}

// Run explains.
func (w *whyCmd) Run(e *env) error { return usage("why: not in this build") }

// folderHere returns the folder named, or the only crawl folder of the working directory.
func folderHere(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	found, err := filepath.Glob("*.crawl")
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", usage("no *.crawl folder here; name one")
	case len(found) > 1:
		return "", usage("%d crawl folders here; name one of %s", len(found), strings.Join(found, ", "))
	}
	return found[0], nil
}
