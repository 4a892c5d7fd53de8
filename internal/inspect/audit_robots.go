package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"decorum/internal/fetch"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/robots"
	"decorum/internal/weburl"
)

// Agent is the product token that robots.txt files are read for.
const Agent = "decorum"

// robotsSlack is how much older than robots.Lifetime a copy may be when the exchange begins, since it is tested before
// the look-up of the address; and how far apart two exchanges may end of which one makes use of the other.
const robotsSlack = time.Minute

// Limits of memory and of chains.
const (
	maxCopies     = 8           // of robots.txt per origin; an honest record needs three
	maxRulesBytes = 64 << 20    // of robots.txt texts compiled at a time
	maxHops       = 5           // RFC 9309 §2.3.1.2
	perRules      = 1 << 10     // what compiled rules cost besides their text
	allowAll      = "allow-all" // robots.Rules.Version of an origin without robots.txt
)

// robotsTrail is which robots.txt each origin had at what time, from the record and the archive alone.
type robotsTrail struct {
	a       *auditor
	origins map[string]*originTrail
	pending map[string][]string      // target of a redirect -> origins whose robots.txt redirects there
	rules   map[string]*robots.Rules // by version
	bytes   int                      // of rules
}

// originTrail is what is remembered of an origin: copies that may be in force, the oldest first, and the redirects of a
// fetch under way.
type originTrail struct {
	copies    []robotsCopy
	hops      []string
	followers []follower
}

// follower is an origin whose robots.txt redirected here. Where several hosts are contacted at once, the copy of this origin
// may be on record a moment after the redirect that already made use of it.
type follower struct {
	origin *originTrail
	at     time.Time // end of the redirect
}

// robotsCopy is one robots.txt as it was had at some time.
type robotsCopy struct {
	version string
	at      time.Time // end of the exchange
	url     weburl.URL
	place   capture
}

func newRobotsTrail(a *auditor) *robotsTrail {
	return &robotsTrail{a: a, origins: map[string]*originTrail{}, pending: map[string][]string{}, rules: map[string]*robots.Rules{}}
}

func (t *robotsTrail) origin(name string) *originTrail {
	o := t.origins[name]
	if o == nil {
		o = &originTrail{}
		t.origins[name] = o
	}
	return o
}

// set says that an origin has a new copy for certain: earlier ones are of no more use.
func (o *originTrail) set(c robotsCopy) { o.copies, o.hops = append(o.copies[:0], c), nil }

// may says that an origin possibly has this copy: one contact may have served another origin as well.
func (o *originTrail) may(c robotsCopy) {
	if len(o.copies) >= maxCopies {
		o.copies = slices.Delete(o.copies, 0, 1)
	}
	o.copies = append(o.copies, c)
}

// learn takes in a fetch of robots.txt. It returns the Crawl-delay in milliseconds that the host is owed from then on.
func (t *robotsTrail) learn(r *jobdir.FetchRecord, u weburl.URL, place capture, archived bool) (owed int64, err error) {
	names := t.asked(r, u)
	o, _ := outcome.Parse(r.Outcome)
	c := robotsCopy{version: allowAll, at: r.EndTS, url: u, place: place}
	switch {
	case r.Lost == jobdir.LostCapture:
		for _, name := range names {
			t.origin(name).may(robotsCopy{at: r.EndTS, url: u}) // nobody knows what it said, or where it led
		}
	case o.Class() == outcome.ClassFailed:
		t.failed(names)
	case r.Status >= 200 && r.Status < 300:
		rules, err := t.read(r, &c, archived)
		if err != nil {
			return 0, err
		}
		t.had(names, u, c)
		if delay, ok := rules.Delay(); ok && r.For == "" {
			owed = delay.Milliseconds()
		}
	case r.Status >= 300 && r.Status < 400:
		return 0, t.redirected(names, r, c, archived)
	case r.Status >= 400 && r.Status < 500 && r.Status != 429:
		t.had(names, u, c)
	default:
		t.failed(names)
	}
	return owed, nil
}

// asked returns the origins on whose behalf a contact was made: the one named, those whose robots.txt
// redirects here on the same host, or the URL's own.
func (t *robotsTrail) asked(r *jobdir.FetchRecord, u weburl.URL) []string {
	if r.For != "" {
		return []string{r.For}
	}
	if names := t.pending[r.URL]; len(names) > 0 {
		delete(t.pending, r.URL)
		return names
	}
	t.origin(u.Origin()).hops = nil // a fetch from the start
	return []string{u.Origin()}
}

func (t *robotsTrail) failed(names []string) {
	for _, name := range names {
		t.origin(name).hops = nil // earlier copies stay
	}
}

func (t *robotsTrail) had(names []string, u weburl.URL, c robotsCopy) {
	for _, name := range names {
		t.origin(name).set(c)
	}
	if u.RequestTarget() != robots.Path {
		return
	}
	home := t.origin(u.Origin())
	if !slices.Contains(names, u.Origin()) {
		home.may(c)
	}
	for _, f := range home.followers {
		if c.at.Before(f.at.Add(robotsSlack)) {
			f.origin.may(c)
		}
	}
	home.followers = nil
}

// redirected follows one hop. A loop or one hop too many leaves the origin without robots.txt, which allows all.
func (t *robotsTrail) redirected(names []string, r *jobdir.FetchRecord, c robotsCopy, archived bool) error {
	target, err := t.location(r, c, archived)
	if err != nil {
		return err
	}
	for _, name := range names {
		o := t.origin(name)
		switch {
		case target.IsZero():
			o.hops = nil
		case target.String() == name+robots.Path || slices.Contains(o.hops, target.String()) || len(o.hops) >= maxHops:
			o.set(c)
		default:
			o.hops = append(o.hops, target.String())
			if home, err := weburl.Parse(name + robots.Path); err == nil && home.Host() == target.Host() {
				t.pending[target.String()] = append(t.pending[target.String()], name) // the next contact names nobody
			}
			if other := t.origin(target.Origin()); other != o && target.RequestTarget() == robots.Path {
				for _, k := range other.copies {
					o.may(k)
				}
				other.followers = append(other.followers, follower{o, r.EndTS})
			}
		}
	}
	return nil
}

// location reads where a redirect leads from the archive.
func (t *robotsTrail) location(r *jobdir.FetchRecord, c robotsCopy, archived bool) (weburl.URL, error) {
	if !archived {
		return weburl.URL{}, nil
	}
	x, err := t.a.archive.exchange(context.Background(), c.place, c.url)
	if err != nil {
		t.a.breach(BreachArchive, r, "its record cannot be read: %v", err)
		return weburl.URL{}, nil
	}
	defer x.Close()
	target, err := c.url.Resolve(x.Header.Get("Location"))
	if err != nil || x.Location.IsZero() {
		return weburl.URL{}, nil
	}
	return target, nil
}

// read compiles the robots.txt of a 2xx from the archive and names its version. Without an archive the
// version stays unknown.
func (t *robotsTrail) read(r *jobdir.FetchRecord, c *robotsCopy, archived bool) (*robots.Rules, error) {
	c.version = ""
	if !archived {
		return robots.AllowAll(), nil
	}
	rules, err := t.compile(*c)
	if err != nil {
		t.a.breach(BreachArchive, r, "the archived robots.txt cannot be read: %v", err)
		return robots.AllowAll(), nil
	}
	c.version = rules.Version()
	if t.rules[c.version] == nil {
		t.a.rep.Versions++
	}
	t.keep(rules, r)
	return rules, nil
}

// keep remembers compiled rules, within a bound.
func (t *robotsTrail) keep(rules *robots.Rules, r *jobdir.FetchRecord) {
	if t.bytes > maxRulesBytes {
		clear(t.rules)
		t.bytes = 0
	}
	t.rules[rules.Version()] = rules
	t.bytes += perRules + int(r.BytesWire.Or(0))
}

func (t *robotsTrail) compile(c robotsCopy) (*robots.Rules, error) {
	x, err := t.a.archive.exchange(context.Background(), c.place, c.url)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	body, err := exchangeBody(x)
	if err != nil {
		return nil, err
	}
	return robots.Parse(body, Agent), nil
}

// inForce returns the copy of robots.txt that a record names, if its origin had it and it was young enough.
func (t *robotsTrail) inForce(r *jobdir.FetchRecord, origin string) (robotsCopy, string) {
	o := t.origins[origin]
	if o == nil || len(o.copies) == 0 {
		return robotsCopy{}, "the robots.txt of " + origin + " had not been fetched"
	}
	old := false
	for _, c := range slices.Backward(o.copies) {
		if c.version != r.RobotsVersion && c.version != "" {
			continue
		}
		if age := r.TS.Sub(c.at); age <= robots.Lifetime+robotsSlack {
			return c, ""
		}
		old = true
	}
	if old {
		return robotsCopy{}, "robots.txt " + r.RobotsVersion + " was more than 24 hours old"
	}
	return robotsCopy{}, "robots.txt " + r.RobotsVersion + " was not in force; " + origin + " had " + versions(o.copies)
}

func versions(copies []robotsCopy) string {
	var names []string
	for _, c := range copies {
		names = append(names, c.version)
	}
	return strings.Join(slices.Compact(names), ", ")
}

// rulesOf returns the rules of a copy, from memory or once more from the archive.
func (t *robotsTrail) rulesOf(c robotsCopy, r *jobdir.FetchRecord) (*robots.Rules, error) {
	if c.version == allowAll {
		return robots.AllowAll(), nil
	}
	if rules := t.rules[c.version]; rules != nil {
		return rules, nil
	}
	rules, err := t.compile(c)
	if err == nil {
		t.keep(rules, r)
	}
	return rules, err
}

// permission tests a page against the robots.txt in force. It returns the Crawl-delay owed from then on.
func (a *auditor) permission(r *jobdir.FetchRecord, u weburl.URL) (owed int64, err error) {
	if r.RobotsVersion == "" {
		exempt, err := a.isExempt(u.Host())
		if err != nil {
			return 0, err
		}
		if exempt {
			a.exempt[u.Host()]++
			return 0, nil
		}
		a.breach(BreachRobots, r, "it names no robots.txt that was in force")
		return 0, nil
	}
	c, problem := a.robots.inForce(r, u.Origin())
	switch {
	case problem != "" && len(a.lost) > 0:
		a.blind++
		return 0, nil
	case problem != "":
		a.breach(BreachRobots, r, "%s", problem)
		return 0, nil
	case c.version == "":
		return 0, nil // robots.txt was had, but what it said is not archived
	}
	rules, err := a.robots.rulesOf(c, r)
	if err != nil {
		a.breach(BreachArchive, r, "robots.txt %s cannot be read: %v", c.version, err)
		return 0, nil
	}
	a.rep.Checked++
	if v := rules.Check(u.RequestTarget()); !v.Allowed {
		a.breach(BreachDisallowed, r, "robots.txt %s did not allow it: %q (line %d)", c.version, v.Rule, v.Line)
	}
	delay, _ := rules.Delay()
	return delay.Milliseconds(), nil
}

// isExempt reports whether the archive says that the robots.txt of a host was not consulted.
func (a *auditor) isExempt(host string) (bool, error) {
	if a.ignored == nil {
		var err error
		if a.ignored, err = ignoredHosts(a.f.Archive()); err != nil {
			return false, err
		}
	}
	return a.ignored[host], nil
}

// exchangeBody returns the decoded body of an exchange.
func exchangeBody(x *fetch.Exchange) ([]byte, error) {
	if b, ok := x.Body.Bytes(); ok {
		return b, nil
	}
	return readBody(x.Body)
}
