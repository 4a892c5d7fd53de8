package node

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/meter"
	"decorum/internal/web"
)

// LiveOptions say how a node is shown while it runs.
type LiveOptions struct {
	Feed *web.Feed                        // recent events; nil: none
	Stop func()                           // ends the run as an interrupt does; nil: the page has no button for it
	Why  func(url string) (string, error) // explains what became of a URL; default: Node.Why
}

// Live shows a node while it runs: its status with rates, the live page, and the file by which other processes find
// it. Open it before Run and close it after, before the node. It changes nothing about the crawl.
type Live struct {
	node    *Node
	monitor *web.Monitor
	page    string // address, "" when there is no page
	token   string
	end     context.CancelFunc
	running sync.WaitGroup
}

// Live begins to show the node. Trouble with the live page is logged and no reason not to crawl.
func (n *Node) Live(o LiveOptions) (*Live, error) {
	l := &Live{node: n}
	listener, err := web.Listen(n.opt.Config.Listen)
	if err != nil {
		n.opt.Log("no live page: %v", err)
	}
	if listener != nil {
		l.page = web.Address(listener)
	}
	began := time.Now()
	l.monitor, err = web.NewMonitor(web.MonitorOptions{Tool: n.opt.tool(), Dir: n.opt.Dir, Page: l.page, Run: n.facts.Runs, Began: began,
		Workers: n.workers(), Feed: o.Feed, Known: n.parts.Seen.Known, Disk: n.diskUse,
		Meter:  func() meter.Snapshot { return n.parts.Meter.Snapshot(time.Now()) },
		Queues: func(rows int) frontier.Snapshot { return n.parts.Frontier.Snapshot(rows) }})
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	l.end = end
	l.running.Go(func() { l.monitor.Run(ctx) })
	if listener != nil {
		if err := l.serve(ctx, listener, o); err != nil {
			return nil, errors.Join(err, listener.Close(), l.Close())
		}
	}
	if err := web.WriteLive(n.opt.Dir, web.Live{PID: os.Getpid(), URL: l.page, Token: l.token, Began: began.UTC()}); err != nil {
		n.opt.Log("other programs cannot find this crawl: %v", err)
	}
	return l, nil
}

func (l *Live) serve(ctx context.Context, listener net.Listener, o LiveOptions) error {
	n := l.node
	if o.Why == nil {
		o.Why = n.Why
	}
	host, _, _ := net.SplitHostPort(n.opt.Config.Listen) // Listen took it
	s, err := web.New(web.Options{Monitor: l.monitor, Feed: o.Feed, Token: n.opt.Config.Token, Host: host,
		Pause: n.Pause, Resume: n.Resume, Stop: o.Stop, Checkpoint: n.Checkpoint, Why: o.Why, Exclude: n.exclude})
	if err != nil {
		return err
	}
	l.token = s.Token()
	l.running.Go(func() {
		if err := s.Serve(ctx, listener); err != nil {
			n.opt.Log("%v", err)
		}
	})
	return nil
}

// Status looks at the crawl; rows is how many hosts to list.
func (l *Live) Status(rows int) web.Status { return l.monitor.Status(rows) }

// Finish says that requests under way are the last.
func (l *Live) Finish() { l.monitor.Finish() }

// Page returns the address of the live page, or "". With a random token that is part of it: it lets who reads
// it control the crawl.
func (l *Live) Page() string {
	if l.page == "" || l.node.opt.Config.Token != "" {
		return l.page // who configured a token knows it
	}
	return l.page + "?token=" + l.token
}

// Close ends the page; viewers see that the crawl has ended.
func (l *Live) Close() error {
	l.monitor.End()
	l.end()
	l.running.Wait()
	return web.RemoveLive(l.node.opt.Dir)
}

// diskUse returns the bytes free for the crawl folder, 0 when unknown, and the number of archive files.
func (n *Node) diskUse() (free uint64, files int) {
	free, _ = n.opt.Free(n.dir.Root()) // unknown reads as zero
	names, _ := n.dir.ArchiveFiles()
	return free, len(names)
}

// exclude adds a rule to the running crawl. URLs that wait already are tested once more before they are fetched,
// and the rule is stored with the options of the crawl.
func (n *Node) exclude(pattern string) (string, error) {
	if err := n.parts.Filter.AddExclude(pattern); err != nil {
		return "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opt.Config.Exclude = append(n.opt.Config.Exclude, pattern)
	toml, err := n.opt.Config.Encode()
	if err != nil {
		return "", err
	}
	if err := n.dir.WriteFile(jobdir.ConfigName, toml); err != nil {
		return "", err
	}
	n.opt.Log("excluded from now on: %s", pattern)
	return "No URL that matches " + pattern + " is fetched any more.", nil
}
