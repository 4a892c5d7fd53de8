package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"decorum/internal/config"
	"decorum/internal/node"
	"decorum/internal/simweb"
)

// site is a crawl of a synthetic web in virtual time, into a folder on disk.
type site struct {
	web   *simweb.Web
	cfg   config.Crawl
	dir   string
	seeds []string
}

func newSite(t testing.TB, o simweb.Options) *site {
	s := &site{web: simweb.New(o), cfg: config.Default(), dir: filepath.Join(t.TempDir(), "site.crawl")}
	s.cfg.Scope, s.cfg.AllowNet, s.cfg.RelNofollow, s.cfg.MinFree = "any", []string{"127.0.0.0/8"}, true, 0
	s.cfg.Contact = "crawl@archive.museum"
	for name, addrs := range s.web.StaticDNS() {
		s.cfg.Resolve = append(s.cfg.Resolve, fmt.Sprintf("%s:%s", name, addrs[0]))
	}
	s.seeds = s.web.Seeds()
	return s
}

// crawl runs once more, to the end or the limits of the configuration. It must be called in a bubble.
func (s *site) crawl(t testing.TB) node.Result {
	t.Helper()
	n := s.open(t)
	r, err := n.Run(context.Background(), context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Finish(&r, 0, "decorum crawl"), n.Close()); err != nil {
		t.Fatal(err)
	}
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

func (s *site) open(t testing.TB) *node.Node {
	t.Helper()
	var seeds []config.Seed
	for _, u := range s.seeds {
		seed, err := config.ParseSeed(u)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	n, err := node.Open(node.Options{Config: s.cfg, Seeds: seeds, Dir: s.dir, Version: "test", Dial: s.web.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// crawled returns the folder of a finished crawl of the web.
func crawled(t *testing.T, o simweb.Options) string {
	t.Helper()
	s := newSite(t, o)
	synctest.Test(t, func(t *testing.T) { s.crawl(t) })
	return s.dir
}

// shared is a crawl of the varied web that many tests look at; none may change it.
var shared struct {
	sync.Once
	parent, dir string
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(shared.parent)
	os.Exit(code)
}

// variedFolder returns the folder of a finished crawl of the varied web, to read or to copy.
func variedFolder(t *testing.T) string {
	t.Helper()
	shared.Do(func() {
		dir := crawled(t, varied())
		shared.parent, _ = os.MkdirTemp("", "inspect-test-")
		shared.dir = filepath.Join(shared.parent, filepath.Base(dir))
		if err := os.CopyFS(shared.dir, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	})
	return shared.dir
}

// copyOf returns a copy of a folder that a test may damage.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
