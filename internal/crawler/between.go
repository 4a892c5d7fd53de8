package crawler

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrEnded says that the crawl has ended, so that no step follows.
var ErrEnded = errors.New("crawler: the crawl has ended")

// interlude is something to be done between two steps.
type interlude struct {
	do    func() error
	done  chan error  // holds one
	taken atomic.Bool // by the committer, to do it, or by who asked, to take it back
}

// interludes is how Between reaches the committer.
type interludes struct {
	asked chan *interlude // holds one, so that the step after the kick finds it
	ended chan struct{}   // closed when no more is done
}

func newInterludes() interludes {
	return interludes{asked: make(chan *interlude, 1), ended: make(chan struct{})}
}

// Between runs do between two steps and returns its error: then the store, the archive, the streams and the seen-set
// show the same instant, and nothing is being written to them. No visit becomes durable meanwhile, so do
// must be brief. It fails with ErrEnded once the crawl has ended, and with the error of ctx; then do has not run.
func (c *Crawler) Between(ctx context.Context, do func() error) error {
	i := &interlude{do: do, done: make(chan error, 1)}
	select {
	case c.between.asked <- i:
	case <-c.between.ended:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	c.Frontier.Kick()
	why := ErrEnded
	select {
	case err := <-i.done:
		return err
	case <-ctx.Done():
		why = ctx.Err()
	case <-c.between.ended:
	}
	if i.taken.CompareAndSwap(false, true) {
		return why
	}
	return <-i.done
}

// pause does what was asked for. It runs on the goroutine of the committer, between steps.
func (s *interludes) pause() {
	select {
	case i := <-s.asked:
		if i.taken.CompareAndSwap(false, true) {
			i.done <- i.do()
		}
	default:
	}
}
