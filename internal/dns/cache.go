package dns

import (
	"container/list"
	"time"
)

// cache holds the answers last used, at most limit of them. The mutex of the resolver guards it.
type cache struct {
	limit  int
	names  map[string]*list.Element // of *cached
	recent *list.List               // most recently used first
}

type cached struct {
	name     string
	answer   Answer
	expires  time.Time
	failures int // failures in a row: they outlive the answer, to let the rests grow
}

func newCache(limit int) *cache {
	return &cache{limit: limit, names: make(map[string]*list.Element), recent: list.New()}
}

func (c *cache) len() int { return c.recent.Len() }

// fresh returns the answer for name unless its time has run out.
func (c *cache) fresh(name string, now time.Time) (Answer, bool) {
	at, ok := c.names[name]
	if !ok {
		return Answer{}, false
	}
	e := at.Value.(*cached)
	left := e.expires.Sub(now)
	if left <= 0 {
		return Answer{}, false
	}
	c.recent.MoveToFront(at)
	a := e.answer
	a.Cached, a.TTL = true, left
	return a, true
}

// failures returns how often in a row name failed, as of its last answer.
func (c *cache) failures(name string) int {
	if at, ok := c.names[name]; ok {
		return at.Value.(*cached).failures
	}
	return 0
}

func (c *cache) put(name string, a Answer, expires time.Time, failures int) {
	e := &cached{name, a, expires, failures}
	if at, ok := c.names[name]; ok {
		at.Value = e
		c.recent.MoveToFront(at)
		return
	}
	c.names[name] = c.recent.PushFront(e)
	if c.recent.Len() > c.limit {
		old := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.names, old.name)
	}
}
