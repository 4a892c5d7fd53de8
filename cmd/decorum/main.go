// Command decorum is a web crawler with manners.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/store"
)

// version is replaced by the linker: -ldflags "-X main.version=1.2.3".
var version = "0.1"

// Exit codes. They are part of the interface: scripts rely on them.
const (
	exitOK          = 0   // finished, or a limit that was asked for is reached
	exitInternal    = 1   // our fault
	exitUsage       = 2   // flags, seeds, files or configuration
	exitSeedsFailed = 3   // no seed could be fetched
	exitFailOn      = 4   // --fail-on matched
	exitState       = 5   // disk or state trouble, resumable
	exitGuard       = 6   // a guard paused the crawl
	exitInterrupted = 130 // resumable
	exitForced      = 131 // requests under way were cut; resumable
)

// cli is the command line.
type cli struct {
	Crawl   crawlCmd   `cmd:"" default:"withargs" help:"Crawl from seeds into a folder; the same command resumes."`
	Demo    demoCmd    `cmd:"" help:"Crawl a small synthetic web on this machine; needs no network."`
	Fetch   fetchCmd   `cmd:"" help:"Fetch one page and show it as the crawler sees it."`
	Why     whyCmd     `cmd:"" help:"Explain why a URL was or was not crawled."`
	Status  statusCmd  `cmd:"" help:"Show how a crawl stands."`
	Check   checkCmd   `cmd:"" help:"Read every byte of a crawl folder or WARC file and verify it."`
	Audit   auditCmd   `cmd:"" help:"Prove from a crawl's own record that it was polite."`
	Config  configCmd  `cmd:"" help:"Options: config print shows each value and its origin."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// env is what a command may touch of the outside.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	source         *config.Source
}

func main() {
	os.Exit(run(os.Args[1:], &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, source: &config.Source{}}))
}

// exitError carries an exit code; its text may be empty.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// run is the program: it parses, runs one verb, and returns the exit code.
func run(args []string, e *env) int {
	var c cli
	code := -1
	if args = implied(args); len(args) == 0 {
		args = []string{"--help"}
	}
	parser, err := kong.New(&c, kong.Name(config.Product), kong.Description("The web crawler with manners."),
		kong.Writers(e.stdout, e.stderr), kong.Exit(func(n int) { code = n }), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}), kong.Resolvers(resolver{e.source}))
	if err != nil {
		return e.fail(err)
	}
	if err := e.readConfig(args); err != nil {
		return e.fail(err)
	}
	ctx, err := parser.Parse(args)
	if code >= 0 {
		return code // --help
	}
	if err == nil && strings.HasPrefix(ctx.Command(), "crawl") {
		if ctx, err = e.reparse(parser, &c, ctx, args); err != nil {
			return e.fail(err)
		}
	}
	if err != nil {
		fmt.Fprintf(e.stderr, "decorum: %v\n", err)
		return exitUsage
	}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			e.source.Note(p.Flag.Name, config.FromFlag)
		}
	}
	return e.fail(ctx.Run(e))
}

// reparse reads the options that the crawl folder was started with, if it exists, and parses again: they stand in for flags
// that are not given.
func (e *env) reparse(parser *kong.Kong, c *cli, ctx *kong.Context, args []string) (*kong.Context, error) {
	if c.Crawl.Fresh {
		return ctx, nil
	}
	stored, err := storedOptions(c.Crawl.guessFolder())
	if err != nil || stored == nil {
		return ctx, err
	}
	e.source.Folder = stored
	*c = cli{}
	ctx, err = parser.Parse(args)
	if err != nil {
		return nil, usage("%v", err)
	}
	return ctx, nil
}

// verbs that may follow the program's name; anything else is a seed of crawl.
var verbs = []string{"crawl", "demo", "fetch", "why", "status", "check", "audit", "config", "version"}

// implied puts "crawl" in front when the first word is no verb.
func implied(args []string) []string {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		return args
	}
	if args[0] == "--version" {
		return []string{"version"}
	}
	for _, v := range verbs {
		if args[0] == v {
			return args
		}
	}
	return append([]string{"crawl"}, args...)
}

// fail prints an error and maps it to its exit code.
func (e *env) fail(err error) int {
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.text != "" {
			fmt.Fprintf(e.stderr, "decorum: %s\n", exit.text)
		}
		return exit.code
	}
	fmt.Fprintf(e.stderr, "decorum: %v\n", err)
	var bad *config.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &bad), errors.Is(err, jobdir.ErrInUse), errors.Is(err, jobdir.ErrNotCrawl), errors.Is(err, jobdir.ErrNoCrawl),
		errors.Is(err, jobdir.ErrNewer), errors.Is(err, store.ErrNewer):
		return exitUsage
	case errors.As(err, &path):
		return exitState
	}
	return exitInternal
}

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// readConfig reads the file of --config, if given, before the flags are resolved.
func (e *env) readConfig(args []string) error {
	for i, a := range args {
		path, ok := strings.CutPrefix(a, "--config=")
		if a == "--config" && i+1 < len(args) {
			path, ok = args[i+1], true
		}
		if !ok {
			continue
		}
		values, err := config.ReadFile(path)
		if err != nil {
			return usage("--config: %v", err)
		}
		e.source.File = values
	}
	return nil
}

// resolver gives kong the values of environment and files.
type resolver struct{ source *config.Source }

func (resolver) Validate(*kong.Application) error { return nil }

func (r resolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if v, ok := r.source.Lookup(flag.Name); ok {
		return v, nil
	}
	return nil, nil
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintf(e.stdout, "decorum %s\n", version)
	return err
}
