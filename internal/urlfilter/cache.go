package urlfilter

import "sync"

// shards spread the locks of a cache: with some dozens of workers two seldom meet.
const shards = 16

// cache is a map of bounded size that forgets what was longest unused, nearly: each shard has a young
// and an old generation of half its size; what is used moves to the young one, and when that is full
// the old one is dropped. Safe for concurrent use.
type cache[V any] struct {
	half   int // entries of one generation of one shard
	shards [shards]struct {
		mu         sync.Mutex
		young, old map[uint64]V
	}
}

// newCache returns a cache of at most size entries.
func newCache[V any](size int) *cache[V] { return &cache[V]{half: max(size/shards/2, 1)} }

// forget empties the cache.
func (c *cache[V]) forget() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.young, s.old = nil, nil
		s.mu.Unlock()
	}
}

// update replaces the value of a key, zero when it has none, by change of it.
func (c *cache[V]) update(key uint64, change func(V) V) {
	s := &c.shards[key>>32%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	v, young := s.young[key]
	if !young {
		v = s.old[key]
		if s.young == nil || len(s.young) >= c.half {
			s.old, s.young = s.young, map[uint64]V{}
		}
	}
	s.young[key] = change(v)
}
