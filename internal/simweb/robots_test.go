package simweb

import "testing"

// The judge's matcher does what RFC 9309 §2.2 says, with the example of §5.2 and the source's of IIR 20.2.1.
func TestRules(t *testing.T) {
	tests := []struct {
		text, agent, target string
		want                bool
	}{
		{"User-agent: *\nDisallow: /yoursite/temp/\n\nUser-agent: searchengine\nDisallow:\n", "searchengine", "/yoursite/temp/a", true},
		{"User-agent: *\nDisallow: /yoursite/temp/\n\nUser-agent: searchengine\nDisallow:\n", "other", "/yoursite/temp/a", false},
		{"user-agent: *\ndisallow: *.gif$\nallow: /publications/\n", "x", "/publications/a.gif", true},
		{"user-agent: *\ndisallow: *.gif$\nallow: /example/\n", "x", "/img/a.gif", false},
		{"user-agent: *\ndisallow: *.gif$\n", "x", "/img/a.gif?x", true},
		{"user-agent: a\nuser-agent: b\ndisallow: /\n", "B", "/x", false},
		{"user-agent: a\ndisallow: /x\nuser-agent: c\ndisallow: /y\nuser-agent: a\ndisallow: /z\n", "a", "/z", false},
		{"user-agent: a/1.0 (bot)\ndisallow: /\n", "a", "/", false},
		{"user-agent: *\ndisallow: /a\nallow: /a\n", "x", "/ab", true},
		{"user-agent: *\ndisallow: /%7ejoe\n", "x", "/~joe/", false},
		{"user-agent: *\ndisallow: /a*b*c\n", "x", "/a1c2b", true},
		{"user-agent: *\ndisallow: /a*b*c\n", "x", "/a1b2cd", false},
		{"disallow: /\n", "x", "/", true},
		{"", "x", "/", true},
	}
	for _, test := range tests {
		r := parseRules(test.text, test.agent)
		if got := r.allowed(test.target); got != test.want {
			t.Errorf("%q for %s: %s allowed %v", test.text, test.agent, test.target, got)
		}
	}
	if r := parseRules("User-agent: *\nCrawl-delay: 1.5 # s\n", "x"); r.delay.Seconds() != 1.5 {
		t.Errorf("delay %v", r.delay)
	}
}
