package simweb

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever the options, what Truth says of a URL is what the server answers.
func TestTruthIsWhatIsServed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 0.09)
		o := instant(rapid.Uint64().Draw(t, "seed"))
		o.Hosts, o.Pages, o.PageBytes = rapid.IntRange(1, 20).Draw(t, "hosts"), rapid.IntRange(1, 200).Draw(t, "pages"), 300
		for _, p := range []*float64{&o.Redirects, &o.Errors, &o.Flaky, &o.Cut, &o.Duplicates, &o.NearDuplicates, &o.Changing, &o.Nofollow, &o.Hidden} {
			*p = share.Draw(t, "share")
		}
		w := New(o)
		truth := w.Truth("decorum")
		for url, kind := range truth.URLs {
			h, target, ok := w.splitURL(url)
			if !ok || w.Canonical(url) != url {
				t.Fatalf("%s is not canonical", url)
			}
			var a answer
			for range 3 { // flaky pages
				w.reply(&a, &query{method: "GET", host: w.hosts[h].name, target: target}, time.Time{})
			}
			ok = a.kind == kind && !a.cut
			switch kind {
			case KindError:
				ok = ok && a.status >= 400
			case KindRedirect:
				ok = ok && a.location != ""
			default:
				ok = ok && a.status == 200
			}
			if !ok || truth.Denied[url] || truth.Nofollow[url] {
				t.Fatalf("%s: %v, served %d %v", url, kind, a.status, a.kind)
			}
		}
	})
}

func TestHiddenPagesAreNotInTruth(t *testing.T) {
	o := Plain()
	o.Hidden, o.Nofollow = 0.1, 0.1
	w := New(o)
	truth := w.Truth("decorum")
	hidden := pagesOf(w, classHidden)
	if len(hidden) == 0 {
		t.Fatal("none")
	}
	for _, p := range hidden {
		if url := w.pageURL(p); truth.URLs[url] != KindUnknown || !truth.Nofollow[url] {
			t.Errorf("%s: %v, nofollow %v", url, truth.URLs[url], truth.Nofollow[url])
		}
	}
}

// Every page of the presets is known to its host by its path.
func TestLookupIsTheInverseOfPath(t *testing.T) {
	w := New(everything(1))
	for c := classPlain; c < numClasses; c++ {
		for _, p := range pagesOf(w, c) {
			if got, ok := w.lookup(p.host, string(w.appendPath(nil, p))); !ok || got != p {
				t.Errorf("%s: %v, want %v", w.pageURL(p), got, p)
			}
		}
	}
}

func TestEqualOptionsMakeEqualWebs(t *testing.T) {
	a, b := New(everything(3)), New(everything(3))
	if !slices.Equal(a.Hosts(), b.Hosts()) || !maps.Equal(a.Truth("x").URLs, b.Truth("x").URLs) {
		t.Error("hosts or truth differ")
	}
	for _, p := range pagesOf(a, classPlain)[:100] {
		if string(a.appendBody(nil, body{host: p.host, n: p.n}, a.links(nil, p.host, p.n))) !=
			string(b.appendBody(nil, body{host: p.host, n: p.n}, b.links(nil, p.host, p.n))) {
			t.Fatalf("%v differs", p)
		}
	}
	if c := New(everything(4)); maps.Equal(a.Truth("x").URLs, c.Truth("x").URLs) {
		t.Error("the seed does not matter")
	}
}
