// Command decorum is a web crawler with manners.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/store"
	"decorum/internal/web"
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
	Crawl      crawlCmd      `cmd:"" default:"withargs" help:"Crawl from seeds into a folder; the same command resumes."`
	Demo       demoCmd       `cmd:"" help:"Crawl a small synthetic web on this machine; needs no network."`
	Fetch      fetchCmd      `cmd:"" help:"Fetch one page and show it as the crawler sees it."`
	Why        whyCmd        `cmd:"" help:"Explain why a URL was or was not crawled."`
	Status     statusCmd     `cmd:"" help:"Show how a crawl stands."`
	Checkpoint checkpointCmd `cmd:"" help:"Make a checkpoint of a crawl, running or not: a folder that resumes elsewhere."`
	Check      checkCmd      `cmd:"" help:"Read every byte of a crawl folder or WARC file and verify it."`
	Audit      auditCmd      `cmd:"" help:"Prove from a crawl's own record that it was polite."`
	Torture    tortureCmd    `cmd:"" help:"Crawl a synthetic web on this machine, kill the crawler again and again, and judge."`
	Config     configCmd     `cmd:"" help:"Options: config print shows each value and its origin."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
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
		kong.Writers(e.stdout, e.stderr), kong.Exit(func(n int) { code = n }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}), kong.ValueFormatter(helpOf), kong.Resolvers(resolver{e.source}))
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
		return e.fail(e.badFlag(err))
	}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			e.source.Note(p.Flag.Name, config.FromFlag)
		}
	}
	return e.fail(ctx.Run(e))
}

// helpOf is the help text of a flag or argument, with its default where the placeholder hides it.
func helpOf(v *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(v)
	if v.Flag != nil && v.Flag.PlaceHolder != "" && v.HasDefault {
		text += " Default " + v.Default + "."
	}
	return text
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
		return nil, e.badFlag(err)
	}
	return ctx, nil
}

// badFlag is an error of the command line: in the words of the parser, without the verb it puts before what Validate
// says, and with the origin of a value that was not typed.
func (e *env) badFlag(err error) error {
	text := err.Error()
	for _, verb := range verbs {
		text = strings.TrimPrefix(text, verb+": ")
	}
	flag, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), " ")
	flag = strings.TrimSuffix(flag, ":")
	if o := e.source.Origin(flag); o != config.FromDefault && o != config.FromFlag && !strings.Contains(text, "\n") {
		text += fmt.Sprintf(" (from the %s)", o)
	}
	return usage("%s", text)
}

// verbs that may follow the program's name; anything else is a seed of crawl.
var verbs = []string{"crawl", "demo", "fetch", "why", "status", "checkpoint", "check", "audit", "torture", "config", "version"}

// implied puts "crawl" in front when the first word is no verb.
func implied(args []string) []string {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		return args
	}
	if args[0] == "--version" {
		return []string{"version"}
	}
	if args[0] == "help" {
		return append(args[1:min(len(args), 2)], "--help")
	}
	for _, v := range verbs {
		if args[0] == v {
			return args
		}
	}
	return append([]string{"crawl"}, args...)
}

// fail prints an error, with what to do about it, and maps it to its exit code.
func (e *env) fail(err error) int {
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.text != "" {
			e.complain(exit.text)
		}
		return exit.code
	}
	code, advice := judge(err)
	e.complain(err.Error() + advice)
	return code
}

// complain prints a problem; each line of it says who speaks.
func (e *env) complain(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(e.stderr, "decorum: %s\n", web.Clean(line)) // it may quote what a server said
	}
}

// judge returns the exit code of an error that carries none, and what to do about it.
func judge(err error) (code int, advice string) {
	var bad *config.Error
	var path *fs.PathError
	var disk *node.DiskError
	switch {
	case errors.As(err, &bad), errors.Is(err, jobdir.ErrNoCrawl):
		return exitUsage, ""
	case errors.Is(err, jobdir.ErrInUse):
		return exitUsage, "; stop that one first (`decorum status` shows it)"
	case errors.Is(err, jobdir.ErrNotCrawl):
		return exitUsage, "; name another folder"
	case errors.Is(err, jobdir.ErrNewer), errors.Is(err, store.ErrNewer):
		return exitUsage, "; continue with that version, or name another folder"
	case errors.Is(err, syscall.ENOTDIR):
		return exitUsage, "; name a folder"
	case errors.As(err, &path), errors.As(err, &disk):
		return exitState, ""
	}
	return exitInternal, ""
}

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// readConfig reads the file of --config or DECORUM_CONFIG, if given, before the flags are resolved.
func (e *env) readConfig(args []string) error {
	path := os.Getenv("DECORUM_CONFIG")
	for i, a := range args {
		if rest, ok := strings.CutPrefix(a, "--config="); ok {
			path = rest
		} else if a == "--config" && i+1 < len(args) {
			path = args[i+1]
		}
	}
	if path == "" {
		return nil
	}
	values, err := config.ReadFile(path)
	if err != nil {
		return usage("--config: %v", err)
	}
	e.source.File = values
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
