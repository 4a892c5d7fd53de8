package node

import (
	"archive/tar"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
)

// A crawl folder of each format version that there ever was lies in testdata, as the last program that wrote this version left
// it. They are never written again: when the version is raised another one joins them, by -write-fixture.
var writeFixture = flag.Bool("write-fixture", false, "write a crawl folder of the present format version into testdata")

func fixture(version int) string { return fmt.Sprintf("testdata/format-%d.tar.gz", version) }

// fixtureSim is the crawl that the folders are of: stopped in its second run, with something in every part.
func fixtureSim(t *testing.T) *sim {
	o := simweb.Realistic()
	o.Hosts, o.Pages, o.PageBytes = 5, 60, 1<<10
	s := newSim(t, o)
	s.fs = store.Syncing(store.OS(), func(func() error) error { return nil })
	s.cfg.SeenRecent, s.cfg.Memory = 16, 64<<20
	s.cfg.Out = append(s.cfg.Out, "links")
	return s
}

func TestFoldersOfEarlierVersionsGoOn(t *testing.T) {
	if *writeFixture {
		virtually(t, func(t *testing.T) {
			s := fixtureSim(t)
			for _, n := range []uint64{15, 30} {
				s.cfg.MaxPages = n
				s.crawl()
			}
			if err := pack(fixture(jobdir.FormatVersion), s.dir); err != nil {
				t.Fatal(err)
			}
		})
	}
	for version := 1; version <= jobdir.FormatVersion; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := fixtureSim(t)
				if err := unpack(fixture(version), s.dir); err != nil {
					t.Fatal(err)
				}
				wholeFolder(t, s.dir)
				before := s.visited()
				if r := s.crawl(); r.Reason != jobdir.EndExhausted || r.Summary.Runs != 3 {
					t.Errorf("run %d ended by %s: %s", r.Summary.Runs, r.Reason, r.Detail)
				}
				wholeFolder(t, s.dir)
				after := s.visited()
				if len(before) != 30 || len(after) <= len(before) || !slices.Equal(before, after[:len(before)]) {
					t.Errorf("%d pages before, %d after", len(before), len(after))
				}
				known := map[string]bool{}
				for _, u := range before {
					known[s.web.Canonical(u)] = true
				}
				for _, r := range s.web.Log() {
					if r.Page != "" && known[r.Page] {
						t.Errorf("%s was crawled before and is fetched again", r.URL)
					}
				}
			})
		})
	}
}

// A folder of a version to come is refused, with a word about it, and left as it is.
func TestFoldersOfLaterVersionsAreRefused(t *testing.T) {
	later := map[string]struct {
		write func(t *testing.T, dir string)
		want  error
	}{
		"folder": {func(t *testing.T, dir string) {
			text := fmt.Sprintf(`{"format":"decorum-crawl","version":%d,"tool":"decorum/9.0","created":"2030-01-01T00:00:00Z"}`, jobdir.FormatVersion+1)
			if err := os.WriteFile(filepath.Join(dir, "state/format.json"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}, jobdir.ErrNewer},
		"state": {func(t *testing.T, dir string) {
			db, err := store.Open(store.Options{Dir: filepath.Join(dir, "state/db")})
			if err != nil {
				t.Fatal(err)
			}
			b := db.NewBatch()
			b.Set(store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("format")}, binary.AppendUvarint(nil, store.FormatVersion+1))
			if err := errors.Join(b.Commit(true), db.Close()); err != nil {
				t.Fatal(err)
			}
		}, store.ErrNewer},
	}
	for name, c := range later {
		t.Run(name, func(t *testing.T) {
			s := fixtureSim(t)
			s.fs = nil
			if err := unpack(fixture(jobdir.FormatVersion), s.dir); err != nil {
				t.Fatal(err)
			}
			c.write(t, s.dir)
			before := contents(t, s.dir)
			_, err := Open(Options{Config: s.cfg, Dir: s.dir, Version: "test"})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "newer version") {
				t.Errorf("opened: %v", err)
			}
			if name == "state" { // the engine, which is of one version, rewrites its files
				for file := range before {
					if strings.HasPrefix(file, "state/db/") {
						delete(before, file)
					}
				}
			}
			sameContents(t, "the folder", before, contents(t, s.dir))
		})
	}
}

// pack writes a folder into an archive.
func pack(name, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	w := tar.NewWriter(z)
	return errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), f.Close())
}

// unpack is the reverse of pack.
func unpack(name, dir string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(to, 0o755)
		} else {
			err = unpackFile(to, r)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

func unpackFile(to string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
