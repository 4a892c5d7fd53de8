// Package node is one running crawler: it opens the parts, wires them, runs the crawl, and closes them in the
// reverse order. Two nodes fit in one process; nothing is shared between them.
//
// Life: Open (folder locked, state recovered, seeds taken in), Run once, Close. Open leaves nothing behind
// when it fails. Run returns a Result, which says why the crawl ended; an error is ours and leaves the folder
// resumable.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"decorum/internal/config"
	"decorum/internal/contentseen"
	"decorum/internal/crawler"
	"decorum/internal/credentials"
	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/frontier"
	"decorum/internal/housekeeping"
	"decorum/internal/jobdir"
	"decorum/internal/meter"
	"decorum/internal/robots"
	"decorum/internal/store"
	"decorum/internal/urlfilter"
	"decorum/internal/urlseen"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// Options of a node.
type Options struct {
	Config  config.Crawl
	Seeds   []config.Seed // of this run; those of earlier runs are remembered
	Dir     string        // crawl folder
	Version string        // of the program

	// The outside world; nil means the real one. Tests put a simulated web here.
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	DialDNS func(ctx context.Context, network, addr string) (net.Conn, error)
	FS      store.FS // carries all files but those of bodies under way

	Log     func(format string, args ...any) // for people; nil drops it
	OnPage  func(*jobdir.PageRecord)         // each page record, in order of commit; nil: nobody
	OnFetch func(*jobdir.FetchRecord)        // each exchange
	OnSkip  func(*jobdir.SkipRecord)         // each skipped URL
	Free    func(dir string) (uint64, error) // bytes of disk free; nil: the system's answer
}

// Node is an open crawler.
type Node struct {
	opt     Options
	dir     *jobdir.Dir
	db      *store.DB
	facts   facts
	first   bool // the folder is new
	failed  bool // Run ended with an error
	parts   crawler.Parts
	crawl   *crawler.Crawler
	keeper  *housekeeping.Housekeeper
	hasher  *weburl.Hasher
	secrets *credentials.Set
	hosts   hosts // contacted
	closers []io.Closer
	began   time.Time

	checkpointing sync.Mutex // held while a checkpoint is being made, and while the node closes

	mu       sync.Mutex
	timeOver string // why housekeeping ended the crawl, "" if it did not; guarded by mu
}

// Open opens the crawl folder, recovers what an earlier run left, and takes in the seeds.
func Open(o Options) (*Node, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Free == nil {
		o.Free = freeDisk
	}
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	n := &Node{opt: o, began: time.Now()}
	if err := n.open(); err != nil {
		n.closeAll() // whatever it says follows from err
		return nil, diskTrouble(err, o.Dir)
	}
	return n, nil
}

func (n *Node) open() error {
	for _, step := range []func() error{n.openFolder, n.openState, n.openNetwork, n.openQueues, n.openOutputs, n.openCrawl, n.seed} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) closeLater(c io.Closer) { n.closers = append(n.closers, c) }

// closeAll closes in the reverse order of opening.
func (n *Node) closeAll() error {
	var errs []error
	for _, c := range slices.Backward(n.closers) {
		errs = append(errs, c.Close())
	}
	n.closers = nil
	return errors.Join(errs...)
}

// Close ends the node. The summary is written by Finish. After a run that failed there is nothing new to say.
func (n *Node) Close() error {
	n.checkpointing.Lock()
	defer n.checkpointing.Unlock()
	if err := n.closeAll(); !n.failed {
		return diskTrouble(err, n.opt.Dir)
	}
	return nil
}

// Tool is the name and version written into folders and archives.
func (o *Options) tool() string { return config.Product + "/" + o.Version }

func (n *Node) openFolder() error {
	dir, err := jobdir.Open(n.opt.Dir, n.folderOptions())
	if err != nil {
		return err
	}
	n.dir = dir
	n.closeLater(dir)
	return n.checkpointer().removeUnfinished()
}

// folderOptions are how the node opens crawl folders.
func (n *Node) folderOptions() jobdir.Options {
	o := jobdir.Options{Tool: n.opt.tool()}
	if n.opt.FS != nil {
		o.FS = store.Plain(n.opt.FS)
	}
	return o
}

func (n *Node) openState() error {
	// Of the memory budget an eighth is the block cache and a sixteenth the two memtables; the sieve has a quarter
	// (openQueues), and bodies on their way to the archive have another (crawlerOptions).
	mem := int64(n.opt.Config.Memory)
	db, err := store.Open(store.Options{Dir: n.dir.Path("state/db"), FS: n.opt.FS, CacheSize: mem / 8, MemTable: uint64(mem / 32)})
	if err != nil {
		return err
	}
	n.db = db
	n.closeLater(db)
	if n.facts, n.first, err = loadFacts(db); err != nil {
		return err
	}
	n.facts.Runs++
	n.addSeeds()
	if err := n.facts.save(db); err != nil {
		return err
	}
	toml, err := n.opt.Config.Encode()
	if err != nil {
		return err
	}
	return n.dir.WriteFile(jobdir.ConfigName, toml)
}

// addSeeds appends the seeds of this run that are not known yet.
func (n *Node) addSeeds() {
	known := map[string]bool{}
	for _, text := range n.facts.Seeds {
		known[text] = true
	}
	for _, s := range n.opt.Seeds {
		if text := s.String(); !known[text] {
			known[text] = true
			n.facts.Seeds = append(n.facts.Seeds, text)
		}
	}
}

func (n *Node) openNetwork() error {
	c := &n.opt.Config
	policy := dns.NewPolicy(n.policyOptions())
	static, err := staticHosts(c)
	if err != nil {
		return err
	}
	if err := n.openSecrets(); err != nil {
		return err
	}
	proxy, err := c.ProxyWay()
	if err != nil {
		return err
	}
	resolver, err := dns.New(dns.Options{Static: static, Policy: policy, Dial: n.opt.DialDNS, Remote: proxy.Resolves()})
	if err != nil {
		return err
	}
	transport, err := fetch.New(fetch.Options{UserAgent: c.UserAgent(n.opt.Version), Timeout: time.Duration(c.Timeout),
		ConnectTimeout: time.Duration(c.ConnectTimeout), MaxBody: int64(c.MaxBody), SpoolDir: n.dir.Path("state/spool"),
		Dial: n.opt.Dial, Proxy: proxy, Control: func(a netip.AddrPort) error { return policy.CheckAddr(a.Addr()) }})
	if err != nil {
		return err
	}
	n.closeLater(transport)
	n.parts.Policy, n.parts.Resolver, n.parts.Transport = policy, resolver, transport
	n.parts.Robots = robots.NewCache(robots.Options{Agent: config.Product, ErrorBackoff: time.Duration(c.Backoff)})
	return nil
}

// policyOptions: a seed on a private address allows that address, and a seed's port is allowed.
func (n *Node) policyOptions() dns.PolicyOptions {
	c := &n.opt.Config
	p := dns.PolicyOptions{AllowNets: c.Nets(), AllowPorts: slices.Clone(c.AllowPort)}
	for _, s := range n.seeds() {
		p.AllowPorts = append(p.AllowPorts, s.URL.Port())
		if a, ok := s.URL.Addr(); ok {
			p.AllowAddrs = append(p.AllowAddrs, a)
		} else if s.URL.Host() == "localhost" {
			p.AllowAddrs = append(p.AllowAddrs, netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback())
		}
	}
	return p
}

// seeds of all runs.
func (n *Node) seeds() []config.Seed {
	var seeds []config.Seed
	for _, text := range n.facts.Seeds {
		if s, err := config.ParseSeed(text); err == nil {
			seeds = append(seeds, s)
		}
	}
	return seeds
}

func staticHosts(c *config.Crawl) (map[string][]netip.Addr, error) {
	static := map[string][]netip.Addr{}
	for _, r := range c.Resolve {
		host, addr, err := config.ParseResolve(r)
		if err != nil {
			return nil, err
		}
		static[host] = append(static[host], addr)
	}
	return static, nil
}

func (n *Node) openQueues() error {
	c := &n.opt.Config
	n.hasher = weburl.NewHasher(n.facts.Secret, weburl.KeyRules{KeepSessionIDs: c.KeepSessionIDs, KeepTracking: c.KeepTracking})
	fo, err := n.frontierOptions()
	if err != nil {
		return err
	}
	f, err := frontier.Open(fo)
	if err != nil {
		return err
	}
	n.closeLater(f)
	sieve, err := urlseen.Open(urlseen.Options{DB: n.db, FS: n.opt.FS, Dir: n.dir.Path("state/seen"), Partitions: n.facts.Partitions,
		Memory: int64(c.Memory) / 4, RecentKeys: c.SeenRecent})
	if err != nil {
		return err
	}
	n.closeLater(sieve)
	policy, err := urlseen.ParsePolicy(c.SeenCache)
	if err != nil {
		return err
	}
	content, err := contentseen.Open(contentseen.Options{DB: n.db, Partitions: n.facts.Partitions, Near: nearMode(c.NearDuplicates)})
	if err != nil {
		return err
	}
	filter, err := urlfilter.New(n.filterOptions())
	if err != nil {
		return err
	}
	n.parts.DB, n.parts.Frontier, n.parts.Seen, n.parts.Content, n.parts.Filter = n.db, f, sieve, content, filter
	n.parts.Cache = urlseen.NewCache(urlseen.CacheOptions{Policy: policy})
	n.parts.Hasher, n.parts.Meter = n.hasher, new(meter.Crawl)
	return nil
}

func nearMode(s string) contentseen.Mode {
	switch s {
	case "skip":
		return contentseen.Skip
	case "off":
		return contentseen.Off
	}
	return contentseen.Record
}

func (n *Node) openOutputs() error {
	progress, err := crawler.ReadProgress(n.db)
	if err != nil {
		return err
	}
	for name, s := range map[string]**jobdir.Stream{jobdir.PagesName: &n.parts.Pages, jobdir.FetchesName: &n.parts.Fetches,
		jobdir.SkippedName: &n.parts.Skipped, jobdir.IndexPartName: &n.parts.Index, jobdir.LinksName: &n.parts.Links} {
		if name == jobdir.LinksName && !n.opt.Config.Has("links") {
			continue
		}
		if *s, err = n.dir.OpenStream(name, progress.Streams[name], progress.Sums[name]); err != nil {
			return err
		}
		n.closeLater(*s)
	}
	o := warc.WriterOptions{Dir: n.dir.Archive(), Prefix: "decorum", MaxFileSize: int64(n.opt.Config.WARCSize),
		Info: n.warcinfo(), Encoder: warc.EncoderOptions{Level: n.opt.Config.GzipLevel}}
	if n.opt.FS != nil {
		o.FS = store.Plain(n.opt.FS)
	}
	w, err := warc.OpenWriter(o, progress.Archive)
	if err != nil {
		return err
	}
	n.parts.Archive = w
	n.closeLater(w)
	return nil
}

// warcinfo describes the crawl in each archive file.
func (n *Node) warcinfo() warc.Info {
	c := &n.opt.Config
	host, _ := os.Hostname() // the field is left out when unknown
	info := warc.Info{Software: n.opt.tool(), Operator: c.Contact, Hostname: host, UserAgent: c.UserAgent(n.opt.Version), Robots: "obey",
		Description: fmt.Sprintf("scope %s, delay %v, factor %v", c.Scope, c.Delay, c.DelayFactor)}
	info.Extra = n.redactedInfo()
	for _, h := range c.IgnoreRobots {
		info.Extra = append(info.Extra, warc.Field{Name: "robots-ignored-host", Value: h})
	}
	return info
}
