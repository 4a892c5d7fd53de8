// Package config turns flags, environment, files and defaults into the options of a crawl.
//
// A value comes from the first of: flag, environment (DECORUM_ and the flag's name in capitals), the file
// given with --config, the file decorum.toml in the crawl folder (the options the crawl was started with),
// default. Origin tells which. The effective options are stored in the crawl folder; on resume those that
// would change what the crawl is (Fixed) must not differ, all others may.
//
// The package knows values and their meaning together; how a flag looks on a command line is in the field tags, read by
// cmd/decorum.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"decorum/internal/urlfilter"
	"decorum/internal/urlseen"
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
	WARCSize  Size     `name:"warc-size" default:"1GB" placeholder:"SIZE" group:"Output" help:"Begin a new archive file at this size."`

	MinFree Size   `default:"2GiB" placeholder:"SIZE" group:"Machine" help:"Pause while less disk is free."`
	Memory  Size   `default:"512MiB" placeholder:"SIZE" group:"Machine" help:"Memory budget."`
	Listen  string `default:"127.0.0.1:7070" placeholder:"ADDR" group:"Machine" help:"Live page and metrics; next free port if taken; off for none."`
	Token   string `placeholder:"TEXT" group:"Machine" help:"Secret for the live page; needed off loopback."`

	Quiet     bool     `short:"q" group:"Screen" help:"Only problems and the summary."`
	Verbose   bool     `short:"v" group:"Screen" help:"A line for each page."`
	LogFormat string   `enum:"text,json" default:"text" group:"Screen" help:"text or json."`
	Progress  string   `enum:"auto,plain,off" default:"auto" group:"Screen" help:"Live block on a terminal, plain lines, or none."`
	DryRun    bool     `group:"Screen" help:"Read seeds and options, say what would happen, fetch nothing."`
	FailOn    []string `placeholder:"LIST" group:"Screen" help:"Outcomes that make the exit code 4, such as not_found,server_error."`
}

// Error is a bad option: what is wrong and what to do about it.
type Error struct{ Option, Problem string }

func (e *Error) Error() string { return e.Option + ": " + e.Problem }

func bad(option, format string, args ...any) error {
	return &Error{option, fmt.Sprintf(format, args...)}
}

// placeholders are contact domains that reach nobody (RFC 2606, RFC 6761).
var placeholders = []string{"example.com", "example.org", "example.net", "example", "test", "invalid", "localhost"}

// Validate reports every bad option, one line each.
func (c *Crawl) Validate() error {
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	add(c.validateContact())
	add(c.validateQueues())
	add(c.validateNumbers())
	for _, n := range c.AllowNet {
		if _, err := parseNet(n); err != nil {
			add(bad("--allow-net", "%q is not a network; write 10.0.0.0/8 or an address", n))
		}
	}
	for _, r := range c.Resolve {
		if _, _, err := ParseResolve(r); err != nil {
			add(err)
		}
	}
	for _, h := range c.Header {
		if name, _, ok := strings.Cut(h, ":"); !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(h, "\r\n\x00") {
			add(bad("-H", "%q is not a header field; write 'Name: value'", name))
		}
	}
	if _, err := urlfilter.ParseScope(c.Scope); err != nil {
		add(bad("--scope", "%v", err))
	}
	if _, err := urlseen.ParsePolicy(c.SeenCache); err != nil {
		add(bad("--seen-cache", "%v", err))
	}
	if c.Listen != "off" {
		host, _, err := net.SplitHostPort(c.Listen)
		if err != nil {
			add(bad("--listen", "%q is not ADDR:PORT; write 127.0.0.1:7070, or off", c.Listen))
		} else if a, err := netip.ParseAddr(host); (err != nil || !a.IsLoopback()) && host != "localhost" && c.Token == "" {
			add(bad("--listen", "%s can be reached from outside; give --token as well", c.Listen))
		}
	}
	return errors.Join(errs...)
}

func (c *Crawl) validateContact() error {
	if c.Contact == "" {
		return nil
	}
	host := ""
	if u, err := url.Parse(c.Contact); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		host = u.Hostname()
	} else if a, err := mail.ParseAddress(strings.TrimPrefix(c.Contact, "mailto:")); err == nil {
		_, host, _ = strings.Cut(a.Address, "@")
	}
	host = strings.ToLower(host)
	if host == "" {
		return bad("--contact", "%q is neither a mail address nor a URL", c.Contact)
	}
	for _, p := range placeholders {
		if host == p || strings.HasSuffix(host, "."+p) {
			return bad("--contact", "%s is a placeholder that reaches nobody; give an address you read", c.Contact)
		}
	}
	return nil
}

func (c *Crawl) validateQueues() error {
	if _, err := c.BackQueueCount(); err != nil {
		return err
	}
	if c.FrontQueues < 1 || c.FrontQueues > 64 {
		return bad("--front-queues", "%d is not between 1 and 64", c.FrontQueues)
	}
	_, err := c.LevelRules()
	return err
}

func (c *Crawl) validateNumbers() error {
	for _, n := range []struct {
		name        string
		v, min, max int
	}{
		{"--depth", c.Depth, 0, 60000}, {"--hops", c.Hops, 0, 1000}, {"--concurrency", c.Concurrency, 0, 100000},
		{"--retries", c.Retries, 0, 100}, {"--gzip-level", c.GzipLevel, 1, 9},
	} {
		if n.v < n.min || n.v > n.max {
			return bad(n.name, "%d is not between %d and %d", n.v, n.min, n.max)
		}
	}
	if c.DelayFactor < 0 || c.DelayFactor > 1000 {
		return bad("--delay-factor", "%v is not between 0 and 1000", c.DelayFactor)
	}
	if c.Timeout <= 0 || c.ConnectTimeout <= 0 {
		return bad("--timeout", "must be longer than nothing")
	}
	if c.MaxBody < 1<<10 {
		return bad("--max-body", "%v is too small for any page; the least is 1KiB", c.MaxBody)
	}
	if c.Memory < 64<<20 {
		return bad("--memory", "%v is too small; the least is 64MiB", c.Memory)
	}
	return nil
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
func (c *Crawl) Has(out string) bool {
	for _, o := range c.Out {
		if o == out {
			return true
		}
	}
	return false
}

// env returns the environment variable of a flag.
func env(flag string) (string, bool) {
	return os.LookupEnv("DECORUM_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
}
