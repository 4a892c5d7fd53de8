package weburl

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		t.Fatalf("Parse(%q): %v", raw, err)
	}
	return u
}

// The example of the IR-book, section 20.2.1 (S4-20).
func TestResolveWikipediaDisclaimer(t *testing.T) {
	page := mustParse(t, "http://en.wikipedia.org/wiki/Main_Page")
	u, err := page.Resolve("/wiki/Wikipedia:General_disclaimer")
	if want := "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer"; err != nil || u.String() != want {
		t.Errorf("= %v, %v; want %s", u, err, want)
	}
}

func TestResolve(t *testing.T) {
	base := mustParse(t, "http://user@Example.org:8080/a/b/c.html?x=/y/z")
	for ref, want := range map[string]string{
		"":                               "http://user@example.org:8080/a/b/c.html?x=/y/z",
		"#top":                           "http://user@example.org:8080/a/b/c.html?x=/y/z",
		" \t\n ":                         "http://user@example.org:8080/a/b/c.html?x=/y/z",
		"?":                              "http://user@example.org:8080/a/b/c.html?",
		"?p=1#x":                         "http://user@example.org:8080/a/b/c.html?p=1",
		"d":                              "http://user@example.org:8080/a/b/d",
		"d/?q":                           "http://user@example.org:8080/a/b/d/?q",
		".":                              "http://user@example.org:8080/a/b/",
		"..":                             "http://user@example.org:8080/a/",
		"../d":                           "http://user@example.org:8080/a/d",
		"../../../../d":                  "http://user@example.org:8080/d",
		"%2E%2e/d":                       "http://user@example.org:8080/a/d",
		"./.hidden":                      "http://user@example.org:8080/a/b/.hidden",
		"...":                            "http://user@example.org:8080/a/b/...",
		"/":                              "http://user@example.org:8080/",
		"/x/../../y//../z":               "http://user@example.org:8080/y/z",
		"\\x\\y?a\\b":                    "http://user@example.org:8080/x/y?a\\b",
		"//Other.example":                "http://other.example/",
		"\\/other.example/":              "http://other.example/",
		"http:d":                         "http://user@example.org:8080/a/b/d",
		"http:/d":                        "http://user@example.org:8080/d",
		"https:d":                        "https://d/",
		"HTTPS://H:443/":                 "https://h/",
		"https:///h:80":                  "https://h:80/",
		"http://h?q":                     "http://h/?q",
		"http://h:/":                     "http://h/",
		"http://h:00081/":                "http://h:81/",
		"http://0x7f.1/":                 "http://127.0.0.1/",
		"http://[::0:1]:80/":             "http://[::1]/",
		"http://a:b@h/":                  "http://a:b@h/",
		"http://:@h/":                    "http://h/",
		"http://ü:p:w@h/":                "http://%C3%BC:p%3Aw@h/",
		"http://bücher.example/":         "http://xn--bcher-kva.example/",
		"http://XN--BCHER-KVA.example./": "http://xn--bcher-kva.example./",
		"ht\ntp://h/a\tb":                "http://h/ab",
		"  d e  ":                        "http://user@example.org:8080/a/b/d%20e",
		"d #f":                           "http://user@example.org:8080/a/b/d%20",
		"ü?ü'":                           "http://user@example.org:8080/a/b/%C3%BC?%C3%BC%27",
		"a\xff":                          "http://user@example.org:8080/a/b/a%EF%BF%BD",
		"a:b":                            "error",
		"9:b":                            "http://user@example.org:8080/a/b/9:b",
		"mailto:x@y":                     "error",
		"http://":                        "error",
		"http://h:65536/":                "error",
		"http://a b/":                    "error",
		"http://[[::1]]/":                "error",
	} {
		got, err := base.Resolve(ref)
		if text := got.String(); err == nil && text != want || (err != nil) != (want == "error") {
			t.Errorf("Resolve(%q) = %q, %v; want %q", ref, text, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	long := strings.Repeat("x", MaxLength)
	for raw, want := range map[string]error{
		"":                        ErrSyntax,
		"/path":                   ErrSyntax,
		"javascript:void(0)":      ErrScheme,
		"data:text/plain," + long: ErrScheme,
		"ftp://example.org/":      ErrScheme,
		"http://h/" + long:        ErrTooLong,
		"http://h/" + long[:2000] + strings.Repeat("ü", 400): ErrTooLong, // once encoded
		"http:///":      ErrHost,
		"http://u@/":    ErrHost,
		"http://a%00b/": ErrHost,
		"http://u@v@h/": ErrSyntax,
	} {
		if u, err := Parse(raw); !errors.Is(err, want) || !u.IsZero() {
			t.Errorf("Parse(%.40q) = %v, %v; want %v", raw, u, err, want)
		}
	}
	if u, err := Parse("http://h/" + long[9:] + "#" + long); err != nil || len(u.String()) != MaxLength {
		t.Errorf("the longest URL with a long fragment: %v", err)
	}
}

func TestParts(t *testing.T) {
	u := mustParse(t, "https://u:p@www.example.co.uk.:8443/a/b?c=d")
	for name, pair := range map[string][2]string{
		"Scheme":        {u.Scheme(), "https"},
		"Host":          {u.Host(), "www.example.co.uk"},
		"Port":          {fmt.Sprint(u.Port()), "8443"},
		"HostPort":      {u.HostPort(), "www.example.co.uk.:8443"},
		"Origin":        {u.Origin(), "https://www.example.co.uk.:8443"},
		"Path":          {u.Path(), "/a/b"},
		"Query":         {u.Query(), "?c=d"},
		"RequestTarget": {u.RequestTarget(), "/a/b?c=d"},
		"Domain":        {u.Domain(), "example.co.uk"},
		"bare":          {u.WithoutUserinfo().String(), "https://www.example.co.uk.:8443/a/b?c=d"},
		"bare query":    {u.WithoutUserinfo().Query(), "?c=d"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s = %q, want %q", name, pair[0], pair[1])
		}
	}
	var zero URL
	if !zero.IsZero() || zero.Host()+zero.Path()+zero.Domain()+zero.Key(KeyRules{}) != "" || zero.IsIP() {
		t.Error("the zero URL has parts")
	}
	if mustParse(t, "http://h/").Port() != 80 || mustParse(t, "https://h/").Port() != 443 {
		t.Error("default ports are wrong")
	}
}

func TestAddr(t *testing.T) {
	for raw, want := range map[string]string{
		"http://127.0.0.1:80/": "127.0.0.1", "http://2130706433/": "127.0.0.1", "http://10.0.0.1./": "10.0.0.1",
		"http://[2001:db8::1]:81/": "2001:db8::1", "http://example.org/": "", "http://1.2.3.example/": "", "http://h2/": "",
	} {
		u := mustParse(t, raw)
		addr, ok := u.Addr()
		if ok != (want != "") || u.IsIP() != ok || ok && addr != netip.MustParseAddr(want) {
			t.Errorf("Addr of %s = %v, %v; want %q", raw, addr, ok, want)
		}
		if ok && u.Domain() != u.Host() {
			t.Errorf("Domain of %s = %s, want the address", raw, u.Domain())
		}
	}
}

func TestDomain(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.org": "example.org", "example.org.": "example.org", "a.b.example.co.uk": "example.co.uk",
		"co.uk": "co.uk", "localhost": "localhost", "me.github.io": "me.github.io", "x.xn--p1ai": "x.xn--p1ai",
	} {
		if got := mustParse(t, "http://"+host).Domain(); got != want {
			t.Errorf("Domain of %s = %s, want %s", host, got, want)
		}
	}
}

// A hostile link costs no more than its bytes: nothing is allocated for what is refused early, and no
// accepted link allocates more than a small multiple of its length.
func TestHostileLinksAreCheap(t *testing.T) {
	base := mustParse(t, "http://example.org/")
	ats := "http://" + strings.Repeat("a@", 32<<10)
	for _, raw := range []string{ats, ats[:MaxLength], "//" + ats[7:3000], "http://" + strings.Repeat("\u4e00", 1000), strings.Repeat("a", 1<<20), strings.Repeat(" ", 1<<20)} {
		if n := testing.AllocsPerRun(10, func() { base.Resolve(raw) }); n > 0 {
			t.Errorf("%.20q... (%d bytes) makes %v allocations, want 0", raw, len(raw), n)
		}
	}
	for _, piece := range []string{"a/", "/", "../", "./", "%2e%2e/", "ü", "\\", "?", "%", "\t", "a:", "a.", "1.", "é."} {
		for _, prefix := range []string{"", "/", "http://", "http://h/", "http://u:", "http://["} {
			raw := prefix + strings.Repeat(piece, (MaxLength-len(prefix))/len(piece))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			base.Resolve(raw)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 256*MaxLength {
				t.Errorf("%q of %q allocates %d bytes", prefix, piece, n)
			}
		}
	}
}

func TestURLOwnsItsMemory(t *testing.T) {
	page := []byte("http://example.org/a")
	raw := string(page)
	u := mustParse(t, raw)
	if n := testing.AllocsPerRun(10, func() { Parse(raw) }); n != 1 {
		t.Errorf("Parse makes %v allocations, want 1: its own copy", n)
	}
	if n := testing.AllocsPerRun(10, func() { u.Resolve("#x") }); n != 0 {
		t.Errorf("a fragment makes %v allocations, want 0", n)
	}
}

func TestReparse(t *testing.T) {
	for _, s := range []string{"http://h/", "https://u:p@h.:81/a?b", "http://[::1]:81/", "http://h/?", "http://a@h/x@y:z"} {
		u := mustParse(t, s)
		if got, err := Reparse(u.String()); err != nil || got != u {
			t.Errorf("Reparse(%q) = %#v, %v; want %#v", s, got, err, u)
		}
	}
	for _, s := range []string{"", "h", "http://", "http:///", "ftp://h/", "http://h", "http://@h/", "http://h:/", "http://h:99999/",
		"http://h:8x/", "http://:80/", "http://h/ ", "http://h/\r\nX: y", "http://h/\x00", "http://h/#f", "http://h/ü", "https:/h/",
		"http://h/" + strings.Repeat("x", MaxLength)} {
		if u, err := Reparse(s); err == nil {
			t.Errorf("Reparse(%.40q) = %v, want an error", s, u)
		}
	}
}

// anyURL draws links as pages have them, mixed with odd bytes.
func anyURL() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "B", "1", "/", "//", ".", "..", "?", "&", "=", ";jsessionid=A1", "%", "%41", "%2f", "%2e",
		"sid=0123456789abcdef", "PHPSESSID=1", "utm_source=x", "#", "@", ":", "[", "|", "ü", " ", "\\", "\t", "\xff", "'", "^", "~"})
	return rapid.Custom(func(t *rapid.T) string {
		start := rapid.SampledFrom([]string{"http://h.example/", "https://h.example.:81/x", "//", "/", "", "?", "http:", "http://"}).Draw(t, "start")
		return start + strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
}

func TestURLProperties(t *testing.T) {
	base := mustParse(t, "http://base.example/dir/page?q")
	h := NewHasher([16]byte{1}, KeyRules{})
	rapid.Check(t, func(t *rapid.T) {
		u, err := base.Resolve(anyURL().Draw(t, "ref"))
		if err != nil {
			return
		}
		if back, err := Reparse(u.String()); err != nil || back != u {
			t.Fatalf("Reparse(%v) = %v, %v", u, back, err)
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Fatalf("Parse(%v) = %v, %v: serialising is not idempotent", u, again, err)
		}
		key, err := Reparse(u.Key(KeyRules{}))
		if err != nil || key.Key(KeyRules{}) != key.String() {
			t.Fatalf("key of %v is %v, %v, whose key is %v", u, key, err, key.Key(KeyRules{}))
		}
		if key.Host() != u.Host() || h.Fingerprint(key) != h.Fingerprint(u) {
			t.Fatalf("%v and its key %v have different hosts or fingerprints", u, key)
		}
	})
}
