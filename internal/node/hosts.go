package node

import "sync"

// hosts remembers which politeness keys were contacted in this run and where they are. Of strangers (hosts
// on public addresses) only as many are kept as the guard of --contact counts to.
type hosts struct {
	near sync.Map // key -> true: on loopback or private addresses
	far  sync.Map // key -> true

	mu sync.Mutex
	n  int // size of far; guarded by mu
}

// note is called before each contact.
func (h *hosts) note(key string, local bool) {
	set := &h.far
	if local {
		set = &h.near
	}
	if _, known := set.Load(key); known {
		return
	}
	if local {
		set.Store(key, true)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := set.Load(key); !known && h.n <= anonymousHosts {
		set.Store(key, true)
		h.n++
	}
}

func (h *hosts) local(key string) bool {
	_, ok := h.near.Load(key)
	return ok
}

// strangers counts hosts on public addresses, up to one more than the guard allows.
func (h *hosts) strangers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}
