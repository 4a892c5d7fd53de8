package jobdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"decorum/internal/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t *testing.T, path string, o Options) *Dir {
	t.Helper()
	d, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestDirFor(t *testing.T) {
	for seed, want := range map[string]string{
		"https://example.org/":           "./example.org.crawl",
		"http://example.org:80/a/b":      "./example.org.crawl",
		"https://www.Example.ORG:8443/":  "./www.example.org_8443.crawl",
		"http://example.org:443/":        "./example.org_443.crawl",
		"http://[2001:db8::1]:8080/":     "./2001-db8--1_8080.crawl",
		"http://[::1]/":                  "./--1.crawl",
		"http://127.0.0.1/":              "./127.0.0.1.crawl",
		"http://b\u00fccher.example/":    "./xn--bcher-kva.example.crawl",
		"http://con.example/":            "./_con.example.crawl",
		"http://com1/":                   "./_com1.crawl",
		"http://a_b.example/":            "./a_b.example.crawl",
		"http://" + long(250) + "/":      "./" + long(200) + "-f3f9d2d53ad88544.crawl",
		"http://user:pw@example.org./x/": "./example.org.crawl",
	} {
		u, err := weburl.Parse(seed)
		if err != nil {
			t.Errorf("%s: %v", seed, err)
			continue
		}
		if got := DirFor(u); got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, want %s", seed, got, want)
		}
	}
}

// long returns a host name of n bytes.
func long(n int) string { return strings.Repeat(strings.Repeat("a", 49)+".", n/50+1)[:n] }

func TestOpenMakesAndReopens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "example.org.crawl")
	if _, err := Open(path, Options{ReadOnly: true}); !errors.Is(err, ErrNoCrawl) {
		t.Errorf("looking into nothing: %v", err)
	}
	d := mustOpen(t, path, Options{Tool: "decorum/0.1"})
	for _, dir := range []string{d.Archive(), d.State(), d.Checkpoints(), filepath.Dir(d.Pages()), filepath.Dir(d.Index()), d.Root()} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if look, err := Open(path, Options{ReadOnly: true}); err != nil {
		t.Errorf("looking into a folder in use: %v", err)
	} else if err := look.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, Options{})
}

func TestOpenRefuses(t *testing.T) {
	foreign := t.TempDir()
	os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o644)
	if _, err := Open(foreign, Options{}); !errors.Is(err, ErrNotCrawl) || !strings.Contains(err.Error(), foreign) {
		t.Errorf("somebody's folder: %v", err)
	}
	if entries, _ := os.ReadDir(foreign); len(entries) != 1 {
		t.Errorf("something was written into somebody's folder: %v", entries)
	}
	file := filepath.Join(foreign, "thesis.txt")
	if _, err := Open(file, Options{}); err == nil {
		t.Error("a file was opened as a folder")
	}
	d := mustOpen(t, t.TempDir(), Options{})
	for content, want := range map[string]error{
		`{"format":"decorum-crawl","version":2,"tool":"decorum/9"}`: ErrNewer,
		`{"format":"decorum-crawl"}`:                                ErrNotCrawl,
		`{"format":"other","version":1}`:                            ErrNotCrawl,
		`{`:                                                         ErrNotCrawl,
	} {
		d.WriteFile(formatName, []byte(content))
		d.Close()
		if _, err := Open(d.Root(), Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", content, err, want)
		}
		if _, err := Open(d.Root(), Options{ReadOnly: true}); !errors.Is(err, want) {
			t.Errorf("%s, to look into: %v, want %v", content, err, want)
		}
	}
}

// A folder whose making was interrupted at any point is taken over.
func TestOpenAfterInterruptedOpen(t *testing.T) {
	for _, leave := range []string{"", "state", "state/lock", "state/format.json.tmp"} {
		path := t.TempDir()
		if leave != "" {
			os.MkdirAll(filepath.Join(path, "state"), 0o755)
		}
		if strings.Contains(leave, "/") {
			os.WriteFile(filepath.Join(path, leave), []byte("123456\n"), 0o644)
		}
		mustOpen(t, path, Options{})
	}
}

func TestLock(t *testing.T) {
	path := t.TempDir()
	first := mustOpen(t, path, Options{})
	var held *InUseError
	if _, err := Open(path, Options{}); !errors.Is(err, ErrInUse) || !errors.As(err, &held) || held.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second opening: %v", err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("the refused one must not have taken the lock away: %v", err)
	}
	first.Close()
	// A process that was killed leaves its id but no lock.
	os.WriteFile(filepath.Join(path, lockName), []byte("999999\n"), 0o644)
	second := mustOpen(t, path, Options{})
	if b, _ := os.ReadFile(filepath.Join(path, lockName)); string(b) != fmt.Sprintf("%d\n", os.Getpid()) {
		t.Errorf("lock says %q", b)
	}
	second.Close()
	if err := second.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// faultFS fails chosen operations of the operating system's files.
type faultFS struct {
	osFS
	failWrite, failSync, failTruncate, failSyncDir, failRename bool
}

type faultFile struct {
	File
	fs *faultFS
}

func (f *faultFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	file, err := f.osFS.OpenFile(name, flag, perm)
	return &faultFile{file, f}, err
}

func (f *faultFS) Truncate(name string, size int64) error {
	if f.failTruncate {
		return syscall.EIO
	}
	return f.osFS.Truncate(name, size)
}

func (f *faultFS) SyncDir(name string) error {
	if f.failSyncDir {
		return syscall.EIO
	}
	return f.osFS.SyncDir(name)
}

func (f *faultFS) Rename(from, to string) error {
	if f.failRename {
		return syscall.EIO
	}
	return f.osFS.Rename(from, to)
}

func (f *faultFile) Write(p []byte) (int, error) {
	if f.fs.failWrite {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return f.File.Write(p)
}

func (f *faultFile) Sync() error {
	if f.fs.failSync {
		return syscall.EIO
	}
	return f.File.Sync()
}

func mustStream(t *testing.T, d *Dir, name string, at int64) *Stream {
	t.Helper()
	s, err := d.OpenStream(name, at, Sum{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStreamReturnsToItsOffset(t *testing.T) {
	d := mustOpen(t, t.TempDir(), Options{})
	s := mustStream(t, d, PagesName, 0)
	if s.Offset() != int64(len(pagesHeader)) {
		t.Errorf("offset %d after the header", s.Offset())
	}
	committed, err := s.Append([]byte("one\n"))
	if err != nil || s.Sync() != nil {
		t.Fatal(err)
	}
	s.Append([]byte("lost\nlost too\n"))
	s.file.Close() // a crash

	s = mustStream(t, d, PagesName, committed)
	end, err := s.Append([]byte("two\n"))
	if err != nil || end != s.Offset() || s.Close() != nil {
		t.Fatal(err)
	}
	if got := content(t, d.Pages()); got != pagesHeader+"one\ntwo\n" || int64(len(got)) != end {
		t.Errorf("%q up to %d", got, end)
	}
	if _, err := d.OpenStream(PagesName, end+1, Sum{}); !errors.Is(err, ErrShort) {
		t.Errorf("a stream that lost lines: %v", err)
	}
	if got := content(t, d.Pages()); int64(len(got)) != end {
		t.Errorf("the refused opening changed it to %q", got)
	}
	mustStream(t, d, PagesName, 0).Close()
	if got := content(t, d.Pages()); got != pagesHeader {
		t.Errorf("opened afresh: %q", got)
	}
	mustStream(t, d, FetchesName, 0).Close()
	if got := content(t, d.Fetches()); got != "" {
		t.Errorf("no header asked for: %q", got)
	}
}

func TestStreamFaults(t *testing.T) {
	disk := &faultFS{}
	d := mustOpen(t, t.TempDir(), Options{FS: disk})
	s := mustStream(t, d, SkippedName, 0)
	if _, err := s.Append([]byte("torn")); err == nil {
		t.Error("half a line was taken")
	}
	if end, err := s.Append(nil); end != 0 || err != nil {
		t.Errorf("nothing: %d %v", end, err)
	}
	s.Append([]byte("one\n"))
	disk.failWrite = true
	if end, err := s.Append([]byte("two lines\n")); !errors.Is(err, syscall.ENOSPC) || end != 4 {
		t.Errorf("full disk: %d %v", end, err)
	}
	disk.failWrite = false
	s.Append([]byte("three\n"))
	if err := s.Sync(); err != nil || content(t, d.Skipped()) != "one\nthree\n" {
		t.Errorf("after a full disk: %q, %v", content(t, d.Skipped()), err)
	}
	for name, fail := range map[string]func(){
		"sync": func() { disk.failSync = true },
		"cut":  func() { disk.failWrite, disk.failTruncate = true, true },
	} {
		os.Remove(d.Links())
		s := mustStream(t, d, LinksName, 0)
		s.Append([]byte("one\n"))
		fail()
		_, appendErr := s.Append([]byte("two\n"))
		if err := errors.Join(appendErr, s.Sync()); err == nil {
			t.Errorf("%s: no error", name)
		}
		*disk = faultFS{}
		if err := s.Sync(); !errors.Is(err, ErrPoisoned) {
			t.Errorf("%s: a second sync says %v", name, err)
		}
		if _, err := s.Append([]byte("x\n")); !errors.Is(err, ErrPoisoned) {
			t.Errorf("%s: an append afterwards says %v", name, err)
		}
	}
	disk.failSyncDir = true
	if _, err := d.OpenStream(LinksName, 0, Sum{}); !errors.Is(err, syscall.EIO) {
		t.Errorf("a stream whose name may be lost: %v", err)
	}
}

func TestFilesAreReplacedWhole(t *testing.T) {
	disk := &faultFS{}
	d := mustOpen(t, t.TempDir(), Options{FS: disk})
	if err := d.WriteFile(ConfigName, []byte("old")); err != nil {
		t.Fatal(err)
	}
	for _, fail := range []*bool{&disk.failWrite, &disk.failSync, &disk.failRename} {
		*fail = true
		if err := d.WriteFile(ConfigName, []byte("new")); err == nil {
			t.Error("no error")
		}
		*fail = false
		if got := content(t, d.Config()); got != "old" {
			t.Errorf("a failed write left %q", got)
		}
	}
	entries, _ := os.ReadDir(d.Root())
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), tmpSuffix) }) {
		t.Errorf("temporary files are left: %v", entries)
	}
}

func TestSortIndex(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 1000, 20_000} {
		d := mustOpen(t, t.TempDir(), Options{})
		var lines []string
		for range n {
			lines = append(lines, fmt.Sprintf("org,example)/%d 2026 {\"x\":\"%s\"}\n", rnd.IntN(n), strings.Repeat("y", rnd.IntN(60))))
		}
		if n > 10 {
			lines[7] = "org,long)/" + strings.Repeat("z", 100_000) + "\n" // longer than any buffer
		}
		s := mustStream(t, d, IndexPartName, 0)
		s.Append([]byte(strings.Join(lines, "")))
		s.Close()
		part := content(t, d.Path(IndexPartName))
		os.WriteFile(d.Path(IndexPartName), []byte(part+"torn li"), 0o644)
		os.WriteFile(d.Index()+".9"+runSuffix, []byte("left by a crash"), 0o644)
		if err := d.SortIndex(context.Background(), minSortMemory, s.Sum()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		if content(t, d.Index()) != strings.Join(lines, "") {
			t.Errorf("%d lines: not in order, or not all", n)
		}
		if entries, _ := os.ReadDir(filepath.Dir(d.Index())); len(entries) != 2 {
			t.Errorf("%d lines: files left %v", n, entries)
		}
		if err := SortIndex(context.Background(), d.Index(), 0); err != nil || content(t, d.Index()) != strings.Join(lines, "") {
			t.Errorf("%d lines, in memory: %v", n, err)
		}
	}
}

// An altered byte is noticed wherever it is read again: in the part, in a temporary run, or on opening.
func TestAlteredBytesAreNoticed(t *testing.T) {
	disk := &flippingFS{}
	d := mustOpen(t, t.TempDir(), Options{FS: disk})
	s := mustStream(t, d, IndexPartName, 0)
	for i := range 3000 {
		s.Append(fmt.Appendf(nil, "org,example)/%d 2026 {}\n", i*7919%3000))
	}
	sum, end := s.Sum(), s.Offset()
	s.Close()
	for _, suffix := range []string{partSuffix, ".1" + runSuffix} {
		disk.flip = suffix
		if err := d.SortIndex(context.Background(), minSortMemory, sum); !errors.Is(err, ErrAltered) {
			t.Errorf("a bit of %s: %v", suffix, err)
		}
	}
	disk.flip = ""
	if err := d.SortIndex(context.Background(), minSortMemory, Sum{end + 1, sum.CRC}); !errors.Is(err, ErrShort) {
		t.Errorf("a lost line: %v", err)
	}
	if s, err := d.OpenStream(IndexPartName, end, Sum{}); err != nil || s.Sum() != sum {
		t.Errorf("read again: %v", err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// flippingFS reads one wrong bit from files whose names end so.
type flippingFS struct {
	osFS
	flip string
}

type flippingFile struct{ File }

func (f *flippingFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	file, err := f.osFS.OpenFile(name, flag, perm)
	if err == nil && f.flip != "" && flag == os.O_RDONLY && strings.HasSuffix(name, f.flip) {
		file = flippingFile{file}
	}
	return file, err
}

func (f flippingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if n > 0 {
		p[n/2] ^= 1
	}
	return n, err
}

func TestSortIndexStopsCleanly(t *testing.T) {
	disk := &faultFS{}
	d := mustOpen(t, t.TempDir(), Options{FS: disk})
	s := mustStream(t, d, IndexPartName, 0)
	s.Append([]byte("b\na\n"))
	s.Close()
	os.WriteFile(d.Index(), []byte("old\n"), 0o644)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.SortIndex(ctx, 0, Sum{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, fail := range []*bool{&disk.failWrite, &disk.failSync, &disk.failRename} {
		*fail = true
		if err := d.SortIndex(context.Background(), 0, s.Sum()); err == nil {
			t.Error("no error")
		}
		*fail = false
		entries, _ := os.ReadDir(filepath.Dir(d.Index()))
		if got := content(t, d.Index()); got != "old\n" || len(entries) != 2 {
			t.Errorf("a failed sort left %q and %v", got, entries)
		}
	}
	if err := SortIndex(context.Background(), filepath.Join(d.Root(), "none"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no part: %v", err)
	}
}
