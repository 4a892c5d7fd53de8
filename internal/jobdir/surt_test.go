package jobdir

import (
	"testing"

	"decorum/internal/weburl"
)

// Values as the surt package 0.3.1 for Python gives them, which pywb uses.
var surts = []struct{ url, want string }{
	{"http://example.org/", "org,example)/"},
	{"https://example.org", "org,example)/"},
	{"http://www.Example.org/A/B/?x", "org,example)/a/b?x"},
	{"http://www2.example.org/", "org,example)/"},
	{"http://wwwfoo.example.org/", "org,example,wwwfoo)/"},
	{"http://www.com/", "com)/"},
	{"http://user:pw@www12.Example.ORG:80//a//b/../c/?B=2&a=%41&&=", "org,example)/a/c?&=&a=a&b=2"},
	{"http://example.org:8080/a", "org,example:8080)/a"},
	{"https://example.org:80/", "org,example:80)/"},
	{"https://www.example.org./", "org,example)/"},
	{"http://1.2.3.4/", "4,3,2,1)/"},
	{"http://[::1]:8080/a", "::1:8080)/a"},
	{"http://example.org/?", "org,example)/"},
	{"http://example.org/?b=2&a=1&a", "org,example)/?a&a=1&b=2"},
	{"http://example.org/a;b=c?d=e?f&g", "org,example)/a;b=c?d=e?f&g"},
	{"http://example.org:8080/%2520a%20b", "org,example:8080)/%20a%20b"},
	{"http://example.org/?sid=0123456789abcdef0123456789abcdef&a=b", "org,example)/?a=b"},
	{"http://example.org/?jsessionid=0123456789ABCDEF0123456789ABCDEF", "org,example)/"},
	{"http://example.org/?PHPSESSID=0123456789abcdef0123456789abcdef&foo=bar", "org,example)/?foo=bar"},
	{"http://example.org/?CFID=1&CFTOKEN=2&z=1", "org,example)/?z=1"},
	{"http://example.org/?x=y&ASPSESSIONIDABCDEFGH=abcdefghijklmnopqrstuvwx&q=1", "org,example)/?q=1&x=y"},
	{"http://example.org/?sid=short&a=b", "org,example)/?a=b&sid=short"},
	{"http://example.org/(S(abcdefghijklmnopqrstuvwx))/a/b.aspx?x=1", "org,example)/a/b.aspx?x=1"},
	{"http://example.org/p/(abcdefghijklmnopqrstuvwx)/a/b.ASPX", "org,example)/p/a/b.aspx"},
}

func TestSURT(t *testing.T) {
	for _, c := range surts {
		u, err := weburl.Parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if got := SURT(u); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

func FuzzSURT(f *testing.F) {
	for _, c := range surts {
		f.Add(c.url)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := weburl.Parse(s)
		if err != nil {
			t.Skip()
		}
		for _, c := range []byte(SURT(u)) {
			if c <= ' ' || c >= 0x7f {
				t.Errorf("%q: %q would break the line of the index", s, SURT(u))
			}
		}
	})
}
