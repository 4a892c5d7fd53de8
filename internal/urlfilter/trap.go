package urlfilter

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Traps are the limits that end endless sites. Zero is the default, a negative number turns a test off.
type Traps struct {
	// RepeatedSegments drops a path in which one segment, other than a number, occurs this many times.
	// Default 5: broken relative links (a/b/a/b/a/b/...) get there in a few steps, deep package
	// trees stay at three.
	RepeatedSegments int
	// PathDepth drops a path with more slashes than this. Default 30; the deepest documentation and
	// source trees have some twenty.
	PathDepth int
	// QueryParameters drops a query of more parameters than this. Default 30: filters that add one to another get
	// there, forms are not submitted.
	QueryParameters int
	// QueryOrders is how many orders of the same parameters of the same path pass. Default 3: honest
	// sites link to one, and to a second from their forms.
	QueryOrders int
	// PatternVisits is how many visits in a row without new content stop a URL pattern, once these are also
	// half of all its visits. Default 200: half a year of an empty
	// calendar by day. A visit with new content frees the pattern. Pages of one path with many parameters,
	// such as the combinations of search filters, are a pattern too, which takes five times as many.
	PatternVisits int
	// DomainHosts is how many hosts below one registrable domain pass; one whose pages bring nothing new counts ten
	// times. Default 10,000: large universities have some thousands, a wildcard in the DNS has no end. Seeds do not
	// count. It matters only where the scope is wider than the hosts of the seeds.
	DomainHosts int
}

// EnsureDefaults sets what is zero to its default.
func (t *Traps) EnsureDefaults() {
	for _, field := range []struct {
		value *int
		deflt int
	}{{&t.RepeatedSegments, 5}, {&t.PathDepth, 30}, {&t.QueryParameters, 30}, {&t.QueryOrders, 3}, {&t.PatternVisits, 200},
		{&t.DomainHosts, 10_000}} {
		if *field.value == 0 {
			*field.value = field.deflt
		}
	}
}

// Limits of what the traps remember, over all hosts. Beyond them what was longest unused is forgotten,
// which lets links through and never drops any.
const (
	maxQueries  = 1 << 16 // parameter sets, about 100 bytes each
	maxPatterns = 1 << 16 // URL patterns, about 50 bytes each
	maxStopped  = 1 << 14 // stopped patterns, about 150 bytes each
	maxSegments = 64      // segments of a path that are compared; the comparison is quadratic
	// minHex is the shortest run that counts as a hexadecimal identifier: a group of a UUID.
	minHex = 4
	// minIdentifier is the shortest word with a digit that counts as an identifier whatever its letters are.
	minIdentifier = 16
	// minFacets is how many parameters make a URL one of a combination, and facetVisits how many times PatternVisits
	// without new content stop all combinations of a path: one path may be all there is of a site.
	minFacets   = 3
	facetVisits = 5
)

// traps finds links that lead nowhere new.
type traps struct {
	opts    Traps
	wide    bool // the scope is wider than the hosts of the seeds
	seed    maphash.Seed
	orders  *cache[[]uint64] // parameter set -> hashes of the orders that passed
	yields  *cache[yield]    // URL pattern -> what its visits brought
	news    *cache[bool]     // pieces of pages that were seen
	sample  uint64           // newsSample, but in tests
	looks   sync.Pool        // of *Look
	domains *cache[*subdomains]
	hosts   atomic.Int64 // in domains, about
	stopped atomic.Pointer[map[uint64]string]
	mu      sync.Mutex // one writer of stopped at a time

	repeat, depth, parameters, query, pattern, host *rule
}

// yield counts the visits of one URL pattern.
type yield struct{ visits, barren uint32 }

// refusal is a rule with the words for this link; no rule is no refusal.
type refusal struct {
	rule   *rule
	detail string
}

func (r refusal) drop() Verdict { return r.rule.dropAs(r.detail) }

func newTraps(opts Traps, wide bool, newRule func(outcome.Outcome, string) *rule) *traps {
	t := &traps{
		opts:       opts,
		wide:       wide,
		seed:       maphash.MakeSeed(),
		orders:     newCache[[]uint64](maxQueries),
		yields:     newCache[yield](maxPatterns),
		news:       newCache[bool](maxNews),
		sample:     newsSample,
		domains:    newCache[*subdomains](maxDomains),
		repeat:     newRule(outcome.TrapRepeat, fmt.Sprintf("trap: one path segment %d times", opts.RepeatedSegments)),
		depth:      newRule(outcome.TrapDepth, fmt.Sprintf("trap: path deeper than %d", opts.PathDepth)),
		parameters: newRule(outcome.TrapQuery, fmt.Sprintf("trap: more than %d parameters", opts.QueryParameters)),
		host:       newRule(outcome.TrapHosts, fmt.Sprintf("trap: more than %d hosts of one domain, those without new content counting %d times", opts.DomainHosts, barrenHost)),
		query:      newRule(outcome.TrapQuery, fmt.Sprintf("trap: more than %d orders of one query", opts.QueryOrders)),
		pattern:    newRule(outcome.TrapPattern, fmt.Sprintf("trap: %d visits without new content", opts.PatternVisits)),
	}
	t.stopped.Store(&map[uint64]string{})
	return t
}

// find returns the trap the URL is in, if any. The hosts of seeds are free.
func (t *traps) find(u weburl.URL, seed bool) refusal {
	path := u.Path()
	slashes := strings.Count(path, "/")
	if t.opts.PathDepth > 0 && slashes > t.opts.PathDepth {
		return refusal{t.depth, t.depth.name}
	}
	if n := t.opts.RepeatedSegments; n > 0 && slashes >= n && repeats(path, n) {
		return refusal{t.repeat, t.repeat.name}
	}
	if more := strings.Count(u.Query(), "&"); more > 0 {
		if n := t.opts.QueryParameters; n > 0 && more >= n {
			return refusal{t.parameters, t.parameters.name}
		}
		if n := t.opts.QueryOrders; n > 0 && !t.newOrder(u, n) {
			return refusal{t.query, t.query.name}
		}
	}
	if text, ok := t.isStopped(u); ok {
		return refusal{t.pattern, t.pattern.name + ": " + text}
	}
	if t.wide && t.opts.DomainHosts > 0 {
		if domain := u.Domain(); isSubdomain(u, domain) && !t.newHost(u, domain, seed) {
			return refusal{t.host, t.host.name + ": " + domain}
		}
	}
	return refusal{}
}

// isStopped reports whether a pattern of the URL is stopped, and which.
func (t *traps) isStopped(u weburl.URL) (text string, ok bool) {
	stopped := *t.stopped.Load()
	if len(stopped) == 0 {
		return "", false
	}
	var buf [256]byte
	if b, varies := appendPattern(buf[:0], u); varies {
		if text, ok = stopped[t.patternKey(b)]; ok {
			return text, true
		}
	}
	if b, varies := appendFacets(buf[:0], u); varies {
		text, ok = stopped[t.patternKey(b)]
	}
	return text, ok
}

// repeats reports whether one segment that is no number occurs n times.
func repeats(path string, n int) bool {
	var segments [maxSegments]string
	count := 0
	for rest := path[1:]; count < maxSegments && rest != ""; count++ {
		segments[count], rest, _ = strings.Cut(rest, "/")
	}
	for i := 0; i <= count-n; i++ {
		same := 1
		for j := i + 1; j < count; j++ {
			if segments[j] == segments[i] {
				same++
			}
		}
		if same >= n && !isNumber(segments[i]) {
			return true
		}
	}
	return false
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// newOrder reports whether the order of the parameters may pass: it did before, or fewer than n did.
// Parameters are compared as a multiset, by the sum of their hashes.
func (t *traps) newOrder(u weburl.URL, n int) bool {
	query := u.Query()[1:]
	set := maphash.String(t.seed, u.Host()) ^ maphash.String(t.seed, u.Path())
	for rest, more := query, true; more; {
		var parameter string
		parameter, rest, more = strings.Cut(rest, "&")
		if parameter != "" {
			set += maphash.String(t.seed, parameter)
		}
	}
	order, pass := maphash.String(t.seed, query), true
	t.orders.update(set, func(seen []uint64) []uint64 {
		for _, o := range seen {
			if o == order {
				return seen
			}
		}
		if pass = len(seen) < n; !pass {
			return seen
		}
		return append(seen, order)
	})
	return pass
}

// observe counts a visit, and stops or frees the patterns of its URL.
func (t *traps) observe(u weburl.URL, novel bool) {
	if t.wide && t.opts.DomainHosts > 0 {
		if domain := u.Domain(); isSubdomain(u, domain) {
			t.observeHost(u, domain, novel)
		}
	}
	limit := uint32(max(t.opts.PatternVisits, 0))
	if limit == 0 {
		return
	}
	var buf [256]byte
	if b, varies := appendPattern(buf[:0], u); varies {
		t.observePattern(b, novel, limit)
	}
	if b, varies := appendFacets(buf[:0], u); varies {
		t.observePattern(b, novel, facetVisits*limit)
	}
}

func (t *traps) observePattern(pattern []byte, novel bool, limit uint32) {
	key, stop := t.patternKey(pattern), false
	t.yields.update(key, func(y yield) yield {
		y.visits++
		y.barren++
		if novel {
			y.barren = 0
		}
		stop = y.barren >= limit && y.barren*2 >= y.visits
		return y
	})
	if _, stopped := (*t.stopped.Load())[key]; stopped && novel || stop && !stopped {
		t.setStopped(key, string(pattern), stop)
	}
}

// patternKey hashes a pattern whatever the order of its parameters: what a site links to in one order
// only must not be stopped by the other.
func (t *traps) patternKey(pattern []byte) uint64 {
	path, query, _ := bytes.Cut(pattern, []byte("?"))
	key := maphash.Bytes(t.seed, path)
	for len(query) > 0 {
		var parameter []byte
		parameter, query, _ = bytes.Cut(query, []byte("&"))
		key += maphash.Bytes(t.seed, parameter)
	}
	return key
}

// setStopped replaces the map of stopped patterns, which readers use without a lock. It is called once per
// hundreds of visits.
func (t *traps) setStopped(key uint64, text string, stop bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.stopped.Load()
	next := make(map[uint64]string, len(old)+1)
	for k, text := range old {
		if k != key && len(next) < maxStopped-1 {
			next[k] = text
		}
	}
	if stop {
		next[key] = text
	}
	t.stopped.Store(&next)
}

// appendPattern appends the pattern of a URL: host, path and query with every run of digits as N and every
// identifier as H. varies tells that there was one: other URLs are visited only once.
func appendPattern(b []byte, u weburl.URL) (out []byte, varies bool) {
	return appendWords(append(b, u.Host()...), u.RequestTarget())
}

// appendFacets appends the pattern of all combinations of parameters of a path, of which the URL is one if it has several.
func appendFacets(b []byte, u weburl.URL) (out []byte, varies bool) {
	if strings.Count(u.Query(), "&") < minFacets-1 {
		return b, false
	}
	b, _ = appendWords(append(b, u.Host()...), u.Path())
	return append(b, "?*&*&*"...), true
}

func appendWords(b []byte, s string) (out []byte, varies bool) {
	for i := 0; i < len(s); {
		if !isAlnum(s[i]) {
			b = append(b, s[i])
			if i++; s[i-1] == '%' && i+2 <= len(s) {
				b = append(b, s[i:i+2]...)
				i += 2
			}
			continue
		}
		end := i + 1
		for end < len(s) && isAlnum(s[end]) {
			end++
		}
		var changed bool
		b, changed = appendWord(b, s[i:end])
		varies = varies || changed
		i = end
	}
	return b, varies
}

func appendWord(b []byte, word string) (out []byte, changed bool) {
	digits, hex := 0, 0
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case isDigit(c):
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			hex++
		}
	}
	switch {
	case digits == 0:
		return append(b, word...), false
	case len(word) >= minIdentifier, len(word) >= minHex && hex > 0 && digits+hex == len(word):
		return append(b, 'H'), true
	}
	for i := 0; i < len(word); i++ {
		if !isDigit(word[i]) {
			b = append(b, word[i])
		} else if i == 0 || !isDigit(word[i-1]) {
			b = append(b, 'N')
		}
	}
	return b, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
