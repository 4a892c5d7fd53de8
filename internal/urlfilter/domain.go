package urlfilter

import (
	"hash/maphash"

	"decorum/internal/weburl"
)

// maxDomains and maxHosts bound the registrable domains with sub-domains that are remembered, and their hosts: about
// 20 bytes each. When either is reached domains are forgotten, and begin anew.
const (
	maxDomains = 1 << 16
	maxHosts   = 1 << 21
)

// barrenHost is what a host counts that brought nothing new, against one for others.
const barrenHost = 10

// subdomains are the hosts below one registrable domain that passed. It is guarded by the lock of its place in the cache.
type subdomains struct {
	hosts map[uint64]hostYield
	count int // what they count together
}

// hostYield is what the visits of a host brought.
type hostYield uint8

const (
	unvisited hostYield = iota
	barren
	fruitful
)

func (y hostYield) counts() int {
	if y == barren {
		return barrenHost
	}
	return 1
}

// newHost reports whether the host of u may pass: it did before, or the domain has room for it, or it is free.
func (t *traps) newHost(u weburl.URL, domain string, free bool) (pass bool) {
	limit, host, added := t.opts.DomainHosts, maphash.String(t.seed, u.Host()), false
	t.domains.update(maphash.String(t.seed, domain), func(d *subdomains) *subdomains {
		if d == nil {
			d = &subdomains{hosts: map[uint64]hostYield{}}
		}
		_, known := d.hosts[host]
		added = !known && (free || d.count < limit)
		switch {
		case added && free:
			d.hosts[host] = fruitful // and stays it
		case added:
			d.hosts[host], d.count = unvisited, d.count+1
		}
		pass = known || added
		return d
	})
	if added && t.hosts.Add(1) >= maxHosts {
		t.hosts.Store(0)
		t.domains.forget()
	}
	return pass
}

// observeHost counts a host by what its visits brought.
func (t *traps) observeHost(u weburl.URL, domain string, novel bool) {
	host := maphash.String(t.seed, u.Host())
	t.domains.update(maphash.String(t.seed, domain), func(d *subdomains) *subdomains {
		if d == nil {
			return nil
		}
		before, known := d.hosts[host]
		after := barren
		if novel || before == fruitful {
			after = fruitful
		}
		if known && after != before {
			d.hosts[host] = after
			d.count += after.counts() - before.counts()
		}
		return d
	})
}
