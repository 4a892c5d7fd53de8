package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"decorum/internal/frontier"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// links makes items whose URLs tell them apart.
func links(t *testing.T, names ...string) (items []frontier.Item) {
	t.Helper()
	for _, name := range names {
		u, err := weburl.Parse("http://a.museum/" + name)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, frontier.Item{URL: u})
	}
	return items
}

// taken takes up to limit links and returns their names.
func taken(t *testing.T, in *intake, b *store.Batch, limit int) (names []string) {
	t.Helper()
	items, parts, err := in.take(b, limit)
	if err != nil || len(parts) != len(items) {
		t.Fatal(err, len(parts), len(items))
	}
	for i := range items {
		names = append(names, fmt.Sprintf("%d%s", parts[i], items[i].URL.Path()))
	}
	return names
}

func open(t *testing.T, db *store.DB) *intake {
	t.Helper()
	in, err := openIntake(db, 4)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func commit(t *testing.T, b *store.Batch) {
	t.Helper()
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
}

// Links come out in the order they went in, once their batch is committed, and not before.
func TestIntakeOrder(t *testing.T) {
	db := openStore(t, store.Memory())
	in := open(t, db)
	b := db.NewBatch()
	in.append(b, 2, links(t, "a", "b"))
	in.append(b, 1, links(t, "c"))
	if got := taken(t, in, b, 100); len(got) != 0 || in.links != 3 {
		t.Errorf("took %q of a batch in the making, %d links", got, in.links)
	}
	commit(t, b)
	in.applied()
	b = db.NewBatch()
	in.append(b, 2, links(t, "d"))
	if got := taken(t, in, b, 1); !slices.Equal(got, []string{"2/a", "2/b"}) { // a batch is taken whole
		t.Errorf("took %q", got)
	}
	commit(t, b)
	in.applied()
	b = db.NewBatch()
	if got := taken(t, in, b, 100); !slices.Equal(got, []string{"1/c", "2/d"}) || in.links != 0 {
		t.Errorf("took %q, %d links left", got, in.links)
	}
	commit(t, b)
}

// What a crash interrupts is taken again: links leave the intake only in the batch that holds their effects.
func TestIntakeReplay(t *testing.T) {
	fs := store.Memory()
	db := openStore(t, fs)
	in := open(t, db)
	b := db.NewBatch()
	in.append(b, 0, links(t, "a"))
	in.append(b, 0, links(t, "b"))
	in.append(b, 3, links(t, "c"))
	commit(t, b)
	in.applied()
	b = db.NewBatch()
	taken(t, in, b, 1)
	commit(t, b)
	b = db.NewBatch()
	first := taken(t, in, b, 100)
	b.Discard() // the crash
	in = open(t, db)
	b = db.NewBatch()
	if again := taken(t, in, b, 100); !slices.Equal(again, first) || !slices.Equal(again, []string{"0/b", "3/c"}) {
		t.Errorf("took %q, then %q", first, again)
	}
	in.append(b, 0, links(t, "d")) // does not take the place of what the same batch removes
	commit(t, b)
	in.applied()
	b = db.NewBatch()
	if got := taken(t, open(t, db), b, 100); !slices.Equal(got, []string{"0/d"}) {
		t.Errorf("took %q", got)
	}
	b.Discard()
}

func TestDamagedIntakeIsNamed(t *testing.T) {
	db := openStore(t, store.Memory())
	b := db.NewBatch()
	b.Set(intakeBatch{partition: 1, position: 7}.key(), []byte{0xFF, 0xFF})
	commit(t, b)
	if _, err := openIntake(db, 4); err == nil || !strings.Contains(err.Error(), "intake batch 1/") {
		t.Error(err)
	}
}
