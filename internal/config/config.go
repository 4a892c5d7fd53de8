// Package config turns flags, environment, files and defaults into the options of a crawl.
//
// A value comes from the first of: flag, environment (DECORUM_ and the flag's name in capitals), the file
// given with --config, the file decorum.toml in the crawl folder (the options the crawl was started with),
// default. Origin tells which. The effective options are stored in the crawl folder; on resume those that
// would change what the crawl is (Fixed) must not differ, all others may.
//
// A file holds numbers and durations as they are written on the command line; a bare number of a duration is seconds.
//
// The package knows values and their meaning together; how a flag looks on a command line is in the field tags, read by
// cmd/decorum.
package config

import (
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"decorum/internal/weburl"
)

// Crawl is every option of a crawl. Field tags are the command line: name, help, default.
type Crawl struct {
	Seeds    []string `arg:"" optional:"" name:"url" help:"Where to begin; - reads standard input, sitemap:URL reads a sitemap."`
	SeedFile []string `name:"seeds" short:"i" placeholder:"FILE" help:"File of seeds, one a line; # begins a comment."`
	Dir      string   `placeholder:"PATH" help:"Crawl folder: state and output (default ./<host>.crawl). The same command resumes."`
	Fresh    bool     `help:"Start over: remove what the folder holds."`

	Scope       string   `enum:"page,prefix,host,domain,any" default:"host" group:"What" help:"How far from the seeds: page, prefix, host, domain, any."`
	Include     []string `sep:"none" placeholder:"PATTERN" group:"What" help:"Only URLs that match: glob, re:regexp or @file."`
	Exclude     []string `sep:"none" placeholder:"PATTERN" group:"What" help:"Never URLs that match; wins over --include."`
	Depth       int      `short:"d" placeholder:"N" group:"What" help:"At most N links away from a seed (0: no limit)."`
	Hops        int      `placeholder:"N" group:"What" help:"Extra steps outside the scope."`
	Sitemaps    string   `enum:"auto,only,off" default:"auto" group:"What" help:"Sitemaps: auto, only, off."`
	ExcludeExt  []string `name:"exclude-ext" placeholder:"EXT" group:"What" help:"File name extensions to leave out, such as zip,iso."`
	IncludeTLD  []string `name:"include-tld" placeholder:"TLD" group:"What" help:"Only hosts under these top-level domains."`
	ExcludeTLD  []string `name:"exclude-tld" placeholder:"TLD" group:"What" help:"No host under these top-level domains."`
	RelNofollow bool     `name:"obey-rel-nofollow" group:"What" help:"Do not follow links marked rel=nofollow."`

	MaxPages       uint64   `short:"n" placeholder:"N" group:"Limits" help:"End after exactly N pages."`
	MaxTime        Duration `placeholder:"D" group:"Limits" help:"End after this time."`
	MaxBytes       Size     `placeholder:"SIZE" group:"Limits" help:"End before more than this is received."`
	HostPages      uint64   `default:"100000" placeholder:"N" group:"Limits" help:"Page budget of each host."`
	MaxBody        Size     `default:"10MiB" placeholder:"SIZE" group:"Limits" help:"Longest body, decoded; longer ones are cut and marked."`
	Retries        int      `default:"3" placeholder:"N" group:"Limits" help:"Further attempts after network errors, 429 and 5xx."`
	Timeout        Duration `short:"t" default:"30s" placeholder:"D" group:"Limits" help:"Wall clock of one exchange."`
	ConnectTimeout Duration `default:"10s" placeholder:"D" group:"Limits" help:"Time to connect."`

	Concurrency     int      `short:"c" placeholder:"N" group:"Manners" help:"Requests at once in all (0: as many as pay); per host it is always 1."`
	Delay           Duration `default:"1s" placeholder:"D" group:"Manners" help:"Least rest of a host between two requests. 0 lifts rest and factor for hosts on loopback and private networks."`
	DelayFactor     float64  `default:"10" placeholder:"K" group:"Manners" help:"Rest at least K times as long as the last request took."`
	IPGap           Duration `name:"ip-gap" default:"250ms" placeholder:"D" group:"Manners" help:"Least rest of an address that serves several hosts."`
	Backoff         Duration `default:"1m" placeholder:"D" group:"Manners" help:"Rest of a host after a failure; doubles with each."`
	FastHost        []string `placeholder:"HOST" group:"Manners" help:"Hosts you own: no rest beyond what they ask for; still one connection."`
	IgnoreRobots    []string `placeholder:"HOST" group:"Manners" help:"Hosts you own whose robots.txt is not consulted; recorded in the archive."`
	PoliteBy        string   `enum:"host,domain" default:"host" group:"Manners" help:"What is never contacted twice at once: host or domain."`
	Contact         string   `placeholder:"WHO" group:"Manners" help:"Mail address or URL that site owners can reach; required beyond 100 hosts or 50,000 pages."`
	UserAgentSuffix string   `placeholder:"TEXT" group:"Manners" help:"Added to the user agent."`

	AllowPort []uint16 `placeholder:"LIST" group:"Network" help:"Ports besides 80, 443 and those of the seeds."`
	AllowNet  []string `placeholder:"CIDR" group:"Network" help:"Networks that may be contacted though they are not public."`
	Resolve   []string `placeholder:"HOST:ADDR" group:"Network" help:"Use this address for the host (*.domain works too)."`
	Header    []string `short:"H" sep:"none" placeholder:"NAME:VALUE" group:"Network" help:"Header field sent to the hosts of the seeds, and nowhere else."`
	Auth      []string `sep:"none" placeholder:"USER:PASS@HOST" group:"Network" help:"User and password for one host, or HOST:PORT; sent nowhere else."`
	Cookies   string   `placeholder:"FILE" group:"Network" help:"Cookies in Netscape format, each sent where it belongs; those that sites set are not kept."`
	Proxy     string   `placeholder:"URL" group:"Network" help:"Way to all hosts: http:// (CONNECT), socks5:// or socks5h://[USER:PASS@]HOST:PORT. Only socks5 leaves names and the address policy to this program."`

	NearDuplicates string   `enum:"record,skip,off" default:"record" group:"Order and content" help:"Pages nearly the same as another of the host: record, skip (do not follow), off."`
	Levels         []string `sep:"none" placeholder:"PATTERN=LEVEL" group:"Order and content" help:"Priority rules; level 1 is fetched first."`
	FrontQueues    int      `default:"8" placeholder:"F" group:"Order and content" help:"Number of priority levels."`
	BackQueues     string   `default:"auto" placeholder:"N" group:"Order and content" help:"Hosts in hand: auto, 3x (three per worker; busy about 27 % of the time at factor 10), or a number."`
	KeepSessionIDs bool     `name:"keep-session-ids" group:"Order and content" help:"URLs that differ in a session id are different pages."`
	KeepTracking   bool     `name:"keep-tracking" group:"Order and content" help:"URLs that differ in utm_ parameters are different pages."`
	SeenCache      string   `default:"clock" group:"Order and content" placeholder:"POLICY" help:"Cache of popular URLs: clock, lru, random, static, infinite, off."`

	Out       []string `default:"warc,pages" enum:"warc,pages,links" placeholder:"LIST" group:"Output" help:"What to write: warc, pages, links."`
	OutFile   string   `name:"output" short:"o" placeholder:"FILE" group:"Output" help:"Stream page records here as well; - is standard output."`
	GzipLevel int      `default:"1" placeholder:"N" group:"Output" help:"Compression of the archive, 1 to 9."`
	Redact    bool     `name:"redact-auth" group:"Output" help:"Leave the values of Authorization, Cookie and -H out of archived requests."`
	WARCSize  Size     `name:"warc-size" default:"1GB" placeholder:"SIZE" group:"Output" help:"Begin a new archive file at this size."`

	MinFree Size   `default:"2GiB" placeholder:"SIZE" group:"Machine" help:"Pause while less disk is free."`
	Memory  Size   `default:"512MiB" placeholder:"SIZE" group:"Machine" help:"Memory budget."`
	Listen  string `default:"127.0.0.1:7070" placeholder:"ADDR" group:"Machine" help:"Live page and metrics; next free port if taken; off for none."`
	Token   string `placeholder:"TEXT" group:"Machine" help:"Secret for the live page; needed off loopback."`

	CheckpointEvery Duration `default:"4h" placeholder:"D" group:"Machine" help:"Make a checkpoint this often (0: never)."`
	Checkpoints     int      `default:"2" placeholder:"N" group:"Machine" help:"Keep this many checkpoints."`
	SeenRecent      int      `hidden:"" placeholder:"N" group:"Machine" help:"Known URLs in memory before they go to a file (0: what fits)."`

	Quiet     bool     `short:"q" group:"Screen" help:"Only problems and the summary."`
	Verbose   bool     `short:"v" group:"Screen" help:"A line for each page."`
	LogFormat string   `enum:"text,json" default:"text" group:"Screen" help:"text or json."`
	Progress  string   `enum:"auto,plain,off" default:"auto" group:"Screen" help:"Live block on a terminal, plain lines, or none."`
	DryRun    bool     `group:"Screen" help:"Read seeds and options, say what would happen, fetch nothing."`
	FailOn    []string `placeholder:"LIST" group:"Screen" help:"Outcomes that make the exit code 4, such as not_found,server_error."`
}

// Times3 is the value of BackQueueCount for the textbook's preset of three queues per worker.
const Times3 = -3

// BackQueueCount returns the number of back queues, 0 for adaptive, or Times3.
func (c *Crawl) BackQueueCount() (int, error) {
	switch c.BackQueues {
	case "", "auto":
		return 0, nil
	case "3x":
		return Times3, nil
	}
	n, err := strconv.Atoi(c.BackQueues)
	if err != nil || n < 1 {
		return 0, bad("--back-queues", "%q is not auto, 3x or a number", c.BackQueues)
	}
	return n, nil
}

// LevelRule gives URLs that match the pattern a priority level.
type LevelRule struct {
	Pattern string
	Level   uint8
}

// LevelRules returns the operator's priority rules in order.
func (c *Crawl) LevelRules() ([]LevelRule, error) {
	var rules []LevelRule
	for _, s := range c.Levels {
		i := strings.LastIndexByte(s, '=')
		if i < 1 {
			return nil, bad("--levels", "%q is not PATTERN=LEVEL", s)
		}
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n < 1 || n > c.FrontQueues {
			return nil, bad("--levels", "level %q of %q is not between 1 and %d", s[i+1:], s[:i], c.FrontQueues)
		}
		rules = append(rules, LevelRule{s[:i], uint8(n)})
	}
	return rules, nil
}

// ParseResolve reads HOST:ADDR.
func ParseResolve(s string) (host string, addr netip.Addr, err error) {
	host, a, ok := strings.Cut(s, ":")
	if ok && host != "" {
		if addr, err = netip.ParseAddr(strings.Trim(a, "[]")); err == nil {
			return strings.ToLower(host), addr, nil
		}
	}
	return "", netip.Addr{}, bad("--resolve", "%q is not HOST:ADDR, such as www.test:127.0.0.2", s)
}

// Nets returns --allow-net; a bare address is a network of one.
func (c *Crawl) Nets() []netip.Prefix {
	var nets []netip.Prefix
	for _, s := range c.AllowNet {
		if p, err := parseNet(s); err == nil {
			nets = append(nets, p)
		}
	}
	return nets
}

func parseNet(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

// Product is the name this program goes by in robots.txt (RFC 9309 §2.2.1).
const Product = "decorum"

// UserAgent returns what is sent as User-Agent.
func (c *Crawl) UserAgent(version string) string {
	ua := Product + "/" + version
	if c.Contact != "" {
		contact := c.Contact
		if strings.Contains(contact, "@") && !strings.Contains(contact, "://") {
			contact = strings.TrimPrefix(contact, "mailto:")
		}
		ua += " (+" + contact + ")"
	}
	if c.UserAgentSuffix != "" {
		ua += " " + c.UserAgentSuffix
	}
	return ua
}

// Has reports whether the output is wanted.
func (c *Crawl) Has(out string) bool { return slices.Contains(c.Out, out) }

// Hosts returns the names of a list of hosts as a URL has them: lower case and ASCII.
func Hosts(list []string) map[string]bool {
	hosts := map[string]bool{}
	for _, name := range list {
		if h, ok := parseHost(name); ok {
			hosts[h] = true
		}
	}
	return hosts
}

// parseHost reads a host name or address, and nothing more.
func parseHost(name string) (host string, ok bool) {
	u, err := weburl.Parse("http://" + name + "/")
	hasPort := strings.LastIndexByte(name, ':') > strings.LastIndexByte(name, ']')
	if err != nil || hasPort || strings.ContainsAny(name, "@/?#\\") {
		return "", false
	}
	return u.Host(), true
}

// env returns the environment variable of a flag.
func env(flag string) (string, bool) {
	return os.LookupEnv("DECORUM_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
}
