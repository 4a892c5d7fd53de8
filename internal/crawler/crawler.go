// Package crawler is the loop of the crawl: lease, robots, fetch, archive, links; and the group commit that
// makes its results durable.
//
// # Two halves
//
// Fetching is asynchronous: any number of workers, each holding one lease at a time. A worker makes at
// most one contact per lease (the page, or the robots.txt it needs first), turns the exchange into
// archive records, links and facts, and gives them back as a visit. Everything about state is
// bulk-synchronous: one goroutine, the committer, works in steps. A step takes the finished visits,
// appends their records to the archive and the output streams, syncs those files, sieves the links that earlier
// steps left as intake, refills the queues, and commits all of it as one batch of the store.
//
// # Invariants
//
//   - No page is in the store without its WARC record, and after recovery none is in the archive that
//     the store does not know: files are synced before the batch, and cut back to the batch's offsets on open.
//   - A URL leaves its queue in the same batch that records what became of it and holds its links.
//   - Numbers are counted when they are committed, so what is shown is what is durable.
//   - robots.txt is tested immediately before each fetch, with rules that are valid at that moment.
//   - What the web did is an outcome; an error of a worker or of the committer stops the crawl.
//
// Goroutines: Run starts the frontier's scheduler, the committer and the workers, and returns when
// all have ended.
package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"decorum/internal/contentseen"
	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/meter"
	"decorum/internal/parse"
	"decorum/internal/robots"
	"decorum/internal/store"
	"decorum/internal/urlfilter"
	"decorum/internal/urlseen"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// ErrMaxBytes says that one more page would pass Options.MaxBytes.
var ErrMaxBytes = errors.New("crawler: the byte limit is reached")

// Parts are the boxes of the picture, opened by node and used here. All are required but Links.
type Parts struct {
	DB        *store.DB
	Frontier  *frontier.Frontier
	Seen      *urlseen.Sieve
	Cache     *urlseen.Cache
	Robots    *robots.Cache
	Resolver  *dns.Resolver
	Policy    *dns.Policy
	Transport *fetch.Transport
	Filter    *urlfilter.Filter
	Content   *contentseen.Set
	Archive   *warc.Writer
	Pages     *jobdir.Stream
	Fetches   *jobdir.Stream
	Skipped   *jobdir.Stream
	Index     *jobdir.Stream
	Links     *jobdir.Stream // nil unless link records are wanted
	Hasher    *weburl.Hasher
	Meter     *meter.Crawl
}

// SitemapMode says what is done with sitemaps.
type SitemapMode string

const (
	SitemapsAuto SitemapMode = "auto" // those that robots.txt names are read, their URLs are links
	SitemapsOnly SitemapMode = "only" // only URLs of sitemaps and seeds are fetched
	SitemapsOff  SitemapMode = "off"
)

// Options of the crawl loop. Zero fields mean the default.
type Options struct {
	Agent        string                              // product token for robots.txt and meta robots; required
	Workers      int                                 // default 64
	Retries      int                                 // attempts after the first; the frontier's, for robots.txt here
	MaxRedirects int                                 // redirects in a row; default 10
	MaxBytes     uint64                              // received bytes after which no further page is recorded; 0 = no limit
	MaxBody      int64                               // decoded bytes of one body; default 10 MiB
	GzipLevel    int                                 // of archive members; default 1
	Sitemaps     SitemapMode                         // default auto
	IgnoreRobots func(host string) bool              // nil: none
	Headers      func(weburl.URL) []fetch.Field      // fields that a request for the URL carries besides the usual; nil: none
	Redact       []string                            // names of request fields whose values are not archived
	Admit        func(host string, local bool) error // asked before each contact, with whether the address is on loopback or private; an error ends the crawl; nil: all may be contacted
	FollowNear   bool                                // follow links of near-duplicates; node sets it unless --near-duplicates skip
	NearOff      bool                                // no SimHash at all
	ObeyRel      bool                                // do not follow rel=nofollow
	Seeds        []string                            // for the seed field of page records, by number
	Run          int                                 // number of this run of the program in the crawl folder, from 1
	Memory       int64                               // bytes of bodies and archive records in memory at once; default 128 MiB
	NoArchive    bool                                // write no WARC records
	OnPage       func(*jobdir.PageRecord)            // called by the committer for each page record, once it is durable; nil: nobody
	OnFetch      func(*jobdir.FetchRecord)           // the same for exchanges
	OnSkip       func(*jobdir.SkipRecord)            // the same for skipped URLs
	KeepFor      time.Duration                       // how long a connection is kept for the next contact; default 15 s
}

// EnsureDefaults fills zero fields.
func (o *Options) EnsureDefaults() {
	def(&o.Workers, 64)
	def(&o.MaxRedirects, 10)
	def(&o.GzipLevel, 1)
	def(&o.Sitemaps, SitemapsAuto)
	def(&o.Memory, 128<<20)
	def(&o.MaxBody, 10<<20)
	def(&o.KeepFor, 15*time.Second)
	if o.IgnoreRobots == nil {
		o.IgnoreRobots = func(string) bool { return false }
	}
	if o.Headers == nil {
		o.Headers = func(weburl.URL) []fetch.Field { return nil }
	}
	if o.OnPage == nil {
		o.OnPage = func(*jobdir.PageRecord) {}
	}
	if o.OnFetch == nil {
		o.OnFetch = func(*jobdir.FetchRecord) {}
	}
	if o.OnSkip == nil {
		o.OnSkip = func(*jobdir.SkipRecord) {}
	}
	if o.Admit == nil {
		o.Admit = func(string, bool) error { return nil }
	}
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Validate reports the first option that cannot work.
func (o *Options) Validate() error {
	if o.Agent == "" {
		return errors.New("crawler: no product token")
	}
	return nil
}

// Crawler is one crawl in progress.
type Crawler struct {
	Parts
	opt      Options
	tools    chan *tools         // idle tool sets; as many as may work on pages at once
	memory   *semaphore.Weighted // bytes of large bodies in memory
	dropped  *urlseen.Cache      // links dropped and listed already
	received atomic.Uint64       // bytes counted against MaxBytes
	commit   *committer
	between  interludes
}

// tools are what turning an exchange into records takes. They are few, because they hold a megabyte
// each and the work is CPU: a thousand workers wait for the network, two per core parse.
type tools struct {
	parser  *parse.Parser
	encoder *warc.Encoder
	sim     *contentseen.SimHasher
}

// New returns a crawler over open parts. It reads the intake left by an earlier run.
func New(p Parts, o Options) (*Crawler, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Crawler{Parts: p, opt: o, memory: semaphore.NewWeighted(o.Memory),
		dropped: urlseen.NewCache(urlseen.CacheOptions{}), between: newInterludes()}
	n := 2 * runtime.GOMAXPROCS(0)
	c.tools = make(chan *tools, n)
	for range n {
		c.tools <- &tools{
			parser:  parse.NewParser(parse.Options{Text: true}),
			encoder: warc.NewEncoder(warc.EncoderOptions{Level: o.GzipLevel}),
			sim:     contentseen.NewSimHasher(),
		}
	}
	var err error
	if c.commit, err = newCommitter(c); err != nil {
		return nil, fmt.Errorf("crawler: %w", err)
	}
	if left := c.commit.intake.links; left > 0 {
		c.Frontier.Applied(left) // so that it is counted from the beginning
	}
	c.received.Store(c.Meter.WireBytes.Load())
	return c, nil
}

// Run crawls until there is nothing left (frontier.ErrExhausted), a limit is reached (frontier.ErrLimit,
// ErrMaxBytes, an error of Admit), or soft is done: then no further lease is taken, requests under way end as they would, and
// everything finished is committed. When hard is done as well, requests under way are cut; their URLs
// stay queued.
func (c *Crawler) Run(soft, hard context.Context) error {
	hard, cut := context.WithCancel(hard)
	defer cut()
	leasing, stop := context.WithCancelCause(soft)
	defer stop(nil)
	scheduling, stopScheduler := context.WithCancel(context.WithoutCancel(hard))
	defer stopScheduler()
	var scheduler, committing sync.WaitGroup
	scheduler.Go(func() { _ = c.Frontier.Run(scheduling) }) // ends by stopScheduler alone
	var committed error
	committing.Go(func() {
		if committed = c.commit.run(); committed != nil {
			stop(committed)
			cut() // nothing more can be recorded
		}
	})
	crawled := c.workers(leasing, hard, stop)
	stopScheduler() // the committer settles what is finished, and ends
	scheduler.Wait()
	committing.Wait()
	return cmp.Or(committed, crawled)
}

// workers runs the workers until all have ended, and returns why the first one did.
func (c *Crawler) workers(leasing, hard context.Context, stop context.CancelCauseFunc) error {
	var wg sync.WaitGroup
	for range c.opt.Workers {
		wg.Go(func() { stop(c.work(leasing, hard)) })
	}
	wg.Wait()
	return context.Cause(leasing)
}

// work is the whole crawl as one worker sees it. A lease is the right to talk to one host, granted only
// when the host is due and never twice at once, so politeness needs no lock.
func (c *Crawler) work(leasing, hard context.Context) error {
	for {
		lease, err := c.Frontier.Next(leasing) // waits until some host is due
		if err != nil {
			return err // frontier.ErrExhausted, ErrLimit, or stopping
		}
		v := &visit{lease: lease, main: -1}
		switch err := c.visit(hard, v); {
		case err == nil:
			c.Frontier.Done(lease, v) // frees the host now, durable with the next group commit
			if v.stop != nil {
				return v.stop
			}
		case err == errGone:
			continue
		default:
			c.Frontier.Done(lease, v.abandoned())
			if hard.Err() != nil {
				return hard.Err() // cut: the URL stays queued
			}
			return fmt.Errorf("visit %v: %w", lease.URL, err) // our fault: stops the crawl
		}
	}
}

// abandoned is a visit that was cut: the URL stays at the head of its queue, and the host rests as after any contact.
func (v *visit) abandoned() *visit {
	cut := &visit{lease: v.lease, main: -1, reserved: v.reserved}
	cut.exchange = frontier.Exchange{Contact: v.exchange.Contact, Start: v.exchange.Start, End: time.Now(), Addr: v.exchange.Addr,
		CrawlDelay: v.exchange.CrawlDelay}
	return cut
}
