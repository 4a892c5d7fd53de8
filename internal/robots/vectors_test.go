package robots

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"decorum/internal/weburl"
)

// vectors returns the path of a file or folder of test vectors, or skips the test.
func vectors(t testing.TB, name string) string {
	path := filepath.Join("..", "..", "..", "shared", "vectors", name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("vectors absent: %v", err)
		}
		t.Skipf("vectors absent: %v", err)
	}
	return path
}

// vectorCase is a file of rules with what it says of URLs.
type vectorCase struct {
	Test, File string
	Robots     struct {
		Text string
		B64  []byte
	}
	Agent    string
	Agents   []string
	Checks   []vectorCheck
	Expect   []vectorCheck
	Exact    bool   `json:"exact_agent_match"`
	DelayMS  *int64 `json:"crawl_delay_ms"`
	Sitemaps []string
}

type vectorCheck struct {
	URL, Agent, Outcome, Type string
	Allowed                   bool
}

func (c *vectorCase) body() []byte {
	if c.Robots.B64 != nil {
		return c.Robots.B64
	}
	return []byte(c.Robots.Text)
}

func loadVectors(t testing.TB, name string) []vectorCase {
	data, err := os.ReadFile(vectors(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vectorCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s has no cases", name)
	}
	return file.Cases
}

// rawTarget returns what follows the authority of a URL, as written: some vectors are about URLs that
// were not escaped.
func rawTarget(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	i := strings.IndexAny(rest, "/?;")
	if i < 0 {
		return "/"
	}
	target, _, _ := strings.Cut(rest[i:], "#")
	if target[0] != '/' {
		target = "/" + target
	}
	return target
}

// notOurs names checks of no URL and of no agent: a crawler has both.
func notOurs(url, agent string) bool { return url == "" || agent == "" }

func TestVectorsGoogle(t *testing.T) {
	checks := 0
	for _, c := range loadVectors(t, "robots/google-robots_test.json") {
		for _, check := range c.Checks {
			if notOurs(check.URL, c.Agent) {
				continue
			}
			checks++
			v := Parse(c.body(), c.Agent).Check(rawTarget(check.URL))
			if v.Allowed != check.Allowed {
				t.Errorf("%s: agent %q, %q: %+v, want allowed %v, with\n%.300q",
					c.Test, c.Agent, check.URL, v, check.Allowed, c.body())
			}
		}
	}
	t.Logf("%d checks", checks)
}

func TestVectorsSpec(t *testing.T) {
	standard := 0
	for _, c := range loadVectors(t, "robots/google-spec-test.json") {
		for _, check := range c.Expect {
			if notOurs(check.URL, check.Agent) {
				t.Logf("not ours: %s: agent %q, URL %q", c.File, check.Agent, check.URL)
				continue
			}
			r := Parse(c.body(), check.Agent)
			v := r.Check(rawTarget(check.URL))
			if rawTarget(check.URL) == Path { // RFC 9309 §2.2.2 allows it; Google leaves that to the caller
				if !v.Allowed {
					t.Errorf("%s: robots.txt itself is refused", c.File)
				}
				v = r.wire.check(Path)
			}
			agrees := v.Allowed == (check.Outcome == "ALLOWED")
			if check.Type != "STANDARD" {
				t.Logf("%s: %s: agent %q, %s: want %s, agrees: %v",
					check.Type, c.File, check.Agent, check.URL, check.Outcome, agrees)
				continue
			}
			standard++
			if !agrees {
				t.Errorf("%s: agent %q, %q: %+v, want %s, with\n%.300q",
					c.File, check.Agent, check.URL, v, check.Outcome, c.body())
			}
		}
	}
	t.Logf("%d STANDARD checks", standard)
}

// deviations are the checks of crawler-commons that we answer otherwise, with the rule behind it.
var deviations = map[string]string{
	"go!zilla": "RFC 9309 §2.2.1: a product token holds letters, '-' and '_' only, so `go!zilla` is no token",
	"mozilla/5.0 (compatible; butterfly/1.0; +http://labs.topsy.com/butterfly/) gecko/2009032608 firefox/3.0.8": "RFC 9309 §2.2.1: " +
		"the product token of the line is its head `Mozilla`; the rest of a User-Agent header is no token",
}

func TestVectorsCrawlerCommons(t *testing.T) {
	checks := 0
	for _, c := range loadVectors(t, "robots/crawler-commons.json") {
		if !c.Exact {
			continue // a legacy mode that matches agents by prefix
		}
		checks += checkCrawlerCommons(t, c)
	}
	t.Logf("%d checks", checks)
}

// checkCrawlerCommons tests a case for its agents: the crawler-commons list means "any of these", of
// which ours is one at a time.
func checkCrawlerCommons(t *testing.T, c vectorCase) int {
	for _, check := range c.Checks {
		agrees := false
		for _, agent := range c.Agents {
			agrees = agrees || Parse(c.body(), agent).Check(rawTarget(check.URL)).Allowed == check.Allowed
			if reason := deviations[agent]; reason != "" && !agrees {
				t.Logf("deviates: %s: %s: %s", c.Test, check.URL, reason)
				agrees = true
			}
		}
		if !agrees {
			t.Errorf("%s: %v, %s: want allowed %v", c.Test, c.Agents, check.URL, check.Allowed)
		}
	}
	r := Parse(c.body(), c.Agents[0])
	delay, ok := r.Delay()
	if ok != (c.DelayMS != nil) || ok && delay != time.Duration(*c.DelayMS)*time.Millisecond {
		t.Errorf("%s: %v: delay %v, %v", c.Test, c.Agents, delay, ok)
	}
	base, _ := weburl.Parse("http://domain.com/robots.txt")
	var sitemaps []string
	for _, s := range r.Sitemaps() {
		if u, err := base.Resolve(s); err == nil {
			sitemaps = append(sitemaps, u.String())
		}
	}
	if strings.Join(sitemaps, " ") != strings.Join(c.Sitemaps, " ") {
		t.Errorf("%s: sitemaps %q, want %q", c.Test, sitemaps, c.Sitemaps)
	}
	return len(c.Checks)
}

// TestVectorsFiles reads real files; what they say is checked where they were written to say something.
func TestVectorsFiles(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(vectors(t, "robots/files"), "*"))
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := Parse(body, "decorum")
		r.Check("/")
		switch filepath.Base(name) {
		case "robots-with-utf16le-bom.txt", "robots-with-utf16be-bom.txt", "robots-with-utf8-bom.txt":
			if r.Check("/profile").Allowed || !r.Check("/news").Allowed {
				t.Errorf("%s: the byte order mark was not understood", name)
			}
		case "dos-line-endings.txt":
			if d, ok := r.Delay(); !ok || d != time.Second {
				t.Errorf("%s: delay %v, %v", name, d, ok)
			}
		}
	}
	if len(names) == 0 {
		t.Error("no files")
	}
}
