package node

import (
	"slices"
	"sync"
)

// hosts remembers which politeness keys were contacted and where they are. Of strangers (hosts on public addresses)
// only as many are kept as a crawl without --contact may contact. Safe for concurrent use.
type hosts struct {
	near sync.Map // key -> true: the last contact of this run went to a loopback or private address
	far  sync.Map // key -> true: strangers of all runs

	mu sync.Mutex
	n  int // size of far; guarded by mu
}

// note is called before each contact. It returns how many strangers there are with this host.
func (h *hosts) note(key string, local bool) (strangers int) {
	if local {
		if _, known := h.near.Load(key); !known {
			h.near.Store(key, true)
		}
		return 0
	}
	h.near.Delete(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.far.Load(key); known {
		return min(h.n, anonymousHosts) // it was admitted before
	}
	if h.n >= anonymousHosts {
		return h.n + 1
	}
	h.far.Store(key, true)
	h.n++
	return h.n
}

// remember takes over the strangers of earlier runs.
func (h *hosts) remember(strangers []string) {
	for _, key := range strangers {
		h.note(key, false)
	}
}

func (h *hosts) local(key string) bool {
	_, ok := h.near.Load(key)
	return ok
}

// strangers lists the hosts on public addresses, at most as many as a crawl without --contact may contact.
func (h *hosts) strangers() (keys []string) {
	h.far.Range(func(key, _ any) bool {
		keys = append(keys, key.(string))
		return true
	})
	slices.Sort(keys)
	return keys
}
