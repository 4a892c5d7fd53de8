package node

import (
	"net/netip"
	"strings"
	"time"

	"decorum/internal/config"
	"decorum/internal/crawler"
	"decorum/internal/frontier"
	"decorum/internal/urlfilter"
	"decorum/internal/weburl"
)

// autoWorkers is how many requests may be under way when --concurrency is auto. Politeness keeps a host to one, so a crawl of few
// hosts uses few of them; an idle worker costs a few kilobytes.
const autoWorkers = 128

func (n *Node) workers() int {
	if c := n.opt.Config.Concurrency; c > 0 {
		return c
	}
	return autoWorkers
}

func (n *Node) frontierOptions() (frontier.Options, error) {
	c := &n.opt.Config
	backs, err := c.BackQueueCount()
	if err != nil {
		return frontier.Options{}, err
	}
	if backs == config.Times3 {
		backs = int(frontier.Times3)
	}
	prioritize, err := n.prioritizer()
	if err != nil {
		return frontier.Options{}, err
	}
	o := frontier.Options{DB: n.db, Hasher: n.hasher, Partitions: n.facts.Partitions, Floor: time.Duration(c.Delay), Factor: orNegative(c.DelayFactor),
		Fast: n.fast(), IPGap: orNegative(time.Duration(c.IPGap)), FastAddr: n.fastAddr, Fronts: c.FrontQueues, Backs: frontier.Backs(backs),
		Workers: n.workers(), Prioritize: prioritize, MaxPages: c.MaxPages, HostPages: c.HostPages, Retries: orNegative(c.Retries), HostBackoff: time.Duration(c.Backoff)}
	if c.Delay == 0 {
		o.Floor = time.Second // of hosts that are not local
	}
	if c.PoliteBy == "domain" {
		o.PoliteKey = weburl.URL.Domain
	}
	return o, nil
}

// orNegative maps an explicit zero to the "none" of options whose zero means default.
func orNegative[T int | float64 | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// fast hosts have neither floor nor factor: those named, and with --delay 0 those on local addresses.
func (n *Node) fast() func(host string) bool {
	named, local := config.Hosts(n.opt.Config.FastHost), n.opt.Config.Delay == 0
	return func(host string) bool { return named[host] || local && n.hosts.local(host) }
}

// fastAddr addresses have no rest of their own.
func (n *Node) fastAddr(a netip.Addr) bool {
	return n.opt.Config.Delay == 0 && n.parts.Policy.IsLocal(a)
}

// prioritizer puts the operator's rules before the default order.
func (n *Node) prioritizer() (func(*frontier.Item) uint8, error) {
	rules, err := n.opt.Config.LevelRules()
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	matcher, err := urlfilter.New(urlfilter.Options{})
	if err != nil {
		return nil, err
	}
	type rule struct {
		match func(weburl.URL) bool
		level uint8
	}
	var compiled []rule
	for _, r := range rules {
		match, err := matcher.WouldExclude(r.Pattern)
		if err != nil {
			return nil, &config.Error{Option: "--levels", Problem: err.Error()}
		}
		compiled = append(compiled, rule{match, r.Level})
	}
	return func(it *frontier.Item) uint8 {
		for _, r := range compiled {
			if r.match(it.URL) {
				return r.level
			}
		}
		return frontier.ByDepth(it)
	}, nil
}

func (n *Node) filterOptions() urlfilter.Options {
	c := &n.opt.Config
	scope, _ := urlfilter.ParseScope(c.Scope) // validated
	o := urlfilter.Options{Scope: scope, Include: c.Include, Exclude: c.Exclude, TLDInclude: c.IncludeTLD, TLDExclude: c.ExcludeTLD,
		Extensions: c.ExcludeExt, MaxDepth: c.Depth, MaxHops: c.Hops}
	for _, s := range n.seeds() {
		o.Seeds = append(o.Seeds, s.URL)
	}
	return o
}

func (n *Node) crawlerOptions() crawler.Options {
	c := &n.opt.Config
	return crawler.Options{Agent: config.Product, Workers: n.workers(), Retries: c.Retries, MaxBytes: uint64(c.MaxBytes), MaxBody: int64(c.MaxBody),
		GzipLevel: c.GzipLevel, Sitemaps: crawler.SitemapMode(c.Sitemaps), IgnoreRobots: n.ignoresRobots(), Headers: n.secrets.For, Redact: n.redacted(),
		Admit: n.admit, FollowNear: c.NearDuplicates != "skip", NearOff: c.NearDuplicates == "off", ObeyRel: c.RelNofollow,
		Seeds: n.facts.Seeds, Run: n.facts.Runs, Memory: int64(c.Memory) / 4, NoArchive: !c.Has("warc"), OnPage: n.opt.OnPage, OnFetch: n.opt.OnFetch, OnSkip: n.opt.OnSkip}
}

func (n *Node) ignoresRobots() func(string) bool {
	hosts := config.Hosts(n.opt.Config.IgnoreRobots)
	return func(host string) bool { return hosts[host] }
}

// isSitemapName tells a sitemap among the seeds by its name.
func isSitemapName(path string) bool {
	return strings.HasSuffix(path, ".xml") || strings.HasSuffix(path, ".xml.gz") || strings.HasSuffix(path, "sitemap.txt")
}
