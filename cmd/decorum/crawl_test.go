package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"decorum/internal/config"
	"decorum/internal/jobdir"
)

// origin is a small site on loopback.
func origin(t *testing.T, pages map[string]string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path != "/robots.txt" {
			w.Header().Set("Content-Type", "text/html")
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// quick are the flags of a crawl that nothing holds up.
var quick = []string{"--delay", "0", "--ip-gap", "0", "--backoff", "100us", "--min-free", "0", "--listen", "off"}

// crawlHere runs a crawl in an empty working directory.
func crawlHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	return decorum(t, append(append([]string{"crawl"}, quick...), args...)...)
}

// problem returns the lines that begin with the name of the program: what a user is to act on.
func problem(stderr string) (lines []string) {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "decorum: ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

var smallSite = map[string]string{"/": `<a href=/a>a</a> <a href=/gone>gone</a> <a href=http://elsewhere.invalid/>out</a>`, "/a": "page a"}

func TestExitCodes(t *testing.T) {
	site, barred := origin(t, smallSite), origin(t, map[string]string{"/": "home", "/robots.txt": "User-agent: *\nDisallow: /\n"})
	for name, c := range map[string]struct {
		code int
		want string // in the one line of explanation; "" for none
		args []string
	}{
		"finished":           {exitOK, "", []string{site}},
		"limit":              {exitOK, "", []string{site, "-n", "1"}},
		"not found":          {exitSeedsFailed, "no such page", []string{site + "nothing"}},
		"barred":             {exitSeedsFailed, "Disallow: /", []string{barred}},
		"refused":            {exitSeedsFailed, "unreachable", []string{"http://127.0.0.1:1/"}},
		"no such host":       {exitSeedsFailed, "does not exist", []string{"nowhere.invalid"}},
		"fail-on":            {exitFailOn, "--fail-on not_found: 1 URL", []string{site, "--fail-on", "reset,not_found"}},
		"fail-on in vain":    {exitOK, "", []string{site, "--fail-on", "server_error"}},
		"no output there":    {exitUsage, "-o: open nowhere/x: no such file", []string{site, "-o", "nowhere/x"}},
		"unknown outcome":    {exitUsage, "--fail-on: \"fine\" is no outcome", []string{site, "--fail-on", "fine"}},
		"unknown flag":       {exitUsage, "unknown flag --max-page, did you mean", []string{site, "--max-page", "1"}},
		"bad number":         {exitUsage, "--max-pages: expected", []string{site, "-n", "many"}},
		"bad duration":       {exitUsage, "--delay: \"soon\" is not a duration", []string{site, "--delay", "soon"}},
		"bad size":           {exitUsage, "--max-body: \"1XB\" is not a size", []string{site, "--max-body", "1XB"}},
		"bad scope":          {exitUsage, "--scope must be one of", []string{site, "--scope", "world"}},
		"bad pattern":        {exitUsage, "--exclude: pattern \"re:(\"", []string{site, "--exclude", "re:("}},
		"bad level":          {exitUsage, "--levels: level \"9\"", []string{site, "--levels", "*=9"}},
		"placeholder":        {exitUsage, "--contact: a@example.com is a placeholder", []string{site, "--contact", "a@example.com"}},
		"bad seed":           {exitUsage, "seed \"ftp://a.museum\": not an http or https URL", []string{"ftp://a.museum"}},
		"not a verb":         {exitUsage, "seed \"crwal\": no such command", []string{"crwal"}},
		"no seed":            {exitUsage, "no seed and no --dir", nil},
		"no seeds file":      {exitUsage, "--seeds: open nowhere.txt: no such file", []string{"-i", "nowhere.txt"}},
		"seeds folder":       {exitUsage, "is a directory", []string{"-i", "."}},
		"no crawl there":     {exitUsage, "nowhere holds no crawl", []string{"--dir", "nowhere"}},
		"fresh without seed": {exitUsage, "nothing was removed", []string{"--dir", "nowhere", "--fresh"}},
		"no config":          {exitUsage, "--config: open nowhere.toml", []string{site, "--config", "nowhere.toml"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := crawlHere(t, c.args...)
			lines := problem(stderr)
			if code != c.code || c.want == "" && len(lines) > 0 || c.want != "" && (len(lines) != 1 || !strings.Contains(lines[0], c.want)) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.want, stderr)
			}
			if folders, _ := filepath.Glob("*.crawl"); code == exitUsage && len(folders) > 0 {
				t.Errorf("%v was made", folders)
			}
		})
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	site := origin(t, smallSite)
	foreign := t.TempDir()
	if err := os.WriteFile(foreign+"/thesis.tex", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	newer := folder(t, nil)
	if err := os.WriteFile(newer+"/state/format.json", []byte(`{"format":"decorum-crawl","version":99,"tool":"decorum/9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	edited := folder(t, nil)
	if err := os.WriteFile(edited+"/decorum.toml", []byte("delay = \"1s\"\ndepht = 4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	held, err := jobdir.Open(t.TempDir()+"/x.crawl", jobdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	broken := folder(t, nil)
	if err := os.MkdirAll(broken+"/state/db", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken+"/state/db/CURRENT", []byte("MANIFEST-000009\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir, want string
		code      int
	}{
		"foreign": {foreign, "not a crawl folder, and not empty; name another", exitUsage},
		"newer":   {newer, "newer version", exitUsage},
		"edited":  {edited, "decorum.toml: unknown option \"depht\"", exitUsage},
		"in use":  {held.Root(), fmt.Sprintf("in use by process %d; stop that one first", os.Getpid()), exitUsage},
		"a file":  {foreign + "/thesis.tex", "not a directory; name a folder", exitUsage},
		"broken":  {broken, "`decorum check " + broken + "` tells what is damaged", exitState},
	} {
		t.Run(name, func(t *testing.T) {
			for _, more := range [][]string{{site}, {site, "--fresh"}} {
				if len(more) == 2 && (name == "edited" || name == "broken") {
					continue // starting over is the cure
				}
				code, _, stderr := crawlHere(t, append(more, "--dir", c.dir)...)
				if lines := problem(stderr); code != c.code || len(lines) != 1 || !strings.Contains(lines[0], c.want) {
					t.Errorf("%v: exit code %d: %s", more, code, stderr)
				}
			}
		})
	}
	if _, err := os.Stat(foreign + "/thesis.tex"); err != nil {
		t.Error(err)
	}
}

// A folder is enough to go on; what was set stays set; what would make it another crawl is refused.
func TestResumeByFolder(t *testing.T) {
	site := origin(t, smallSite)
	code, _, stderr := crawlHere(t, site, "-n", "1", "--exclude", "/gone", "--min-free", "0")
	if code != exitOK || !strings.Contains(stderr, "resume: decorum crawl "+site+" --max-pages 0\n") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	dirs, _ := filepath.Glob("*.crawl")
	if len(dirs) != 1 {
		t.Fatal(dirs)
	}
	if code, _, stderr := decorum(t, "--dir", dirs[0], "--polite-by", "domain"); code != exitUsage || len(problem(stderr)) != 1 || !strings.Contains(stderr, "started with host and cannot continue with domain") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := decorum(t, "--dir", dirs[0], "--max-pages", "0", "--listen", "off"); code != exitOK || !strings.Contains(stderr, "2 pages") || !strings.Contains(stderr, "in 2 runs") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := decorum(t, append([]string{site, "--fresh"}, quick...)...); code != exitOK || !strings.Contains(stderr, "3 pages") || strings.Contains(stderr, "runs") {
		t.Errorf("started over: exit code %d: %s", code, stderr)
	}
}

func TestDryRunTouchesNothing(t *testing.T) {
	code, stdout, stderr := crawlHere(t, "http://a.museum/x?y", "b.museum", "--dry-run", "--fresh", "--contact", "me@archive.museum")
	if code != exitOK || stdout != "http://a.museum/x?y\nhttps://b.museum/\n" || !strings.Contains(stderr, "folder ./a.museum.crawl: new") || !strings.Contains(stderr, "(+me@archive.museum)") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if files, _ := filepath.Glob("*"); len(files) > 0 {
		t.Errorf("made %v", files)
	}
	site := origin(t, smallSite)
	if code, _, stderr := decorum(t, append([]string{site}, quick...)...); code != exitOK {
		t.Fatal(stderr)
	}
	dirs, _ := filepath.Glob("*.crawl")
	if code, _, stderr := decorum(t, site, "--fresh", "--dry-run"); code != exitOK || !strings.Contains(stderr, "to be emptied") {
		t.Error(stderr)
	}
	if _, err := os.Stat(dirs[0] + "/summary.json"); err != nil {
		t.Error("--fresh --dry-run emptied the folder")
	}
}

func TestPagesOnStandardOutput(t *testing.T) {
	site := origin(t, smallSite)
	code, stdout, stderr := crawlHere(t, site, "-o", "-", "-v")
	if code != exitOK {
		t.Fatal(stderr)
	}
	urls := map[string]bool{}
	for line := range strings.Lines(stdout) {
		var r jobdir.PageRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		urls[r.URL] = true
	}
	if len(urls) != 3 || !urls[site+"a"] {
		t.Errorf("%v", urls)
	}
	code, _, _ = decorum(t, append([]string{site, "--fresh", "-o", "pages.jsonl"}, quick...)...)
	if raw, err := os.ReadFile("pages.jsonl"); code != exitOK || err != nil || bytes.Count(raw, []byte("\n")) != 3 {
		t.Errorf("exit code %d, %v: %s", code, err, raw)
	}
}

func TestQuietSuccess(t *testing.T) {
	code, stdout, stderr := crawlHere(t, origin(t, smallSite), "-q")
	if code != exitOK || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "finished after ") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestSeedsFromStandardInputAndFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("seeds.txt", []byte("# mine\nhttp://b.museum/\nc.museum # third\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	e := env{stdin: strings.NewReader("http://a.museum/\n\n"), stdout: &out, stderr: &errs, source: &config.Source{}}
	if code := run([]string{"-", "-i", "seeds.txt", "--dry-run"}, &e); code != exitOK || out.String() != "http://a.museum/\nhttp://b.museum/\nhttps://c.museum/\n" {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	e = env{stdin: strings.NewReader("not a url\nhttp://a.museum/\nftp://b\n"), stdout: &out, stderr: &errs, source: &config.Source{}}
	errs.Reset()
	if code := run([]string{"-", "--dry-run"}, &e); code != exitUsage || len(problem(errs.String())) != 2 || !strings.Contains(errs.String(), "standard input:3: seed \"ftp://b\"") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// Flag before environment before file before folder before default.
func TestPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("c.toml", []byte("retries = 4\ndepth = 4\ndelay = 4\nmax_body = 4000000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, nil)
	if err := os.WriteFile(dir+"/decorum.toml", []byte("retries = 5\ndepth = 5\nhops = 5\ntoken = \"x\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DECORUM_CONFIG", "c.toml")
	t.Setenv("DECORUM_RETRIES", "3")
	t.Setenv("DECORUM_DEPTH", "3")
	code, stdout, stderr := decorum(t, "config", "print", "--json", "--dir", dir, "--depth", "2")
	var lines []optionLine
	if err := json.Unmarshal([]byte(stdout), &lines); err != nil || code != exitOK {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	want := map[string]string{"depth": "2 flag", "retries": "3 environment", "delay": "4s file", "max-body": "4000000 file", "hops": "5 crawl folder", "scope": "host default"}
	for _, l := range lines {
		if w := want[l.Name]; w != "" && fmt.Sprint(l.Value, " ", l.Origin) != w {
			t.Errorf("%s is %v from %s, want %s", l.Name, l.Value, l.Origin, w)
		}
	}
	t.Setenv("DECORUM_DELAY", "soon")
	if code, _, stderr := decorum(t, "a.museum", "--dry-run"); code != exitUsage || !strings.Contains(stderr, "is not a duration") || !strings.Contains(stderr, "(from the environment)") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestAgainCanBeTyped(t *testing.T) {
	for _, c := range []struct {
		seeds     []string
		dir, want string
	}{
		{[]string{"https://a.museum/?a=1&b=2", "b.museum"}, "", "'https://a.museum/?a=1&b=2' b.museum"},
		{[]string{"-"}, "", "--dir ./guessed.crawl"},
		{nil, "", "--dir ./guessed.crawl"},
		{[]string{"a.museum"}, "my dir's", `--dir 'my dir'\''s'`},
	} {
		cmd := crawlCmd{}
		cmd.Seeds, cmd.Dir = c.seeds, c.dir
		if got := cmd.again(cmp.Or(c.dir, "./guessed.crawl")); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{{&config.Error{Option: "-x"}, exitUsage}, {&jobdir.InUseError{}, exitUsage}, {&os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, exitState},
		{&net.OpError{Err: errors.New("x")}, exitInternal}} {
		if code, _ := judge(fmt.Errorf("around: %w", c.err)); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
	}
}
