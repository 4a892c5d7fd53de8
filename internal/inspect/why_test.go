package inspect_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"decorum/internal/dns"
	"decorum/internal/frontier"
	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/store"
	"decorum/internal/urlfilter"
	"decorum/internal/weburl"
)

func whyText(r inspect.WhyReport) string {
	var b bytes.Buffer
	r.WriteText(&b)
	return b.String()
}

// reasons is a site on which everything happens to some URL.
func reasons() *toy {
	return &toy{pages: map[string]string{
		"a.test/robots.txt": plain("User-agent: *\nDisallow: /private/ # keep out\n"),
		"a.test/": html(`<title>Home</title><a href="/about">About <b>us</b></a> <a href="/private/x">secret</a> <a href="/copy">copy</a>
			<a href="/gone">gone</a> <a href="/old">old</a> <a href="http://b.test/">elsewhere</a> <a href="/disk.iso">disk</a>
			<a href="/admin/x">admin</a> <a href="/cut">cut</a> <a href="/x/x/x/x/x/x">maze</a> <a href="/news?utm_source=a">news</a> <a href="ftp://a.test/">ftp</a>
			<a href="/leaf" rel="nofollow">leaf</a>`),
		"a.test/about":             html(`<title>About</title><p>all about us <a href="/about/team">The team</a>`),
		"a.test/about/team":        html(`<p>the team <a href="/about/team/ann">Ann</a>`),
		"a.test/copy":              html(`<title>About</title><p>all about us <a href="/about/team">The team</a>`),
		"a.test/old":               moved("/new"),
		"a.test/new":               html(`new place`),
		"a.test/cut":               "",
		"a.test/news?utm_source=a": html(`news`),
		"b.test/":                  html(`b`),
	}}
}

// reasonsFolder crawls the site, two links deep.
func reasonsFolder(t *testing.T) (string, inspect.WhyOptions) {
	t.Helper()
	c := toyConfig()
	c.Depth, c.ExcludeExt, c.Exclude, c.RelNofollow = 2, []string{"iso"}, []string{"/admin/*"}, true
	dir := crawlToy(t, reasons(), c)
	return dir, inspect.WhyOptions{Filter: urlfilter.Options{MaxDepth: 2, Extensions: c.ExcludeExt, Exclude: c.Exclude},
		Policy: dns.PolicyOptions{AllowNets: c.Nets()}}
}

func TestWhyKnowsEveryReason(t *testing.T) {
	dir, o := reasonsFolder(t)
	for _, c := range []struct {
		url, verdict, outcome string
		contains              []string // in the text form
	}{
		{"http://a.test/", inspect.WhyFetched, "ok", []string{"status 200", "seed     http://a.test/", "archive: decorum-", "urn:uuid:"}},
		{"http://a.test/about/team", inspect.WhyFetched, "ok", []string{"seed     http://a.test/\n", "link     http://a.test/about  “About us”", "link     http://a.test/about/team  “The team”"}},
		{"http://a.test/copy", inspect.WhyFetched, "duplicate", []string{"same body as: http://a.test/about"}},
		{"http://a.test/gone", inspect.WhyFetched, "not_found", []string{"status 404"}},
		{"http://a.test/old", inspect.WhyFetched, "redirect", nil},
		{"http://a.test/new", inspect.WhyFetched, "ok", []string{"redirect http://a.test/new"}},
		{"http://a.test/cut", inspect.WhyFailed, "reset", []string{"tried in vain", "attempts: 2", "decided by: "}},
		{"http://a.test/private/x", inspect.WhyRefused, "robots", []string{"not fetched", "decided by: Disallow: /private/ (line 2)", "seed     http://a.test/\n"}},
		{"http://a.test/news", inspect.WhyFetched, "ok", []string{"same page as: http://a.test/news?utm_source=a"}},
		{"http://b.test/", inspect.WhySkipped, "scope", []string{"decided by: ", "seed     http://a.test/\n"}},
		{"http://a.test/disk.iso", inspect.WhySkipped, "extension", []string{"iso"}},
		{"http://a.test/admin/x", inspect.WhySkipped, "excluded", []string{"decided by: --exclude /admin/*"}},
		{"http://a.test/x/x/x/x/x/x", inspect.WhySkipped, "trap_repeat", nil},
		{"http://a.test/leaf", inspect.WhySkipped, "nofollow", nil},
		{"http://a.test/about/team/ann", inspect.WhySkipped, "depth", []string{"link     http://a.test/about/team  “The team”\n    link     http://a.test/about/team/ann"}},
		{"http://a.test/nobody", inspect.WhyUnknown, "", []string{"no page that was read has a link to it"}},
		{"http://a.test/private/y", inspect.WhyUnknown, "robots", []string{"decided by: Disallow: /private/ (line 2)"}},
		{"http://c.test/", inspect.WhyUnknown, "scope", nil},
		{"http://a.test/admin/y", inspect.WhyUnknown, "excluded", []string{"--exclude /admin/*"}},
		{"http://a.test:81/", inspect.WhyUnknown, "port", nil},
		{"http://10.1.2.3/", inspect.WhyUnknown, "scope", nil},
		{"http://a.test/robots.txt", inspect.WhyUnknown, "", []string{"see fetches.jsonl"}},
		{"https://a.test/about", inspect.WhyUnknown, "", []string{"http://a.test/about is known: ok"}},
		{"http://a.test/about/", inspect.WhyUnknown, "", []string{"http://a.test/about is known: ok"}},
		{"ftp://a.test/", inspect.WhyNoURL, "scheme", nil},
		{"http://[", inspect.WhyNoURL, "bad_url", nil},
		{"http://a.test/" + strings.Repeat("x", 5000), inspect.WhyNoURL, "bad_url", []string{"4096"}},
	} {
		r, err := inspect.Why(dir, c.url, o)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		text := whyText(r)
		if r.Verdict != c.verdict || r.Outcome != c.outcome || r.InUse {
			t.Errorf("%s: %s %q, want %s %q\n%s", c.url, r.Verdict, r.Outcome, c.verdict, c.outcome, text)
		}
		for _, s := range c.contains {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %q in\n%s", c.url, s, text)
			}
		}
	}
}

func TestWhyOfAddressesAndPorts(t *testing.T) {
	dir, o := reasonsFolder(t)
	o.Filter.Scope = urlfilter.ScopeAny
	r, err := inspect.Why(dir, "http://10.1.2.3/", o)
	if err != nil || r.Outcome != "address" || !strings.Contains(r.Rule, "--allow-net") {
		t.Error(whyText(r), err)
	}
	o.IgnoreRobots = []string{"a.test"}
	if r, err = inspect.Why(dir, "http://a.test/private/y", o); err != nil || r.Outcome != "" || !strings.Contains(whyText(r), "is ignored") {
		t.Error(whyText(r), err)
	}
}

// withStore opens the state of a folder that nobody uses.
func withStore(t *testing.T, dir string, use func(db *store.DB, f inspect.Facts)) {
	t.Helper()
	db, err := store.Open(store.Options{Dir: dir + "/state/db"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	facts, ok, err := inspect.ReadFacts(db)
	if !ok || err != nil {
		t.Fatal("no facts", err)
	}
	use(db, facts)
}

func TestWhyKnowsWhatIsQueued(t *testing.T) {
	c := toyConfig()
	c.MaxPages = 2
	dir := crawlToy(t, reasons(), c)
	parse := func(s string) weburl.URL {
		u, err := weburl.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	withStore(t, dir, func(db *store.DB, facts inspect.Facts) {
		hasher := weburl.NewHasher(facts.Secret, weburl.KeyRules{})
		item := func(url string) frontier.Item {
			u := parse(url)
			return frontier.Item{URL: u, FP: hasher.Fingerprint(u), Parent: "http://a.test/", Anchor: "later", Depth: 1, Hops: "L", NotBefore: time.Time{}}
		}
		f, err := frontier.Open(frontier.Options{DB: db, Hasher: hasher, Partitions: facts.Partitions})
		if err != nil {
			t.Fatal(err)
		}
		b := db.NewBatch()
		waiting, found := item("http://a.test/waiting"), item("http://a.test/found")
		if err := f.Add(b, []frontier.Item{waiting}); err != nil {
			t.Fatal(err)
		}
		b.Set(store.Key{Partition: f.PartitionOf(found.URL), Space: store.Intake, ID: binary.BigEndian.AppendUint64(nil, 999)},
			frontier.EncodeItems(nil, []frontier.Item{found}))
		if err := b.Commit(true); err != nil {
			t.Fatal(err)
		}
		f.Applied(1)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
	for url, want := range map[string]struct {
		verdict  string
		contains []string
	}{
		"http://a.test/waiting": {inspect.WhyWaiting, []string{"front queue 2", "link     http://a.test/waiting  “later”", "host a.test: ", "max_pages"}},
		"http://a.test/found":   {inspect.WhyFound, []string{"“later”", "max_pages"}},
		"http://a.test/copy":    {inspect.WhyReady, []string{"in the queue of its host", "host a.test: ", "rests until", "floor, 1s"}},
	} {
		r, err := inspect.Why(dir, url, inspect.WhyOptions{})
		if err != nil || r.Verdict != want.verdict {
			t.Errorf("%s: %v\n%s", url, err, whyText(r))
		}
		for _, s := range want.contains {
			if !strings.Contains(whyText(r), s) {
				t.Errorf("%s: no %q in\n%s", url, s, whyText(r))
			}
		}
	}
}

func TestWhyWhileTheCrawlRuns(t *testing.T) {
	c := toyConfig()
	c.Depth = 1
	o := toyOptions(t, reasons(), c)
	dir := crawlToyInto(t, o)
	n, err := node.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for url, want := range map[string]string{"http://a.test/about": inspect.WhyFetched, "http://a.test/cut": inspect.WhyFailed,
		"http://b.test/": inspect.WhySkipped, "http://a.test/nobody": inspect.WhyUnknown} {
		r, err := inspect.Why(dir, url, inspect.WhyOptions{})
		if err != nil || r.Verdict != want || !r.InUse || !strings.Contains(whyText(r), "in use by process") {
			t.Errorf("%s: %v\n%s", url, err, whyText(r))
		}
	}
}

func TestWhyWithoutAFolder(t *testing.T) {
	if _, err := inspect.Why(t.TempDir(), "http://a.test/", inspect.WhyOptions{}); err == nil || !strings.Contains(err.Error(), jobdir.ErrNoCrawl.Error()) {
		t.Error(err)
	}
}
