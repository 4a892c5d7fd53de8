package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func TestSecretsAreCheckedAndNotRepeated(t *testing.T) {
	cookies := filepath.Join(t.TempDir(), "cookies.txt")
	if err := os.WriteFile(cookies, []byte("a.museum\tTRUE\t/\tTRUE\tsoon\tid\tS3CRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Crawl){
		"-H: ":                               func(c *Crawl) { c.Header = []string{"Bearer S3CRET"} },
		"-H: field Host":                     func(c *Crawl) { c.Header = []string{"Host: S3CRET"} },
		"--auth: names no host":              func(c *Crawl) { c.Auth = []string{"me:S3CRET"} },
		"--auth: has no user":                func(c *Crawl) { c.Auth = []string{"S3CRET@a.museum"} },
		"--cookies: open /nowhere":           func(c *Crawl) { c.Cookies = "/nowhere" },
		"--cookies: " + cookies + ": line 1": func(c *Crawl) { c.Cookies = cookies },
		"--proxy: scheme":                    func(c *Crawl) { c.Proxy = "https://me:S3CRET@proxy.museum:1" },
		"--proxy: names no port":             func(c *Crawl) { c.Proxy = "http://me:S3CRET@proxy.museum" },
	} {
		c := Default()
		change(&c)
		err := c.Validate()
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestSeedsHoldNoPassword(t *testing.T) {
	for _, text := range []string{"https://me:S3CRET@a.museum/", "me:S3CRET@a.museum", "sitemap:https://S3CRET@a.museum/x.xml", "https://me:S3CRET@:x/"} {
		if _, err := ParseSeed(text); err == nil || strings.Contains(err.Error(), "S3CRET") || !strings.Contains(err.Error(), "a.museum") && !strings.Contains(err.Error(), "@:x") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseSeed("https://a.museum/@me"); err != nil {
		t.Error(err)
	}
}

// TestFolderHoldsNoSecret: what is stored resumes through the same proxy, without what it takes to get in.
func TestFolderHoldsNoSecret(t *testing.T) {
	c := Default()
	c.Header, c.Auth, c.Cookies, c.Token, c.Redact = []string{"X: S3CRET"}, []string{"me:S3CRET@a.museum"}, "/home/S3CRET", "S3CRET", true
	c.Proxy = "socks5h://me:S3CRET@proxy.museum:1080"
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "S3CRET") {
		t.Errorf("%s", raw)
	}
	path := filepath.Join(t.TempDir(), "decorum.toml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	values, err := ReadFile(path)
	if err != nil || values["proxy"] != "socks5h://proxy.museum:1080" || fmt.Sprint(values["redact-auth"]) != "true" {
		t.Errorf("%v %v", values, err)
	}
}

func TestShownHidesSecrets(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"token", "S3CRET", "(set)"}, {"token", "", ""},
		{"header", []string{"X: S3CRET", "S3CRET"}, "[X: (set) (set)]"},
		{"header", []any{"X: S3CRET"}, "[X: (set)]"},
		{"auth", []string{"me:S3CRET@a.museum:81", "S3CRET"}, "[(set)@a.museum:81 (set)]"},
		{"auth", []any{"me:S3CRET@a.museum"}, "[(set)@a.museum]"},
		{"proxy", "http://me:S3CRET@proxy.museum:1", "http://proxy.museum:1"},
		{"proxy", "S3CRET", ""}, {"scope", "host", "host"},
	} {
		if got := fmt.Sprint(Shown(c.name, c.value)); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// FuzzOptionsFile: a file of options is refused with an error that names it, or each value is of a known option.
func FuzzOptionsFile(f *testing.F) {
	f.Add([]byte("depth = 4\ndelay = \"7s\"\nallow_port = [8080]\nexclude = [\"*/x/*\"]\n"))
	f.Add([]byte("\xef\xbb\xbfretries = 3 # three\r\n[table]\n"))
	f.Add([]byte("max-body = 1e9\nuser-agent-suffix = '''\n'''\n"))
	f.Add([]byte("a.b.c = {d = [1979-05-27T07:32:00Z, nan, -inf]}\n"))
	f.Add([]byte("out = [\"warc\", [1]]\nmax_pages = 1979-05-27\n"))
	path := filepath.Join(f.TempDir(), "options.toml")
	known := flagTypes()
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		values, err := ReadFile(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		c := Default()
		var bad *Error
		if err := c.Conflict(values); err != nil && !errors.As(err, &bad) {
			t.Error(err)
		}
		s := Source{Folder: values}
		for name, v := range values {
			if known[name] == nil {
				t.Errorf("%q is no option", name)
			}
			if got, ok := s.Lookup(name); ok && fmt.Sprint(got) != fmt.Sprint(v) {
				t.Errorf("%s: %v, not %v", name, got, v)
			}
		}
	})
}

// FuzzEncode: options of any text are stored as TOML that reads back as they were.
func FuzzEncode(f *testing.F) {
	f.Add("a\"b\\c\n\x00", "*/x/*", uint64(3))
	f.Add("\u2028\ufffd", "re:'''", uint64(1<<63-1))
	f.Fuzz(func(t *testing.T, suffix, pattern string, pages uint64) {
		c := Default()
		c.UserAgentSuffix, c.Exclude, c.MaxPages = strings.ToValidUTF8(suffix, "?"), []string{strings.ToValidUTF8(pattern, "?")}, pages&(1<<63-1)
		raw, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var back struct {
			Suffix  string   `toml:"user_agent_suffix"`
			Exclude []string `toml:"exclude"`
			Pages   uint64   `toml:"max_pages"`
		}
		if err := toml.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		if back.Suffix != c.UserAgentSuffix || back.Pages != c.MaxPages || len(back.Exclude) != 1 || back.Exclude[0] != c.Exclude[0] {
			t.Errorf("%+v", back)
		}
	})
}
