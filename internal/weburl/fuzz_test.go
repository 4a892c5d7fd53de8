package weburl

import (
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// FuzzFastPath holds our parser against whatwg-url doing all of the work.
func FuzzFastPath(f *testing.F) {
	for _, l := range links {
		f.Add("http://example.org/a/b?c", l)
	}
	for _, l := range []string{"http:\\\\h/..\\a", "http:/h", "https:h", "%2e%2E/%2e", "http://u:p@h:080/ü?'#x", "//h\t:80//..//x/.", "\x00/ ", "http://0x7f.1./", "http://[::1]/"} {
		f.Add("http://example.org:81/a/b?c", l)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := Parse(base)
		if err != nil || len(ref) > MaxLength/9 { // nine: a byte that is not UTF-8, encoded
			return
		}
		got, err := b.Resolve(ref)
		want, ok := byLibraryAlone(b.String(), ref)
		if deviates(ref) || deviates(b.HostPort()) || len(ref) > maxOddHost {
			return
		}
		if (err == nil) != ok || got.String() != want {
			t.Errorf("%q on %q = %q, %v; the library has %q, %v", ref, base, got, err, want, ok)
		}
	})
}

func byLibraryAlone(base, ref string) (href string, ok bool) {
	u, err := whatwg.ParseRef(base, ref)
	if err != nil || u.Scheme() != "http" && u.Scheme() != "https" {
		return "", false
	}
	return u.Href(true), true
}

// deviates tells where we differ from the library by intent: user names with @ (refused), nested
// brackets (the library takes them), Punycode in ASCII hosts (the library is older than the
// standard's change), and what is not UTF-8.
func deviates(s string) bool {
	return strings.Count(s, "@") > 1 || strings.Count(s, "[") > 1 || strings.Count(s, "]") > 1 ||
		strings.Contains(strings.ToLower(s), "xn--") || strings.ToValidUTF8(s, "") != s
}

// FuzzReparse: damaged bytes from disk never panic, and what is accepted has all its parts in order.
func FuzzReparse(f *testing.F) {
	for _, s := range []string{"http://h/", "https://u:p@h:81/a?b", "http://[::1]:81/", "http://[:/", "http://a.:1/", "http://./", "http://[]/", "http://1.2.3.4./"} {
		f.Add(s)
	}
	h := NewHasher([16]byte{}, KeyRules{})
	f.Fuzz(func(t *testing.T, s string) {
		u, err := Reparse(s)
		if err != nil {
			return
		}
		if u.String() != s || u.Host() == "" || !strings.HasSuffix(s, u.HostPort()+u.Path()+u.Query()) || !strings.HasPrefix(s, u.Scheme()+"://") {
			t.Errorf("Reparse(%q) has parts %q %q %q %q", s, u.Scheme(), u.HostPort(), u.Path(), u.Query())
		}
		u.Domain()
		u.Addr()
		u.Origin()
		u.WithoutUserinfo()
		h.Fingerprint(u)
		if key, err := Reparse(u.Key(KeyRules{})); err == nil && key.Key(KeyRules{}) != key.String() {
			t.Errorf("the key of %q is %q, whose key is %q", s, key, key.Key(KeyRules{}))
		}
	})
}
