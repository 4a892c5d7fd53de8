package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"decorum/internal/config"
	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/inspect"
	"decorum/internal/weburl"
)

// fetchCmd is `decorum fetch`.
type fetchCmd struct {
	URL            string          `arg:"" help:"The page; https:// may be left out."`
	Text           bool            `help:"Print the text of the page with its tags, too."`
	JSON           bool            `help:"Print JSON."`
	Delay          config.Duration `default:"1s" placeholder:"D" help:"Least rest between robots.txt and the page; 0 is for loopback and private networks only."`
	Timeout        config.Duration `short:"t" default:"30s" placeholder:"D" help:"Wall clock of one exchange."`
	ConnectTimeout config.Duration `default:"10s" placeholder:"D" help:"Time to connect."`
	MaxBody        config.Size     `default:"10MiB" placeholder:"SIZE" help:"Longest body, decoded."`
	AllowPort      []uint16        `placeholder:"LIST" help:"Ports besides 80, 443 and that of the URL, for the robots.txt of another host."`
	AllowNet       []string        `placeholder:"CIDR" help:"Networks that may be contacted though they are not public."`
	Resolve        []string        `placeholder:"HOST:ADDR" help:"Use this address for the host."`
	Header         []string        `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Header field sent to the host of the URL, and to no other."`
	Auth           []string        `sep:"none" placeholder:"USER:PASS@HOST" help:"User and password for one host, or HOST:PORT; sent nowhere else."`
	Cookies        string          `placeholder:"FILE" help:"Cookies in Netscape format, each sent where it belongs."`
	Proxy          string          `placeholder:"URL" help:"Way to all hosts: http://, socks5:// or socks5h://[USER:PASS@]HOST:PORT."`
	Contact        string          `placeholder:"WHO" help:"Mail address or URL that site owners can reach, for the user agent."`
}

// Run fetches and shows the page.
func (f *fetchCmd) Run(e *env) error {
	seed, err := config.ParseSeed(f.URL)
	if err != nil {
		return &exitError{exitUsage, inspect.Clean(err.Error())}
	}
	o, err := f.options(e, seed.URL)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := inspect.Fetch(ctx, seed.URL.String(), o)
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, ""}
	case errors.Is(err, fetch.ErrProxyRefused):
		return &exitError{exitUsage, fetch.ProxyTrouble(err).Error()}
	case errors.Is(err, fetch.ErrProxyDown):
		return &exitError{exitState, fetch.ProxyTrouble(err).Error()}
	}
	if err != nil {
		return err
	}
	if f.JSON {
		err = r.WriteJSON(e.stdout)
	} else {
		err = r.WriteText(e.stdout, f.Text)
	}
	if err == nil && !r.OK() {
		return &exitError{exitSeedsFailed, inspect.Clean(strings.TrimSuffix("fetch: "+r.Outcome+": "+r.Detail, ": "))}
	}
	return err
}

// options checks the flags as those of a crawl and turns them into those of a single fetch.
func (f *fetchCmd) options(e *env, u weburl.URL) (inspect.FetchOptions, error) {
	c := config.Default()
	c.Delay, c.Timeout, c.ConnectTimeout, c.MaxBody = f.Delay, f.Timeout, f.ConnectTimeout, f.MaxBody
	c.AllowPort, c.AllowNet, c.Resolve, c.Header, c.Contact = f.AllowPort, f.AllowNet, f.Resolve, f.Header, f.Contact
	c.Auth, c.Cookies, c.Proxy = f.Auth, f.Cookies, f.Proxy
	if err := c.Validate(); err != nil {
		return inspect.FetchOptions{}, err
	}
	o := inspect.FetchOptions{UserAgent: c.UserAgent(version), Delay: time.Duration(c.Delay), Timeout: time.Duration(c.Timeout),
		ConnectTimeout: time.Duration(c.ConnectTimeout), MaxBody: int64(c.MaxBody), Static: map[string][]netip.Addr{},
		Policy: dns.PolicyOptions{AllowNets: c.Nets(), AllowPorts: c.AllowPort}}
	if c.Delay == 0 {
		o.Delay = -1
	}
	for _, r := range c.Resolve {
		host, addr, err := config.ParseResolve(r)
		if err != nil {
			return o, err
		}
		o.Static[host] = append(o.Static[host], addr)
	}
	secrets, err := c.Credentials([]weburl.URL{u})
	if err != nil {
		return o, err
	}
	o.Fields = secrets.For
	if o.Proxy, err = c.ProxyWay(); err != nil {
		return o, err
	}
	o.Resting = func(host string, d time.Duration, reason string) {
		if d > restWorthSaying {
			fmt.Fprintf(e.stderr, "resting %v before the next request to %s: %s (Ctrl-C ends)\n", d.Round(time.Second), inspect.Clean(host), reason)
		}
	}
	return o, nil
}

// restWorthSaying is how long one may stare at a terminal before asking whether it hangs.
const restWorthSaying = 1500 * time.Millisecond
