package crawler

import "testing"

func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{"": "", "text/html": "text/html", " Text/HTML ; charset=x": "text/html", "text/html;x": "text/html",
		"text/html, text/html": "text/html", "application/x-\"odd\" thing": "application/x-\"odd\"", ";": "", " ": ""} {
		if got := mediaType(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}
