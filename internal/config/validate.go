package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"

	"decorum/internal/outcome"
	"decorum/internal/urlfilter"
	"decorum/internal/urlseen"
	"decorum/internal/weburl"
)

// Error is a bad option: what is wrong and what to do about it.
type Error struct{ Option, Problem string }

func (e *Error) Error() string { return e.Option + ": " + e.Problem }

func bad(option, format string, args ...any) error {
	return &Error{option, fmt.Sprintf(format, args...)}
}

// Validate reports every bad option, one line each. What passes here opens: a crawl folder is not touched for options
// that cannot work.
func (c *Crawl) Validate() error {
	return errors.Join(c.validateContact(), c.validateAgent(), c.validateQueues(), c.validateNumbers(), c.validateNetwork(), c.validateSecrets(),
		c.validatePatterns(), c.validateNames(), c.validateListen())
}

// placeholders are contact domains that reach nobody: reserved (RFC 2606, RFC 6761), or in our own hint.
var placeholders = []string{"example.com", "example.org", "example.net", "example", "test", "invalid", "localhost", "your.org"}

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
	if host == "" || !printable(c.Contact) {
		return bad("--contact", "%q is neither a mail address nor a URL", c.Contact)
	}
	for _, p := range placeholders {
		if host == p || strings.HasSuffix(host, "."+p) {
			return bad("--contact", "%s is a placeholder that reaches nobody; give an address you read", c.Contact)
		}
	}
	return nil
}

func (c *Crawl) validateAgent() error {
	if !printable(c.UserAgentSuffix) {
		return bad("--user-agent-suffix", "%q has characters other than printable ASCII", c.UserAgentSuffix)
	}
	return nil
}

// printable reports whether s can stand in a header field of any server's log.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// maxFronts is the limit of frontier.
const maxFronts = 32

func (c *Crawl) validateQueues() error {
	_, backs := c.BackQueueCount()
	if c.FrontQueues < 1 || c.FrontQueues > maxFronts {
		return errors.Join(backs, bad("--front-queues", "%d is not between 1 and %d", c.FrontQueues, maxFronts))
	}
	_, levels := c.LevelRules()
	return errors.Join(backs, levels)
}

func (c *Crawl) validateNumbers() error {
	var errs []error
	for _, n := range []struct {
		name        string
		v, min, max int
	}{
		{"--depth", c.Depth, 0, 60000}, {"--hops", c.Hops, 0, 1000}, {"--concurrency", c.Concurrency, 0, 100000},
		{"--retries", c.Retries, 0, 100}, {"--gzip-level", c.GzipLevel, 1, 9}, {"--checkpoints", c.Checkpoints, 1, 1000},
	} {
		if n.v < n.min || n.v > n.max {
			errs = append(errs, bad(n.name, "%d is not between %d and %d", n.v, n.min, n.max))
		}
	}
	if !(c.DelayFactor >= 0 && c.DelayFactor <= 1000) { // NaN fails too
		errs = append(errs, bad("--delay-factor", "%v is not between 0 and 1000", c.DelayFactor))
	}
	for _, d := range []struct {
		name string
		v    Duration
	}{{"--timeout", c.Timeout}, {"--connect-timeout", c.ConnectTimeout}, {"--backoff", c.Backoff}} {
		if d.v <= 0 {
			errs = append(errs, bad(d.name, "must be longer than nothing"))
		}
	}
	for _, s := range []struct {
		name   string
		v, min Size
	}{{"--max-body", c.MaxBody, 1 << 10}, {"--memory", c.Memory, 64 << 20}, {"--warc-size", c.WARCSize, 1 << 20}} {
		if s.v < s.min {
			errs = append(errs, bad(s.name, "%v is too small; the least is %v", s.v, s.min))
		}
	}
	return errors.Join(errs...)
}

func (c *Crawl) validateNetwork() error {
	var errs []error
	for _, n := range c.AllowNet {
		if _, err := parseNet(n); err != nil {
			errs = append(errs, bad("--allow-net", "%q is not a network; write 10.0.0.0/8 or an address", n))
		}
	}
	for _, r := range c.Resolve {
		if _, _, err := ParseResolve(r); err != nil {
			errs = append(errs, err)
		}
	}
	for _, list := range []struct {
		option string
		hosts  []string
	}{{"--fast-host", c.FastHost}, {"--ignore-robots", c.IgnoreRobots}} {
		for _, h := range list.hosts {
			if _, ok := parseHost(h); !ok {
				errs = append(errs, bad(list.option, "%q is not a host name; write it without scheme, port and path", h))
			}
		}
	}
	if c.PoliteBy == "domain" {
		for h := range Hosts(c.FastHost) {
			if u, err := weburl.Parse("http://" + h + "/"); err == nil && u.Domain() != h {
				errs = append(errs, bad("--fast-host", "%s shares its rest with all of %s because of --polite-by domain; name that", h, u.Domain()))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Crawl) validatePatterns() error {
	var errs []error
	for _, list := range []struct {
		option string
		filter urlfilter.Options
	}{{"--include", urlfilter.Options{Include: c.Include}}, {"--exclude", urlfilter.Options{Exclude: c.Exclude}}} {
		if _, err := urlfilter.New(list.filter); err != nil {
			errs = append(errs, bad(list.option, "%v", cause(err)))
		}
	}
	rules, _ := c.LevelRules() // reported by validateQueues
	for _, r := range rules {
		if _, err := urlfilter.New(urlfilter.Options{Exclude: []string{r.Pattern}}); err != nil {
			errs = append(errs, bad("--levels", "%v", cause(err)))
		}
	}
	return errors.Join(errs...)
}

// cause leaves out the two levels of context that urlfilter puts in front, "url filter: exclude: ": the option says as much.
func cause(err error) error {
	for range 2 {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
	}
	return err
}

// validateNames tests values that come from a list of names.
func (c *Crawl) validateNames() error {
	var errs []error
	if _, err := urlfilter.ParseScope(c.Scope); err != nil {
		errs = append(errs, bad("--scope", "%v", err))
	}
	if _, err := urlseen.ParsePolicy(c.SeenCache); err != nil {
		errs = append(errs, bad("--seen-cache", "%v", err))
	}
	for _, name := range c.FailOn {
		if o, ok := outcome.Parse(name); !ok || o == outcome.None {
			errs = append(errs, bad("--fail-on", "%q is no outcome; `decorum config print --outcomes` lists them", name))
		}
	}
	return errors.Join(errs...)
}

func (c *Crawl) validateListen() error {
	if c.Listen == "off" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return bad("--listen", "%q is not ADDR:PORT; write 127.0.0.1:7070, or off", c.Listen)
	}
	if a, err := netip.ParseAddr(host); (err != nil || !a.IsLoopback()) && host != "localhost" && c.Token == "" {
		return bad("--listen", "%s can be reached from outside; give --token as well", c.Listen)
	}
	return nil
}
