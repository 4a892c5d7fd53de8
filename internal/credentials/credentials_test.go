package credentials

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"decorum/internal/fetch"
	"decorum/internal/weburl"
)

func mustURL(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newSet(t testing.TB, o Options, seeds ...string) *Set {
	t.Helper()
	for _, s := range seeds {
		o.Seeds = append(o.Seeds, mustURL(t, s))
	}
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// sent is the fields for a URL, as text.
func sent(t testing.TB, s *Set, url string) string {
	t.Helper()
	var b []string
	for _, f := range s.For(mustURL(t, url)) {
		b = append(b, f.Name+": "+f.Value)
	}
	return strings.Join(b, "\n")
}

func basic(pair string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
}

func TestFieldsGoToTheHostsOfTheSeeds(t *testing.T) {
	s := newSet(t, Options{Fields: []string{"X-Key: s3cret", "X-Empty:"}}, "https://a.test/deep/", "http://b.test:8080/")
	for url, want := range map[string]bool{
		"https://a.test/": true, "https://a.test:444/x": true, "http://a.test/": false, // all seeds of a.test are https
		"http://b.test/": true, "https://b.test/": true,
		"https://www.a.test/": false, "https://test/": false, "https://aa.test/": false, "https://a.test.evil.test/": false,
		"https://a.test@evil.test/": false, "https://evil.test/https://a.test/": false,
	} {
		if got := sent(t, s, url); (got == "X-Key: s3cret\nX-Empty: ") != want || !want && got != "" {
			t.Errorf("%s: %q", url, got)
		}
	}
}

func TestLoginsAreBound(t *testing.T) {
	s := newSet(t, Options{Auth: []string{"me:p@ss:w0rd@a.test", "you:x@A.test:8080", "six:x@[2001:DB8::1]:81", "idn:x@bücher.test", "four:x@127.1"}}, "https://a.test/")
	for url, want := range map[string]string{
		"https://a.test/":            basic("me:p@ss:w0rd"),
		"https://a.test:8443/":       basic("me:p@ss:w0rd"),
		"http://a.test/":             "", // a.test was given as https
		"http://a.test:8080/x":       basic("you:x"),
		"https://a.test:8080/x":      basic("you:x"),
		"https://www.a.test/":        "",
		"https://evil.test/":         "",
		"https://a.test@evil.test/":  "",
		"http://[2001:db8::1]:81/":   basic("six:x"),
		"http://[2001:db8::1]/":      "",
		"https://xn--bcher-kva.test": basic("idn:x"),
		"http://127.0.0.1:9/":        basic("four:x"),
	} {
		if got := sent(t, s, url); got != want {
			t.Errorf("%s: %q, not %q", url, got, want)
		}
	}
}

// TestUserinfoOfLinksIsNoCredential: what a page writes before an @ goes nowhere.
func TestUserinfoOfLinksIsNoCredential(t *testing.T) {
	s := newSet(t, Options{}, "https://a.test/")
	if got := sent(t, s, "https://admin:admin@a.test/"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestOwnFieldsWin(t *testing.T) {
	file := cookieFile(t, "a.test\tFALSE\t/\tFALSE\t0\tsid\t1\n")
	s := newSet(t, Options{Fields: []string{"cookie: own=1", "AUTHORIZATION: Bearer x"}, Auth: []string{"u:p@a.test", "u:p@b.test"}, Cookies: file}, "https://a.test/")
	if got := sent(t, s, "https://a.test/"); got != "cookie: own=1\nAUTHORIZATION: Bearer x" {
		t.Errorf("%q", got)
	}
	if got := sent(t, s, "https://b.test/"); got != basic("u:p") {
		t.Errorf("%q", got)
	}
	if names := s.Names(); !slices.Equal(names, []string{"Authorization", "Proxy-Authorization", "Cookie"}) {
		t.Errorf("%q", names)
	}
	if names := newSet(t, Options{Fields: []string{"X-Key: 1"}}).Names(); names[len(names)-1] != "X-Key" {
		t.Errorf("%q", names)
	}
}

// TestForIsSafeToKeep: fields handed out for one request do not change with the next.
func TestForIsSafeToKeep(t *testing.T) {
	s := newSet(t, Options{Fields: []string{"A: 1"}, Auth: []string{"u:1@a.test", "v:2@b.test"}}, "https://a.test/", "https://b.test/")
	first := s.For(mustURL(t, "https://a.test/"))
	s.For(mustURL(t, "https://b.test/"))
	if first[1].Value != "Basic dTox" {
		t.Errorf("%v", first)
	}
}

func TestBadCredentials(t *testing.T) {
	const secret = "s3cret"
	for what, o := range map[string]Options{
		"there is no colon":          {Fields: []string{"Bearer s3cret"}},
		"not a field name":           {Fields: []string{"X Key: s3cret"}},
		"control character":          {Fields: []string{"X-Key: s3cret\r\nHost: x"}},
		"cannot be set":              {Fields: []string{"Host: s3cret"}},
		"names no host":              {Auth: []string{"me:s3cret"}},
		"user or no colon":           {Auth: []string{"s3cret@a.test"}},
		"has no user":                {Auth: []string{":s3cret@a.test"}},
		"last @":                     {Auth: []string{"me:s3cret@"}},
		"not HOST or HOST:PORT":      {Auth: []string{"me:p@s3cret x"}},
		"the port is":                {Auth: []string{"me:s3cret@a.test:x"}},
		"no number from":             {Auth: []string{"me:p@s3cret:0"}},
		"port is no number":          {Auth: []string{"me:s3cret@https://a.test/"}},
		"that is no host":            {Auth: []string{"me:s3cret@a.test/x"}},
		"auth: user or password has": {Auth: []string{"me:s3cret\n@a.test"}},
		"no such file":               {Cookies: "/nowhere/at/all"},
	} {
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", what, err)
		}
	}
}

func TestLoginPrintsNoSecret(t *testing.T) {
	l, err := ParseLogin("me:s3cret@a.test:81")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", l, l, l, l); text != "a.test:81 a.test:81 a.test:81 a.test:81" {
		t.Error(text)
	}
}

func cookieFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cookies.txt")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func readJar(t testing.TB, text string) *Jar {
	t.Helper()
	j, err := ReadCookies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

const cookies = "\ufeff# Netscape HTTP Cookie File\r\n" +
	"\n" +
	"a.test\tFALSE\t/\tFALSE\t0\thost\t1\r\n" +
	".a.test\tTRUE\t/\tFALSE\t0\tdomain\t2\n" +
	"#HttpOnly_a.test\tFALSE\t/\tFALSE\t0\thttponly\t3\n" +
	"a.test\tfalse\t/\ttrue\t0\tsecure\t4\n" +
	"a.test\tFALSE\t/docs\tFALSE\t0\tdocs\t5\n" +
	"a.test\tFALSE\t/dir/\tFALSE\t0\tdir\t6\n" +
	"a.test\tFALSE\t/\tFALSE\t1700000000.5\tfleeting\t7\n" +
	"A.TEST.\tFALSE\t/\tFALSE\t-1\tempty\n" +
	"co.uk\tTRUE\t/\tFALSE\t0\tsuffix\t8\n" +
	"test\tTRUE\t/\tFALSE\t0\ttld\t9\n" +
	"127.0.0.1\tTRUE\t/\tFALSE\t0\taddr\t10\n" +
	"xn--bcher-kva.test\tTRUE\tnopath\tFALSE\t0\tidn\tä\n" +
	"b.test\tFALSE\t/\tFALSE\t0\t\tnameless\n"

func TestCookies(t *testing.T) {
	before, after := time.Unix(1700000000, 0), time.Unix(1700000001, 0)
	j := readJar(t, cookies)
	for _, c := range []struct {
		url  string
		now  time.Time
		want string
	}{
		{"https://a.test/", after, "host=1; domain=2; httponly=3; secure=4; empty="},
		{"http://a.test/", after, "host=1; domain=2; httponly=3; empty="},
		{"http://a.test/", before, "host=1; domain=2; httponly=3; fleeting=7; empty="},
		{"http://a.test:8080/", after, "host=1; domain=2; httponly=3; empty="},
		{"http://A.test./", after, "host=1; domain=2; httponly=3; empty="},
		{"http://www.a.test/", after, "domain=2"},
		{"http://deep.www.a.test/", after, "domain=2"},
		{"http://nota.test/", after, ""},
		{"http://a.test.evil.test/", after, ""},
		{"http://a.test@evil.test/", after, ""},
		{"http://a.test/docs", after, "docs=5; host=1; domain=2; httponly=3; empty="},
		{"http://a.test/docs/x?y", after, "docs=5; host=1; domain=2; httponly=3; empty="},
		{"http://a.test/docsx", after, "host=1; domain=2; httponly=3; empty="},
		{"http://a.test/x?/docs/", after, "host=1; domain=2; httponly=3; empty="},
		{"http://a.test/dir/x", after, "dir=6; host=1; domain=2; httponly=3; empty="},
		{"http://a.test/dir", after, "host=1; domain=2; httponly=3; empty="},
		{"http://bank.co.uk/", after, ""},
		{"http://co.uk/", after, "suffix=8"},
		{"http://test/", after, "tld=9"},
		{"http://127.0.0.1/", after, "addr=10"},
		{"http://7.127.0.0.1.test/", after, ""},
		{"http://www.bücher.test/x", after, "idn=ä"},
		{"http://b.test/", after, "nameless"},
	} {
		if got := j.Header(mustURL(t, c.url), c.now); got != c.want {
			t.Errorf("%s: %q, not %q", c.url, got, c.want)
		}
	}
}

func TestBadCookieFiles(t *testing.T) {
	for text, want := range map[string]string{
		`[{"domain":"a.test","value":"s3cret"}]`:                    "line 1: 1 fields",
		"\n\na.test\tFALSE\t/\tFALSE\t0\ta\ts3cret\tx":              "line 3: 8 fields",
		"a.test FALSE / FALSE 0 a s3cret":                           "line 1: 1 fields",
		"\tFALSE\t/\tFALSE\t0\ta\ts3cret":                           "first field",
		"a.test/x\tFALSE\t/\tFALSE\t0\ta\ts3cret":                   "first field",
		"u@a.test\tFALSE\t/\tFALSE\t0\ta\ts3cret":                   "first field",
		"a.test\tyes\t/\tFALSE\t0\ta\ts3cret":                       "second field is neither",
		"a.test\tTRUE\t/\t1\t0\ta\ts3cret":                          "fourth field is neither",
		"a.test\tTRUE\t/\tTRUE\tsoon\ta\ts3cret":                    "fifth field is no number",
		"a.test\tTRUE\t/\tTRUE\tNaN\ta\ts3cret":                     "fifth field is no number",
		"a.test\tTRUE\t/\tTRUE\t0\ta\ts3cret;b":                     "semicolon",
		"a.test\tTRUE\t/\tTRUE\t0\ta\ts3cret\x01":                   "control",
		"a.test\tTRUE\t/\tTRUE\t0\ta\t" + strings.Repeat("x", 9000): "longer than 8192",
		"a.test\tTRUE\t/\tTRUE\t0\ta\t" + strings.Repeat("x", 99e3): "longer than 65536",
	} {
		_, err := ReadCookies(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// FuzzCookies: whatever the file holds, what is sent can be sent, and goes only to hosts below the domain.
func FuzzCookies(f *testing.F) {
	f.Add(cookies, "https://www.a.test/docs/x")
	f.Add("#HttpOnly_.\tTRUE\t\tFALSE\t1e400\t=\t=", "http://a.test")
	f.Add("[::1]\tTRUE\t/\tTRUE\t1e9\ta\tb", "http://[::1]/")
	f.Fuzz(func(t *testing.T, file, url string) {
		j, err := ReadCookies(strings.NewReader(file))
		u, urlErr := weburl.Parse(url)
		if err != nil || urlErr != nil {
			return
		}
		value := j.Header(u, time.Unix(1700000000, 0))
		if err := fetch.CheckField(fetch.Field{Name: "Cookie", Value: value}); err != nil {
			t.Error(err)
		}
		if value == "" {
			return
		}
		for domain := range j.byDomain {
			if u.Host() == domain || strings.HasSuffix(u.Host(), "."+domain) {
				return
			}
		}
		t.Errorf("%q is sent to %s", value, u.Host())
	})
}

// FuzzParseLogin: a login is refused or bound to a host, and prints no secret.
func FuzzParseLogin(f *testing.F) {
	f.Add("me:s3cret@a.test:81")
	f.Add("me:@[::1]")
	f.Add("a:b@c:d@::1")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLogin(text)
		if err != nil {
			return
		}
		if l.host == "" || !strings.HasPrefix(l.value, "Basic ") || strings.Contains(l.String(), l.value) {
			t.Errorf("%q: %+v", text, l)
		}
		if err := fetch.CheckField(fetch.Field{Name: "Authorization", Value: l.value}); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkFor(b *testing.B) {
	s := newSet(b, Options{Fields: []string{"X-Key: 1"}, Auth: []string{"u:p@a.test"}, Cookies: cookieFile(b, cookies)}, "https://a.test/")
	u := mustURL(b, "https://www.a.test/docs/index.html")
	b.ReportAllocs()
	for b.Loop() {
		s.For(u)
	}
}
