package urlseen

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"sync"

	"decorum/internal/weburl"
)

// Policy is how a cache chooses what to forget (Broder, Najork, Wiener 2003, "Efficient URL caching for
// World Wide Web crawling", compares them).
type Policy uint8

const (
	CLOCK    Policy = iota // second chance: hits like LRU, and a hit moves nothing
	LRU                    // the least recently used
	Random                 // any, uniformly
	Static                 // nothing: the fixed set CacheOptions.Static is remembered, nothing else ever
	Infinite               // nothing: memory grows with the crawl, 40 to 80 bytes per URL
	Off                    // there is no cache
)

var policyNames = [...]string{CLOCK: "clock", LRU: "lru", Random: "random", Static: "static", Infinite: "infinite", Off: "off"}

// String returns the policy's name in lower case.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy reads a policy's name, in any case.
func ParsePolicy(s string) (Policy, error) {
	for p, name := range policyNames {
		if strings.EqualFold(s, name) {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("cache policy %q; known are %s", s, strings.Join(policyNames[:], ", "))
}

// CacheOptions says what a cache remembers.
type CacheOptions struct {
	Policy  Policy
	Entries int                  // URLs of the global cache; default 65536, about 2 MB. Broder et al. saw the cliff near 50,000
	Static  []weburl.Fingerprint // the set of policy Static, the crawl's most linked URLs
	PerHost int                  // URLs remembered per active host, rounded up to a power of two; default 128, negative for none
	Hosts   int                  // active hosts, rounded up to a power of two; default 2048, about 2.2 MB with PerHost 128
}

// EnsureDefaults fills zero fields. Policies that forget nothing, or remember nothing, have no use for host caches.
func (o *CacheOptions) EnsureDefaults() {
	if o.Entries <= 0 {
		o.Entries = 1 << 16
	}
	if o.PerHost == 0 {
		o.PerHost = 128
	}
	if o.Hosts <= 0 {
		o.Hosts = 2048
	}
	if o.Policy >= Static {
		o.PerHost = -1
	}
}

// Cache answers "has this link surely been handed to the sieve already?", so that popular links cost neither
// intake nor sieve. It may forget and then says no, which is always safe; it never says yes wrongly.
//
// Links of a page mostly stay on its host, so a small cache per active host comes first, then a global one.
// A link it remembers is as durable as the visit that brought it: when that visit is lost, the URL is found again with
// the page's next visit, in another process, whose cache is empty.
type Cache struct {
	hosts  []hostShard // none: no host caches
	global []globalShard
}

// globalShard is one independent part of the global cache.
type globalShard struct {
	mu           sync.Mutex
	memory       memory // guarded by mu
	hits, misses uint64 // guarded by mu
	_            [64]byte
}

// memory remembers fingerprints under a policy.
type memory interface {
	// seen reports whether fp is remembered, and remembers it.
	seen(fp weburl.Fingerprint) bool
}

const (
	// maxShards keeps workers from waiting for each other; a power of two.
	maxShards = 64
	// minShardEntries keeps a shard large enough that its share of popular URLs evens out.
	minShardEntries = 512
)

// NewCache returns an empty cache.
func NewCache(o CacheOptions) *Cache {
	o.EnsureDefaults()
	n := min(maxShards, 1<<(bits.Len(uint(max(o.Entries/minShardEntries, 1)))-1))
	c := &Cache{global: make([]globalShard, n)}
	static := make([][]weburl.Fingerprint, n)
	for _, fp := range o.Static {
		i := c.shard(fp)
		static[i] = append(static[i], fp)
	}
	for i := range c.global {
		c.global[i].memory = newMemory(o.Policy, (o.Entries+n-1)/n, static[i], uint64(i))
	}
	if o.PerHost > 0 {
		c.hosts = newHostShards(o.Hosts, o.PerHost)
	}
	return c
}

func newMemory(p Policy, entries int, static []weburl.Fingerprint, seed uint64) memory {
	switch p {
	case LRU:
		return newLRU(entries)
	case Random:
		return newRandom(entries, seed)
	case Static:
		return newStatic(static)
	case Infinite:
		return &infinite{}
	case Off:
		return nothing{}
	default:
		return newClock(entries)
	}
}

// shard uses the upper bits of the URL's hash; the memories use the lower ones.
func (c *Cache) shard(fp weburl.Fingerprint) int {
	return int(binary.BigEndian.Uint64(fp[8:]) >> 40 & uint64(len(c.global)-1))
}

// Seen reports whether fp was given before, as far as the cache remembers, and remembers it. Safe for concurrent
// use: of two callers with the same new fp at most one gets false.
func (c *Cache) Seen(fp weburl.Fingerprint) bool {
	if len(c.hosts) > 0 && c.hostShard(fp).seen(fp) {
		return true
	}
	g := &c.global[c.shard(fp)]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory.seen(fp) {
		g.hits++
		return true
	}
	g.misses++
	return false
}

func (c *Cache) hostShard(fp weburl.Fingerprint) *hostShard {
	return &c.hosts[binary.BigEndian.Uint64(fp[:8])>>40&uint64(len(c.hosts)-1)]
}

// Counters returns how often Seen returned true and false.
func (c *Cache) Counters() (hits, misses uint64) {
	for i := range c.global {
		g := &c.global[i]
		g.mu.Lock()
		hits, misses = hits+g.hits, misses+g.misses
		g.mu.Unlock()
	}
	for i := range c.hosts {
		h := &c.hosts[i]
		h.mu.Lock()
		hits += h.hits
		h.mu.Unlock()
	}
	return hits, misses
}

// hostShard is the host caches of some hosts. Hosts lie in sets of hostWays. Each link gives its host a credit; a host that
// finds its set full takes one from the poorest, and its place when nothing is left (Misra and Gries 1982). So a host
// whose pages are being fetched stays, though links to a hundred thousand others pass by. The URLs of a host
// lie in sets of urlWays, the latest used first.
type hostShard struct {
	mu      sync.Mutex
	hosts   []uint64 // guarded by mu, like all below
	credits []uint8  // 0 is free
	urls    []uint64 // perHost for each host; 0 is free
	perHost int
	hits    uint64
	_       [64]byte
}

const (
	hostWays = 4
	urlWays  = 4 // half a cache line
	// maxCredits is about a page's worth: an active host outlives that many strangers in its set.
	maxCredits = 64
)

func newHostShards(hosts, perHost int) []hostShard {
	hosts, perHost = ceilPow2(max(hosts, hostWays)), ceilPow2(max(perHost, urlWays))
	n := min(maxShards, hosts/hostWays)
	shards := make([]hostShard, n)
	for i := range shards {
		shards[i] = hostShard{
			hosts:   make([]uint64, hosts/n),
			credits: make([]uint8, hosts/n),
			urls:    make([]uint64, hosts/n*perHost),
			perHost: perHost,
		}
	}
	return shards
}

func ceilPow2(n int) int { return 1 << bits.Len(uint(n-1)) }

func (s *hostShard) seen(fp weburl.Fingerprint) bool {
	host, url := binary.BigEndian.Uint64(fp[:8]), binary.BigEndian.Uint64(fp[8:])
	if url == 0 {
		return false // stands for a free place
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.host(host)
	if h < 0 {
		return false
	}
	at := h*s.perHost + int(url)&(s.perHost-1)&^(urlWays-1)
	set := s.urls[at : at+urlWays]
	i := 0
	for i < urlWays-1 && set[i] != url {
		i++
	}
	hit := set[i] == url
	copy(set[1:i+1], set[:i])
	set[0] = url
	if hit {
		s.hits++
	}
	return hit
}

// host returns the place of a host, or -1 when it has none yet.
func (s *hostShard) host(host uint64) int {
	from := int(host) & (len(s.hosts) - 1) &^ (hostWays - 1)
	poorest := from
	for i := from; i < from+hostWays; i++ {
		if s.hosts[i] == host && s.credits[i] > 0 {
			s.credits[i] = min(s.credits[i]+1, maxCredits)
			return i
		}
		if s.credits[i] < s.credits[poorest] {
			poorest = i
		}
	}
	if s.credits[poorest] > 1 {
		s.credits[poorest]--
		return -1
	}
	clear(s.urls[poorest*s.perHost : (poorest+1)*s.perHost])
	s.hosts[poorest], s.credits[poorest] = host, 1
	return poorest
}
