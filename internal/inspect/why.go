package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"decorum/internal/crawler"
	"decorum/internal/dns"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/robots"
	"decorum/internal/store"
	"decorum/internal/urlfilter"
	"decorum/internal/weburl"
)

// What became of a URL: WhyReport.Verdict.
const (
	WhyFetched = "fetched"     // there is a page
	WhyFailed  = "failed"      // tried in vain
	WhyRefused = "refused"     // it was queued, and then not fetched
	WhySkipped = "skipped"     // it was found, and not queued
	WhyLeased  = "leased"      // being fetched
	WhyReady   = "ready"       // next in the queue of its host
	WhyWaiting = "waiting"     // in a front queue
	WhyFound   = "found"       // found a moment ago, not yet queued
	WhyUnknown = "never_found" // no page that was read has a link to it
	WhyNoURL   = "not_a_url"
)

// WhyReport says why a URL was, or was not, crawled.
type WhyReport struct {
	URL     string            `json:"url"` // fetch form, or what was given if it has none
	Dir     string            `json:"dir"`
	Verdict string            `json:"verdict"`
	Outcome string            `json:"outcome,omitempty"` // outcome.Outcome by name; of never_found: what a link to it would meet
	Text    string            `json:"text"`              // the reason in a sentence
	Rule    string            `json:"rule,omitempty"`    // what decided: a pattern, a line of robots.txt, a limit, or what went wrong
	SameAs  string            `json:"same_as,omitempty"` // the URL it counts as the same page as
	Time    *time.Time        `json:"time,omitempty"`
	Status  int               `json:"status,omitempty"`
	DupOf   string            `json:"dup_of,omitempty"`
	WARC    *jobdir.WARCPlace `json:"warc,omitempty"`
	Level   int               `json:"level,omitempty"`
	Depth   int               `json:"depth"`
	Attempt int               `json:"attempt,omitempty"` // attempts made
	Chain   []ChainStep       `json:"chain,omitempty"`   // from the seed to the URL
	Cut     bool              `json:"chain_cut,omitempty"`
	Host    *WhyHost          `json:"host,omitempty"`
	InUse   bool              `json:"in_use"` // answered from the streams alone, because a crawl holds the state
	Notes   []string          `json:"notes,omitempty"`
}

// ChainStep is one page on the way from a seed.
type ChainStep struct {
	URL    string `json:"url"`
	Anchor string `json:"anchor,omitempty"` // text of the link to it
	How    string `json:"how"`              // seed, link, redirect, embed, sitemap, robots
}

// WhyHost is how the host of a queued URL stands.
type WhyHost struct {
	Key    string     `json:"key"`
	Phase  string     `json:"phase"`
	Due    *time.Time `json:"due,omitempty"`
	GapMS  int64      `json:"gap_ms"`
	Reason string     `json:"gap_reason"`
	Queued uint64     `json:"queued"`
	Pages  uint64     `json:"pages"`
}

// WhyOptions are the options of the crawl that decide about URLs.
type WhyOptions struct {
	Filter       urlfilter.Options       // without seeds: those of the crawl are added
	Keys         weburl.KeyRules         // which URLs are the same
	PoliteKey    func(weburl.URL) string // default: the host
	Policy       dns.PolicyOptions       // without seeds
	IgnoreRobots []string                // hosts
}

// EnsureDefaults fills zero fields.
func (o *WhyOptions) EnsureDefaults() {
	if o.PoliteKey == nil {
		o.PoliteKey = weburl.URL.Host
	}
}

// Why says what became of a URL in a crawl, and why. It asks, in this order: the state of pages, the queues, the list of
// skipped URLs; and if none of them knows the URL, what would happen to a link to it now. An error means that the
// folder cannot be read.
func Why(dir, raw string, o WhyOptions) (WhyReport, error) {
	o.EnsureDefaults()
	w := &reasoner{o: o, rep: WhyReport{Dir: dir}, listed: map[outcome.Outcome]int{}}
	if !w.parse(raw) {
		return w.rep, nil
	}
	f, err := openFolder(dir)
	if err != nil {
		return w.rep, fmt.Errorf("why: %w", err)
	}
	defer f.Close()
	w.f = f
	if err := w.explain(); err != nil {
		return w.rep, fmt.Errorf("why %s: %w", w.u, err)
	}
	return w.rep, nil
}

// reasoner looks for one URL.
type reasoner struct {
	o    WhyOptions
	f    *folder
	live *Live // nil: nobody crawls
	u    weburl.URL
	fp   weburl.Fingerprint
	rep  WhyReport

	listed map[outcome.Outcome]int // lines of skipped.jsonl about the host of u, by reason
}

// parse reads the URL; what has no scheme is taken for https, as a seed is.
func (w *reasoner) parse(raw string) bool {
	u, err := weburl.Parse(raw)
	if err != nil && !strings.Contains(raw, ":") {
		u, err = weburl.Parse("https://" + raw)
	}
	if err == nil {
		w.u, w.rep.URL = u, u.String()
		return true
	}
	o := outcome.BadURL
	if errors.Is(err, weburl.ErrScheme) {
		o = outcome.Scheme
	}
	w.rep.URL, w.rep.Verdict, w.rep.Outcome = raw, WhyNoURL, o.String()
	w.rep.Text, w.rep.Rule = "a link to it is dropped: "+o.Text(), err.Error()
	return false
}

func (w *reasoner) explain() error {
	w.rep.InUse = w.f.inUse != nil
	if !w.f.committed() {
		why := w.f.inUse
		if why == nil {
			why = w.f.broken
		}
		w.note("%v: this answer is from the lists of pages and skipped URLs alone", why)
		return w.fromStreams()
	}
	w.fp = weburl.NewHasher(w.f.facts.Secret, w.o.Keys).Fingerprint(w.u)
	for range w.rounds() {
		for _, look := range []func() (bool, error){w.fromState, w.fromQueues, w.fromIntake} {
			if found, err := look(); found || err != nil {
				return err
			}
		}
	}
	if found, err := w.fromSkipped(); found || err != nil {
		return err
	}
	return w.neverFound()
}

func (w *reasoner) note(format string, args ...any) {
	w.rep.Notes = append(w.rep.Notes, fmt.Sprintf(format, args...))
}

// fromState looks among the URLs that are done with.
func (w *reasoner) fromState() (bool, error) {
	s, ok, err := w.load(w.fp)
	if err != nil || !ok {
		return false, err
	}
	if s.URL != w.u.String() {
		other := w.fp
		other[len(other)-1] ^= 0xFF // how the target of a redirect to the same key form is kept
		if t, ok, err := w.load(other); err != nil {
			return false, err
		} else if ok && t.URL == w.u.String() {
			s = t
		} else {
			w.rep.SameAs = s.URL
		}
	}
	w.describe(&s)
	if w.rep.Verdict == WhyRefused {
		if _, err := w.skipRecord(s.URL); err != nil { // for the parent
			return false, err
		}
		return true, w.chain(s.URL)
	}
	return true, w.chain(s.URL)
}

// load looks in every partition: that is 64 look-ups, and needs no more than the fingerprint.
func (w *reasoner) load(fp weburl.Fingerprint) (crawler.PageState, bool, error) {
	for p := range store.Partition(w.f.facts.Partitions) {
		if s, ok, err := crawler.LoadPageState(w.f.db, p, fp); ok || err != nil {
			return s, ok, err
		}
	}
	return crawler.PageState{}, false, nil
}

// describe fills in the report from the state of a page.
func (w *reasoner) describe(s *crawler.PageState) {
	r := &w.rep
	r.Outcome, r.Text, r.Rule, r.Status, r.DupOf = s.Outcome.String(), s.Outcome.Text(), s.Rule, s.Status, s.DupOf
	at := s.Time
	r.Time = &at
	switch s.Outcome.Class() {
	case outcome.ClassVisited:
		r.Verdict = WhyFetched
	case outcome.ClassFailed:
		r.Verdict = WhyFailed
	default:
		r.Verdict = WhyRefused
	}
	if s.File != "" {
		r.WARC = &jobdir.WARCPlace{File: s.File, Offset: s.Offset, Length: s.Length}
	}
}

// fromQueues looks among the URLs that are still to be fetched.
func (w *reasoner) fromQueues() (bool, error) {
	f, err := w.frontier()
	if err != nil {
		return false, err
	}
	defer w.closeFrontier(f)
	state, it, ok, err := f.Find(w.u, w.fp)
	if err != nil || !ok {
		return false, err
	}
	r := &w.rep
	switch state {
	case "waiting":
		r.Verdict, r.Text = WhyWaiting, fmt.Sprintf("it waits in front queue %d", it.Level)
	case "leased":
		r.Verdict, r.Text = WhyLeased, "it is being fetched now"
	default:
		r.Verdict, r.Text = WhyReady, "it is in the queue of its host"
	}
	w.item(&it)
	if !it.NotBefore.IsZero() {
		w.note("attempt %d failed; the next is not before %s", it.Attempt, timeText(it.NotBefore))
	}
	if err := w.host(f); err != nil {
		return false, err
	}
	return true, w.chainOf(&it)
}

// item fills in what a queue knows of the URL.
func (w *reasoner) item(it *frontier.Item) {
	r := &w.rep
	r.Level, r.Depth, r.Attempt = int(it.Level), int(it.Depth), int(it.Attempt)
	if it.URL != w.u {
		r.SameAs = it.URL.String()
	}
}

// host fills in what the host waits for.
func (w *reasoner) host(f *frontier.Frontier) error {
	st, ok, err := f.HostState(w.o.PoliteKey(w.u))
	if err != nil || !ok {
		return err
	}
	w.rep.Host = &WhyHost{Key: st.Host, Phase: st.Phase.String(), GapMS: st.Gap.Milliseconds(), Reason: st.Reason.String(), Queued: st.Queued, Pages: st.Pages}
	if !st.Due.IsZero() {
		due := st.Due.Round(0)
		w.rep.Host.Due = &due
	}
	return w.ended()
}

// ended notes why nothing is being fetched.
func (w *reasoner) ended() error {
	if w.live != nil {
		return nil
	}
	if !w.f.clean {
		w.note("the crawl is not running; its last run was cut off")
		return nil
	}
	s, _, err := w.f.ReadSummary()
	if err == nil {
		w.note("the crawl is not running; its last run ended %s: %s%s", timeText(s.Ended), s.EndReason, detail(s.EndDetail))
	}
	return err
}

func detail(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// fromIntake looks among the links that were found last and have not been sieved.
func (w *reasoner) fromIntake() (found bool, err error) {
	var it frontier.Item
	for p := range store.Partition(w.f.facts.Partitions) {
		scanErr := w.f.db.Scan(store.Range{Partition: p, Space: store.Intake}, func(_, value []byte) bool {
			items, bad := frontier.DecodeItems(value)
			if bad != nil {
				err = bad
				return false
			}
			if i := slices.IndexFunc(items, func(it frontier.Item) bool { return it.FP == w.fp }); i >= 0 {
				it, found = items[i], true
			}
			return !found
		})
		if err = errors.Join(scanErr, err); found || err != nil {
			break
		}
	}
	if !found || err != nil {
		return false, err
	}
	w.rep.Verdict, w.rep.Text = WhyFound, "it was found by the last pages read; the next run begins with it"
	if w.live != nil {
		w.rep.Text = "it was found a moment ago, and not yet held against what was seen before"
	}
	w.item(&it)
	return true, errors.Join(w.ended(), w.chainOf(&it))
}

// fromSkipped looks in the list of skipped URLs.
func (w *reasoner) fromSkipped() (bool, error) {
	s, err := w.skipRecord(w.u.String())
	if err != nil || s == nil {
		return false, err
	}
	o, _ := outcome.Parse(s.Reason)
	w.rep.Verdict, w.rep.Outcome, w.rep.Text, w.rep.Rule = WhySkipped, s.Reason, o.Text(), s.Rule
	return true, w.chain(s.URL)
}

// neverFound says what a link to the URL would meet.
func (w *reasoner) neverFound() error {
	w.rep.Verdict = WhyUnknown
	o, rule, err := w.wouldMeet()
	if err != nil {
		return err
	}
	w.rep.Outcome, w.rep.Rule = o.String(), rule
	switch {
	case o == outcome.None:
		w.rep.Outcome = ""
		w.rep.Text = "no page that was read has a link to it; a link would be followed"
	default:
		w.rep.Text = "it is not listed; a link to it is dropped: " + o.Text()
	}
	if n := w.listed[o]; n >= skipsListed {
		w.note("%s of this host were dropped for that reason and are listed; further ones are only counted, so there may be links to it", count(n, "URL"))
	}
	if w.u.RequestTarget() == robots.Path {
		w.note("robots.txt is fetched for the rules in it, not as a page: see fetches.jsonl")
	}
	if left := w.left(); left > 0 && o == outcome.None {
		w.note("%s are still to be fetched, one of them may link to it", count(left, "URL"))
	}
	return w.twins()
}

// left is how many URLs are queued, or were when the last run ended.
func (w *reasoner) left() int64 {
	if w.live != nil {
		q := w.live.Frontier.Snapshot(0)
		return int64(q.WaitingTotal()+q.Ready) + int64(q.Intake)
	}
	s, ok, err := w.f.ReadSummary()
	if err != nil || !ok {
		return 0
	}
	return s.QueuedLeft
}

// wouldMeet applies the tests of the crawl, in their order, to a link to the URL.
func (w *reasoner) wouldMeet() (outcome.Outcome, string, error) {
	o := w.o.Filter
	for _, s := range append(slices.Clone(w.f.facts.Seeds), w.f.progress.Seeds...) {
		if u, err := weburl.Parse(strings.TrimPrefix(s, "sitemap:")); err == nil {
			o.Seeds = append(o.Seeds, u)
		}
	}
	filter, policy, err := w.rules(&o)
	if err != nil {
		return outcome.None, "", err
	}
	if v := filter.Check(urlfilter.Link{URL: w.u, Depth: 1}); v.Outcome != outcome.None {
		return v.Outcome, v.Rule, nil
	}
	if err := policy.CheckPort(w.u.Port()); err != nil {
		return outcome.PortRefused, err.Error(), nil
	}
	if a, ok := w.u.Addr(); ok {
		if err := policy.CheckAddr(a); err != nil {
			return outcome.AddressRefused, err.Error(), nil
		}
	}
	return w.robotsVerdict()
}

// rules are those of the crawl that runs, or made from its options.
func (w *reasoner) rules(o *urlfilter.Options) (*urlfilter.Filter, *dns.Policy, error) {
	if w.live != nil {
		return w.live.Filter, w.live.Policy, nil
	}
	filter, err := urlfilter.New(*o)
	return filter, w.policy(o.Seeds), err
}

func (w *reasoner) policy(seeds []weburl.URL) *dns.Policy {
	p := w.o.Policy
	for _, s := range seeds {
		p.AllowPorts = append(p.AllowPorts, s.Port())
		if a, ok := s.Addr(); ok {
			p.AllowAddrs = append(p.AllowAddrs, a)
		}
	}
	return dns.NewPolicy(p)
}

// robotsVerdict tests the URL against the robots.txt that the state has.
func (w *reasoner) robotsVerdict() (outcome.Outcome, string, error) {
	if slices.Contains(w.o.IgnoreRobots, w.u.Host()) {
		w.note("robots.txt of %s is ignored, as asked", w.u.Host())
		return outcome.None, "", nil
	}
	raw, ok, err := w.f.db.Get(store.Key{Partition: store.Global, Space: store.Robots, ID: []byte(w.u.Origin())})
	if err != nil {
		return outcome.None, "", err
	}
	e, err := robots.Unmarshal(raw)
	switch {
	case !ok || err != nil:
		w.note("robots.txt of %s was never fetched", w.u.Origin())
	case e.FetchedAt.IsZero():
		return outcome.RobotsDefer, fmt.Sprintf("%d attempts since %s, last status %d", e.Errors, timeText(e.Since), e.LastStatus), nil
	case e.Status >= 200 && e.Status < 300:
		if v := robots.Parse(e.Body, Agent).Check(w.u.RequestTarget()); !v.Allowed {
			return outcome.RobotsDenied, fmt.Sprintf("%s (line %d)", v.Rule, v.Line), nil
		}
	}
	return outcome.None, "", nil
}

// twins notes other spellings that people mean: the other scheme, with and without www and a final slash.
func (w *reasoner) twins() error {
	hasher := weburl.NewHasher(w.f.facts.Secret, w.o.Keys)
	for _, text := range spellings(w.u) {
		u, err := weburl.Parse(text)
		if err != nil || u == w.u {
			continue
		}
		s, ok, err := w.load(hasher.Fingerprint(u))
		if err != nil {
			return err
		}
		if ok {
			w.note("%s is known: %s (%s)", s.URL, s.Outcome, s.Outcome.Text())
		}
	}
	return nil
}

func spellings(u weburl.URL) []string {
	host, rest := u.HostPort(), u.RequestTarget()
	other := map[string]string{"http": "https", "https": "http"}[u.Scheme()]
	www, bare := strings.CutPrefix(host, "www.")
	if !bare {
		www = "www." + host
	}
	slash := strings.TrimSuffix(u.Path(), "/")
	if slash == u.Path() {
		slash += "/"
	}
	return []string{other + "://" + host + rest, u.Scheme() + "://" + www + rest, other + "://" + www + rest,
		u.Scheme() + "://" + host + slash + u.Query()}
}
