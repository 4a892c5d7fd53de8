package main

// auditCmd is `decorum audit`.
type auditCmd struct {
	Dir  string `arg:"" help:"Crawl folder."`
	JSON bool   `help:"Print JSON."`
}

// Run audits.
func (a *auditCmd) Run(e *env) error { return usage("audit: not in this build") }
