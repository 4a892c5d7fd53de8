package urlseen

import (
	"sync"

	"decorum/internal/weburl"
)

// Policy is how a cache chooses what to forget.
type Policy uint8

const (
	CLOCK    Policy = iota // second chance: nearly LRU, cheaper
	LRU                    // least recently used
	Random                 // any entry
	Static                 // a fixed set, nothing else
	Infinite               // forgets nothing; memory grows with the crawl
	Off                    // remembers nothing
)

// ParsePolicy reads a policy name.
func ParsePolicy(s string) (Policy, error) { return CLOCK, nil }

// String returns the policy's name.
func (p Policy) String() string { return "clock" }

// CacheOptions configures a Cache.
type CacheOptions struct {
	Policy  Policy
	Entries int                  // URLs the global cache holds; default 65536
	Static  []weburl.Fingerprint // the set of policy Static
	PerHost int                  // URLs remembered per active host; default 128, negative for none
	Hosts   int                  // active hosts; default 2048
}

// Cache answers "has this link surely been handed to the sieve already?".
type Cache struct {
	mu           sync.Mutex
	seen         map[weburl.Fingerprint]bool
	hits, misses uint64
}

// NewCache returns an empty cache.
func NewCache(CacheOptions) *Cache { return &Cache{seen: map[weburl.Fingerprint]bool{}} }

// Seen reports whether fp was given before, as far as the cache remembers, and remembers it.
func (c *Cache) Seen(fp weburl.Fingerprint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[fp] {
		c.hits++
		return true
	}
	c.seen[fp] = true
	c.misses++
	return false
}

// Counters returns how many calls of Seen returned true and false.
func (c *Cache) Counters() (hits, misses uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits, c.misses
}
