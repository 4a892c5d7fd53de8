package contentseen

import (
	"crypto/sha256"
	"testing"

	"decorum/internal/store"
)

func TestForgottenBodiesAreNew(t *testing.T) {
	b := newBed(t, Options{})
	bodies := []string{"a", "b", "c"}
	b.commit(func(batch *store.Batch) {
		for i, body := range bodies {
			b.claim(body, ref(i))
			b.Record(batch, sha256.Sum256([]byte(body)), ref(i))
		}
	})
	b.commit(func(batch *store.Batch) {
		n, err := Forget(b.db, b.o.Partitions, batch, func(r Ref) bool { return r.FP == ref(1).FP })
		if n != 1 || err != nil {
			t.Errorf("%d forgotten, %v", n, err)
		}
	})
	b.reopen()
	for i, body := range bodies {
		if _, dup := b.claim(body, ref(9)); dup != (i != 1) {
			t.Errorf("body %d: duplicate %v", i, dup)
		}
	}
}
