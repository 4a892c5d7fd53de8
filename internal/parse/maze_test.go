package parse

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const maze = "links/security-crawl-maze"

// mazeNotOurs are the static cases of the maze that we do not look for, by the start of their path, each
// with its reason.
var mazeNotOurs = map[string]string{
	"/test/html/body/form/":                     "submitting a form is an action, not a visit",
	"/test/html/body/isindex/action.found":      "a form",
	"/test/html/body/a/ping.found":              "a tracker to send POST to, not a document",
	"/test/html/body/map/area/ping.found":       "a tracker to send POST to, not a document",
	"/test/html/head/meta/content-csp.found":    "an address to report to with POST, not a document",
	"/test/html/head/comment-conditional.found": "in a comment",
	"/test/html/head/meta/content-reading-view": "markup in a meta element, which only one browser ever read",
	"/test/html/body/img/src-data.found":        "in the data of a data: URL",
	"/test/html/doctype.found":                  "a DTD: browsers do not fetch it, and its hosts ask that nobody does",
	"/test/html/misc/string/":                   "text that looks like a path, without markup",
	"/test/html/misc/url/":                      "made by the server of the maze; the pages are not in the vectors",
	"/test/css/font-face.found":                 "in a style sheet made by the server; TestCSS",
	"/test/headers/location.found":              "a redirect, which the fetcher handles",
	"/test/headers/content-location.found":      "about the same document, which the fetcher handles",
	"/test/headers/":                            "made by the server; TestHeaderLinks",
	"/test/misc/known-files/":                   "in robots.txt and a sitemap made by the server",
	"/test/javascript/":                         "needs scripts",
	"/javascript/":                              "needs scripts",
}

func mazeReason(path string) string {
	for prefix, reason := range mazeNotOurs {
		if strings.HasPrefix(path, prefix) {
			return reason
		}
	}
	return ""
}

// TestCrawlMaze finds every link of the static pages of the security crawl maze but those named above.
func TestCrawlMaze(t *testing.T) {
	dir := vectors(t, maze)
	data, err := os.ReadFile(filepath.Join(dir, "blueprints", "utils", "resources", "expected-results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected []string
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	p := NewParser(Options{})
	err = filepath.WalkDir(filepath.Join(dir, "test-cases"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		body, err := os.ReadFile(path)
		page := p.HTML(body, "text/html", "")
		found[page.Base] = true
		for _, l := range page.Links {
			found[l.Ref] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, path := range expected {
		if reason := mazeReason(path); reason != "" {
			if found[path] && !strings.HasPrefix(path, "/test/html/misc/url/") {
				t.Errorf("%s is found, although it is %s", path, reason)
			}
			continue
		}
		if ours++; !found[path] {
			t.Errorf("%s is not found", path)
		}
	}
	if ours < 35 {
		t.Errorf("only %d cases are ours", ours)
	}
	for path := range found {
		if strings.HasSuffix(path, ".found") && !slices.Contains(expected, path) {
			t.Errorf("%s is found but not expected", path)
		}
	}
}

// TestCSS finds the references of style elements and attributes.
func TestCSS(t *testing.T) {
	got := refs(NewParser(Options{}).HTML([]byte(`<style>
		@import "/a.css"; @IMPORT url( '/b.css' ) screen;
		@font-face { font-family: x; src: url(/test/css/font-face.found) format("woff") }
		p { background: URL("/c d.png") } q { background: url(data:image/png;base64,AAAA) } i { background: url(/broken
	</style><div style="color: red; background-image: url(&quot;/e.png&quot;)"><p style=color:red>`), "", ""))
	want := []string{"/a.css", "/b.css", "/test/css/font-face.found", "/c d.png", "/e.png"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCSSFile(t *testing.T) {
	got := NewParser(Options{}).CSS([]byte("\xef\xbb\xbf@import url(a.css);\n@font-face{src:url('/test/css/font-face.found')}"))
	if !slices.Equal(refs(got), []string{"a.css", "/test/css/font-face.found"}) || got.Links[0].Kind != Embed {
		t.Errorf("%+v", got.Links)
	}
}

func refs(page *Page) (out []string) {
	for _, l := range page.Links {
		out = append(out, l.Ref)
	}
	return out
}
