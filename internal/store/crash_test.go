package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// memory is what a store must hold: what was acknowledged, and what a Commit that failed may have left all the same.
type memory struct {
	sure, maybe map[string]string
}

// fill commits random batches, some larger than half a memtable, until one fails or enough are done.
func (m *memory) fill(d *DB, r *rand.Rand, batches int) error {
	for range batches {
		b := d.NewBatch()
		next := maps.Clone(m.sure)
		for range 1 + r.IntN(20) {
			id := fmt.Sprint(r.IntN(50))
			if r.IntN(5) == 0 {
				b.Delete(key(1, Page, id))
				delete(next, id)
				continue
			}
			value := strings.Repeat(fmt.Sprint(r.Uint64()), 1+r.IntN(40)<<(r.IntN(20)/15*4))
			b.Set(key(1, Page, id), []byte(value))
			next[id] = value
		}
		m.maybe = next
		if err := b.Commit(true); err != nil {
			return err
		}
		m.sure = next
	}
	return nil
}

// content returns all that is in a store.
func content(d *DB) (map[string]string, error) {
	got := map[string]string{}
	return got, d.Scan(Range{Partition: 1, Space: Page}, func(id, value []byte) bool {
		got[string(id)] = string(value)
		return true
	})
}

func (m *memory) check(d *DB) error {
	got, err := content(d)
	if err == nil && !maps.Equal(got, m.sure) && !maps.Equal(got, m.maybe) {
		err = fmt.Errorf("the store holds %d keys, neither the %d of before the last batch nor the %d of after", len(got), len(m.sure), len(m.maybe))
	}
	if err == nil {
		m.sure = got
	}
	return err
}

func openSmall(fs FS) (*DB, error) {
	return Open(Options{Dir: "state", FS: fs, CacheSize: 1 << 20, MemTable: 64 << 10})
}

// What Commit acknowledged is there after any loss of power, whole batches and no others.
func TestAcknowledgedBatchesSurviveEveryCrash(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		disk, m := NewCrashFS(), &memory{sure: map[string]string{}}
		for range 8 {
			at, before := disk.Ops()+1+r.IntN(1<<r.IntN(9)), r.IntN(2) == 0
			disk.Follow(func(op Op) Action {
				hit := op.N == at && op.Kind <= LastChange
				return Action{Before: hit && before, After: hit && !before}
			})
			if d, err := openSmall(disk); err == nil {
				err := m.check(d)
				if err == nil {
					_ = m.fill(d, r, 30) // ends with the power, or before
				} else if !errors.Is(err, ErrCrashed) {
					t.Fatalf("seed %d: %v", seed, err)
				}
				_ = d.Close()
			}
			disk.Cut()
			disk = disk.Image(r)
		}
		d, err := openSmall(disk)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := errors.Join(m.check(d), d.Close()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Whatever fails, it is an error of Commit or Open and nothing worse, names the file, and leaves what was acknowledged.
func TestFaultsLoseNothing(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		disk, m := NewCrashFS(), &memory{sure: map[string]string{}}
		for range 6 {
			cause := []error{syscall.ENOSPC, syscall.EIO, syscall.EMFILE, syscall.EACCES}[r.IntN(4)]
			at, lasting, seen := 1+r.IntN(1<<r.IntN(9)), r.IntN(2) == 0, 0
			disk.Follow(func(op Op) (a Action) {
				if seen++; seen == at || seen > at && lasting {
					a.Err, a.Part = cause, r.IntN(200)
				}
				return a
			})
			d, err := openSmall(disk)
			if err == nil {
				if err = m.fill(d, r, 30); err != nil && (&memory{sure: m.sure}).fill(d, r, 1) == nil {
					t.Fatalf("seed %d: a commit after one that failed succeeded", seed)
				}
				_ = d.Close()
			}
			disk.Follow(nil)
			if path := new(fs.PathError); err != nil && (!errors.As(err, &path) || !errors.Is(err, cause)) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if r.IntN(3) == 0 {
				disk = disk.Image(r)
			}
			if d, err = openSmall(disk); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := errors.Join(m.check(d), d.Close()); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// A wrong bit in a table or in the manifest is an error, never a wrong answer.
func TestWrongBitsAreNoticed(t *testing.T) {
	noticed := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		disk, m := NewCrashFS(), &memory{sure: map[string]string{}}
		d, err := openSmall(disk)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.fill(d, r, 40), d.Close()); err != nil {
			t.Fatal(err)
		}
		at, seen := 1+r.IntN(12), 0
		disk.Follow(func(op Op) (a Action) {
			if op.Kind == OpRead && (strings.HasSuffix(op.Name, ".sst") || strings.Contains(op.Name, manifestPrefix)) {
				seen++
				a.Flip = seen == at
			}
			return a
		})
		if d, err = openSmall(disk); err == nil {
			var got map[string]string
			if got, err = content(d); err == nil && !maps.Equal(got, m.sure) {
				t.Fatalf("seed %d: a wrong bit went unnoticed", seed)
			}
			_ = d.Close()
		}
		if err != nil {
			noticed++
			if !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "\n") {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
	if noticed < 20 {
		t.Errorf("only %d wrong bits were noticed: the test shows little", noticed)
	}
}

// The fates of a disk: what was synced is there, and of the rest what the fate says.
func TestFates(t *testing.T) {
	c := NewCrashFS()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, sync bool) {
		f, err := c.OpenReadWrite(name, Category)
		must(err)
		info, err := f.Stat()
		must(err)
		_, err = f.WriteAt([]byte(text), info.Size())
		must(err)
		if sync {
			must(f.Sync())
		}
	}
	p := Plain(c)
	must(c.MkdirAll("a/b", 0o755))
	must(p.SyncDir("/"))
	must(p.SyncDir("a"))
	write("a/b/kept", "one ", true)
	must(p.SyncDir("a/b"))
	write("a/b/kept", "two", false)
	write("a/b/nameless", "x", true)
	must(c.Rename("a/b/nameless", "a/b/renamed"))
	look := func(fate Survival) string {
		img := c.ImageOf(rand.New(rand.NewPCG(1, 1)), fate, fate)
		names, err := img.List("a/b")
		must(err)
		slices.Sort(names)
		f, err := img.Open("a/b/kept")
		must(err)
		b := make([]byte, 100)
		n, _ := f.Read(b)
		return fmt.Sprintf("%v %s", names, b[:n])
	}
	if got := look(Nothing); got != "[kept] one " {
		t.Errorf("nothing unsynced: %s", got)
	}
	if got := look(Everything); got != "[kept renamed] one two" {
		t.Errorf("everything: %s", got)
	}
	if _, err := c.Lock("a/b/lock"); err != nil {
		t.Error(err)
	}
	if _, err := c.Lock("a/b/lock"); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("a second lock: %v", err)
	}
	c.Cut()
	if _, err := c.Stat("a"); !errors.Is(err, ErrCrashed) {
		t.Errorf("after the power went: %v", err)
	}
}
