package node

import (
	"context"
	"testing"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
)

// maxUncommitted is the bound on finished visits that are not durable, frontier's default, and those whose leases were out when
// it was reached.
const maxUncommitted = 1024 + autoWorkers

// A disk that takes two seconds for each sync slows the crawl down, and nothing else: what is not durable stays bounded, so
// memory does, and hosts are treated as ever.
func TestSlowDisk(t *testing.T) {
	virtually(t, func(t *testing.T) {
		o := simweb.Plain()
		o.Hosts, o.Pages, o.SeedHosts, o.EqualHosts, o.LinksPerPage, o.PageBytes = 1200, 6000, 1200, true, 8, 1<<10
		s := newSim(t, o)
		s.cfg.BackQueues, s.cfg.Delay, s.cfg.IPGap = "2000", config.Duration(100*time.Millisecond), config.Duration(50*time.Millisecond)
		slow := false
		s.fs = store.Syncing(s.fs, func(beneath func() error) error {
			if slow {
				time.Sleep(2 * time.Second)
			}
			return beneath()
		})
		n := s.open()
		slow = true
		most := 0
		ctx, stop := context.WithCancel(context.Background())
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for ctx.Err() == nil {
				snapshot := n.parts.Frontier.Snapshot(0)
				most = max(most, snapshot.Uncommitted)
				time.Sleep(100 * time.Millisecond)
			}
		}()
		r, err := n.Run(context.Background(), context.Background())
		stop()
		<-watched
		slow = false
		if err != nil || r.Reason != jobdir.EndExhausted {
			t.Fatal(r.Reason, r.Detail, err)
		}
		if err := n.Finish(&r, 0, ""); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		s.judge()
		if most > maxUncommitted || most < 1024 {
			t.Errorf("%d finished visits were not durable at a time, want the bound %d to be reached", most, maxUncommitted)
		}
		t.Logf("%d visits were not durable at the most", most)
	})
}
