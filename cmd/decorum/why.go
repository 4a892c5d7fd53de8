package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"decorum/internal/config"
	"decorum/internal/dns"
	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/urlfilter"
	"decorum/internal/weburl"
)

// whyCmd is `decorum why`.
type whyCmd struct {
	URL  string `arg:"" help:"The URL to explain."`
	Dir  string `placeholder:"PATH" help:"Crawl folder (default ./<host>.crawl, or the only *.crawl folder here)."`
	JSON bool   `help:"Print JSON."`
}

// Run explains.
func (w *whyCmd) Run(e *env) error {
	dir, err := w.folder()
	if err != nil {
		return err
	}
	c, err := storedCrawl(dir)
	if err != nil {
		return err
	}
	o, err := whyOptions(c)
	if err != nil {
		return err
	}
	r, err := inspect.Why(dir, w.URL, o)
	if err != nil {
		return err
	}
	if w.JSON {
		return r.WriteJSON(e.stdout)
	}
	return r.WriteText(e.stdout)
}

// folder is the one named, that of the URL's host, or the only one here.
func (w *whyCmd) folder() (string, error) {
	if w.Dir != "" {
		return w.Dir, nil
	}
	if s, err := config.ParseSeed(w.URL); err == nil {
		dir := jobdir.DirFor(s.URL)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return folderHere("")
}

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

// storedCrawl returns the options that the crawl in a folder was started with. A folder without options has the
// default ones.
func storedCrawl(dir string) (*config.Crawl, error) {
	values, err := storedOptions(dir)
	if err != nil {
		return nil, usage("%v", err)
	}
	var stored struct {
		config.Crawl `embed:""`
	}
	parser, err := kong.New(&stored, kong.Resolvers(folderValues(values)))
	if err == nil {
		_, err = parser.Parse(nil)
	}
	if err != nil {
		return nil, usage("%s: %v", filepath.Join(dir, jobdir.ConfigName), err)
	}
	return &stored.Crawl, nil
}

// folderValues gives kong the options of a crawl folder, and no others.
type folderValues config.Values

func (folderValues) Validate(*kong.Application) error { return nil }

func (v folderValues) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	return v[flag.Name], nil
}

// whyOptions are those options of a crawl that decide about URLs.
func whyOptions(c *config.Crawl) (inspect.WhyOptions, error) {
	scope, err := urlfilter.ParseScope(c.Scope)
	if err != nil {
		return inspect.WhyOptions{}, usage("%v", err)
	}
	o := inspect.WhyOptions{
		Filter: urlfilter.Options{Scope: scope, Include: c.Include, Exclude: c.Exclude, TLDInclude: c.IncludeTLD, TLDExclude: c.ExcludeTLD,
			Extensions: c.ExcludeExt, MaxDepth: c.Depth, MaxHops: c.Hops},
		Keys:         weburl.KeyRules{KeepSessionIDs: c.KeepSessionIDs, KeepTracking: c.KeepTracking},
		Policy:       dns.PolicyOptions{AllowNets: c.Nets(), AllowPorts: c.AllowPort},
		IgnoreRobots: c.IgnoreRobots,
	}
	if c.PoliteBy == "domain" {
		o.PoliteKey = weburl.URL.Domain
	}
	return o, nil
}
