package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/simweb"
)

// crawledHere makes a working directory with the folder of a finished crawl in it, <host>.crawl, and returns the seed.
func crawledHere(t *testing.T) (seed string) {
	t.Helper()
	t.Chdir(t.TempDir())
	o := simweb.Realistic()
	o.Hosts, o.Pages, o.SeedHosts = 4, 40, 1
	web := simweb.New(o)
	seed = web.Seeds()[0]
	s, err := config.ParseSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Scope, c.AllowNet, c.MinFree, c.ExcludeExt, c.Exclude = "any", []string{"127.0.0.0/8"}, 0, []string{"iso"}, []string{"/never/*", "re:[?]print=1"}
	for name, addrs := range web.StaticDNS() {
		c.Resolve = append(c.Resolve, fmt.Sprintf("%s:%s", name, addrs[0]))
	}
	synctest.Test(t, func(t *testing.T) {
		n, err := node.Open(node.Options{Config: c, Seeds: []config.Seed{s}, Dir: jobdir.DirFor(s.URL), Version: "test", Dial: web.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		r, err := n.Run(context.Background(), context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Finish(&r, 0, ""); err != nil {
			t.Fatal(err)
		}
	})
	return seed
}

// expect runs the program and compares its exit code and what it says.
func expect(t *testing.T, code int, out string, args ...string) (stdout string) {
	t.Helper()
	got, stdout, stderr := decorum(t, args...)
	if got != code || !strings.Contains(stdout+stderr, out) {
		t.Errorf("decorum %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, out, stdout, stderr)
	}
	return stdout
}

func TestVerbsThatLookIntoAFolder(t *testing.T) {
	seed := crawledHere(t)
	dirs, _ := filepath.Glob("*.crawl")
	expect(t, exitOK, ": polite", "audit")
	expect(t, exitOK, ": polite", "audit", dirs[0])
	expect(t, exitOK, ": sound", "check")
	archive, _ := filepath.Glob(filepath.Join(dirs[0], "archive", "*.warc.gz"))
	expect(t, exitOK, ": sound", "check", archive[0])
	expect(t, exitOK, "fetched", "why", seed)
	expect(t, exitOK, "decided by: --exclude /never/*", "why", seed+"never/x", "--dir", dirs[0])
	expect(t, exitOK, "decided by: --exclude re:[?]print=1", "why", seed+"?print=1")
	expect(t, exitOK, "not a URL to crawl", "why", "mailto:x@y", "--dir", dirs[0])
	for _, args := range [][]string{{"audit", "--json"}, {"check", "--json"}, {"why", "--json", seed}} {
		var v map[string]any
		if out := expect(t, exitOK, "{", args...); json.Unmarshal([]byte(out), &v) != nil {
			t.Errorf("%v: not JSON: %s", args, out)
		}
	}
	damage(t, filepath.Join(dirs[0], jobdir.FetchesName))
	expect(t, exitInternal, "decorum: audit: NOT polite: ", "audit")
	expect(t, exitState, "decorum: check: DAMAGED: ", "check")
}

func TestCheckRepairs(t *testing.T) {
	crawledHere(t)
	dirs, _ := filepath.Glob("*.crawl")
	expect(t, exitOK, "sound, nothing to repair", "check", "--repair")
	archive, _ := filepath.Glob(filepath.Join(dirs[0], "archive", "*.warc.gz"))
	raw, err := os.ReadFile(archive[0])
	if err != nil {
		t.Fatal(err)
	}
	clear(raw[len(raw)/2:][:1000])
	if err := os.WriteFile(archive[0], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	var v struct {
		OK    bool
		Again int64
	}
	out := expect(t, exitOK, `"type": "repair"`, "check", "--repair", "--json")
	if json.Unmarshal([]byte(out), &v) != nil || !v.OK || v.Again == 0 {
		t.Error(out)
	}
	expect(t, exitOK, ": sound", "check")
	expect(t, exitOK, ": polite", "audit")
	if err := os.RemoveAll(filepath.Join(dirs[0], "state", "db")); err != nil {
		t.Fatal(err)
	}
	expect(t, exitState, "decorum: check: cannot be repaired: ", "check", "--repair")
	expect(t, exitUsage, "only a crawl folder can be repaired", "check", "--repair", archive[0])
	expect(t, exitUsage, "no crawl folder here", "check", "--repair", filepath.Dir(archive[0]))
}

// damage alters the gap of one record.
func damage(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.LastIndex(raw, []byte(`"gap_ms":`)) + len(`"gap_ms":`)
	if err := os.WriteFile(path, append(append(bytes.Clone(raw[:i]), '-'), raw[i:]...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVerbsWithoutAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"audit"}, {"check"}, {"why", "http://a.test/"}} {
		expect(t, exitUsage, "no *.crawl folder here", args...)
	}
	expect(t, exitUsage, "no crawl folder here", "audit", ".")
	expect(t, exitUsage, "is not there", "check", "nothing.warc.gz")
	expect(t, exitUsage, "holds no WARC files", "check", ".")
	for _, name := range []string{"a.crawl", "b.crawl"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, exitUsage, "a.crawl, b.crawl", "audit")
}

func TestFetchVerb(t *testing.T) {
	o := simweb.Plain()
	port := freePort(t)
	o.Hosts, o.Pages, o.Port = 2, 10, uint16(port)
	web := simweb.New(o)
	stop, err := web.Listen(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	host := web.Hosts()[0].Name
	addr := web.StaticDNS()[host][0]
	url := fmt.Sprintf("http://%s:%d/", host, port)
	flags := []string{"--delay", "0", "--allow-net", "127.0.0.0/8", "--resolve", host + ":" + addr.String()}
	out := expect(t, exitOK, "status 200", append([]string{"fetch", url, "--text"}, flags...)...)
	for _, want := range []string{"robots     allowed", "dns        " + addr.String(), "  text\n", "  headers\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var v map[string]any
	if out := expect(t, exitOK, "{", append([]string{"fetch", url, "--json"}, flags...)...); json.Unmarshal([]byte(out), &v) != nil || v["status"] != 200.0 {
		t.Errorf("not JSON: %s", out)
	}
	expect(t, exitSeedsFailed, "decorum: fetch: not_found", append([]string{"fetch", url + "none/such"}, flags...)...)
	expect(t, exitSeedsFailed, "--allow-net", "fetch", url, "--resolve", host+":"+addr.String())
	expect(t, exitUsage, "", "fetch", "http://[")
	expect(t, exitUsage, "--resolve", "fetch", url, "--resolve", "nonsense")
}

// freePort is a port on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
