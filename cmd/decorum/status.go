package main

// statusCmd is `decorum status`.
type statusCmd struct {
	Dir  string `arg:"" optional:"" placeholder:"PATH" help:"Crawl folder; without one, the only *.crawl folder here."`
	JSON bool   `help:"Print JSON."`
}

// Run shows the state of the crawl.
func (s *statusCmd) Run(e *env) error { return usage("status: not in this build") }
