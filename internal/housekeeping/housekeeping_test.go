package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pacer notes what it is told, with the second.
type pacer struct {
	began time.Time

	mu     sync.Mutex
	said   []string // guarded by mu
	logged []string // guarded by mu
}

func (p *pacer) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, fmt.Sprintf("%v %s", time.Since(p.began), what))
}

func (p *pacer) log(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logged = append(p.logged, fmt.Sprintf(format, args...))
}

func (p *pacer) Pause(reason string) { p.note("pause") }
func (p *pacer) Resume()             { p.note("resume") }

// keep runs a housekeeper in virtual time while script runs.
func keep(t *testing.T, o Options, script func(h *Housekeeper)) (said, logged []string) {
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{began: time.Now()}
		o.Frontier, o.Log = p, p.log
		h := New(o)
		h.OnEnd(func(why string) { p.note("end: " + why) })
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { h.Run(ctx); close(done) }()
		script(h)
		stop()
		<-done
		said, logged = p.said, p.logged
	})
	return said, logged
}

// a full disk pauses the crawl, and it goes on by itself when there is room again: an eighth more than the least, so that
// it does not flutter.
func TestDiskGuard(t *testing.T) {
	var free atomic.Uint64
	free.Store(100 << 20)
	o := Options{MinFree: 80 << 20, Free: func() (uint64, error) { return free.Load(), nil }}
	said, logged := keep(t, o, func(h *Housekeeper) {
		time.Sleep(2500 * time.Millisecond)
		free.Store(79 << 20)
		time.Sleep(2 * time.Second)
		if !strings.Contains(h.Paused(), "79 MiB free, less than --min-free 80 MiB") {
			t.Errorf("paused: %q", h.Paused())
		}
		free.Store(85 << 20) // above the low mark, below the high one
		time.Sleep(10 * time.Second)
		free.Store(90 << 20)
		time.Sleep(time.Second)
		if h.Paused() != "" {
			t.Errorf("paused: %q", h.Paused())
		}
		free.Store(85 << 20) // coming from above this is enough
		time.Sleep(10 * time.Second)
	})
	if want := []string{"3s pause", "15s resume"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if len(logged) != 2 {
		t.Errorf("%q", logged)
	}
}

// A person's pause is not ended by the disk, and a person does not overrule a full disk.
func TestPauseByAPerson(t *testing.T) {
	var free atomic.Uint64
	free.Store(1)
	o := Options{MinFree: 80 << 20, Free: func() (uint64, error) { return free.Load(), nil }}
	said, _ := keep(t, o, func(h *Housekeeper) {
		time.Sleep(500 * time.Millisecond)
		h.Resume() // there is still no room
		time.Sleep(time.Second)
		h.Pause()
		h.Pause()
		free.Store(1 << 40)
		time.Sleep(5 * time.Second)
		if h.Paused() != "paused by request" {
			t.Errorf("paused: %q", h.Paused())
		}
		h.Resume()
		h.Resume()
	})
	if want := []string{"0s pause", "500ms resume", "1s pause", "1.5s pause", "6.5s resume"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

func TestUnreadableDiskIsToldOnce(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	o := Options{MinFree: 1, Free: func() (uint64, error) {
		if broken.Load() {
			return 0, errors.New("stale file handle")
		}
		return 1 << 40, nil
	}}
	said, logged := keep(t, o, func(*Housekeeper) {
		time.Sleep(30 * time.Second)
		broken.Store(false)
		time.Sleep(2 * time.Second)
		broken.Store(true)
		time.Sleep(30 * time.Second)
	})
	if len(said) != 0 || len(logged) != 2 || !strings.Contains(logged[0], "stale file handle") {
		t.Errorf("%q %q", said, logged)
	}
}

// The limit on time is exact, and told once.
func TestTimeLimit(t *testing.T) {
	said, _ := keep(t, Options{MaxTime: 2345 * time.Millisecond}, func(*Housekeeper) { time.Sleep(time.Minute) })
	if want := []string{"2.345s end: time limit 2.345s reached"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if said, _ := keep(t, Options{}, func(*Housekeeper) { time.Sleep(10 * time.Hour) }); len(said) != 0 {
		t.Errorf("%q", said)
	}
}

func TestCheckpoints(t *testing.T) {
	made := 0
	o := Options{CheckpointEvery: time.Hour, Checkpoint: func(context.Context) (string, error) {
		if made++; made == 2 {
			return "", errors.New("no room")
		}
		return fmt.Sprint("number ", made), nil
	}}
	_, logged := keep(t, o, func(h *Housekeeper) {
		time.Sleep(3*time.Hour + time.Minute)
		h.Pause()
		time.Sleep(3 * time.Hour) // nothing changes, so none is made
	})
	if want := []string{"checkpoint number 1, made in 0s", "no checkpoint: no room", "checkpoint number 3, made in 0s", "paused by request"}; made != 3 || !slices.Equal(logged, want) {
		t.Errorf("%d made, %q", made, logged)
	}
}
