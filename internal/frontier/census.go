package frontier

import "strings"

// census counts waiting URLs by host, so that Refill does not search the front queues for hosts that are
// not there: in a crawl of few hosts it can tell that all of them are in hand. It is exact until it
// overflows; with more hosts than it can hold, searching finds new ones anyway. It becomes exact again when
// the front queues are empty.
type census struct {
	hosts map[string]int // nil after an overflow
	fresh int            // hosts that wait and are not in hand
}

// maxCensus bounds the census, at some 100 bytes per host.
const maxCensus = 1 << 16

func newCensus() census { return census{hosts: map[string]int{}} }

// add counts a URL that begins to wait.
func (c *census) add(key string, inHand bool) {
	if c.hosts == nil {
		return
	}
	n := c.hosts[key]
	if n > 0 {
		c.hosts[key] = n + 1
		return
	}
	if len(c.hosts) >= maxCensus {
		c.overflow()
		return
	}
	c.hosts[strings.Clone(key)] = 1 // not a part of the URL, which would stay in memory
	if !inHand {
		c.fresh++
	}
}

func (c *census) overflow() { *c = census{} }

// take counts a URL that waits no more.
func (c *census) take(key string, inHand bool) {
	switch n := c.hosts[key]; {
	case n > 1:
		c.hosts[key] = n - 1
	case n == 1:
		delete(c.hosts, key)
		if !inHand {
			c.fresh--
		}
	}
}

// entered says that the host has a back queue now.
func (c *census) entered(key string) {
	if c.hosts[key] > 0 {
		c.fresh--
	}
}

// left says that the host has no back queue any more.
func (c *census) left(key string) {
	if c.hosts[key] > 0 {
		c.fresh++
	}
}

// exact reports whether the counts can be trusted.
func (c *census) exact() bool { return c.hosts != nil }

// mayBring reports whether the front queues may hold a host that is not in hand.
func (c *census) mayBring() bool { return c.hosts == nil || c.fresh > 0 }
