// Package urlfilter decides which discovered links the crawl wants: scope, include and exclude
// rules, limits, and traps.
package urlfilter

import (
	"fmt"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Link is what the filter needs to know of a candidate.
type Link struct {
	URL      weburl.URL
	Depth    int  // links followed from the seed: a seed has 0
	Hops     int  // of these, steps already spent outside the scope
	Redirect bool // the target of a redirect
	Embed    bool // needed to show a page: image, frame, style
	Sitemap  bool // found in a sitemap
}

// Verdict is the answer of Check. Outcome None means pass; any other is the reason the link is
// dropped, and Rule is the option or pattern that decided, in words for a person.
type Verdict struct {
	Outcome outcome.Outcome
	Rule    string
	Hop     bool // passes only by spending one of MaxHops outside the scope
}

// Scope says how far from its seeds a crawl goes.
type Scope uint8

// Scopes, from the narrowest to the widest. http and https, with and without www., are one host.
const (
	ScopeHost   Scope = iota // the hosts of the seeds; the default
	ScopePage                // the seeds, what they redirect to and what they embed
	ScopePrefix              // the directories of the seeds and all below
	ScopeDomain              // the registrable domains of the seeds
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

// Options of a Filter. Zero fields mean the default.
type Options struct {
	Scope      Scope        // default ScopeHost
	Seeds      []weburl.URL // what the scope is relative to
	Include    []string     // patterns; when there is one, a link must match one of them
	Exclude    []string     // patterns; exclude wins over include
	TLDInclude []string     // top level domains, such as "org"; when there is one, a host must be in it
	TLDExclude []string     // top level domains to leave out
	Extensions []string     // file name extensions to leave out, such as "iso"
	MaxDepth   int          // links from the seed; 0 = unlimited
	MaxHops    int          // extra steps outside the scope; 0 = none
	Traps      Traps
}

// Traps are the limits that end endless sites. Zero is the default, a negative number turns a test off.
type Traps struct {
	RepeatedSegments int // drop a path that has one segment this many times
	PathDepth        int // drop a path with more segments than this
	QueryOrders      int // orders of the same parameters that pass
	PatternVisits    int // visits without new content in a row that stop a URL pattern
}

// RuleCount is how many links one rule dropped.
type RuleCount struct {
	Outcome outcome.Outcome
	Rule    string
	Links   uint64
}

// Filter answers for each link whether the crawl wants it. Safe for concurrent use.
type Filter struct{ opts Options }

// New returns a filter, or an error that names the bad pattern.
func New(opts Options) (*Filter, error) { return &Filter{opts: opts}, nil }

// Check returns the verdict on a link.
func (f *Filter) Check(l Link) Verdict { return Verdict{} }

// Counts returns the links dropped per rule; their sum is the number of links dropped.
func (f *Filter) Counts() []RuleCount { return nil }

// Observe tells the filter after a visit whether the URL brought new content.
func (f *Filter) Observe(u weburl.URL, novel bool) {}

// AddSeeds widens the scope of a running crawl.
func (f *Filter) AddSeeds(seeds []weburl.URL) {}

// AddExclude adds an exclude pattern to a running crawl.
func (f *Filter) AddExclude(pattern string) error { return nil }

// WouldExclude returns a test that tells which URLs AddExclude(pattern) would drop.
func (f *Filter) WouldExclude(pattern string) (func(weburl.URL) bool, error) {
	return func(weburl.URL) bool { return false }, nil
}
