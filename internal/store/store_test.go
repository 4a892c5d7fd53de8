package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func open(t testing.TB, fs FS) *DB {
	t.Helper()
	d, err := Open(Options{Dir: "state", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func key(p Partition, s Space, id string) Key { return Key{p, s, []byte(id)} }

func TestBatchIsAppliedWhole(t *testing.T) {
	d := open(t, Memory())
	defer d.Close()
	b := d.NewBatch()
	b.Set(key(1, Meta, "a"), []byte("1"))
	b.Set(key(1, Meta, "b"), []byte("2"))
	b.Delete(key(1, Meta, "a"))
	if ok, _ := d.Has(key(1, Meta, "b")); ok {
		t.Error("a write is visible before its commit")
	}
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	if ok, _ := d.Has(key(1, Meta, "a")); ok {
		t.Error("a deleted key exists")
	}
	if v, ok, err := d.Get(key(1, Meta, "b")); err != nil || !ok || string(v) != "2" {
		t.Errorf("Get = %q, %v, %v", v, ok, err)
	}
}

func TestScanStaysInPartitionAndSpace(t *testing.T) {
	d := open(t, Memory())
	defer d.Close()
	b := d.NewBatch()
	for p := range Partition(3) {
		for _, s := range []Space{Front, Front + 1, Host} {
			for i := range 4 {
				b.Set(key(p, s, string('a'+rune(i))), []byte{byte(p), byte(s)})
			}
		}
	}
	b.DeleteRange(Range{1, Front, []byte("b"), []byte("c")})
	if err := b.Commit(false); err != nil {
		t.Fatal(err)
	}
	var got []byte
	err := d.Scan(Range{Partition: 1, Space: Front}, func(id, v []byte) bool {
		if !bytes.Equal(v, []byte{1, byte(Front)}) {
			t.Errorf("scan left its range: %v", v)
		}
		got = append(got, id...)
		return true
	})
	if err != nil || string(got) != "acd" {
		t.Errorf("scan = %q, %v", got, err)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	fs := Memory()
	d := open(t, fs)
	b := d.NewBatch()
	b.Set(key(Global, Meta, "format"), binary.AppendUvarint(nil, FormatVersion+1))
	if err := errors.Join(b.Commit(true), d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: "state", FS: fs}); !errors.Is(err, ErrNewer) {
		t.Errorf("Open = %v, want ErrNewer", err)
	}
}

// What was committed with sync is there after a crash that drops every unsynced byte.
func TestSyncedBatchSurvivesACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	d := open(t, fs)
	b := d.NewBatch()
	b.Set(key(3, Page, "x"), []byte("kept"))
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	after := fs.CrashClone(vfs.CrashCloneCfg{})
	d.Close()
	d = open(t, after)
	defer d.Close()
	if v, ok, err := d.Get(key(3, Page, "x")); !ok || err != nil || string(v) != "kept" {
		t.Errorf("after a crash: %q, %v, %v", v, ok, err)
	}
}

// A failed sync is never taken for success later.
func TestFailedWritePoisons(t *testing.T) {
	toggle := &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.Writes)}
	d := open(t, errorfs.Wrap(vfs.NewMem(), toggle))
	defer func() { toggle.Off(); d.Close() }()
	toggle.On()
	fail := func() error {
		b := d.NewBatch()
		b.Set(key(1, Meta, "a"), nil)
		return b.Commit(true)
	}
	if fail() == nil {
		t.Fatal("a commit on a broken disk succeeded")
	}
	toggle.Off()
	if fail() == nil {
		t.Error("a commit after a failed one succeeded")
	}
}

// The crawl's tests run in virtual time; the store must not keep a bubble from idling.
func TestRunsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, Memory())
		for i := range 100 {
			b := d.NewBatch()
			b.Set(key(1, Meta, fmt.Sprint(i)), make([]byte, 1000))
			if err := b.Commit(true); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkCommitSet(b *testing.B) {
	d := open(b, Memory())
	defer d.Close()
	value := make([]byte, 60)
	var id [16]byte
	b.ReportAllocs()
	batch := d.NewBatch()
	for i := 0; b.Loop(); i++ {
		binary.BigEndian.PutUint64(id[:], uint64(i)*0x9E3779B97F4A7C15)
		batch.Set(Key{1, Page, id[:]}, value)
		if batch.Len() > 1<<20 {
			if err := batch.Commit(false); err != nil {
				b.Fatal(err)
			}
			batch = d.NewBatch()
		}
	}
	batch.Discard()
}
