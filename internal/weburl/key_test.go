package weburl

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

func TestKey(t *testing.T) {
	for raw, want := range map[string]string{
		// unchanged
		"http://h/a/b.html?x=1&y=2": "http://h/a/b.html?x=1&y=2",
		"http://h/?b=1&a=1":         "http://h/?b=1&a=1",
		"http://h/%C3%BC%2F":        "http://h/%C3%BC%2F",
		"http://h/a?b=&c&&d":        "http://h/a?b=&c&&d",
		"http://h:81/?q=a+b":        "http://h:81/?q=a+b",
		// percent-encoding
		"http://h/%7euser/%41%c3%bc": "http://h/~user/A%C3%BC",
		"http://h/100%/%zz%4":        "http://h/100%25/%25zz%254",
		"http://h/a|b^c[d]{e}`":      "http://h/a%7Cb%5Ec%5Bd%5D%7Be%7D%60",
		"http://h/?a[]=1&a%5b%5d=2":  "http://h/?a%5B%5D=1&a%5B%5D=2",
		"http://h/?%61=%2B":          "http://h/?a=%2B",
		// host
		"http://u:p@H.example.:8080/": "http://h.example:8080/",
		"http://h.example./":          "http://h.example/",
		// sessions
		"http://h/a;jsessionid=0A1B?x=1":              "http://h/a?x=1",
		"http://h/a;JSESSIONID=0A1B;v=2/b":            "http://h/a;v=2/b",
		"http://h/a;v=2;jsessionid=0A1B":              "http://h/a;v=2",
		"http://h/?PHPSESSID=af34":                    "http://h/",
		"http://h/?a=1&phpsessid=af34&b=2":            "http://h/?a=1&b=2",
		"http://h/?sid=0123456789abcdef&t=1":          "http://h/?t=1",
		"http://h/?ASPSESSIONIDCSQBQRTS=ABC&t=1":      "http://h/?t=1",
		"http://h/?CFID=12&CFTOKEN=ab&t=1":            "http://h/?t=1",
		"http://h/?osCsid=12&zenid=ab&jsessionid=x&t": "http://h/?t",
		"http://h/?%50HPSESSID=af34":                  "http://h/",
		// only looks like a session
		"http://h/news?sid=12345":           "http://h/news?sid=12345",
		"http://h/?sid=2024010112345678":    "http://h/?sid=2024010112345678",
		"http://h/?sid=introductionandmore": "http://h/?sid=introductionandmore",
		"http://h/?session=5&sessionid=7":   "http://h/?session=5&sessionid=7",
		"http://h/?xsid=0123456789abcdef":   "http://h/?xsid=0123456789abcdef",
		"http://h/?ASPSESSIONID=1":          "http://h/?ASPSESSIONID=1",
		"http://h/?q=PHPSESSID=1":           "http://h/?q=PHPSESSID=1",
		// tracking
		"http://h/?utm_source=x&UTM_medium=y": "http://h/",
		"http://h/?utm=1&gclid=2&id=3":        "http://h/?utm=1&id=3",
		// an empty query
		"http://h/a?": "http://h/a",
	} {
		u := mustParse(t, raw)
		if got := u.Key(KeyRules{}); got != want {
			t.Errorf("key of %s\n got %s\nwant %s", raw, got, want)
		}
		if raw == want && testing.AllocsPerRun(10, func() { u.Key(KeyRules{}) }) != 0 {
			t.Errorf("key of %s allocates, though nothing changes", raw)
		}
	}
}

func TestKeyRules(t *testing.T) {
	u := mustParse(t, "http://h/a;jsessionid=1?PHPSESSID=2&utm_source=3&%7e")
	for want, rules := range map[string]KeyRules{
		"http://h/a?~":                                       {},
		"http://h/a;jsessionid=1?PHPSESSID=2&~":              {KeepSessionIDs: true},
		"http://h/a?utm_source=3&~":                          {KeepTracking: true},
		"http://h/a;jsessionid=1?PHPSESSID=2&utm_source=3&~": {KeepSessionIDs: true, KeepTracking: true},
	} {
		if got := u.Key(rules); got != want {
			t.Errorf("key under %+v = %s, want %s", rules, got, want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	h := NewHasher([16]byte{1, 2, 3}, KeyRules{})
	u := mustParse(t, "http://u@Example.org./%7ea?utm_source=x")
	f := h.Fingerprint(u)
	if f != h.Fingerprint(mustParse(t, "http://example.org/~a")) {
		t.Error("two spellings of one URL have different fingerprints")
	}
	if f == h.Fingerprint(mustParse(t, "https://example.org/~a")) {
		t.Error("http and https have the same fingerprint")
	}
	if binary.BigEndian.Uint64(f[:8]) != h.HostHash(u.Host()) {
		t.Error("the fingerprint does not begin with the hash of its host")
	}
	if other := NewHasher([16]byte{1, 2, 4}, KeyRules{}).Fingerprint(u); bytes.Equal(other[:8], f[:8]) || bytes.Equal(other[8:], f[8:]) {
		t.Error("the secret does not matter")
	}
	if keep := NewHasher([16]byte{1, 2, 3}, KeyRules{KeepTracking: true}).Fingerprint(u); keep == f {
		t.Error("the rules do not matter")
	}
	if (h.Fingerprint(URL{}) != Fingerprint{}) {
		t.Error("no URL has a fingerprint")
	}
	if n := testing.AllocsPerRun(10, func() { h.Fingerprint(u) }); n != 0 {
		t.Errorf("Fingerprint makes %v allocations, want 0", n)
	}
	long := mustParse(t, "http://"+strings.Repeat("a", 300)+"/"+strings.Repeat("%41", 300))
	if binary.BigEndian.Uint64(first(h.Fingerprint(long))) != h.HostHash(long.Host()) {
		t.Error("a long host has another hash in its fingerprint")
	}
}

func first(f Fingerprint) []byte { return f[:8] }

// Values are in the seen-set on disk: they never change.
func TestFingerprintIsStable(t *testing.T) {
	f := NewHasher([16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, KeyRules{}).Fingerprint(mustParse(t, "http://example.org/"))
	if got, want := bytesHex(f), "D392D85B6404D13C0E9C901B57468C25"; got != want {
		t.Errorf("fingerprint = %s, want %s for ever", got, want)
	}
}

func bytesHex(f Fingerprint) string {
	var b []byte
	for _, c := range f {
		b = append(b, upperHex[c>>4], upperHex[c&15])
	}
	return string(b)
}
