package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"decorum/internal/config"
	"decorum/internal/simweb"
)

// tortureCmd is `decorum torture`: it crawls a synthetic web over real connections on loopback with a process of its own,
// kills that process again and again, resumes, and holds what came of it against the truth.
type tortureCmd struct {
	Dir   string `arg:"" optional:"" default:"torture" placeholder:"PATH" help:"Folder for the crawls; must be new or empty."`
	Kills int    `default:"20" placeholder:"N" help:"How often to kill."`
	Seed  uint64 `placeholder:"N" help:"Choose webs and moments as a run with this seed did."`
	Pages int    `default:"900" placeholder:"N" help:"Pages of each web, about. When a crawl ends before the last kill another begins."`
	Hosts int    `default:"24" placeholder:"N" help:"Hosts of each web."`
	Plain bool   `help:"Webs where nothing fails: quicker, and shows less."`
}

// torture is one run of the command.
type torture struct {
	e      *env
	o      *tortureCmd
	binary string
	r      *rand.Rand
	left   int // kills
	crawls []*tortured
}

// maxIdle is how many crawls in a row may end before they are killed.
const maxIdle = 5

// Run kills and judges. A promise not kept is an exit code of 1.
func (c *tortureCmd) Run(e *env) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	if names, err := os.ReadDir(c.Dir); err == nil && len(names) > 0 {
		return usage("torture: %s is not empty; name a new folder", c.Dir)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1e9)
	}
	t := &torture{e: e, o: c, binary: binary, r: rand.New(rand.NewPCG(c.Seed, 0)), left: c.Kills}
	fmt.Fprintf(e.stderr, "torture: %d kills -9; repeat with --seed %d\n", c.Kills, c.Seed)
	ok := true
	for idle := 0; ok && idle < maxIdle && (t.left > 0 || len(t.crawls) == 0); {
		crawl, err := t.crawl(len(t.crawls) + 1)
		if err != nil {
			return err
		}
		t.crawls = append(t.crawls, crawl)
		ok = crawl.ok()
		if idle++; len(crawl.kills) > 0 {
			idle = 0
		}
	}
	printTorture(e.stdout, t.crawls)
	switch {
	case !ok:
		return &exitError{exitInternal, fmt.Sprintf("torture: FAILED; the folders are in %s, repeat with --seed %d", c.Dir, c.Seed)}
	case t.left > 0:
		return usage("torture: crawls end before they can be killed; give more --pages")
	}
	fmt.Fprintf(e.stderr, "torture: passed; the folders are in %s\n", c.Dir)
	return nil
}

// web has all that a crawler meets, and is slow enough to be interrupted.
func (t *torture) web(number int) simweb.Options {
	o := simweb.Realistic()
	if t.o.Plain {
		o = simweb.Plain()
	}
	o.Seed, o.Hosts, o.Pages, o.EqualHosts = t.o.Seed+uint64(number), t.o.Hosts, t.o.Pages, true
	o.PageBytes, o.SeedHosts = 6<<10, max(1, t.o.Hosts/3)
	o.Latency, o.SlowLatency, o.RobotsLatency = 10*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	o.CrawlDelay, o.RetryAfter = []time.Duration{300 * time.Millisecond}, time.Second
	return o
}

// Manners of the crawls: quick, as the web is our own.
const (
	tortureDelay = 100 * time.Millisecond
	tortureIPGap = 20 * time.Millisecond
)

// config writes the options of a crawl to a file. Files are rotated, flushed, merged and checkpointed far more often than
// a user's would be, so that kills hit all of that.
func (t *torture) config(web *simweb.Web, path string) error {
	c := config.Default()
	c.Scope, c.AllowNet, c.RelNofollow, c.MinFree = "any", []string{"127.0.0.0/8"}, true, 64<<20
	c.Delay, c.IPGap, c.Backoff = config.Duration(tortureDelay), config.Duration(tortureIPGap), config.Duration(time.Second)
	c.WARCSize, c.SeenRecent, c.CheckpointEvery, c.Memory = 1<<20, 24, config.Duration(time.Second), 64<<20
	for name, addrs := range web.StaticDNS() {
		for _, a := range addrs {
			c.Resolve = append(c.Resolve, fmt.Sprintf("%s:%s", name, a))
		}
	}
	raw, err := c.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}

// Ports of the webs: one after the other until one is free.
const (
	torturePort  = 7271
	torturePorts = 50
)

func (t *torture) listen(o simweb.Options) (web *simweb.Web, stop func() error, err error) {
	for port := torturePort; port < torturePort+torturePorts; port++ {
		o.Port = uint16(port)
		o.EnsureDefaults()
		if err = o.Validate(); err != nil {
			return nil, nil, usage("torture: %v", err)
		}
		web = simweb.New(o)
		if stop, err = web.Listen(context.Background(), port); err == nil {
			return web, stop, nil
		}
	}
	return nil, nil, usage("torture: the web cannot listen: %v", err)
}

// crawl crawls one web to its end, with kills on the way as long as some are left, and judges it.
func (t *torture) crawl(number int) (k *tortured, err error) {
	web, stop, err := t.listen(t.web(number))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	k = &tortured{t: t, web: web, dir: filepath.Join(t.o.Dir, fmt.Sprintf("%d.crawl", number)), began: time.Now()}
	k.options = filepath.Join(t.o.Dir, fmt.Sprintf("%d.toml", number))
	if err := t.config(web, k.options); err != nil {
		return nil, err
	}
	for ended := false; !ended; {
		if ended, err = k.start(); err != nil {
			return nil, err
		}
	}
	if err := k.judge(); err != nil {
		return nil, err
	}
	return k, k.judgeCheckpoint()
}
