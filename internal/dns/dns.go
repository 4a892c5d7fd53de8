// Package dns finds the addresses of host names, and says which may be contacted.
//
// A Resolver is a stub: it asks the recursive name servers of the system, or those named, over UDP and,
// when an answer does not fit, TCP. It keeps what it learns as long as the answers say, within limits. A
// Policy keeps the crawler on the public internet.
//
// # Invariants
//
//   - An address leaves Lookup only if the policy allows it; so a name that turns to a private address
//     (DNS rebinding) yields AddressRefused. Whoever dials uses these addresses and no other.
//   - No answer is used longer than its TTL, clamped to MinTTL and MaxTTL; no absence longer than the SOA
//     says (RFC 2308 §5), clamped to NegativeTTL; a failure rests FailureTTL, doubling with each.
//   - A name is asked for once at a time, whoever waits for it. When nobody waits any more, it ends.
//   - A reply counts only with the random id, from the port and for the question it was asked for (RFC 5452).
//   - The addresses of a name come in the same order whatever the order in the reply, so that pacing by
//     address sees one address where there is one.
//   - Bytes from the network never panic. Records, aliases and datagrams looked at per reply are limited.
//
// A Resolver is safe for concurrent use. Names are absolute: there is no search list, no mDNS, no DNSSEC
// validation and no DNS over HTTPS. What the web's servers did wrong is an outcome in the Answer; an error
// is only the end of the caller's context.
package dns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"decorum/internal/outcome"
)

// Answer is what is known of a host name. Its slices and Raw are shared: read only.
type Answer struct {
	Addrs   []netip.Addr    // that the policy allows, IPv4 first, in ascending order
	Remote  bool            // there are no Addrs, the proxy finds them (Options.Remote)
	Outcome outcome.Outcome // None with Addrs or Remote; else DNSNotFound, DNSFailure or AddressRefused
	Detail  string          // for a person: why there are no addresses
	TTL     time.Duration   // what is left of the time the answer may be used
	Cached  bool            // no name server was asked for this call
	CNAME   string          // the name that has the addresses, if it is another
	RTT     time.Duration   // time it took to ask; of the original question if Cached
	Raw     *Record         // what the name servers said; nil if none was asked
}

// Stats counts what a resolver did since it was opened.
type Stats struct {
	Lookups  uint64 // calls of Lookup
	Hits     uint64 // of these, answered without asking: cache, overrides, literals
	Queries  uint64 // questions sent to name servers, each attempt and each transport
	Failures uint64 // names that ended with DNSFailure
	Entries  int    // names held now
}

// Resolver finds addresses. Make it with New.
type Resolver struct {
	options   Options
	overrides overrides
	slots     chan struct{} // one per name being asked for
	preferred atomic.Uint32 // index of the server to ask first

	lookups, hits, queries, failures atomic.Uint64

	mu      sync.Mutex
	cache   *cache
	flights map[string]*flight
}

// flight is a name being asked for. waiting is guarded by the mutex of the resolver; answer is written
// before done is closed.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	answer  Answer
}

// New returns a resolver. It reads the servers from /etc/resolv.conf if none are named, and the hosts file.
func New(o Options) (*Resolver, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	overrides, err := newOverrides(o.Static, o.HostsFile)
	if err != nil {
		return nil, err
	}
	return &Resolver{
		options:   o,
		overrides: overrides,
		slots:     make(chan struct{}, o.MaxConcurrent),
		cache:     newCache(o.MaxEntries),
		flights:   make(map[string]*flight),
	}, nil
}

// Lookup returns the addresses of host: a name as in weburl.URL.Host, or an address, in brackets if IPv6.
// It waits for the name servers, at most about Timeout x Attempts x servers, or until ctx is done, which is
// the only error.
func (r *Resolver) Lookup(ctx context.Context, host string) (Answer, error) {
	r.lookups.Add(1)
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if a, ok := r.local(name); ok {
		r.hits.Add(1)
		return a, nil
	}
	if r.options.Remote {
		return Answer{Remote: true, Cached: true, TTL: r.options.MaxTTL}, nil
	}
	r.mu.Lock()
	if a, ok := r.cache.fresh(name, time.Now()); ok {
		r.mu.Unlock()
		r.hits.Add(1)
		return a, nil
	}
	f := r.join(ctx, name)
	r.mu.Unlock()
	select {
	case <-f.done:
		return f.answer, nil
	case <-ctx.Done():
		r.leave(name, f)
		return Answer{}, fmt.Errorf("lookup %s: %w", host, context.Cause(ctx))
	}
}

// local answers what no name server need be asked for.
func (r *Resolver) local(name string) (Answer, bool) {
	if addr, ok := literal(name); ok {
		return r.known(addr), true
	}
	if addrs, ok := r.overrides.find(name); ok {
		return r.known(addrs...), true
	}
	if problem := checkName(name); problem != "" {
		return Answer{Outcome: outcome.DNSNotFound, Detail: problem, Cached: true}, true
	}
	return Answer{}, false
}

// known is the answer with addresses that need not be asked for and do not expire.
func (r *Resolver) known(addrs ...netip.Addr) Answer {
	a := r.permit(addrs)
	a.Cached, a.TTL = true, r.options.MaxTTL
	return a
}

// literal reads a host that is an address.
func literal(name string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	last := len(name) - 1
	if last < 0 || (name[last] < '0' || name[last] > '9') && !strings.Contains(name, ":") {
		return netip.Addr{}, false // quick: an address has a digit at the end, or colons
	}
	addr, err := netip.ParseAddr(name)
	return addr, err == nil
}

// permit puts the addresses in order and drops those the policy refuses.
func (r *Resolver) permit(addrs []netip.Addr) Answer {
	var a Answer
	for _, addr := range addrs {
		addr = addr.Unmap()
		if err := r.options.Policy.CheckAddr(addr); err != nil {
			a.Detail = err.Error()
			continue
		}
		a.Addrs = append(a.Addrs, addr)
	}
	if len(a.Addrs) == 0 {
		a.Outcome = outcome.AddressRefused
		return a
	}
	a.Detail = ""
	slices.SortFunc(a.Addrs, netip.Addr.Compare) // IPv4 sorts before IPv6
	a.Addrs = slices.Compact(a.Addrs)
	return a
}

// join makes the caller wait for name, which it starts to ask for unless that is under way. The mutex is
// held. The flight is not bound to the caller's context: others may come to wait for it.
func (r *Resolver) join(ctx context.Context, name string) *flight {
	f := r.flights[name]
	if f == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{done: make(chan struct{}), cancel: cancel}
		r.flights[name] = f
		go r.fly(ctx, name, f)
	}
	f.waiting++
	return f
}

// leave ends the flight if the caller was the last to wait for it.
func (r *Resolver) leave(name string, f *flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return
	}
	f.cancel()
	if r.flights[name] == f {
		delete(r.flights, name) // who comes now begins anew
	}
}

// fly asks for name, keeps the answer and wakes who waits. The goroutine ends with the answer, or when
// nobody waits any more.
func (r *Resolver) fly(ctx context.Context, name string, f *flight) {
	defer f.cancel()
	select {
	case r.slots <- struct{}{}:
		f.answer = r.resolve(ctx, name)
		<-r.slots
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil {
		r.keep(name, &f.answer)
	}
	if r.flights[name] == f {
		delete(r.flights, name)
	}
	close(f.done)
}

// keep caches an answer. The mutex is held.
func (r *Resolver) keep(name string, a *Answer) {
	failures := 0
	if a.Outcome == outcome.DNSFailure {
		r.failures.Add(1)
		failures = r.cache.failures(name) + 1
		a.TTL = outcome.Backoff(failures, r.options.FailureTTL, r.options.FailureTTLMax)
	}
	r.cache.put(name, *a, time.Now().Add(a.TTL), failures)
}

// Stats returns the counters.
func (r *Resolver) Stats() Stats {
	r.mu.Lock()
	entries := r.cache.len()
	r.mu.Unlock()
	return Stats{
		Lookups: r.lookups.Load(), Hits: r.hits.Load(), Queries: r.queries.Load(),
		Failures: r.failures.Load(), Entries: entries,
	}
}
