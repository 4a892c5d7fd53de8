package main

// fetchCmd is `decorum fetch`.
type fetchCmd struct {
	URL  string `arg:"" help:"The page to fetch."`
	JSON bool   `help:"Print JSON."`
}

// Run fetches.
func (f *fetchCmd) Run(e *env) error { return usage("fetch: not in this build") }
