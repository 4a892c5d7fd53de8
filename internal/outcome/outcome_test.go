package outcome

import (
	"testing"
	"time"
)

// Numbers are on disk: a changed number is a broken folder.
func TestNumbersAndNamesAreStable(t *testing.T) {
	names := map[string]Outcome{}
	for o := range All {
		if prev, dup := names[o.String()]; dup {
			t.Errorf("%v and %v share the name %q", prev, o, o)
		}
		names[o.String()] = o
		if back, ok := Parse(o.String()); !ok || back != o {
			t.Errorf("Parse(%q) = %d, want %d", o, back, o)
		}
		if o != None && (o.Text() == "" || o.Class() == ClassNone) {
			t.Errorf("%v has no text or no class", o)
		}
	}
	for name, number := range map[string]Outcome{"ok": 1, "duplicate": 9, "dns_not_found": 20, "robots_unavailable": 28, "bad_url": 40, "robots": 42, "seen": 60, "trap_hosts": 61} {
		if names[name] != number {
			t.Errorf("%s has number %d, want %d for ever", name, names[name], number)
		}
	}
	if Outcome(200).String() != "unknown" {
		t.Error("an outcome of a newer version must read as unknown")
	}
}

func TestFromStatus(t *testing.T) {
	for code, want := range map[int]Outcome{200: OK, 206: OK, 304: NotModified, 301: BadRedirect, 404: NotFound,
		410: NotFound, 403: ClientError, 429: RateLimited, 503: RateLimited, 500: ServerError, 599: ServerError, 99: Informal, 700: Informal} {
		if got := FromStatus(code); got != want {
			t.Errorf("FromStatus(%d) = %v, want %v", code, got, want)
		}
	}
}

func TestBackoffDoublesUpToTheLimit(t *testing.T) {
	for n, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 5: 10, 1000: 10} {
		if got := Backoff(n, 1, 10); got != want {
			t.Errorf("Backoff(%d) = %d, want %d", n, got, want)
		}
	}
}
