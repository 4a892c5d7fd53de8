// Package housekeeping wakes every second while a crawl runs and looks after it: disk space and the limit on time; and now
// and then it asks for a checkpoint.
//
// It decides nothing about URLs. What it stops, it stops through the two handles it is given: Pause and Resume, which
// hold back leases (requests under way are unaffected), and End, which ends the crawl with a reason.
//
// Disk full is a state, not a crash: below the low-water mark all fetching pauses, above the high-water
// mark it resumes by itself.
//
// Two goroutines, that of Run and one that waits for checkpoints; both end with the context of Run.
package housekeeping

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Period is how often the housekeeper wakes. "Every few seconds" of IR-book 20.2.1 would let a fast disk fill
// up 2 GiB behind its back; a second does not.
const Period = time.Second

// Options of a housekeeper.
type Options struct {
	Frontier Frontier                         // required
	MinFree  uint64                           // low-water mark in bytes; 0 = no guard. High-water is an eighth more
	Free     func() (uint64, error)           // bytes free where the crawl folder is; required with MinFree
	MaxTime  time.Duration                    // of this run; 0 = no limit
	Log      func(format string, args ...any) // for a person; nil drops it

	Checkpoint      func(context.Context) (path string, err error) // makes one; nil: none
	CheckpointEvery time.Duration                                  // 0 = never
}

// Frontier is what can be held back.
type Frontier interface {
	Pause(reason string)
	Resume()
}

// Housekeeper watches one crawl.
type Housekeeper struct {
	o     Options
	end   func(why string)
	blind bool // disk space could not be read the last time

	mu     sync.Mutex
	paused string // why the crawl rests, or ""; guarded by mu
	user   bool   // a person paused it; guarded by mu
}

// New returns a housekeeper; Run starts it.
func New(o Options) *Housekeeper {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Housekeeper{o: o, end: func(string) {}}
}

// OnEnd says what ends the crawl when its time is over; it is called at most once, from Run. Call OnEnd before Run.
func (h *Housekeeper) OnEnd(end func(why string)) { h.end = end }

// Run watches until ctx is done.
func (h *Housekeeper) Run(ctx context.Context) {
	var over <-chan time.Time // never, without a limit
	if h.o.MaxTime > 0 {
		limit := time.NewTimer(h.o.MaxTime)
		defer limit.Stop()
		over = limit.C
	}
	var checkpoints sync.WaitGroup
	defer checkpoints.Wait()
	checkpoints.Go(func() { h.checkpoints(ctx) })
	tick := time.NewTicker(Period)
	defer tick.Stop()
	for {
		h.disk()
		select {
		case <-ctx.Done():
			return
		case <-over:
			h.end(fmt.Sprintf("time limit %v reached", h.o.MaxTime))
		case <-tick.C:
		}
	}
}

// disk pauses below the low-water mark and resumes above the high-water mark.
func (h *Housekeeper) disk() {
	if h.o.MinFree == 0 || h.o.Free == nil {
		return
	}
	free, err := h.o.Free()
	if err != nil {
		if !h.blind {
			h.o.Log("disk space cannot be read, so --min-free is not watched: %v", err)
		}
		h.blind = true
		return
	}
	h.blind = false
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case free < h.o.MinFree && h.paused == "":
		h.set(fmt.Sprintf("disk: %d MiB free, less than --min-free %d MiB; fetching resumes when there is room", free>>20, h.o.MinFree>>20), false)
	case free >= h.o.MinFree+h.o.MinFree/8 && h.paused != "" && !h.user:
		h.set("", false)
	}
}

// Pause holds back all leases because a person asked.
func (h *Housekeeper) Pause() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set("paused by request", true)
}

// Resume lets a paused crawl go on. A crawl paused for lack of disk pauses again within a Period if there is still none.
func (h *Housekeeper) Resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set("", false)
}

// Paused returns why the crawl rests, or "".
func (h *Housekeeper) Paused() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.paused
}

func (h *Housekeeper) set(reason string, user bool) {
	if h.paused == reason {
		return
	}
	h.paused, h.user = reason, user
	if reason == "" {
		h.o.Frontier.Resume()
		h.o.Log("going on")
		return
	}
	h.o.Frontier.Pause(reason)
	h.o.Log("%s", reason)
}
