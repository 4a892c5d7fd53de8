package node

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/simweb"
	"decorum/internal/store"
)

// progressOf are the verdicts on the way of a URL, in order.
var progressOf = []string{"never found", "found", "queued", "in hand", "fetched"}

// TestWhyWhileItRuns asks a running crawl about every page again and again: what it says of a page only ever goes on.
func TestWhyWhileItRuns(t *testing.T) {
	o := simweb.Plain()
	o.Hosts, o.Pages = 3, 25
	s := newSim(t, o)
	s.fs = store.OS()
	s.cfg.Exclude = []string{"*/never/*"}
	seen := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		n := s.open()
		truth := s.web.Truth("decorum")
		var pages []string
		for _, url := range slices.Sorted(maps.Keys(truth.URLs)) {
			if !truth.Denied[url] && !truth.Nofollow[url] {
				pages = append(pages, url)
			}
		}
		last := make([]int, len(pages))
		ask := func(url string) (stage int, text string) {
			text, err := n.Why(url)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(text, "\n  ")
			return slices.IndexFunc(progressOf, func(p string) bool { return strings.HasPrefix(rest, p) }), text
		}
		done := make(chan error)
		go func() {
			_, err := n.Run(context.Background(), context.Background())
			done <- err
		}()
		for ended := false; !ended; {
			select {
			case err := <-done:
				if ended = true; err != nil {
					t.Error(err)
				}
			case <-time.After(1777 * time.Millisecond):
			}
			for i, url := range pages {
				stage, text := ask(url)
				if stage < last[i] || ended && stage != len(progressOf)-1 {
					t.Fatalf("after %q:\n%s", progressOf[last[i]], text)
				}
				last[i], seen[progressOf[stage]] = stage, true
			}
		}
		if _, text := ask(s.web.Seeds()[0] + "never/x"); !strings.Contains(text, "decided by: --exclude") {
			t.Error(text)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []string{"never found", "queued", "fetched"} {
		if !seen[want] {
			t.Errorf("no page was ever %s: %v", want, seen)
		}
	}
}
