package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/outcome"
	"decorum/internal/robots"
	"decorum/internal/weburl"
)

// FetchOptions configure Fetch. A zero field takes its default.
type FetchOptions struct {
	UserAgent string        // default "decorum"
	Delay     time.Duration // least rest of a host between two contacts; default 1 s; negative: none on local addresses
	Factor    float64       // rest in durations of the last contact; default 10

	Timeout        time.Duration // of a whole exchange; default that of package fetch, 30 s
	ConnectTimeout time.Duration // default that of package fetch, 10 s
	MaxBody        int64         // decoded bytes; default that of package fetch, 10 MiB

	Fields func(weburl.URL) []fetch.Field // that a request carries besides the usual; nil: none
	Proxy  fetch.Proxy                    // way to all hosts; default none

	Policy dns.PolicyOptions       // the URL's own port and literal address are added
	Static map[string][]netip.Addr // names fixed by the operator

	// Resting is told before each rest how long it is and what for. Default: nobody.
	Resting func(host string, d time.Duration, reason string)

	// The outside world; nil means the real one.
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	DialDNS func(ctx context.Context, network, addr string) (net.Conn, error)
}

// EnsureDefaults fills zero fields.
func (o *FetchOptions) EnsureDefaults() {
	if o.Delay == 0 {
		o.Delay = time.Second
	}
	if o.Factor == 0 {
		o.Factor = 10
	}
	if o.Fields == nil {
		o.Fields = func(weburl.URL) []fetch.Field { return nil }
	}
	if o.Resting == nil {
		o.Resting = func(string, time.Duration, string) {}
	}
}

// Validate reports the first option that cannot work.
func (o *FetchOptions) Validate() error {
	if o.Factor < 0 || o.MaxBody < 0 || o.Timeout < 0 || o.ConnectTimeout < 0 {
		return errors.New("fetch: a limit is negative")
	}
	return nil
}

// maxRobotsContacts bounds the contacts for one robots.txt: the first and five redirects, and one to spare.
const maxRobotsContacts = 7

// keepFor is how long a connection is kept for the next contact.
const keepFor = 15 * time.Second

// Fetch looks at one page as a crawl would: robots.txt first, then a rest, then the page, each host on one connection and
// every address subject to the policy. Redirects of the page are shown, not followed. What the web did wrong is
// in the report; an error is ours, or a URL that is none.
func Fetch(ctx context.Context, raw string, o FetchOptions) (*FetchReport, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", Clean(clip(raw, 200)), err)
	}
	g, err := newGuest(u, o)
	if err != nil {
		return nil, err
	}
	defer g.transport.Close()
	r := &FetchReport{URL: u.String(), Key: u.Key(weburl.KeyRules{}), Robots: RobotsReport{URL: u.Origin() + robots.Path}}
	if err := g.see(ctx, u, r); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", u, err)
	}
	return r, nil
}

// guest visits hosts politely, one after the other.
type guest struct {
	o         FetchOptions
	home      string // host of the URL asked for
	policy    *dns.Policy
	resolver  *dns.Resolver
	transport *fetch.Transport
	rules     *robots.Cache
	hosts     map[string]*manners
}

// manners is what is owed to a host.
type manners struct {
	end    time.Time // of the last contact
	rest   time.Duration
	reason string
}

func newGuest(u weburl.URL, o FetchOptions) (*guest, error) {
	g := &guest{o: o, home: u.Host(), policy: ownPolicy(u, o.Policy), hosts: map[string]*manners{},
		rules: robots.NewCache(robots.Options{Agent: Agent})}
	var err error
	if g.resolver, err = dns.New(dns.Options{Static: o.Static, Policy: g.policy, Dial: o.DialDNS, Remote: o.Proxy.Resolves()}); err != nil {
		return nil, err
	}
	g.transport, err = fetch.New(fetch.Options{UserAgent: o.UserAgent, Timeout: o.Timeout, ConnectTimeout: o.ConnectTimeout, MaxBody: o.MaxBody,
		Dial: o.Dial, Proxy: o.Proxy, Control: func(a netip.AddrPort) error { return g.policy.CheckAddr(a.Addr()) }})
	return g, err
}

// ownPolicy allows the port of the URL, and its address when it is a literal: the user wrote them.
func ownPolicy(u weburl.URL, p dns.PolicyOptions) *dns.Policy {
	p.AllowPorts = append([]uint16{u.Port()}, p.AllowPorts...)
	if a, ok := u.Addr(); ok {
		p.AllowAddrs = append([]netip.Addr{a}, p.AllowAddrs...)
	} else if u.Host() == "localhost" {
		p.AllowAddrs = append([]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}, p.AllowAddrs...)
	}
	return dns.NewPolicy(p)
}

// see fills in the report.
func (g *guest) see(ctx context.Context, u weburl.URL, r *FetchReport) error {
	allowed, err := g.permission(ctx, u, r)
	if err != nil || !allowed {
		return err
	}
	x, err := g.contact(ctx, u, 0, r)
	if err != nil || x == nil {
		return err
	}
	defer x.Close()
	return r.describe(x, u)
}

// permission asks robots.txt, fetching it as often as its redirects want.
func (g *guest) permission(ctx context.Context, u weburl.URL, r *FetchReport) (bool, error) {
	for range maxRobotsContacts {
		a := g.rules.Lookup(u, time.Now())
		switch a.Action {
		case robots.Use:
			return r.judge(u, a), nil
		case robots.Defer:
			r.refuse(outcome.RobotsDefer, a.Reason+": a crawl would try again later, and fetch nothing until then")
			r.Robots.Reason = a.Reason
			return false, nil
		}
		x, err := g.contact(ctx, a.Target, robots.MaxBytes, r)
		if err != nil {
			return false, err
		}
		if x == nil && a.Target.Host() == u.Host() {
			return false, nil // the host has no address: the report says why
		}
		if err := g.learn(u, a.Target, x, r); err != nil {
			return false, err
		}
	}
	r.refuse(outcome.RobotsDefer, "robots.txt redirects without end")
	return false, nil
}

// learn takes in one answer for the robots.txt of u; nil is no answer.
func (g *guest) learn(u, target weburl.URL, x *fetch.Exchange, r *FetchReport) error {
	if x == nil {
		g.rules.Response(u.Origin(), 0, nil, weburl.URL{}, 0, time.Now())
		r.Robots.Contacts = append(r.Robots.Contacts, RobotsContact{URL: target.String(), Outcome: r.Outcome})
		r.Outcome, r.Detail = "", ""
		return nil
	}
	defer x.Close()
	status, body := x.Status, []byte(nil)
	if x.Outcome.Class() == outcome.ClassFailed {
		status = 0
	} else {
		var err error
		if body, err = exchangeBody(x); err != nil {
			return err
		}
	}
	a := g.rules.Response(u.Origin(), status, body, x.Location, x.RetryAfter, x.End)
	r.Robots.Contacts = append(r.Robots.Contacts, RobotsContact{URL: target.String(), Outcome: x.Outcome.String(), Status: x.Status,
		Location: x.Location.String(), TotalMS: x.Total.Milliseconds()})
	if a.Action != robots.Use {
		return nil
	}
	if delay, ok := a.Rules.Delay(); ok {
		r.Robots.CrawlDelayMS = delay.Milliseconds()
		g.owe(u.Host(), delay, "Crawl-delay in robots.txt")
	}
	return nil
}

// owe lengthens the rest that a host is owed.
func (g *guest) owe(host string, d time.Duration, reason string) {
	if m := g.hosts[host]; m != nil && d > m.rest {
		m.rest, m.reason = d, reason
	}
}

// contact makes one contact after the rest that the host is owed. A nil exchange means that there was none, by
// policy or for want of an address; the report says so.
func (g *guest) contact(ctx context.Context, u weburl.URL, maxBody int64, r *FetchReport) (*fetch.Exchange, error) {
	if err := g.policy.CheckPort(u.Port()); err != nil {
		r.refuse(outcome.PortRefused, err.Error())
		return nil, nil
	}
	began := time.Now()
	a, err := g.resolver.Lookup(ctx, u.Host())
	if err != nil {
		return nil, err
	}
	if u.Host() == g.home && r.DNS == nil {
		r.DNS = dnsReport(a, time.Since(began))
	}
	if a.Outcome != outcome.None {
		r.refuse(a.Outcome, a.Detail)
		return nil, nil
	}
	if err := g.rest(ctx, u.Host(), r); err != nil {
		return nil, err
	}
	var addr netip.Addr // zero: the proxy finds it
	if !a.Remote {
		addr = a.Addrs[0]
	}
	x, err := g.transport.Do(ctx, &fetch.Request{URL: u, Addr: netip.AddrPortFrom(addr, u.Port()), Header: g.o.Fields(u), MaxBody: maxBody, KeepFor: keepFor})
	if err == nil {
		g.after(u.Host(), addr, x)
	}
	return x, err
}

// after notes what a host is owed after an exchange: the longest of the rests that apply (DESIGN, frontier).
func (g *guest) after(host string, addr netip.Addr, x *fetch.Exchange) {
	m := &manners{end: x.End}
	g.hosts[host] = m
	floor := g.o.Delay
	if floor < 0 && !g.policy.IsLocal(addr) {
		floor = time.Second
	}
	if floor >= 0 {
		g.owe(host, floor, "least delay")
		g.owe(host, time.Duration(g.o.Factor*float64(x.Total)), fmt.Sprintf("%g times the last request", g.o.Factor))
	}
	g.owe(host, x.RetryAfter, "Retry-After")
}

// rest waits until a host may be contacted.
func (g *guest) rest(ctx context.Context, host string, r *FetchReport) error {
	m := g.hosts[host]
	if m == nil {
		return nil
	}
	d := time.Until(m.end.Add(m.rest))
	if d <= 0 {
		return nil
	}
	g.o.Resting(host, d, m.reason)
	r.RestedMS, r.RestReason = r.RestedMS+d.Milliseconds(), m.reason
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
