package main

// checkCmd is `decorum check`.
type checkCmd struct {
	Path string `arg:"" help:"Crawl folder or WARC file."`
	JSON bool   `help:"Print JSON."`
}

// Run checks.
func (c *checkCmd) Run(e *env) error { return usage("check: not in this build") }
