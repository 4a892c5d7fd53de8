package main

import "decorum/internal/config"

// configCmd is `decorum config`.
type configCmd struct {
	Print configPrintCmd `cmd:"" default:"withargs" help:"Print each option, its value and where it comes from."`
}

// configPrintCmd is `decorum config print`.
type configPrintCmd struct {
	config.Crawl `embed:""`
	JSON         bool `help:"Print JSON."`
	Outcomes     bool `help:"List the outcomes instead: what became of a URL."`
}

// Run prints the options.
func (c *configPrintCmd) Run(e *env) error { return usage("config print: not in this build") }
