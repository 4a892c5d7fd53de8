package dns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"decorum/internal/outcome"
)

// Record is what the name servers said about a name, for the archive.
type Record struct {
	Time   time.Time      // when they were asked
	Server netip.AddrPort // the one that answered last
	Lines  []string       // resource records in master file form: "name. TTL IN A address"
}

// Text returns the record as a text/dns body (RFC 4027): the time as YYYYMMDDhhmmss, in UTC, then a line
// for each resource record.
func (r *Record) Text() string {
	var b strings.Builder
	b.WriteString(r.Time.UTC().Format("20060102150405\n"))
	for _, l := range r.Lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String()
}

// family is what is known of the addresses of one kind. One of found, absent and failed holds; nxdomain
// only if absent.
type family struct {
	addrs    []netip.Addr
	absent   bool
	nxdomain bool // the name has no record of any kind
	failed   string
	name     string // with the addresses
	ttl      time.Duration
	lines    []string
	server   netip.AddrPort
}

// resolve asks for both kinds of addresses at once.
func (r *Resolver) resolve(ctx context.Context, name string) Answer {
	start := time.Now()
	six := make(chan family, 1)
	go func() { six <- r.family(ctx, name, dnsmessage.TypeAAAA) }() // joined below
	v4 := r.family(ctx, name, dnsmessage.TypeA)
	v6 := <-six
	a := r.merge(name, v4, v6)
	a.RTT = time.Since(start)
	a.Raw = &Record{Time: start, Server: v4.server, Lines: mergeLines(v4.lines, v6.lines)}
	if !v4.server.IsValid() {
		a.Raw.Server = v6.server
	}
	return a
}

// merge makes one answer of the two families.
func (r *Resolver) merge(name string, v4, v6 family) Answer {
	addrs := slices.Concat(v4.addrs, v6.addrs)
	failed := v4.failed
	if failed == "" {
		failed = v6.failed
	}
	switch {
	case len(addrs) > 0:
		return r.found(name, addrs, v4, v6)
	case v4.nxdomain || v6.nxdomain:
		return r.absent(fmt.Sprintf("no such name: %s", name), v4, v6)
	case failed != "":
		return Answer{Outcome: outcome.DNSFailure, Detail: failed}
	}
	return r.absent(fmt.Sprintf("the name exists, but has no address: %s", name), v4, v6)
}

func (r *Resolver) found(name string, addrs []netip.Addr, families ...family) Answer {
	a := r.permit(addrs)
	a.TTL = r.options.MaxTTL
	for _, f := range families {
		if len(f.addrs) > 0 {
			a.TTL = min(a.TTL, f.ttl)
			if a.CNAME == "" && f.name != name {
				a.CNAME = f.name
			}
		}
		if f.failed != "" { // half an answer is to be completed soon
			a.TTL = min(a.TTL, r.options.MinTTL)
		}
	}
	a.TTL = max(a.TTL, r.options.MinTTL)
	return a
}

func (r *Resolver) absent(detail string, families ...family) Answer {
	a := Answer{Outcome: outcome.DNSNotFound, Detail: detail, TTL: r.options.NegativeTTL}
	for _, f := range families {
		if f.absent {
			a.TTL = min(a.TTL, f.ttl)
		}
	}
	a.TTL = max(a.TTL, min(r.options.MinTTL, r.options.NegativeTTL))
	return a
}

// mergeLines puts the aliases, which both families have, once.
func mergeLines(a, b []string) []string {
	lines := slices.Clone(a)
	for _, l := range b {
		if !slices.Contains(a, l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// family finds the addresses of one kind. A server may leave an alias to be asked for; all aliases
// together are limited.
func (r *Resolver) family(ctx context.Context, name string, kind dnsmessage.Type) family {
	f := family{name: name, ttl: seconds(maxTTL)}
	for range maxAliases {
		rep, server, err := r.ask(ctx, f.name, kind)
		f.server = server
		if err != nil {
			f.failed = err.Error()
			return f
		}
		f.lines = append(f.lines, rep.lines...)
		asked := f.name
		f.name, f.ttl = rep.name, min(f.ttl, rep.ttl)
		switch {
		case rep.loop:
			f.failed = fmt.Sprintf("%s: the aliases of the name have no end", name)
			return f
		case len(rep.addrs) > 0:
			f.addrs = rep.addrs
			return f
		case rep.code == dnsmessage.RCodeNameError || rep.soa || rep.name == asked:
			return f.without(rep)
		}
	}
	f.failed = fmt.Sprintf("%s: the aliases of the name have no end", name)
	return f
}

// without ends a family that has no addresses.
func (f family) without(rep reply) family {
	f.absent, f.nxdomain = true, rep.code == dnsmessage.RCodeNameError
	f.ttl = min(f.ttl, rep.absence) // zero without SOA: not to be kept, RFC 2308 §5, so MinTTL
	return f
}
