package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/outcome"
	"decorum/internal/web"
)

// How often the screen changes.
const (
	blockPeriod = 250 * time.Millisecond // as fast as numbers can be read
	plainPeriod = 10 * time.Second
)

// screen shows a running crawl on standard error: start and end in a few lines, in between the live block on
// a terminal, or a line now and then. With --log-format json all of it is JSON lines.
type screen struct {
	w    io.Writer
	c    *config.Crawl
	json *slog.Logger // nil: text
	feed *web.Feed    // recent events, for the live page
	stop func()       // ends the run as Ctrl-C does; nil: only Ctrl-C does

	seedHost string
	term     *terminal                 // nil: no block. Drawn on under mu
	status   func(rows int) web.Status // set by start
	end      context.CancelFunc
	showing  sync.WaitGroup

	mu    sync.Mutex
	live  *node.Live // nil before start; guarded by mu, like all below
	block []string   // as drawn last
	told  bool       // about robots.txt of the seed
}

func newScreen(w io.Writer, c *config.Crawl) *screen {
	s := &screen{w: w, c: c, feed: web.NewFeed(), end: func() {}}
	if c.LogFormat == "json" {
		s.json = slog.New(slog.NewJSONHandler(w, nil))
	} else if c.Progress == "auto" && !c.Quiet {
		s.term = openTerminal(w)
	}
	return s
}

// log shows a line for people. What the web may have written into it cannot reach the terminal.
func (s *screen) log(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.feed.Log("%s", text)
	if s.json != nil {
		s.json.Info(text)
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		s.print(web.Clean(line))
	}
}

// print writes one line above the block.
func (s *screen) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term != nil && s.block != nil {
		s.term.print(line, s.block)
		return
	}
	fmt.Fprintln(s.w, line)
}

// say shows a line unless the user wants quiet.
func (s *screen) say(format string, args ...any) {
	if !s.c.Quiet {
		s.log(format, args...)
	}
}

// start shows what is about to happen, and begins to show the crawl.
func (s *screen) start(n *node.Node, dir string) {
	who := ""
	if s.c.Contact == "" {
		who = " · add --contact you@your.org for larger crawls"
	}
	s.say("decorum %s · identifying as %s%s", version, s.c.UserAgent(version), who)
	seeds, runs, first := n.Facts()
	s.say("%s", s.plan(seeds))
	live, err := n.Live(node.LiveOptions{Feed: s.feed, Stop: s.stopButton()})
	if err != nil {
		s.log("the crawl cannot be shown: %v", err)
		return
	}
	s.where(dir, live.Page())
	s.mu.Lock()
	s.live, s.status = live, live.Status
	s.mu.Unlock()
	if !first {
		st := live.Status(0)
		s.say("going on with run %d: %s so far, %s queued", runs, number(st.Pages, "page"), number(st.Queued, "URL"))
	}
	s.show()
}

// stopButton is what the page does to end the run: the same as the first Ctrl-C.
func (s *screen) stopButton() func() {
	if s.stop == nil {
		return nil
	}
	return func() { s.pausing(); s.stop() }
}

// where tells the folder and the live page. The address may hold the token, so it goes to the screen alone: the
// log of the live page can be read without it.
func (s *screen) where(dir, page string) {
	switch {
	case s.c.Quiet:
		return
	case s.json != nil:
		s.json.Info("start", "folder", dir, "live", page)
		return
	case page != "":
		page = "   live " + page
	}
	s.print(web.Clean("folder " + dir + "   (Ctrl-C pauses; the same command resumes)" + page))
}

// plan is what the crawl is about, in a line: scope, limits and manners.
func (s *screen) plan(seeds []string) string {
	parts := []string{"scope " + s.c.Scope}
	if seed, err := config.ParseSeed(first(seeds)); err == nil {
		s.seedHost = seed.URL.Host()
		if len(seeds) == 1 && s.c.Scope != "any" {
			parts[0] += " " + s.seedHost
		}
	}
	if len(seeds) > 1 {
		parts[0] += " of " + number(uint64(len(seeds)), "seed")
	}
	for _, limit := range []struct {
		set  bool
		text string
	}{{s.c.MaxPages > 0, "at most " + number(s.c.MaxPages, "page")}, {s.c.MaxTime > 0, "at most " + web.Brief(time.Duration(s.c.MaxTime))},
		{s.c.MaxBytes > 0, "at most " + s.c.MaxBytes.String()}, {s.c.Depth > 0, "at most " + number(uint64(max(s.c.Depth, 0)), "link") + " from a seed"}} {
		if limit.set {
			parts = append(parts, limit.text)
		}
	}
	if s.c.MaxPages == 0 {
		parts = append(parts, "no page limit")
	}
	parts = append(parts, "robots.txt obeyed"+exceptFor(s.c.IgnoreRobots),
		fmt.Sprintf("rest %s or %gx the last fetch%s", web.Brief(time.Duration(s.c.Delay)), s.c.DelayFactor, exceptFor(s.c.FastHost)))
	return strings.Join(parts, " · ")
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func exceptFor(hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	return " except for " + strings.Join(hosts, ", ")
}

// number writes a count with its noun.
func number(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return web.Count(n) + " " + noun + "s"
}

// show keeps the block, or the plain lines, up to date until finish.
func (s *screen) show() {
	period := plainPeriod
	switch {
	case s.term != nil:
		period = blockPeriod
		s.redraw()
	case s.c.Progress == "off" || s.c.Quiet:
		return
	}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.showing.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.refresh()
			}
		}
	})
}

func (s *screen) refresh() {
	if s.term != nil {
		s.redraw()
		return
	}
	st := s.status(0)
	if s.json != nil {
		s.json.Info("status", "status", st)
		return
	}
	s.print(web.Clean(st.Line()))
}

// redraw draws the block as it is now.
func (s *screen) redraw() {
	st := s.status(0)
	hints := []string{"ctrl-c pause"}
	if st.State == web.Finishing {
		hints[0] = "ctrl-c stop now"
	}
	if st.Page != "" {
		hints = append(hints, "live page "+st.Page)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block = st.Block(s.term.width(), hints...)
	s.term.draw(s.block)
}

// page shows a visit, with --verbose.
func (s *screen) page(r *jobdir.PageRecord) {
	s.feed.ObservePage(r)
	if !s.c.Verbose {
		return
	}
	if s.json != nil {
		s.json.Info("page", "url", r.URL, "status", r.Status, "outcome", r.Outcome, "bytes", r.BytesBody.Or(0), "total_ms", r.TotalMS.Or(0), "links_new", r.LinksNew.Or(0))
		return
	}
	what := r.Outcome
	if r.Status > 0 {
		what = fmt.Sprint(r.Status)
	}
	if r.Outcome == outcome.Duplicate.String() {
		what += " duplicate"
	}
	s.print(fmt.Sprintf("%-4s %6s %7s  %s", what, web.Brief(time.Duration(r.TotalMS.Or(0))*time.Millisecond), web.Bytes(uint64(r.BytesBody.Or(0))), web.Clean(r.URL)))
}

// fetched notes an exchange, and tells once what robots.txt of the first seed says.
func (s *screen) fetched(r *jobdir.FetchRecord) {
	s.feed.ObserveFetch(r)
	if r.Kind != jobdir.KindRobots || r.Host != s.seedHost {
		return
	}
	s.mu.Lock()
	told := s.told
	s.told = true
	s.mu.Unlock()
	if !told {
		s.say("%s", s.robotsLine(r))
	}
}

func (s *screen) robotsLine(r *jobdir.FetchRecord) string {
	o, _ := outcome.Parse(r.Outcome)
	switch {
	case o == outcome.OK || o == outcome.NotModified:
		return "robots.txt ok" + s.crawlDelay(r.Host)
	case o == outcome.NotFound || o == outcome.ClientError:
		return fmt.Sprintf("no robots.txt (%d): all of %s may be fetched", r.Status, r.Host)
	case o == outcome.Redirect:
		return "robots.txt is elsewhere; following"
	}
	return fmt.Sprintf("robots.txt of %s is not to be had (%s): the host waits", r.Host, o.Text())
}

// crawlDelay tells the delay that a host asks for.
func (s *screen) crawlDelay(host string) string {
	if s.status == nil {
		return ""
	}
	for _, h := range s.status(web.MaxRows).Rows {
		if h.Host == host && h.CrawlDelayMS > 0 {
			return " · Crawl-delay " + web.Brief(time.Duration(h.CrawlDelayMS)*time.Millisecond) + ", honoured"
		}
	}
	return ""
}

// pausing says that the crawl ends as soon as the requests under way have.
func (s *screen) pausing() {
	under := "finishing requests under way"
	s.mu.Lock()
	live := s.live
	s.mu.Unlock()
	if live != nil {
		under = "no request is under way"
		if n := live.Status(0).Queues.Leased; n > 0 {
			under = "finishing " + number(uint64(n), "request")
		}
		live.Finish()
	}
	s.log("pausing: %s (Ctrl-C again stops now; nothing is lost)", under)
}

// finish ends the show and says how the run ended.
func (s *screen) finish(r *node.Result, resume string) {
	s.end()
	s.showing.Wait()
	if s.live != nil {
		if err := s.live.Close(); err != nil {
			s.log("live page: %v", err)
		}
	}
	s.clear()
	if s.json != nil {
		s.json.Info("end", "reason", r.Reason, "detail", r.Detail, "resume", resume, "summary", r.Summary)
		return
	}
	s.print(web.Clean(ending(r, resume)))
}

// clear takes the block off the screen.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term != nil && s.block != nil {
		s.term.draw(nil)
		s.block = nil
	}
}

// ending is the last line: how the run ended, what there is, and how to go on.
func ending(r *node.Result, resume string) string {
	sum := &r.Summary
	parts := []string{endWord(r) + " after " + web.Elapsed(time.Duration(sum.WallMS)*time.Millisecond), number(uint64(sum.Pages), "page"), skippedText(sum)}
	if sum.Runs > 1 {
		parts[0] += fmt.Sprintf(" in %d runs", sum.Runs)
	}
	if sum.WARCFiles > 0 {
		parts = append(parts, web.Bytes(uint64(sum.BytesArchived))+" in "+number(uint64(sum.WARCFiles), "WARC file"))
	}
	if sum.QueuedLeft > 0 && r.Reason != jobdir.EndExhausted {
		parts = append(parts, number(uint64(sum.QueuedLeft), "URL")+" left")
	}
	if r.Reason != jobdir.EndExhausted {
		parts = append(parts, "resume: "+resume)
	}
	return strings.Join(parts, " · ")
}

// endWord is how a run ended.
func endWord(r *node.Result) string {
	switch r.Reason {
	case jobdir.EndExhausted:
		return "finished"
	case jobdir.EndInterrupted:
		if r.Forced {
			return "stopped"
		}
		return "paused"
	case jobdir.EndDisk:
		return "stopped by disk trouble"
	case jobdir.EndError:
		return "failed"
	}
	return "finished (" + r.Detail + ")"
}

// skippedText is "14 skipped (9 robots, 5 scope)".
func skippedText(sum *jobdir.Summary) string {
	var total uint64
	var reasons []string
	for i, r := range web.Ranked(sum.Skipped) {
		total += r.Count
		if i < 4 {
			reasons = append(reasons, web.Count(r.Count)+" "+r.Name)
		}
	}
	text := web.Count(total) + " skipped"
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text
}
