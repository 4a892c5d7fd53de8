package robots

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"decorum/internal/weburl"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func mustURL(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return u
}

func newCache(o Options) *Cache {
	o.Agent = "decorum"
	return NewCache(o)
}

// expect fails unless the answer is the action, with the target if there is one.
func expect(t testing.TB, a Answer, action Action, target string) Answer {
	t.Helper()
	if a.Action != action || a.Target.String() != target || a.Reason == "" {
		t.Fatalf("got %v %q (%s), want %v %q", a.Action, a.Target, a.Reason, action, target)
	}
	if (a.Action == Use) != (a.Rules != nil) || (a.Action == Use) != (a.Version != "") {
		t.Fatalf("%v with rules %v, version %q", a.Action, a.Rules, a.Version)
	}
	return a
}

var noURL weburl.URL

func TestFetchBeforeUse(t *testing.T) {
	c := newCache(Options{})
	u := mustURL(t, "http://a.example:8080/x/y?z")
	a := expect(t, c.Lookup(u, start), Fetch, "http://a.example:8080/robots.txt")
	if !a.Cold {
		t.Error("an unknown origin is not cold")
	}
	a = expect(t, c.Response(u.Origin(), 200, []byte("user-agent: *\ndisallow: /x"), noURL, 0, start), Use, "")
	if a.Rules.Check("/x/y").Allowed || a.Until != start.Add(24*time.Hour) {
		t.Errorf("rules or expiry wrong: %+v", a)
	}
	expect(t, c.Lookup(mustURL(t, "http://a.example:8080/"), start), Use, "")
	expect(t, c.Lookup(mustURL(t, "http://a.example/"), start), Fetch, "http://a.example/robots.txt")
	expect(t, c.Lookup(mustURL(t, "https://a.example:8080/"), start), Fetch, "https://a.example:8080/robots.txt")
	if s := c.Stats(); s.Lookups != 4 || s.Hits != 1 || s.HitRate() != 0.25 {
		t.Errorf("stats %+v", s)
	}
}

// TestFreshRulesAfterExpiry: a URL waits, the rules change meanwhile, the new ones decide (S4-18).
func TestFreshRulesAfterExpiry(t *testing.T) {
	for _, c := range []struct{ before, after string }{{"", "/x"}, {"/x", ""}} {
		cache := newCache(Options{})
		u := mustURL(t, "https://a.example/x")
		cache.Response(u.Origin(), 200, []byte("user-agent: *\ndisallow: "+c.before), noURL, 0, start)
		a := expect(t, cache.Lookup(u, start.Add(Lifetime-1)), Use, "")
		if a.Rules.Check("/x").Allowed != (c.before == "") {
			t.Error("the first rules do not hold for 24 hours")
		}
		expect(t, cache.Lookup(u, start.Add(Lifetime)), Fetch, "https://a.example/robots.txt")
		cache.Response(u.Origin(), 200, []byte("user-agent: *\ndisallow: "+c.after), noURL, 0, start.Add(Lifetime))
		a = expect(t, cache.Lookup(u, start.Add(Lifetime+1)), Use, "")
		if a.Rules.Check("/x").Allowed != (c.after == "") {
			t.Error("the rules that changed do not hold")
		}
	}
}

func TestStatuses(t *testing.T) {
	for status, want := range map[int]Action{
		0: Defer, 100: Defer, 200: Use, 204: Use, 301: Defer, 304: Defer, 400: Use, 401: Use, 403: Use, 404: Use,
		410: Use, 429: Defer, 499: Use, 500: Defer, 503: Defer, 599: Defer, 600: Defer, -1: Defer,
	} {
		c := newCache(Options{})
		a := expect(t, c.Response("https://a.example", status, []byte("user-agent: *\ndisallow: /"), noURL, 0, start), want, "")
		switch {
		case want == Defer && (a.Errors != 1 || a.Since != start || a.Until != start.Add(time.Minute)):
			t.Errorf("status %d: %+v", status, a)
		case want == Use && a.Rules.Check("/x").Allowed != (status >= 400):
			t.Errorf("status %d: wrong verdict", status)
		}
	}
}

func TestBackoff(t *testing.T) {
	c := newCache(Options{ErrorBackoff: time.Minute, ErrorBackoffMax: 10 * time.Minute})
	u := mustURL(t, "https://a.example/")
	now := start
	for i, rest := range []time.Duration{1, 2, 4, 8, 10, 10} {
		expect(t, c.Lookup(u, now), Fetch, "https://a.example/robots.txt")
		a := expect(t, c.Response(u.Origin(), 503, nil, noURL, 0, now), Defer, "")
		if a.Until != now.Add(rest*time.Minute) || a.Errors != i+1 || a.Since != start {
			t.Fatalf("failure %d: %+v", i+1, a)
		}
		expect(t, c.Lookup(u, a.Until.Add(-1)), Defer, "")
		now = a.Until
	}
	a := c.Response(u.Origin(), 429, nil, noURL, 48*time.Hour, now)
	if a.Until != now.Add(48*time.Hour) {
		t.Errorf("Retry-After is clipped: %v", a.Until.Sub(now))
	}
	a = expect(t, c.Response(u.Origin(), 404, nil, noURL, 0, now), Use, "")
	if a.Errors != 0 || !a.Since.IsZero() {
		t.Errorf("errors outlive a success: %+v", a)
	}
}

// A clock that is set back to before a failure neither keeps a host away until its old time comes again, nor opens it.
func TestBackoffWithClockSetBack(t *testing.T) {
	c := newCache(Options{})
	u := mustURL(t, "https://a.example/")
	c.Response(u.Origin(), 503, nil, noURL, 0, start)
	expect(t, c.Lookup(u, start.Add(time.Second)), Defer, "")
	expect(t, c.Lookup(u, start.Add(-365*24*time.Hour)), Fetch, "https://a.example/robots.txt")
}

// TestNeverAllowedWhileFailing: not after a month either.
func TestNeverAllowedWhileFailing(t *testing.T) {
	c := newCache(Options{})
	u := mustURL(t, "https://a.example/")
	c.Response(u.Origin(), 200, nil, noURL, 0, start)
	for now := start.Add(Lifetime); now.Before(start.Add(60 * Lifetime)); {
		expect(t, c.Lookup(u, now), Fetch, "https://a.example/robots.txt")
		a := expect(t, c.Response(u.Origin(), 0, nil, noURL, 0, now), Defer, "")
		expect(t, c.Lookup(u, now.Add(time.Second)), Defer, "")
		now = a.Until
	}
}

// TestOlderCopyWhileFailing: a copy due for renewal serves on, but only until it is 24 hours old.
func TestOlderCopyWhileFailing(t *testing.T) {
	c := newCache(Options{MaxAge: time.Hour, ErrorBackoff: 12 * time.Hour, ErrorBackoffMax: 24 * time.Hour})
	u := mustURL(t, "https://a.example/")
	c.Response(u.Origin(), 200, []byte("user-agent: *\ndisallow: /x"), noURL, 0, start)
	expect(t, c.Lookup(u, start.Add(time.Hour)), Fetch, "https://a.example/robots.txt")
	a := expect(t, c.Response(u.Origin(), 500, nil, noURL, 0, start.Add(time.Hour)), Use, "")
	if a.Until != start.Add(13*time.Hour) || a.Errors != 1 {
		t.Errorf("answer %+v", a)
	}
	expect(t, c.Lookup(u, start.Add(13*time.Hour)), Fetch, "https://a.example/robots.txt")
	a = expect(t, c.Response(u.Origin(), 500, nil, noURL, 0, start.Add(13*time.Hour)), Use, "")
	if a.Until != start.Add(24*time.Hour) {
		t.Errorf("a copy is to be used until %v", a.Until.Sub(start))
	}
	expect(t, c.Lookup(u, start.Add(24*time.Hour)), Defer, "")
}

func TestRedirects(t *testing.T) {
	c := newCache(Options{})
	u := mustURL(t, "http://a.example/page")
	a := c.Response(u.Origin(), 301, nil, mustURL(t, "https://a.example/robots.txt"), 0, start)
	expect(t, a, Fetch, "https://a.example/robots.txt")
	a = c.Response(u.Origin(), 302, nil, mustURL(t, "https://www.a.example/robots.txt"), 0, start)
	expect(t, a, Elsewhere, "https://www.a.example/robots.txt")
	expect(t, c.Lookup(u, start), Elsewhere, "https://www.a.example/robots.txt")
	a = c.Response(u.Origin(), 200, []byte("user-agent: *\ndisallow: /x"), noURL, 0, start)
	expect(t, a, Use, "")
	if a.Rules.Check("/x").Allowed {
		t.Error("the rules at the end of the redirects do not hold")
	}
	// The copy came from the robots.txt of another origin: that one needs no contact of its own.
	expect(t, c.Lookup(mustURL(t, "https://www.a.example/"), start), Use, "")
	expect(t, c.Lookup(mustURL(t, "https://a.example/"), start), Fetch, "https://a.example/robots.txt")
	a = c.Response("https://a.example", 302, nil, mustURL(t, "https://www.a.example/robots.txt"), 0, start.Add(time.Hour))
	expect(t, a, Use, "")
	if a.Until != start.Add(Lifetime) {
		t.Errorf("a shared copy became younger: until %v", a.Until)
	}
}

func TestTooManyRedirects(t *testing.T) {
	c := newCache(Options{})
	for hop := range 6 {
		a := c.Response("http://a.example", 302, nil, mustURL(t, fmt.Sprintf("http://a.example/%d", hop)), 0, start)
		if hop < 5 {
			expect(t, a, Fetch, fmt.Sprintf("http://a.example/%d", hop))
		} else if expect(t, a, Use, ""); !a.Rules.Check("/").Allowed {
			t.Error("six redirects are not taken for unavailable")
		}
	}
}

// TestRedirectLoop: a loop is known when it closes; no contact is spent on going round.
func TestRedirectLoop(t *testing.T) {
	for _, loop := range [][]string{{"/b", "/robots.txt"}, {"/b", "/c", "/b"}, {"/robots.txt"}} {
		c := newCache(Options{})
		for i, path := range loop {
			a := c.Response("http://a.example", 302, nil, mustURL(t, "http://a.example"+path), 0, start)
			if i < len(loop)-1 {
				expect(t, a, Fetch, "http://a.example"+path)
			} else {
				expect(t, a, Use, "")
			}
		}
	}
}

// TestRedirectThenFailure: the next try starts over, from the robots.txt of the origin.
func TestRedirectThenFailure(t *testing.T) {
	c := newCache(Options{})
	u := mustURL(t, "http://a.example/")
	c.Response(u.Origin(), 302, nil, mustURL(t, "http://b.example/r"), 0, start)
	a := expect(t, c.Response(u.Origin(), 0, nil, noURL, 0, start), Defer, "")
	expect(t, c.Lookup(u, a.Until), Fetch, "http://a.example/robots.txt")
}

func TestBounds(t *testing.T) {
	c := newCache(Options{MaxEntries: 3})
	for i := range 10 {
		c.Response(fmt.Sprintf("http://h%d.example", i), 404, nil, noURL, 0, start)
		expect(t, c.Lookup(mustURL(t, "http://h0.example/"), start), Use, "") // used, so it stays
	}
	if s := c.Stats(); s.Entries != 3 || s.Evictions != 7 {
		t.Errorf("stats %+v", s)
	}
	c = newCache(Options{MaxMemory: 1 << 20})
	for i := range 10 {
		c.Response(fmt.Sprintf("http://h%d.example", i), 200, make([]byte, 300<<10), noURL, 0, start)
	}
	if s := c.Stats(); s.Memory > 1<<20 || s.Entries != 3 {
		t.Errorf("stats %+v", s)
	}
}

func TestSnapshotRestore(t *testing.T) {
	u := mustURL(t, "https://a.example/x")
	a := newCache(Options{MaxAge: time.Hour})
	if _, ok := a.Snapshot(u.Origin()); ok {
		t.Error("there is a snapshot of nothing")
	}
	a.Response(u.Origin(), 200, []byte("user-agent: *\ndisallow: /x"), noURL, 0, start)
	a.Response(u.Origin(), 503, nil, noURL, 5*time.Hour, start.Add(time.Hour))
	e, ok := a.Snapshot(u.Origin())
	if !ok {
		t.Fatal("no snapshot")
	}
	e, err := Unmarshal(e.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	b := newCache(Options{MaxAge: time.Hour})
	if err := b.Restore(e); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour} {
		was, is := a.Lookup(u, start.Add(after)), b.Lookup(u, start.Add(after))
		was.Rules, is.Rules = nil, nil
		if was != is {
			t.Errorf("after %v: %+v became %+v", after, was, is)
		}
	}
	if b.Lookup(u, start).Rules.Check("/x").Allowed {
		t.Error("the rules were not restored")
	}
	if err := b.Restore(Entry{Origin: "nonsense"}); err == nil {
		t.Error("nonsense was restored")
	}
}

// TestRestoreKeepsNewer: what a contact just said is not undone by the store.
func TestRestoreKeepsNewer(t *testing.T) {
	c := newCache(Options{})
	c.Response("http://a.example", 404, nil, noURL, 0, start)
	if err := c.Restore(Entry{Origin: "http://a.example", FetchedAt: start.Add(-time.Hour), Status: 200}); err != nil {
		t.Fatal(err)
	}
	if e, _ := c.Snapshot("http://a.example"); e.Status != 404 {
		t.Errorf("entry %+v", e)
	}
}

// TestClockSetBack: a copy from the future is not trusted.
func TestClockSetBack(t *testing.T) {
	c := newCache(Options{})
	c.Response("http://a.example", 404, nil, noURL, 0, start)
	expect(t, c.Lookup(mustURL(t, "http://a.example/"), start.Add(-time.Hour)), Fetch, "http://a.example/robots.txt")
}

func TestForeignOrigin(t *testing.T) {
	expect(t, newCache(Options{}).Response("", 200, nil, noURL, 0, start), Defer, "")
}

func TestOptionsValidate(t *testing.T) {
	for _, o := range []Options{
		{}, {Agent: "a/1"}, {Agent: "a", MaxAge: 25 * time.Hour}, {Agent: "a", MaxRedirects: 2}, {Agent: "a", MaxEntries: -1},
		{Agent: "a", ErrorBackoff: 2, ErrorBackoffMax: 1},
	} {
		o.EnsureDefaults()
		if o.Validate() == nil {
			t.Errorf("%+v is valid", o)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	c := newCache(Options{MaxEntries: 8})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				u, _ := weburl.Reparse(fmt.Sprintf("http://h%d.example/", (i*w)%20))
				switch a := c.Lookup(u, start); a.Action {
				case Fetch, Elsewhere:
					next, _ := weburl.Reparse(fmt.Sprintf("http://h%d.example/robots.txt", i%20))
					c.Response(u.Origin(), []int{200, 301, 404, 500}[i%4], []byte("user-agent: *"), next, 0, start)
				case Use:
					a.Rules.Check("/x")
					c.Snapshot(u.Origin())
				}
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Entries > 8 {
		t.Errorf("stats %+v", s)
	}
}
