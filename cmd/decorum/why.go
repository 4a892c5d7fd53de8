package main

// whyCmd is `decorum why`.
type whyCmd struct {
	URL  string `arg:"" help:"The URL to explain."`
	Dir  string `placeholder:"PATH" help:"Crawl folder."`
	JSON bool   `help:"Print JSON."`
}

// Run explains.
func (w *whyCmd) Run(e *env) error { return usage("why: not in this build") }
