// Package urlfilter decides which discovered links the crawl wants: scope, limits, include and exclude
// rules, and traps (sites that never end).
//
// A link passes a fixed order of tests, and the first that refuses it decides: depth, scope, top level
// domain, file name extension, exclude, include, then the traps. What is refused is counted once,
// under the rule that decided, so that the sum of Counts is the number of links dropped.
// A seed, a link of depth 0 that is neither a redirect nor embedded nor from a sitemap, is always within scope
// and needs no include rule; all other tests hold for it too.
//
// Patterns (Include, Exclude, AddExclude). A pattern must match the whole text; * is any run of
// characters, slashes too, ? is any one character, all else stands for itself:
//
//	http://h.example/a*     with ://     the URL, without user name
//	/private/*              with a / first    path and query
//	*.h.example/private/*   otherwise    host, path and query; host:port when the pattern names a port
//	ads.example, *.pdf      without /    the same, or the host alone
//	re:[?&]print=1          a regular expression (RE2), anywhere in the URL
//	@file                   the patterns of a file, one a line, # comments; read again when it changes
//	no-trap:/calendar/*     only in Include: what it matches is never taken for a trap
//
// The text is tried with its query and without, so /index.php matches /index.php?page=2. Hosts are in
// lower case and ASCII, as in a URL; other characters of a pattern may be written plainly.
//
// Guarantees: all methods are safe for concurrent use; Check takes no lock unless the query has two
// parameters or more, or the host is a sub-domain in a wide scope; memory is bounded by the limits in trap.go,
// novelty.go and domain.go, and what falls out of it is
// forgotten in favour of the link. A page lost is worse than a visit wasted: archives by day, lists of
// thousands of pages, forums and deep trees lose nothing. What Observe learned is not kept across
// restarts.
//
// It does not look at robots.txt, at host budgets, at addresses or ports, nor at what was seen.
package urlfilter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Link is what the filter needs to know of a candidate.
type Link struct {
	URL      weburl.URL
	Depth    int  // links followed from the seed: a seed and what it redirects to have 0
	Hops     int  // of these, steps already spent outside the scope
	Redirect bool // the target of a redirect
	Embed    bool // needed to show a page: image, frame, style
	Sitemap  bool // found in a sitemap
}

func (l Link) isSeed() bool { return l.Depth == 0 && !l.Redirect && !l.Sitemap && !l.Embed }

// Verdict is the answer of Check. Outcome None means pass; any other is the reason the link is
// dropped, and Rule is the option or pattern that decided, in words for a person.
type Verdict struct {
	Outcome outcome.Outcome
	Rule    string
	Hop     bool // passes only by spending one of MaxHops outside the scope
}

// Options of a Filter. Zero fields mean the default.
type Options struct {
	Scope      Scope        // default ScopeHost
	Seeds      []weburl.URL // what the scope is relative to
	Include    []string     // patterns; when there is one, a link must match one of them
	Exclude    []string     // patterns; exclude wins over include
	TLDInclude []string     // top level domains or longer suffixes, such as "org"; when there is one, a host must be in it
	TLDExclude []string     // top level domains or longer suffixes to leave out
	Extensions []string     // file name extensions to leave out, such as "iso"
	MaxDepth   int          // links from the seed; 0 = unlimited
	MaxHops    int          // extra steps outside the scope; 0 = none
	Traps      Traps
}

// EnsureDefaults sets what is zero to its default.
func (o *Options) EnsureDefaults() { o.Traps.EnsureDefaults() }

// Validate returns an error for numbers and scopes out of range. Patterns are checked by New.
func (o Options) Validate() error {
	if int(o.Scope) >= len(scopeNames) {
		return fmt.Errorf("scope %d is unknown", o.Scope)
	}
	if o.MaxDepth < 0 || o.MaxHops < 0 {
		return fmt.Errorf("depth %d and hops %d: want 0 or more", o.MaxDepth, o.MaxHops)
	}
	return nil
}

// RuleCount is how many links one rule dropped. All patterns of an @file count as one rule.
type RuleCount struct {
	Outcome outcome.Outcome
	Rule    string
	Links   uint64
}

// Filter answers for each link whether the crawl wants it. Safe for concurrent use.
type Filter struct {
	maxDepth, maxHops int
	scope             *scope
	traps             *traps
	depthRule         *rule
	scopeRule         *rule

	rules    atomic.Pointer[rules] // what can change in a running crawl; replaced whole
	nextLook atomic.Int64          // when the files are looked at again, Unix nanoseconds

	mu        sync.Mutex // guards what follows, and replacing rules
	opts      Options
	counters  map[ruleKey]*atomic.Uint64
	reloadErr error
}

// New returns a filter, or an error that names the bad pattern.
func New(opts Options) (*Filter, error) {
	opts.EnsureDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("url filter: %w", err)
	}
	opts.Include, opts.Exclude = slices.Clone(opts.Include), slices.Clone(opts.Exclude)
	f := &Filter{
		maxDepth: opts.MaxDepth,
		maxHops:  opts.MaxHops,
		scope:    newScope(opts.Scope),
		opts:     opts,
		counters: map[ruleKey]*atomic.Uint64{},
	}
	f.depthRule = f.newRule(outcome.TooDeep, fmt.Sprintf("--depth %d", opts.MaxDepth))
	f.scopeRule = f.newRule(outcome.OutOfScope, "--scope "+opts.Scope.String())
	f.traps = newTraps(opts.Traps, opts.Scope >= ScopeDomain || opts.MaxHops > 0, f.newRule)
	f.scope.add(opts.Seeds)
	f.opts.Seeds = nil
	r, err := f.compile()
	if err != nil {
		return nil, fmt.Errorf("url filter: %w", err)
	}
	f.rules.Store(r)
	f.nextLook.Store(time.Now().Add(lookEvery).UnixNano())
	return f, nil
}

// Check returns the verdict on a link. It counts the link if it is dropped.
func (f *Filter) Check(l Link) Verdict {
	r := f.current()
	if f.maxDepth > 0 && l.Depth > f.maxDepth {
		return f.depthRule.drop()
	}
	hop := !f.scope.contains(l)
	if hop && l.Hops >= f.maxHops {
		return f.scopeRule.drop()
	}
	if v := r.check(l); v.Outcome != outcome.None {
		return v
	}
	if refused := f.traps.find(l.URL, l.isSeed()); refused.rule != nil && !r.noTrap.matches(l.URL) {
		return refused.drop()
	}
	return Verdict{Hop: hop}
}

// Observe tells the filter after a visit whether the URL brought new content: a body not seen before, and of a page with links
// and text what Look says. This is how a calendar is told from an archive.
func (f *Filter) Observe(u weburl.URL, novel bool) { f.traps.observe(u, novel) }

// AddSeeds widens the scope of a running crawl.
func (f *Filter) AddSeeds(seeds []weburl.URL) { f.scope.add(seeds) }

// AddExclude adds an exclude pattern to a running crawl.
func (f *Filter) AddExclude(pattern string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.opts.Exclude
	f.opts.Exclude = append(slices.Clone(before), pattern)
	r, err := f.compile()
	if err != nil {
		f.opts.Exclude = before
		return fmt.Errorf("add exclude: %w", err)
	}
	f.rules.Store(r)
	return nil
}

// WouldExclude returns a test that tells which URLs AddExclude(pattern) would drop.
func (f *Filter) WouldExclude(pattern string) (func(weburl.URL) bool, error) {
	var set patternSet
	if _, err := set.add(pattern, &rule{}, ""); err != nil {
		return nil, fmt.Errorf("would exclude: %w", err)
	}
	return set.matches, nil
}

// Counts returns the links dropped per rule, most first, without rules that dropped none; their sum is
// the number of links dropped.
func (f *Filter) Counts() []RuleCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	var counts []RuleCount
	for key, n := range f.counters {
		if links := n.Load(); links > 0 {
			counts = append(counts, RuleCount{key.outcome, key.name, links})
		}
	}
	slices.SortFunc(counts, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Links, a.Links), cmp.Compare(a.Outcome, b.Outcome), strings.Compare(a.Rule, b.Rule))
	})
	return counts
}

// ReloadError returns why the last reading of changed @files failed, or nil. While it does, the rules stay
// as they were.
func (f *Filter) ReloadError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reloadErr
}
