package frontier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Pages that were concluded are queued again between two runs: they, and no others, are fetched once more, at the
// usual pace, and limits and counts take them for new.
func TestRequeuedPagesAreFetchedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Fronts: 3, MaxPages: 6, HostPages: 4, Workers: 4})
		all := append(pages(t, "a.example", 3), pages(t, "b.example", 3)...)
		r.intake = [][]Item{all}
		if err := r.crawl(t.Context()); !errors.Is(err, ErrLimit) && !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		again := []Item{all[1], all[2], all[5]}
		again[0].Level = 9 // from a crawl with more front queues than now are
		r.requeue(again)
		r.contacts, r.intake = nil, nil
		time.Sleep(time.Minute)
		if err := r.crawl(t.Context()); !errors.Is(err, ErrLimit) && !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		if len(r.contacts) != len(again) {
			t.Errorf("%d contacts, want %d", len(r.contacts), len(again))
		}
		for _, it := range all {
			want := 1
			if it.FP == again[0].FP || it.FP == again[1].FP || it.FP == again[2].FP {
				want = 2
			}
			if got := r.concluded[it.URL.String()]; got != want {
				t.Errorf("%v was concluded %d times, want %d", it.URL, got, want)
			}
		}
		r.open()
		if st, _, err := r.f.HostState("a.example"); err != nil || st.Pages != 3 {
			t.Errorf("%d pages of the host, want 3 (%v)", st.Pages, err)
		}
		if sn := r.f.Snapshot(0); sn.Concluded != 6 || sn.WaitingTotal() != 0 {
			t.Errorf("%+v", sn)
		}
	})
}

// A crawl that was cut off with URLs in all queues takes requeued ones as well.
func TestRequeueBesideFullQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Floor: time.Second, Workers: 2, Backs: 1})
		all := append(pages(t, "a.example", 300), pages(t, "b.example", 300)...)
		r.intake = [][]Item{all}
		r.crash = true
		stop, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_ = r.crawl(stop)
		var done []Item
		for _, it := range all {
			if r.concluded[it.URL.String()] > 0 {
				done = append(done, it)
			}
		}
		if len(done) == 0 {
			t.Fatal("nothing was fetched")
		}
		r.requeue(done)
		clear(r.concluded)
		r.crash = false
		if err := r.crawl(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		for _, it := range all {
			if n := r.concluded[it.URL.String()]; n != 1 {
				t.Errorf("%v: concluded %d times", it.URL, n)
			}
		}
	})
}

// requeue queues pages again in a store that no frontier has open.
func (r *rig) requeue(items []Item) {
	r.t.Helper()
	db, err := store.Open(store.Options{Dir: "/state", FS: r.fs})
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	b := db.NewBatch()
	if err := Requeue(Options{DB: db, Hasher: weburl.NewHasher([16]byte{1}, weburl.KeyRules{})}, b, items); err != nil {
		r.t.Fatal(err)
	}
	if err := b.Commit(true); err != nil {
		r.t.Fatal(err)
	}
}

func TestRequeueIntoNothing(t *testing.T) {
	db, err := store.Open(store.Options{Dir: "/state", FS: store.Memory()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := db.NewBatch()
	defer b.Discard()
	o := Options{DB: db, Hasher: weburl.NewHasher([16]byte{1}, weburl.KeyRules{})}
	if err := Requeue(o, b, pages(t, "a.example", 1)); err == nil {
		t.Error("no error in a store without queues")
	}
	if err := Requeue(o, b, nil); err != nil {
		t.Error(err)
	}
}
