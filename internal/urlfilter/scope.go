package urlfilter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"decorum/internal/weburl"
)

// Scope says how far from its seeds a crawl goes.
type Scope uint8

// Scopes. http and https, all ports, and a host with and without www. are one host.
const (
	ScopeHost   Scope = iota // the hosts of the seeds; the default
	ScopePage                // the seeds, what they redirect to and what they embed, transitively
	ScopePrefix              // the directories of the seeds and all below
	ScopeDomain              // the registrable domains of the seeds (public suffix list)
	ScopeAny                 // everywhere
)

var scopeNames = [...]string{ScopeHost: "host", ScopePage: "page", ScopePrefix: "prefix", ScopeDomain: "domain", ScopeAny: "any"}

// String returns the text form that ParseScope reads.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return "unknown"
}

// ParseScope reads page, prefix, host, domain or any.
func ParseScope(text string) (Scope, error) {
	for s, name := range scopeNames {
		if name == text {
			return Scope(s), nil
		}
	}
	return 0, fmt.Errorf("scope %q: want page, prefix, host, domain or any", text)
}

// scope holds the seeds as keys: a host, a domain, a host with a directory, or a host with a page.
//
// Keys are in generations, each at least twice as large as the next and never changed, so that
// readers need no lock and n seeds added one by one cost n log n.
type scope struct {
	kind        Scope
	mu          sync.Mutex // one adder at a time
	generations atomic.Pointer[[]map[string]struct{}]
}

func newScope(kind Scope) *scope {
	s := &scope{kind: kind}
	s.generations.Store(new([]map[string]struct{}))
	return s
}

func (s *scope) add(seeds []weburl.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	youngest := map[string]struct{}{}
	for _, u := range seeds {
		if !u.IsZero() && !s.holds(u) {
			youngest[s.keyOf(u)] = struct{}{}
		}
	}
	if len(youngest) == 0 {
		return
	}
	generations := slices.Clone(*s.generations.Load())
	for n := len(generations); n > 0 && len(generations[n-1]) < 2*len(youngest); n-- {
		maps.Copy(youngest, generations[n-1])
		generations = generations[:n-1]
	}
	generations = append(generations, youngest)
	s.generations.Store(&generations)
}

func (s *scope) contains(l Link) bool {
	switch {
	case s.kind == ScopeAny, l.isSeed():
		return true
	case s.kind == ScopePage && (l.Embed || l.Redirect) && l.Hops == 0:
		return true // the page it comes from was itself within scope
	}
	return s.holds(l.URL)
}

// keyOf returns the key a seed is remembered by.
func (s *scope) keyOf(u weburl.URL) string {
	switch s.kind {
	case ScopeDomain:
		return u.Domain()
	case ScopePrefix:
		return siteOf(u) + u.Path()[:strings.LastIndexByte(u.Path(), '/')+1]
	case ScopePage:
		return siteOf(u) + u.RequestTarget()
	}
	return siteOf(u)
}

func (s *scope) holds(u weburl.URL) bool {
	generations := *s.generations.Load()
	var buf [256]byte
	switch s.kind {
	case ScopeHost:
		return hasKey(generations, siteOf(u))
	case ScopeDomain:
		return hasKey(generations, u.Domain())
	case ScopePage:
		return hasBytes(generations, append(append(buf[:0], siteOf(u)...), u.RequestTarget()...))
	case ScopePrefix:
		b, path := append(buf[:0], siteOf(u)...), u.Path()
		for from := 0; ; {
			slash := strings.IndexByte(path[from:], '/')
			if slash < 0 {
				return false
			}
			b = append(b, path[from:from+slash+1]...)
			if hasBytes(generations, b) {
				return true
			}
			from += slash + 1
		}
	}
	return true
}

func hasKey(generations []map[string]struct{}, key string) bool {
	for _, g := range generations {
		if _, ok := g[key]; ok {
			return true
		}
	}
	return false
}

func hasBytes(generations []map[string]struct{}, key []byte) bool {
	for _, g := range generations {
		if _, ok := g[string(key)]; ok {
			return true
		}
	}
	return false
}

// siteOf returns the host without www., which hardly ever is another site.
func siteOf(u weburl.URL) string {
	host := u.Host()
	if bare, ok := strings.CutPrefix(host, "www."); ok && strings.IndexByte(bare, '.') > 0 {
		return bare
	}
	return host
}
