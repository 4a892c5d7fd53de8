package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseSeed(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.museum/x?y#z": "https://a.museum/x?y", "a.museum": "https://a.museum/", " a.museum/x ": "https://a.museum/x", "a.museum:8080": "https://a.museum:8080/",
		"http://HOST": "http://host/", "localhost:81": "https://localhost:81/", "127.0.0.1": "https://127.0.0.1/", "[::1]": "https://[::1]/",
		"sitemap:https://a.museum/map.xml": "sitemap:https://a.museum/map.xml", "sitemap:a.museum/m.xml": "sitemap:https://a.museum/m.xml", "bücher.museum": "https://xn--bcher-kva.museum/",
	} {
		s, err := ParseSeed(text)
		if err != nil || s.String() != want {
			t.Errorf("%q: %s, %v", text, s, err)
			continue
		}
		if again, err := ParseSeed(s.String()); err != nil || again != s {
			t.Errorf("%q does not read what it writes: %s, %v", text, again, err)
		}
	}
	for _, text := range []string{"", "crwal", "ftp://a.museum/", "mailto:a@b.museum", "http://", "https://a b/", "sitemap:"} {
		if s, err := ParseSeed(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is taken for %s, %v", text, s, err)
		}
	}
}

func readSeeds(t *testing.T, c Crawl, stdin string) ([]string, error) {
	t.Helper()
	seeds, err := c.ReadSeeds(strings.NewReader(stdin))
	var texts []string
	for _, s := range seeds {
		texts = append(texts, s.String())
	}
	return texts, err
}

func TestReadSeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seeds")
	if err := os.WriteFile(path, []byte("\ufeffa.museum\r\n\r\n# a comment\r\n  b.museum   # another\r\nhttps://c.museum/#part\nhttps://a.museum/\nsitemap:d.museum/m.xml"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readSeeds(t, Crawl{Seeds: []string{"z.museum", "-", "z.museum"}, SeedFile: []string{path}}, "y.museum\n")
	want := []string{"https://z.museum/", "https://y.museum/", "https://a.museum/", "https://b.museum/", "https://c.museum/", "sitemap:https://d.museum/m.xml"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
}

func TestBadSeedsAreReportedTogether(t *testing.T) {
	_, err := readSeeds(t, Crawl{Seeds: []string{"ftp://x.museum", "-"}}, "good.museum\nbad one\n\nworse two\n")
	if err == nil || strings.Count(err.Error(), "\n") != 2 || !strings.Contains(err.Error(), "standard input:2: ") || !strings.Contains(err.Error(), "standard input:4: ") {
		t.Errorf("%v", err)
	}
	_, err = readSeeds(t, Crawl{Seeds: []string{"-"}}, strings.Repeat("bad one\n", 1000))
	if err == nil || strings.Count(err.Error(), "\n") != maxSeedErrors || !strings.HasSuffix(err.Error(), "and 990 more") {
		t.Errorf("%v", err)
	}
	c := Crawl{Seeds: []string{"-"}}
	if _, err := c.ReadSeeds(iotest.ErrReader(errors.New("unplugged"))); err == nil || !strings.Contains(err.Error(), "standard input: unplugged") {
		t.Errorf("%v", err)
	}
	if _, err := readSeeds(t, Crawl{SeedFile: []string{"nowhere/none"}}, ""); err == nil || !strings.HasPrefix(err.Error(), "--seeds: ") {
		t.Errorf("%v", err)
	}
}

func FuzzParseSeed(f *testing.F) {
	f.Add("a.museum")
	f.Add("sitemap:https://a.museum/map.xml")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSeed(text)
		if err != nil {
			return
		}
		if again, err := ParseSeed(s.String()); err != nil || again != s {
			t.Errorf("%q: %s, then %s, %v", text, s, again, err)
		}
	})
}
