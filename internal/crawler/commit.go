package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/meter"
	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/urlseen"
	"decorum/internal/warc"
	"decorum/internal/weburl"
)

// maxIntakePerStep bounds the links one step sieves: 50,000 take about 50 ms, so a step stays well within
// the 250 ms a commit may be late.
const maxIntakePerStep = 50_000

// maxIntakeBatch bounds the links of one intake batch, which is read whole: a step takes at most that many too many.
const maxIntakeBatch = 10_000

// committer is the step side of the crawl: it owns every write to the store, the archive and the streams. One
// goroutine runs it.
//
// A step, in order: append the group's records to the archive and its lines to the streams; sync those
// files; build one batch (queues, pages, contents, robots, intake, sieve, refill, and Progress with the
// ends of the files); commit it; tell every part. Files are synced before the batch, so the batch never
// vouches for bytes that are not there; what lies beyond the offsets of Progress is cut on open.
type committer struct {
	c        *Crawler
	intake   *intake
	progress Progress
	skips    *jobdir.SkipLog
	seen     []urlseen.Key // scratch
}

// Progress is what the store knows about the crawl as a whole: one value, rewritten by every step.
type Progress struct {
	Archive warc.Position         `json:"archive"`
	Streams map[string]int64      `json:"streams"`        // end of each stream by name
	Sums    map[string]jobdir.Sum `json:"sums,omitempty"` // of each stream up to its end, where known
	Counts  meter.Snapshot        `json:"counts"`
	Seq     int64                 `json:"seq"`   // of fetch records
	Seeds   []string              `json:"seeds"` // where seeds moved to
}

var progressKey = store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("progress")}

// ReadProgress returns what the last committed step left, or the zero Progress in a new store. It fails with ErrRepair while
// the files are not what the state says.
func ReadProgress(db *store.DB) (Progress, error) {
	var p Progress
	switch begun, err := db.Has(journalKey); {
	case err != nil:
		return p, err
	case begun:
		return p, ErrRepair
	}
	raw, ok, err := db.Get(progressKey)
	if err != nil || !ok {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("state: progress: %w", err)
	}
	return p, nil
}

func newCommitter(c *Crawler) (*committer, error) {
	progress, err := ReadProgress(c.DB)
	if err != nil {
		return nil, err
	}
	in, err := openIntake(c.DB, c.Frontier.Partitions())
	if err != nil {
		return nil, err
	}
	c.Meter.Restore(progress.Counts)
	k := &committer{c: c, intake: in, progress: progress, skips: jobdir.NewSkipLog(jobdir.SkipOptions{})}
	// The ends of the files are committed before anything is appended, so that a crash in the first step
	// leaves nothing behind that the store does not know.
	b := c.DB.NewBatch()
	if err := k.writeProgress(b); err != nil {
		return nil, err
	}
	return k, b.Commit(true)
}

// run steps until the scheduler has ended and every finished visit is committed.
func (k *committer) run() error {
	defer close(k.c.between.ended)
	k.c.Frontier.Kick() // the first step tells the frontier what intake there is
	for {
		work, err := k.c.Frontier.Collect(context.Background())
		if errors.Is(err, frontier.ErrClosed) {
			return k.end()
		}
		if err != nil {
			return err
		}
		if err := k.step(work); err != nil {
			return err
		}
		k.c.between.pause()
	}
}

// end writes how many skipped URLs were counted but not listed.
func (k *committer) end() error {
	out := outputs{skipped: k.skips.AppendCounts(nil)}
	if len(out.skipped) == 0 {
		return nil
	}
	if err := k.flush(&out, false); err != nil {
		return err
	}
	b := k.c.DB.NewBatch()
	defer b.Discard()
	if err := k.writeProgress(b); err != nil {
		return err
	}
	return b.Commit(true)
}

// step commits one group.
func (k *committer) step(work frontier.Work) error {
	began := time.Now()
	if err := k.write(work.Finished); err != nil {
		return err
	}
	b := k.c.DB.NewBatch()
	defer b.Discard()
	refused, err := k.build(b, work)
	if err != nil {
		return err
	}
	k.count(work.Finished, refused)
	if err := k.writeProgress(b); err != nil {
		return err
	}
	if err := b.Commit(true); err != nil {
		return err
	}
	return k.applied(work, refused, began)
}

// write appends the group to archive and streams, and syncs them.
func (k *committer) write(finished []frontier.Finished) error {
	var lines outputs
	for _, f := range finished {
		if err := k.writeVisit(f.Visit.(*visit), &lines); err != nil {
			return err
		}
	}
	return k.flush(&lines, len(finished) > 0)
}

// outputs collects the lines of a group by stream.
type outputs struct{ pages, fetches, skipped, index, links []byte }

func (k *committer) writeVisit(v *visit, out *outputs) error {
	if err := k.store(v, out); err != nil {
		return err
	}
	if v.fetch != nil {
		k.progress.Seq++
		v.fetch.Seq = k.progress.Seq
		out.fetches = v.fetch.AppendJSON(out.fetches)
	}
	if v.page != nil {
		if v.fetch != nil {
			v.page.Seq = v.fetch.Seq
		}
		out.pages = v.page.AppendJSON(out.pages)
	}
	for i := range v.skips {
		out.skipped = k.skips.Append(out.skipped, &v.skips[i])
	}
	for o, n := range v.unlisted {
		out.skipped = (&jobdir.SkipRecord{Reason: o.String(), Count: int64(n)}).AppendJSON(out.skipped)
	}
	out.links = append(out.links, v.records...)
	return nil
}

// tell shows the visit to whoever wants to know, now that it is durable.
func (o *Options) tell(v *visit) {
	if v.fetch != nil {
		o.OnFetch(v.fetch)
	}
	if v.page != nil {
		o.OnPage(v.page)
	}
	for i := range v.skips {
		o.OnSkip(&v.skips[i])
	}
}

// store appends the visit's records to the archive and notes where the main one lies.
func (k *committer) store(v *visit, out *outputs) error {
	if len(v.members) == 0 {
		return nil
	}
	places, err := k.c.Archive.Append(v.archive, v.members...)
	if err != nil {
		return err
	}
	if v.main < 0 {
		return nil
	}
	place, m := places[v.main], v.members[v.main]
	if v.page != nil {
		v.page.ID, v.page.Digest = m.ID, m.PayloadDigest
		v.page.WARC = jobdir.WARCPlace{File: place.File, Offset: place.Offset, Length: place.Length, RecordID: m.ID}
	}
	out.index = v.indexLine(out.index, place, m)
	return nil
}

// flush appends the lines, and syncs archive and streams side by side.
func (k *committer) flush(out *outputs, archive bool) error {
	var g errgroup.Group
	if archive {
		g.Go(k.c.Archive.Sync)
	}
	for _, s := range []struct {
		stream *jobdir.Stream
		lines  []byte
	}{{k.c.Pages, out.pages}, {k.c.Fetches, out.fetches}, {k.c.Skipped, out.skipped}, {k.c.Index, out.index}, {k.c.Links, out.links}} {
		if s.stream == nil || len(s.lines) == 0 {
			continue
		}
		g.Go(func() error {
			if _, err := s.stream.Append(s.lines); err != nil {
				return err
			}
			return s.stream.Sync()
		})
	}
	return g.Wait()
}

// build fills the batch: what the visits did, then what the intake brings, then the refill.
func (k *committer) build(b *store.Batch, work frontier.Work) ([]frontier.Refused, error) {
	if err := k.c.Frontier.Settle(b, work); err != nil {
		return nil, err
	}
	items, parts, err := k.intake.take(b, maxIntakePerStep)
	if err != nil {
		return nil, err
	}
	if err := k.sieve(b, items, parts); err != nil {
		return nil, err
	}
	for _, f := range work.Finished {
		if err := k.record(b, f.Visit.(*visit)); err != nil {
			return nil, err
		}
	}
	k.appendLinks(b, work.Finished)
	refused, err := k.c.Frontier.Refill(b)
	if err != nil {
		return nil, err
	}
	return refused, k.refused(b, refused)
}

// sieve drops the links already seen and hands the rest to the front queues, in first-seen order.
func (k *committer) sieve(b *store.Batch, items []frontier.Item, parts []store.Partition) error {
	if len(items) == 0 {
		return nil
	}
	k.seen = k.seen[:0]
	for i := range items {
		k.seen = append(k.seen, urlseen.Key{Partition: parts[i], FP: items[i].FP})
	}
	fresh, err := k.c.Seen.Step(b, k.seen)
	if err != nil {
		return err
	}
	news := make([]frontier.Item, len(fresh))
	for i, j := range fresh {
		news[i] = items[j]
	}
	k.c.Meter.LinksNew.Add(len(fresh))
	k.c.Meter.LinksSeen.Add(len(items) - len(fresh))
	return k.c.Frontier.Add(b, news)
}

// record writes what became of the visit's URL, its content, and what was learned of robots.txt.
func (k *committer) record(b *store.Batch, v *visit) error {
	if v.final != outcome.None && v.lease.Kind != frontier.Robots {
		s := v.state()
		b.Set(pageKey(v.lease.Partition, v.lease.FP), s.Marshal())
	}
	if v.claimed {
		k.c.Content.Record(b, v.digest, v.ref)
	}
	if v.sim != 0 {
		k.c.Content.RecordNear(b, v.nearPage(), v.sim)
	}
	if v.robots != nil {
		b.Set(robotsKey(v.robots.Origin), v.robots.Marshal())
	}
	if !v.newSeed.IsZero() {
		k.progress.Seeds = append(k.progress.Seeds, v.newSeed.String())
	}
	return nil
}

// appendLinks writes the links of the group to the intake, one batch to each partition.
func (k *committer) appendLinks(b *store.Batch, finished []frontier.Finished) {
	byPartition := map[store.Partition][]frontier.Item{}
	for _, f := range finished {
		for _, it := range f.Visit.(*visit).links {
			p := k.c.Frontier.PartitionOf(it.URL)
			byPartition[p] = append(byPartition[p], it)
		}
	}
	for p, items := range byPartition {
		for part := range slices.Chunk(items, maxIntakeBatch) {
			k.intake.append(b, p, part)
		}
	}
}

// refused records URLs that the frontier dropped without a visit.
func (k *committer) refused(b *store.Batch, refused []frontier.Refused) error {
	var out outputs
	for i := range refused {
		r := &refused[i]
		s := PageState{Outcome: r.Outcome, Rule: r.Rule, Time: time.Now(), URL: r.Item.URL.String()}
		b.Set(pageKey(k.c.Frontier.PartitionOf(r.Item.URL), r.Item.FP), s.Marshal())
		skip := skipOf(r)
		out.skipped = k.skips.Append(out.skipped, &skip)
	}
	return k.flush(&out, false)
}

func skipOf(r *frontier.Refused) jobdir.SkipRecord {
	return jobdir.SkipRecord{URL: r.Item.URL.String(), Host: r.Item.URL.Host(), Reason: r.Outcome.String(), Rule: r.Rule,
		Parent: r.Item.Parent, Depth: int(r.Item.Depth)}
}

// streams are the open output streams by name.
func (c *Crawler) streams() map[string]*jobdir.Stream {
	m := map[string]*jobdir.Stream{jobdir.PagesName: c.Pages, jobdir.FetchesName: c.Fetches,
		jobdir.SkippedName: c.Skipped, jobdir.IndexPartName: c.Index}
	if c.Links != nil {
		m[jobdir.LinksName] = c.Links
	}
	return m
}

func (k *committer) writeProgress(b *store.Batch) error {
	c := k.c
	p := &k.progress
	p.Archive, p.Counts = c.Archive.Position(), c.Meter.Snapshot(time.Now())
	if p.Streams == nil {
		p.Streams = map[string]int64{}
	}
	if p.Sums == nil {
		p.Sums = map[string]jobdir.Sum{}
	}
	for name, s := range c.streams() { // one that is not open in this run keeps its end
		p.Streams[name], p.Sums[name] = s.Offset(), s.Sum()
	}
	return p.save(b)
}

func (p *Progress) save(b *store.Batch) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	b.Set(progressKey, raw)
	return nil
}

// applied tells every part that the batch is durable.
func (k *committer) applied(work frontier.Work, refused []frontier.Refused, began time.Time) error {
	k.intake.applied()
	k.c.Content.Applied()
	if err := k.c.Seen.Applied(); err != nil {
		return err
	}
	for _, f := range work.Finished {
		v := f.Visit.(*visit)
		k.c.release(v)
		k.c.opt.tell(v)
	}
	for i := range refused {
		skip := skipOf(&refused[i])
		k.c.opt.OnSkip(&skip)
	}
	k.c.Frontier.Applied(k.intake.links)
	now := time.Now()
	k.c.Meter.Committed(now, now.Sub(began))
	return nil
}

// count adds the group to the numbers shown: just before it becomes durable, in the same batch.
func (k *committer) count(finished []frontier.Finished, refused []frontier.Refused) {
	m := k.c.Meter
	for _, f := range finished {
		f.Visit.(*visit).count(m)
	}
	for i := range refused {
		m.Skipped.Add(1)
		m.Outcomes[refused[i].Outcome].Add(1)
	}
}

// count adds one visit to the numbers.
func (v *visit) count(m *meter.Crawl) {
	if v.fetch != nil {
		m.Fetches.Add(1)
		m.WireBytes.Add(int(v.exchange.Bytes))
		if class := v.fetch.Status / 100; class < len(m.Status) { // odd ones are in Outcomes
			m.Status[class].Add(1)
		}
		if v.fetch.Reused {
			m.Reused.Add(1)
		}
		if v.fetch.Kind == jobdir.KindRobots {
			m.Robots.Add(1)
		}
	}
	if v.sitemap {
		m.Sitemaps.Add(1)
	}
	m.WARCBytes.Add(len(v.archive))
	m.LinksFound.Add(v.found.found)
	m.LinksPassed.Add(v.found.passed)
	m.LinksCached.Add(v.found.cached)
	for i := range v.skips {
		m.Skipped.Add(1)
		if o, ok := outcome.Parse(v.skips[i].Reason); ok {
			m.Outcomes[o].Add(1)
		}
	}
	for o, n := range v.unlisted {
		m.Skipped.Add(n)
		m.Outcomes[o].Add(n)
	}
	if v.page != nil {
		m.Pages.Add(1)
		n, _ := v.page.BytesBody.Get()
		m.BodyBytes.Add(int(n))
		m.Outcomes[v.final].Add(1)
	}
}

// Seed puts the seeds of a crawl into the intake, in one durable batch.
func (c *Crawler) Seed(items []frontier.Item) error {
	b := c.DB.NewBatch()
	defer b.Discard()
	in := c.commit.intake
	for _, it := range items {
		in.append(b, c.Frontier.PartitionOf(it.URL), []frontier.Item{it})
	}
	if err := b.Commit(true); err != nil {
		return err
	}
	in.applied()
	return nil
}

func pageKey(p store.Partition, fp weburl.Fingerprint) store.Key {
	return store.Key{Partition: p, Space: store.Page, ID: fp[:]}
}
