// Command real crawls real pages and judges the crawl: Debian's documentation packages behind nginx on loopback, one
// address per site. It compares what decorum fetched with the set of pages reachable by an independent reading of
// the files, counts repeats and disallowed fetches in the server's log, watches for a second connection to any
// host, kills the crawler with SIGKILL in the middle, and measures CPU and memory. It prints one table.
//
//	apt-get install nginx-light postgresql-doc-15 python3.11-doc debian-handbook
//	go run ./bench/real            # everything
//	go run ./bench/real -kills 0   # without the kills
//
// It needs Linux (/proc) and listens on 127.0.1.1 and up only.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
)

// site is one documentation package on an address of its own.
type site struct {
	name, root, addr string
	robots           string // its robots.txt; "" for none
	disallowed       string // path prefix that robots.txt bars
}

var allSites = []site{
	{name: "postgresql", root: "/usr/share/doc/postgresql-doc-15/html", addr: "127.0.1.1"},
	{name: "python", root: "/usr/share/doc/python3.11/html", addr: "127.0.1.2", disallowed: "/whatsnew/",
		robots: "User-agent: *\nDisallow: /whatsnew/\n"},
	{name: "debian-handbook", root: "/usr/share/doc/debian-handbook/html/en-US", addr: "127.0.1.3",
		robots: "User-agent: other\nDisallow: /\n\nUser-agent: decorum\nDisallow:\n"},
}

func main() {
	kills := flag.Int("kills", 3, "SIGKILLs in the middle of the second crawl")
	port := flag.Int("port", 8641, "port of the sites")
	keep := flag.String("keep", "", "folder for the crawl; default a temporary one")
	flag.Parse()
	if err := run(*kills, *port, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
}

func run(kills, port int, keep string) error {
	work := keep
	if work == "" {
		var err error
		if work, err = os.MkdirTemp("", "decorum-real"); err != nil {
			return err
		}
		defer os.RemoveAll(work)
	}
	sites, err := present(allSites)
	if err != nil {
		return err
	}
	binary := filepath.Join(work, "decorum")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/decorum")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	web, err := startServer(work, sites, port)
	if err != nil {
		return err
	}
	defer web.stop()
	want := map[string]bool{}
	for _, s := range sites {
		reach(s, port, want)
	}

	t := &table{}
	ok := crawlOnce(t, "whole", work, binary, web, sites, port, want, 0)
	if kills > 0 {
		ok = crawlOnce(t, fmt.Sprintf("killed %dx", kills), work, binary, web, sites, port, want, kills) && ok
	}
	t.print()
	if !ok {
		return fmt.Errorf("the crawl is not what was promised")
	}
	return nil
}

// present keeps the sites whose packages are installed and insists on three.
func present(all []site) ([]site, error) {
	var sites []site
	for _, s := range all {
		if _, err := os.Stat(s.root); err == nil {
			sites = append(sites, s)
		}
	}
	if len(sites) < 3 {
		return nil, fmt.Errorf("%d of %d documentation packages are installed; see the comment of this command", len(sites), len(all))
	}
	return sites, nil
}

// table is what is printed: one column for each crawl.
type table struct {
	names []string
	rows  map[string][]string
	heads []string
}

func (t *table) set(row, format string, args ...any) {
	if t.rows == nil {
		t.rows = map[string][]string{}
	}
	if _, ok := t.rows[row]; !ok {
		t.names = append(t.names, row)
	}
	for len(t.rows[row]) < len(t.heads)-1 {
		t.rows[row] = append(t.rows[row], "")
	}
	t.rows[row] = append(t.rows[row], fmt.Sprintf(format, args...))
}

func (t *table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, "crawl")
	for _, h := range t.heads {
		fmt.Fprintf(w, "\t%s", h)
	}
	fmt.Fprintln(w)
	for _, name := range t.names {
		fmt.Fprint(w, name)
		for _, v := range t.rows[name] {
			fmt.Fprintf(w, "\t%s", v)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
