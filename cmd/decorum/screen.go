package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"decorum/internal/config"
	"decorum/internal/node"
)

// screen shows a running crawl on standard error.
type screen struct {
	w  io.Writer
	c  *config.Crawl
	mu sync.Mutex
	n  *node.Node
}

func newScreen(w io.Writer, c *config.Crawl) *screen { return &screen{w: w, c: c} }

func (s *screen) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, format+"\n", args...)
}

func (s *screen) start(n *node.Node, dir string) {
	s.n = n
	s.log("decorum %s · identifying as %s", version, s.c.UserAgent(version))
	s.log("folder %s   (Ctrl-C pauses; the same command resumes)", dir)
}

func (s *screen) pausing() {
	s.log("pausing: finishing requests under way (Ctrl-C again stops now; nothing is lost)")
}

func (s *screen) finish(r *node.Result, resume string) {
	s.log("%s after %v · %d pages · %d skipped · resume: %s", r.Reason, time.Duration(r.Summary.WallMS)*time.Millisecond, r.Summary.Pages,
		len(r.Summary.Skipped), resume)
}
