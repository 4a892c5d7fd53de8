package config

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "500": 500, "10MiB": 10 << 20, "10mib": 10 << 20, "1.5GB": 1_500_000_000, "2 KiB": 2048, "1k": 1024, "7b": 7, " 3T ": 3 << 40, "1e3": 1000} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q: %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "-1", "MiB", "1XB", "1 0", "NaN", "Inf", "1e30", "9000000TiB", "0x10", "1_000_000_000_000_000_000_000"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %d", text, s)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "3": 3 * time.Second, "1.5": 1500 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, " 2m ": 2 * time.Minute} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "-1", "-1s", "soon", "NaN", "Inf", "1e12", "1d", "1s1"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %v", text, d)
		}
	}
}

// What is written is read back as it was.
func TestValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := Size(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "size")), Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "duration"))
		if s >= 1<<53 {
			s &^= 1<<20 - 1 // beyond, bytes are not told apart
		}
		var s2 Size
		var d2 Duration
		if err := s2.UnmarshalText([]byte(s.String())); err != nil || s2 != s {
			t.Errorf("%d: %s, %d, %v", s, s, s2, err)
		}
		if err := d2.UnmarshalText([]byte(d.String())); err != nil || d2 != d {
			t.Errorf("%d: %s, %d, %v", d, d, d2, err)
		}
	})
}

// stored writes the options into a file and reads them back.
func stored(t *testing.T, c Crawl) Values {
	t.Helper()
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "decorum.toml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := ReadFile(path)
	if err != nil {
		t.Fatalf("%v:\n%s", err, raw)
	}
	return v
}

// The folder keeps what was asked for, zeros too, and nothing that belongs to one run or is a secret.
func TestFolderKeepsOptions(t *testing.T) {
	c := Default()
	c.Delay, c.Retries, c.MinFree, c.IPGap, c.HostPages, c.DelayFactor = 0, 0, 0, 0, 0, 0
	c.Exclude, c.AllowPort, c.Levels, c.Contact, c.MaxPages = []string{"a,b", `re:"\d`}, []uint16{81, 8080}, []string{"/x/*=2"}, "a@archive.museum", 7
	c.Header, c.Token, c.Quiet, c.Fresh, c.Dir, c.Seeds, c.FailOn, c.OutFile = []string{"Cookie: SECRET"}, "SECRET", true, true, "x", []string{"a"}, []string{"ok"}, "-"
	v := stored(t, c)
	for name, want := range map[string]string{"delay": "0s", "retries": "0", "min-free": "0", "ip-gap": "0s", "host-pages": "0", "delay-factor": "0",
		"exclude": `a,b,re:"\d`, "allow-port": "81,8080", "levels": "/x/*=2", "contact": "a@archive.museum", "max-pages": "7", "scope": "host", "out": "warc,pages"} {
		if got := text(v[name]); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, value := range v {
		if perRun[name] || strings.Contains(text(value), "SECRET") {
			t.Errorf("%s = %v is kept", name, value)
		}
	}
}

// Every option that has a default or is set survives, whatever its type.
func TestEveryOptionIsKept(t *testing.T) {
	c := Default()
	v := stored(t, c)
	for _, e := range c.Entries() {
		if _, kept := v[e.Name]; !kept && !perRun[e.Name] && !isZero(e.Value) {
			t.Errorf("%s = %v is lost", e.Name, e.Value)
		}
	}
}

func TestConflict(t *testing.T) {
	c := Default()
	v := stored(t, c)
	if err := c.Conflict(v); err != nil {
		t.Error(err)
	}
	c.Delay, c.MaxPages, c.Scope = 5, 5, "any" // may change
	if err := c.Conflict(v); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Crawl){
		"--polite-by":        func(c *Crawl) { c.PoliteBy = "domain" },
		"--front-queues":     func(c *Crawl) { c.FrontQueues = 4 },
		"--keep-session-ids": func(c *Crawl) { c.KeepSessionIDs = true },
		"--keep-tracking":    func(c *Crawl) { c.KeepTracking = true },
	} {
		c := Default()
		change(&c)
		var bad *Error
		if err := c.Conflict(v); !errors.As(err, &bad) || bad.Option != name || strings.Contains(bad.Problem, "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Conflict(stored(t, c)); err != nil {
			t.Errorf("%s does not agree with itself: %v", name, err)
		}
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	read := func(content string) (Values, error) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadFile(path)
	}
	v, err := read("max_body = 200000\ndelay = 1.5\nexclude = [\"a\", 7]\nallow-port = [81]\nquiet = true\ninclude = \"x\"\n")
	want := Values{"max-body": "200000", "delay": "1.5", "exclude": []any{"a", "7"}, "allow-port": []any{int64(81)}, "quiet": "true", "include": "x"}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("%v, %#v", err, v)
	}
	for content, want := range map[string]string{"nonsense = 1": `unknown option "nonsense"`, "a = 1\nb": "c.toml:2: ", "url = \"a\"": `unknown option "url"`, "[delay]\nx=1": "", "delay = \"1s\"\ndelay = \"2s\"": "c.toml:2"} {
		if v, err := read(content); want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, %v", content, v, err)
		}
	}
	if _, err := ReadFile(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestSourceOrder(t *testing.T) {
	s := Source{File: Values{"delay": "2s", "token": "of the file"}, Folder: Values{"delay": "3s", "depth": "3", "token": "of the folder"}}
	t.Setenv("DECORUM_MAX_PAGES", "9")
	for flag, want := range map[string]struct {
		value  any
		origin Origin
	}{"max-pages": {"9", FromEnv}, "delay": {"2s", FromFile}, "depth": {"3", FromFolder}, "token": {"of the file", FromFile}, "hops": {nil, FromDefault}} {
		if v, ok := s.Lookup(flag); v != want.value || ok != (v != nil) || s.Origin(flag) != want.origin {
			t.Errorf("%s: %v from %s", flag, v, s.Origin(flag))
		}
	}
	s.File = nil
	if v, ok := s.Lookup("token"); ok {
		t.Errorf("a secret comes from the folder: %v", v)
	}
	s.Note("delay", FromFlag)
	if s.Origin("delay") != FromFlag {
		t.Error(s.Origin("delay"))
	}
}

func TestValidate(t *testing.T) {
	good := Default()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Crawl){
		"--contact: nobody@example.org is":  func(c *Crawl) { c.Contact = "nobody@example.org" },
		"--contact: you@your.org is":        func(c *Crawl) { c.Contact = "you@your.org" },
		"--contact: http://www.x.test/ is":  func(c *Crawl) { c.Contact = "http://www.x.test/" },
		`--contact: "me" is neither`:        func(c *Crawl) { c.Contact = "me" },
		"--contact: \"https://a.museum/é\"": func(c *Crawl) { c.Contact = "https://a.museum/é" },
		"--user-agent-suffix: ":             func(c *Crawl) { c.UserAgentSuffix = "x\r\nEvil: 1" },
		"--back-queues: \"4x\"":             func(c *Crawl) { c.BackQueues = "4x" },
		"--front-queues: 33":                func(c *Crawl) { c.FrontQueues = 33 },
		`--levels: "x" is not`:              func(c *Crawl) { c.Levels = []string{"x"} },
		`--levels: level "0" of "x"`:        func(c *Crawl) { c.Levels = []string{"x=0"} },
		"--levels: pattern \"re:[\"":        func(c *Crawl) { c.Levels = []string{"re:[=1"} },
		"--depth: -1":                       func(c *Crawl) { c.Depth = -1 },
		"--delay-factor: NaN":               func(c *Crawl) { c.DelayFactor = math.NaN() },
		"--timeout: must":                   func(c *Crawl) { c.Timeout = 0 },
		"--backoff: must":                   func(c *Crawl) { c.Backoff = 0 },
		"--warc-size: 5 is too small":       func(c *Crawl) { c.WARCSize = 5 },
		"--memory: 1MiB is too small":       func(c *Crawl) { c.Memory = 1 << 20 },
		`--allow-net: "10/8"`:               func(c *Crawl) { c.AllowNet = []string{"10/8"} },
		`--resolve: "a"`:                    func(c *Crawl) { c.Resolve = []string{"a"} },
		`--fast-host: "http://a.museum"`:    func(c *Crawl) { c.FastHost = []string{"http://a.museum"} },
		`--fast-host: www.a.museum shares`:  func(c *Crawl) { c.FastHost, c.PoliteBy = []string{"www.a.museum"}, "domain" },
		`--ignore-robots: "a.museum:80"`:    func(c *Crawl) { c.IgnoreRobots = []string{"a.museum:80"} },
		"-H: ":                              func(c *Crawl) { c.Header = []string{"no colon"} },
		"--include: pattern file":           func(c *Crawl) { c.Include = []string{"@" + t.TempDir() + "/none"} },
		"--scope: ":                         func(c *Crawl) { c.Scope = "world" },
		"--seen-cache: ":                    func(c *Crawl) { c.SeenCache = "fifo" },
		"--fail-on: \"none\"":               func(c *Crawl) { c.FailOn = []string{"none"} },
		"--listen: 0.0.0.0:80 can be":       func(c *Crawl) { c.Listen = "0.0.0.0:80" },
		`--listen: "x" is not`:              func(c *Crawl) { c.Listen = "x" },
	} {
		c := Default()
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := Default()
	c.Contact, c.Exclude, c.Depth, c.Memory = "x", []string{"re:("}, -1, 1
	if err := c.Validate(); strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("not one line for each: %v", err)
	}
}

func TestHeaderValuesAreNotRepeated(t *testing.T) {
	for _, h := range []string{"Cookie: SECRET\r\nX: y", "SECRET", "Host: SECRET", "a b: SECRET"} {
		c := Default()
		c.Header = []string{h}
		if err := c.Validate(); err == nil || strings.Contains(h, ":") && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", h, err)
		}
	}
}

func TestSmallReaders(t *testing.T) {
	if got := Hosts([]string{"A.Museum", "münchen.museum", "[::1]", "no/host", ""}); !reflect.DeepEqual(got, map[string]bool{"a.museum": true, "xn--mnchen-3ya.museum": true, "[::1]": true}) {
		t.Errorf("%v", got)
	}
	c := Crawl{AllowNet: []string{"10.0.0.0/8", "::1", "bad"}}
	if got := c.Nets(); !slices.Equal(got, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}) {
		t.Errorf("%v", got)
	}
	for text, want := range map[string]int{"auto": 0, "": 0, "3x": Times3, "12": 12} {
		c := Crawl{BackQueues: text}
		if n, err := c.BackQueueCount(); n != want || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for contact, want := range map[string]string{"": "decorum/1", "mailto:a@b.museum": "decorum/1 (+a@b.museum)", "https://b.museum/bot": "decorum/1 (+https://b.museum/bot)"} {
		c := Crawl{Contact: contact}
		if got := c.UserAgent("1"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if host, addr, err := ParseResolve("WWW.a.museum:[::2]"); host != "www.a.museum" || addr != netip.MustParseAddr("::2") || err != nil {
		t.Errorf("%s %v %v", host, addr, err)
	}
}
