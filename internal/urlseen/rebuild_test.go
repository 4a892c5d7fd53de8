package urlseen

import (
	"context"
	"errors"
	"testing"
)

// A sieve whose runs are gone is made anew, also when that is interrupted and begun again.
func TestRebuild(t *testing.T) {
	b := newBed(t, Options{RecentKeys: 500, Memory: 1 << 20})
	var all []Key
	for i := range 3000 {
		all = append(all, key(i%64, i%7, i))
	}
	b.step(all...)
	b.settle()
	names, err := b.fs.List("sieve")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	if err := errors.Join(b.s.Close(), b.fs.Remove("sieve/"+names[0])); err != nil {
		t.Fatal(err)
	}
	o := b.opts
	o.DB, o.FS, o.Dir = b.db, b.fs, "sieve"
	if _, err := Open(o); err == nil {
		t.Fatal("a lost run goes unnoticed")
	}
	cut := errors.New("cut")
	for _, stop := range []int{10, len(all)} {
		known, err := Rebuild(o, func(yield func(Key) error) error {
			for _, k := range append(all[:stop:stop], all[:stop/2]...) {
				if err := yield(k); err != nil {
					return err
				}
			}
			if stop < len(all) {
				return cut
			}
			return nil
		})
		if stop < len(all) && !errors.Is(err, cut) || stop == len(all) && (err != nil || known != uint64(len(all))) {
			t.Fatal(known, err)
		}
	}
	if b.s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if fresh := b.step(append(all, key(1, 2, 99999))...); len(fresh) != 1 || fresh[0] != len(all) {
		t.Errorf("%d keys are new, want the last alone", len(fresh))
	}
	if err := b.s.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}
