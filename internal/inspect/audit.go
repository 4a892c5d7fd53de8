package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/zeebo/xxh3"

	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

// Kinds of breaches.
const (
	BreachRecord     = "record"     // a line is damaged, or contradicts itself
	BreachSequence   = "sequence"   // a record is missing or out of place
	BreachOverlap    = "overlap"    // two contacts at once with a host or an address
	BreachGap        = "gap"        // less rest than was promised
	BreachCrawlDelay = "crawldelay" // less rest than robots.txt asked for
	BreachRobots     = "robots"     // no robots.txt in force, or not the one named
	BreachDisallowed = "disallowed" // robots.txt did not allow the URL
	BreachRepeated   = "repeated"   // a URL was fetched again
	BreachArchive    = "archive"    // record and archive differ
	BreachPages      = "pages"      // fetches.jsonl and pages.jsonl differ
	BreachState      = "state"      // record and state differ
)

// Limits of what a report lists; all are counted.
const (
	MaxBreaches  = 1000
	MaxAuditRows = 1000
)

// AuditReport says whether a crawl was polite.
type AuditReport struct {
	Dir      string           `json:"dir"`
	Polite   bool             `json:"polite"`
	InUse    bool             `json:"in_use"` // a crawl is running: the end of the record is not judged
	Runs     int              `json:"runs"`
	First    time.Time        `json:"first"`
	Last     time.Time        `json:"last"`
	Contacts int64            `json:"contacts"`
	Pages    int64            `json:"pages"`
	Sitemaps int64            `json:"sitemaps"`
	Robots   int64            `json:"robots"`   // contacts for robots.txt
	Versions int64            `json:"versions"` // of robots.txt, as they were fetched
	Checked  int64            `json:"checked"`  // URLs held against the robots.txt in force
	Hosts    int              `json:"hosts"`
	Rows     []HostRow        `json:"rows"` // the hosts closest to a breach first, at most MaxAuditRows
	Ignored  []IgnoredHost    `json:"ignored,omitempty"`
	Broken   map[string]int64 `json:"broken,omitempty"`   // breaches by kind
	Breaches []Breach         `json:"breaches,omitempty"` // the first MaxBreaches
	Notes    []string         `json:"notes,omitempty"`    // what could not be judged, and what is odd but no breach
}

// HostRow is what was promised to a host and what it got. Milliseconds; the gaps are absent after a single contact.
type HostRow struct {
	Host     string     `json:"host"`
	Contacts int64      `json:"contacts"`
	Gap      jobdir.Int `json:"least_gap_ms,omitzero"`
	Promised jobdir.Int `json:"promised_then_ms,omitzero"` // what was promised for the least gap
	Margin   jobdir.Int `json:"margin_ms,omitzero"`        // least of gap minus promise
	Breaches int64      `json:"breaches"`
}

// IgnoredHost is a host whose robots.txt the operator chose to ignore.
type IgnoredHost struct {
	Host    string `json:"host"`
	Fetches int64  `json:"fetches"`
}

// Breach is one broken promise, or a record that is not what it was.
type Breach struct {
	Kind string `json:"kind"`
	Line int    `json:"line,omitempty"` // of fetches.jsonl; 0: of the whole
	Seq  int64  `json:"seq,omitempty"`
	Host string `json:"host,omitempty"`
	URL  string `json:"url,omitempty"`
	Text string `json:"text"`
}

// Audit holds a crawl to its promises, going by its own record of every exchange, fetches.jsonl, and by its
// archive: per host no overlap and every gap at least as long as promised; each URL allowed by the robots.txt in force at
// the time; none fetched twice; no record missing, added or altered as far as record, archive, pages and
// state can tell. An error means that the folder could not be read; a breach is in the report.
func Audit(dir string) (AuditReport, error) {
	f, err := openFolder(dir)
	if err != nil {
		return AuditReport{}, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	a := newAuditor(f, dir)
	if err := a.run(); err != nil {
		return AuditReport{}, fmt.Errorf("audit %s: %w", dir, err)
	}
	a.finish()
	return a.rep, nil
}

// auditor reads the record once, from the first line to the last.
type auditor struct {
	f       *folder
	rep     AuditReport
	hosts   map[string]*hostTrail
	addrs   map[string]int64 // address -> end of its last contact, Unix milliseconds
	urls    map[xxh3.Uint128]urlTrail
	robots  *robotsTrail
	archive *archive
	pages   *pageCursor
	ignored map[string]bool // hosts that the archive says were exempt; nil until asked for
	exempt  map[string]int64

	at      int // line being judged
	seq     int64
	lost    map[int64]bool // exchanges of which a repair left the number
	lostSeq int64          // the last of them
	blind   int64          // fetches whose robots.txt may be among them
	parted  map[int64]bool // exchanges whose record in the archive, or whose page, is lost
	lastRun int
	tail    []Breach // of a folder in use: perhaps only not written yet
}

// hostTrail is what is remembered of a host. Times are Unix milliseconds, as in the record.
type hostTrail struct {
	row     HostRow
	lastEnd int64
	seq     int64
	run     int
	owed    int64 // Crawl-delay in force at the last contact
}

// urlTrail is what is remembered of a URL.
type urlTrail struct {
	seq     int64
	attempt uint8
	done    bool // its last outcome was final
}

func newAuditor(f *folder, dir string) *auditor {
	a := &auditor{f: f, hosts: map[string]*hostTrail{}, addrs: map[string]int64{}, urls: map[xxh3.Uint128]urlTrail{},
		exempt: map[string]int64{}, lost: map[int64]bool{}, parted: map[int64]bool{}}
	a.rep.Dir, a.rep.InUse, a.rep.Broken, a.rep.Rows = dir, f.inUse != nil, map[string]int64{}, []HostRow{}
	if f.broken != nil {
		a.note("the state cannot be opened (%v): uncommitted lines cannot be told from others", f.broken)
	}
	return a
}

func (a *auditor) note(format string, args ...any) {
	a.rep.Notes = append(a.rep.Notes, Clean(fmt.Sprintf(format, args...)))
}

func (a *auditor) run() error {
	fetches, err := a.f.open(jobdir.FetchesName) // before the index, which may grow meanwhile
	if err != nil {
		return err
	}
	defer fetches.Close()
	if err := fetches.length(a.f.clean); err != nil {
		a.breach(BreachState, nil, "fetches.jsonl is %v", err)
	}
	if a.archive, err = openArchive(a.f); err != nil {
		return err
	}
	defer a.archive.Close()
	pages, err := a.f.open(jobdir.PagesName)
	if err != nil {
		return err
	}
	defer pages.Close()
	a.pages = &pageCursor{lines: newLineReader(pages)}
	a.robots = newRobotsTrail(a)
	return a.lines(newLineReader(fetches))
}

func (a *auditor) lines(lines *lineReader) error {
	for {
		l, err := lines.read()
		if err == io.EOF {
			return a.pagesEnd()
		}
		if err != nil {
			return err
		}
		a.at = l.number
		if l.torn {
			if !a.rep.InUse {
				a.breach(BreachRecord, nil, "the last line has no end")
			}
			continue
		}
		var r jobdir.FetchRecord
		if err := json.Unmarshal(l.text, &r); err != nil {
			a.breach(BreachRecord, nil, "not a fetch record: %v", err)
			continue
		}
		if r.Type == "lost" {
			a.follows(&r)
			a.lost[r.Seq], a.lostSeq = true, r.Seq
			continue
		}
		if err := a.record(&r); err != nil {
			return err
		}
	}
}

// breach notes a breach of the record r, or of the whole when it is nil.
func (a *auditor) breach(kind string, r *jobdir.FetchRecord, format string, args ...any) {
	b := Breach{Kind: kind, Line: a.at, Text: fmt.Sprintf(format, args...)}
	if r != nil {
		b.Seq, b.Host, b.URL = r.Seq, r.Host, r.URL
	}
	late := kind == BreachArchive || kind == BreachPages || kind == BreachRobots
	if late && a.rep.InUse {
		a.tail = append(a.tail, b)
		return
	}
	a.count(b)
}

func (a *auditor) count(b Breach) {
	a.rep.Broken[b.Kind]++
	if h := a.hosts[b.Host]; h != nil {
		h.row.Breaches++
	}
	if len(a.rep.Breaches) < MaxBreaches {
		a.rep.Breaches = append(a.rep.Breaches, b)
	}
}

// whole says that everything up to here is surely on disk: what is missing is missing.
func (a *auditor) whole() {
	for _, b := range a.tail {
		a.count(b)
	}
	a.tail = a.tail[:0]
}

// record judges one exchange.
func (a *auditor) record(r *jobdir.FetchRecord) error {
	u, err := weburl.Reparse(r.URL)
	switch {
	case r.Type != "fetch":
		a.breach(BreachRecord, r, "a record of type %q", r.Type)
		return nil
	case err != nil:
		a.breach(BreachRecord, r, "the URL: %v", err)
		return nil
	case r.TS.IsZero() || r.EndTS.Before(r.TS) || r.Host == "":
		a.breach(BreachRecord, r, "begin, end or host is missing or impossible")
		return nil
	}
	a.totals(r)
	a.sequence(r)
	h := a.rest(r)
	a.address(r)
	c, archived, err := a.captured(r)
	if err != nil {
		return err
	}
	switch r.Kind {
	case jobdir.KindRobots:
		if h.owed, err = a.robots.learn(r, u, c, archived); err != nil {
			return err
		}
	case jobdir.KindPage, jobdir.KindSitemap:
		if h.owed, err = a.permission(r, u); err != nil {
			return err
		}
		a.once(r)
	default:
		a.breach(BreachRecord, r, "a fetch of kind %q", r.Kind)
	}
	return a.page(r)
}

func (a *auditor) totals(r *jobdir.FetchRecord) {
	p := &a.rep
	p.Contacts++
	if r.Lost != "" {
		a.parted[r.Seq] = true
	}
	switch r.Kind {
	case jobdir.KindRobots:
		p.Robots++
	case jobdir.KindSitemap:
		p.Sitemaps++
	case jobdir.KindPage:
		p.Pages++
	}
	if p.First.IsZero() || r.TS.Before(p.First) {
		p.First = r.TS
	}
	if r.EndTS.After(p.Last) {
		p.Last = r.EndTS
	}
	p.Runs = max(p.Runs, r.Run)
}

// follows says that records are numbered without gaps.
func (a *auditor) follows(r *jobdir.FetchRecord) {
	if want := a.seq + 1; r.Seq != want {
		a.breach(BreachSequence, r, "record %d follows record %d", r.Seq, a.seq)
	}
	a.seq = r.Seq
}

func (a *auditor) sequence(r *jobdir.FetchRecord) {
	a.follows(r)
	if r.Run < a.lastRun {
		a.breach(BreachSequence, r, "a record of run %d follows one of run %d", r.Run, a.lastRun)
	}
	a.lastRun = r.Run
	if total, ok := r.TotalMS.Get(); ok && apart(total, r.EndTS.UnixMilli()-r.TS.UnixMilli()) > rounding {
		a.breach(BreachRecord, r, "total_ms is %d, but from ts to end_ts it is %d", total, r.EndTS.UnixMilli()-r.TS.UnixMilli())
	}
}

// rounding is by how many milliseconds a difference of two times and the same difference taken before
// rounding may be apart: each of the three is rounded down, and wall and monotonic clock are read one after the other.
const rounding = 2

func apart(a, b int64) int64 { return max(a-b, b-a) }

// rest compares the gap before a contact with what was promised and with what the record says of it.
func (a *auditor) rest(r *jobdir.FetchRecord) *hostTrail {
	begin := r.TS.UnixMilli()
	h, known := a.hosts[r.Host]
	if !known {
		h = &hostTrail{row: HostRow{Host: r.Host}}
		a.hosts[r.Host] = h
		if gap, ok := r.GapMS.Get(); ok && r.Run <= 1 && len(a.lost) == 0 {
			a.breach(BreachSequence, r, "it says the host had rested for %s, but no contact before is on record", millis(gap))
		}
	} else {
		a.gap(r, h, begin-h.lastEnd)
	}
	h.row.Contacts++
	h.lastEnd, h.seq, h.run, h.owed = r.EndTS.UnixMilli(), r.Seq, r.Run, 0
	return h
}

func (a *auditor) gap(r *jobdir.FetchRecord, h *hostTrail, gap int64) {
	promised, owed := r.PromisedMS.Get()
	recorded, measured := r.GapMS.Get()
	switch {
	case gap < 0:
		a.breach(BreachOverlap, r, "began %s before the contact before it with %s had ended", millis(-gap), r.Host)
	case gap < promised:
		a.breach(BreachGap, r, "%s rested %s, promised were %s", r.Host, millis(gap), millis(promised))
	case gap < h.owed:
		a.breach(BreachCrawlDelay, r, "%s rested %s, its robots.txt asked for %s", r.Host, millis(gap), millis(h.owed))
	case measured && recorded < promised:
		a.breach(BreachGap, r, "gap_ms is %d, promised_ms %d", recorded, promised)
	}
	switch {
	case !measured || !owed:
		a.breach(BreachRecord, r, "it does not say how long the host had rested, though it was contacted before")
	case apart(gap, recorded) <= rounding:
	case gap > recorded && r.Run > h.run: // a contact that was cut when the crawl stopped is not on record
	case gap > recorded && a.lostSeq > h.seq: // one in between may be lost
	default:
		a.breach(BreachRecord, r, "gap_ms is %d, but since the end of the contact before it is %d", recorded, gap)
	}
	if least, ok := h.row.Gap.Get(); !ok || gap < least {
		h.row.Gap, h.row.Promised = jobdir.Known(gap), jobdir.Known(promised)
	}
	if margin, ok := h.row.Margin.Get(); !ok || gap-promised < margin {
		h.row.Margin = jobdir.Known(gap - promised)
	}
}

// address finds two contacts with one address at the same time.
func (a *auditor) address(r *jobdir.FetchRecord) {
	if r.IP == "" {
		return
	}
	if end, known := a.addrs[r.IP]; known && r.TS.UnixMilli() < end {
		a.breach(BreachOverlap, r, "began %s before another contact with the address %s had ended", millis(end-r.TS.UnixMilli()), r.IP)
	}
	a.addrs[r.IP] = max(a.addrs[r.IP], r.EndTS.UnixMilli())
}

// once finds URLs that were fetched although they were done with.
func (a *auditor) once(r *jobdir.FetchRecord) {
	key := xxh3.HashString128Seed(r.URL, a.archive.seed)
	before, known := a.urls[key]
	o, ok := outcome.Parse(r.Outcome)
	if !ok {
		a.breach(BreachRecord, r, "an outcome %q", r.Outcome)
	}
	switch {
	case !known:
	case before.done:
		a.breach(BreachRepeated, r, "the URL was fetched before, record %d", before.seq)
	case before.attempt > 0 && r.Attempt <= int(before.attempt):
		a.breach(BreachRepeated, r, "attempt %d follows attempt %d, record %d", r.Attempt, before.attempt, before.seq)
	}
	now := urlTrail{seq: r.Seq, attempt: uint8(min(max(r.Attempt, 0), 255)), done: o != outcome.None && o.Retry() == outcome.Never}
	if o == outcome.None && now.attempt > 0 {
		now.attempt-- // a limit ended the crawl with it: the URL stays as it was
	}
	if r.Lost != "" {
		now = urlTrail{seq: r.Seq} // and so it was to be fetched again
	}
	a.urls[key] = now
}

// captured finds the archive's record of an exchange that had a response.
func (a *auditor) captured(r *jobdir.FetchRecord) (capture, bool, error) {
	if len(a.archive.files) == 0 || r.Lost == jobdir.LostCapture {
		return capture{}, false, nil // no archive was wanted, nothing was ever answered, or it is lost
	}
	c, ok := a.archive.take(r.URL, r.TS)
	switch o, _ := outcome.Parse(r.Outcome); {
	case ok:
		a.whole()
	case r.Status != 0 && o != outcome.None:
		a.breach(BreachArchive, r, "the archive has no record of this exchange")
	}
	return c, ok, nil
}
