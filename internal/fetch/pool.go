package fetch

import (
	"container/list"
	"sync"
	"time"
)

// janitorStep is how much before its time a kept connection may be closed. It bounds the janitor: at
// most twenty sweeps a second, 1,000 entries each, a microsecond or two per sweep.
const janitorStep = 50 * time.Millisecond

// pool holds the one connection of each host: in use, kept, or none. A host is in exactly one of busy,
// idle, or neither; a connection is closed while the lock is held, so no one can dial in between.
type pool struct {
	mu     sync.Mutex
	closed bool
	max    int
	busy   map[string]struct{}
	idle   map[string]*list.Element // of *conn, in order
	order  *list.List               // kept longest first
	timer  *time.Timer              // runs sweep; set for the earliest expiry, or later if that one left
	wake   time.Time                // when timer fires; zero when it is not set
}

func (p *pool) open(maxIdle int) {
	p.max = maxIdle
	p.busy = map[string]struct{}{}
	p.idle = map[string]*list.Element{}
	p.order = list.New()
}

// acquire makes the host busy and returns its kept connection, or nil.
func (p *pool) acquire(key string) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if _, ok := p.busy[key]; ok {
		return nil, ErrHostBusy
	}
	p.busy[key] = struct{}{}
	if e := p.idle[key]; e != nil {
		return p.remove(e), nil
	}
	return nil, nil
}

// release ends what acquire began and keeps c, unless it is nil, for at most keep.
func (p *pool) release(key string, c *conn, keep time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, key)
	if c == nil {
		return
	}
	if p.closed || p.max <= 0 || keep <= 0 {
		c.close()
		return
	}
	if p.order.Len() >= p.max {
		p.remove(p.order.Front()).close()
	}
	c.key, c.expires = key, time.Now().Add(keep)
	p.idle[key] = p.order.PushBack(c)
	if p.wake.IsZero() || c.expires.Before(p.wake) {
		p.arm(c.expires)
	}
}

func (p *pool) remove(e *list.Element) *conn {
	c := p.order.Remove(e).(*conn)
	delete(p.idle, c.key)
	return c
}

// arm sets the timer; the only goroutine of the package is the one it runs sweep in.
func (p *pool) arm(at time.Time) {
	p.wake = at
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(at), p.sweep)
		return
	}
	p.timer.Reset(time.Until(at))
}

// sweep closes what expires within a step and sets the timer for the rest.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	limit := time.Now().Add(janitorStep)
	var next time.Time
	for e := p.order.Front(); e != nil; {
		c, following := e.Value.(*conn), e.Next()
		switch {
		case !c.expires.After(limit):
			p.remove(e).close()
		case next.IsZero() || c.expires.Before(next):
			next = c.expires
		}
		e = following
	}
	p.wake = time.Time{}
	if !next.IsZero() {
		p.arm(next)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for p.order.Len() > 0 {
		p.remove(p.order.Front()).close()
	}
}
