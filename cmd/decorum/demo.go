package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/simweb"
)

// demoCmd is `decorum demo`: a crawl of the embedded toy web over real connections on loopback.
type demoCmd struct {
	Dir      string          `default:"demo.crawl" placeholder:"PATH" help:"Crawl folder. The same command resumes."`
	Fresh    bool            `help:"Start over."`
	Delay    config.Duration `default:"100ms" help:"Least rest of a host between two requests."`
	Pages    int             `placeholder:"N" help:"A larger web, of about N pages."`
	Hosts    int             `placeholder:"N" help:"Of N hosts."`
	Listen   string          `default:"127.0.0.1:7070" placeholder:"ADDR" help:"Live page and metrics; next free port if taken; off for none."`
	Progress string          `enum:"auto,plain,off" default:"auto" help:"Live block on a terminal, plain lines, or none."`
	Quiet    bool            `short:"q" help:"Only problems and the summary."`
}

// demoPort is where the toy web listens if it can; the URLs of the crawl carry the port, so a resumed demo
// needs the same.
const (
	demoPort     = 7171
	demoPorts    = 50 // tried in turn
	demoPortFile = "state/demo-port"
)

// Run starts the toy web and crawls it.
func (d *demoCmd) Run(e *env) error {
	if d.Fresh {
		if err := startOver(e, d.Dir); err != nil {
			return err
		}
	}
	web, stop, err := d.listen()
	if err != nil {
		return err
	}
	defer stop()
	seeds, err := demoSeeds(web)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "demo: a toy web of %d hosts on loopback; kill -9 this and run it again: nothing is lost\n", len(web.Hosts()))
	return e.crawl(job{node: node.Options{Config: d.config(web), Seeds: seeds, Dir: d.Dir, Version: version}, again: "decorum demo" + d.again()})
}

// listen starts the toy web: on the port that the folder's crawl was started with, or on a free one.
func (d *demoCmd) listen() (*simweb.Web, func() error, error) {
	o := simweb.Demo()
	if d.Pages > 0 {
		o.Pages = d.Pages
	}
	if d.Hosts > 0 {
		o.Hosts = d.Hosts
	}
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, nil, usage("demo: %v", err)
	}
	kept := d.keptPort()
	if stored, err := storedOptions(d.Dir); kept == 0 && (stored != nil || err != nil) {
		return nil, nil, usage("demo: %s holds a crawl that is no demo; name another folder with --dir", d.Dir)
	}
	var failed error
	for port := demoPort; port < demoPort+demoPorts; port++ {
		if kept != 0 && port != kept {
			continue
		}
		o.Port = uint16(port)
		web := simweb.New(o)
		stop, err := web.Listen(context.Background(), port)
		if err != nil {
			failed = err
			continue
		}
		if kept == 0 {
			if err := d.keepPort(port); err != nil {
				return nil, nil, errors.Join(err, stop())
			}
		}
		return web, stop, nil
	}
	return nil, nil, usage("demo: the toy web cannot listen: %v", failed)
}

// keptPort is the port of an earlier run in the same folder, or 0.
func (d *demoCmd) keptPort() int {
	raw, err := os.ReadFile(filepath.Join(d.Dir, demoPortFile))
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(string(raw)) // 0 when unreadable
	return port
}

func (d *demoCmd) keepPort(port int) error {
	dir, err := jobdir.Open(d.Dir, jobdir.Options{Tool: "decorum/" + version})
	if err != nil {
		return err
	}
	return errors.Join(dir.WriteFile(demoPortFile, []byte(strconv.Itoa(port))), dir.Close())
}

func (d *demoCmd) again() string {
	if d.Dir == "demo.crawl" {
		return ""
	}
	return " --dir " + quoted(d.Dir)
}

func demoSeeds(web *simweb.Web) ([]config.Seed, error) {
	var seeds []config.Seed
	for _, u := range web.Seeds() {
		s, err := config.ParseSeed(u)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}

// config is that of a crawl of everything, with loopback allowed.
func (d *demoCmd) config(web *simweb.Web) config.Crawl {
	c := config.Default()
	c.Scope, c.AllowNet, c.Delay, c.IPGap = "any", []string{"127.0.0.0/8"}, d.Delay, config.Duration(20*time.Millisecond)
	c.MinFree, c.Listen, c.Progress, c.Quiet = 64<<20, d.Listen, d.Progress, d.Quiet
	c.Backoff = config.Duration(2 * time.Second)
	c.HostPages = 100 // one host is endless: its budget ends it, and says so
	for name, addrs := range web.StaticDNS() {
		for _, a := range addrs {
			c.Resolve = append(c.Resolve, fmt.Sprintf("%s:%s", name, a))
		}
	}
	return c
}
