package crawler

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// What is remembered of a page is read back as it was.
func TestPageStateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 50, 200)
		s := PageState{
			Outcome: outcome.Outcome(rapid.Byte().Draw(t, "outcome")), Status: rapid.IntRange(0, 999).Draw(t, "status"),
			Time: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "time")).UTC(), URL: text.Draw(t, "url"), File: text.Draw(t, "file"),
			Offset: rapid.Int64Min(0).Draw(t, "offset"), Length: rapid.Int64Min(0).Draw(t, "length"), Rule: text.Draw(t, "rule"), DupOf: text.Draw(t, "dup"),
		}
		got, err := UnmarshalPageState(s.Marshal())
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%v\n%+v\n%+v", err, got, s)
		}
	})
}

// Damaged state is an error and never a panic; what can be read is what would be written.
func FuzzPageState(f *testing.F) {
	s := PageState{Outcome: outcome.OK, Status: 200, Time: time.UnixMilli(1), URL: "http://a.museum/", File: "x.warc.gz", Offset: 1 << 40, Length: 5, Rule: "r", DupOf: "d"}
	f.Add(s.Marshal())
	f.Add([]byte{pageStateVersion, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := UnmarshalPageState(raw)
		if err != nil {
			return
		}
		again, err := UnmarshalPageState(s.Marshal())
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%v\n%+v\n%+v", err, again, s)
		}
	})
}

func TestPageStatesInAStore(t *testing.T) {
	db := openStore(t, store.Memory())
	b := db.NewBatch()
	for i := range 10 {
		s := PageState{Outcome: outcome.OK, URL: string(rune('a' + i)), Time: time.UnixMilli(0).UTC()}
		b.Set(pageKey(store.Partition(i%4), weburl.Fingerprint{byte(i)}), s.Marshal())
	}
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	if s, ok, err := LoadPageState(db, 3, weburl.Fingerprint{7}); err != nil || !ok || s.URL != "h" {
		t.Errorf("%+v %v %v", s, ok, err)
	}
	if _, ok, err := LoadPageState(db, 2, weburl.Fingerprint{7}); err != nil || ok {
		t.Errorf("found in another partition: %v", err)
	}
	var seen bytes.Buffer
	if err := ScanPageStates(db, 4, func(fp weburl.Fingerprint, s PageState) bool {
		if s.URL != string(rune('a'+fp[0])) {
			t.Errorf("%x is %s", fp, s.URL)
		}
		seen.WriteString(s.URL)
		return seen.Len() < 8
	}); err != nil || seen.String() != "aeibfjcg" {
		t.Errorf("%v, %s", err, &seen)
	}
}

func openStore(t *testing.T, fs store.FS) *store.DB {
	t.Helper()
	db, err := store.Open(store.Options{Dir: "db", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
