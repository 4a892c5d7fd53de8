package frontier

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"decorum/internal/weburl"
)

func drawItem(t *rapid.T, parents []string) Item {
	u, err := weburl.Parse(fmt.Sprintf("http://%s.example:%d/%s",
		rapid.SampledFrom([]string{"a", "b", "www.c"}).Draw(t, "host"), rapid.SampledFrom([]int{80, 8080}).Draw(t, "port"),
		rapid.StringMatching(`[a-z0-9/]{0,60}(\?[a-z=&]{0,20})?`).Draw(t, "path")))
	if err != nil {
		t.Fatal(err)
	}
	it := Item{
		URL:       u,
		Kind:      Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")),
		Level:     rapid.Uint8().Draw(t, "level"),
		Head:      rapid.Bool().Draw(t, "head"),
		Embed:     rapid.Bool().Draw(t, "embed"),
		Depth:     rapid.Uint16().Draw(t, "depth"),
		Hops:      rapid.StringMatching(`[LRES]{0,64}`).Draw(t, "hops"),
		Attempt:   rapid.Uint8().Draw(t, "attempt"),
		Redirects: rapid.Uint8().Draw(t, "redirects"),
		Seed:      rapid.Uint32().Draw(t, "seed"),
		Parent:    rapid.SampledFrom(parents).Draw(t, "parent"),
		Anchor:    rapid.String().Draw(t, "anchor"),
		Origin:    rapid.SampledFrom([]string{"", "http://a.example"}).Draw(t, "origin"),
	}
	if ns := rapid.Int64().Draw(t, "not before"); ns != 0 {
		it.NotBefore = time.Unix(0, ns)
	}
	copy(it.FP[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "fingerprint"))
	return it
}

func TestItemsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parents := []string{"", "http://a.example/", rapid.String().Draw(t, "odd parent")}
		var items []Item
		for range rapid.IntRange(0, 10).Draw(t, "items") {
			items = append(items, drawItem(t, parents))
		}
		b := EncodeItems([]byte("before"), items)
		got, err := DecodeItems(b[len("before"):])
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(items) {
			t.Fatalf("%d items back, want %d", len(got), len(items))
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], items[i]) {
				t.Fatalf("item %d is %+v, want %+v", i, got[i], items[i])
			}
		}
		for n := range b[len("before"):] { // any prefix is an error or fewer items, never a panic
			if short, err := DecodeItems(b[len("before"):][:n]); err == nil && len(short) >= max(1, len(items)) {
				t.Fatalf("%d items from %d of %d bytes", len(short), n, len(b)-len("before"))
			}
		}
	})
}

func TestItemsAreSmall(t *testing.T) {
	b := EncodeItems(nil, benchItems(t, chunkItems, 100))
	if per := len(b) / chunkItems; per > 90 {
		t.Errorf("%d bytes per link of 60 bytes, want at most 90", per)
	}
}

func TestHopsAreCapped(t *testing.T) {
	it := item(t, "http://a.example/")
	for range 100 {
		it.Hops += "L"
	}
	got, err := DecodeItems(EncodeItems(nil, []Item{it}))
	if err != nil || len(got[0].Hops) != MaxHops {
		t.Errorf("%d hops, %v; want %d", len(got[0].Hops), err, MaxHops)
	}
}

func FuzzDecodeItems(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{itemsVersion})
	f.Add([]byte{itemsVersion + 1, 0})
	f.Add(EncodeItems(nil, benchItems(f, 3, 2)))
	f.Add([]byte{itemsVersion, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := DecodeItems(b)
		if err != nil {
			return
		}
		again, err := DecodeItems(EncodeItems(nil, items))
		if err != nil || len(again) != len(items) {
			t.Fatalf("%d items, then %d: %v", len(items), len(again), err)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	r := record{manners: manners{lastEnd: now, restFrom: now, rest: time.Minute, reason: GapFactor, pages: 7}, head: middle, tail: middle + 3, count: 2}
	f.Add(r.append(nil))
	f.Add([]byte{recordVersion})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		if again, err := decodeRecord(r.append(nil)); err != nil || again != r {
			t.Fatalf("%+v, then %+v: %v", r, again, err)
		}
	})
}

func TestRecordRoundTrip(t *testing.T) {
	now := time.Unix(1_700_000_000, 123)
	want := record{
		manners: manners{
			lastEnd: now, restFrom: now.Add(time.Second), rest: 90 * time.Second, reason: GapRetryAfter,
			lastTook: time.Second, crawlDelay: time.Minute, failures: 3, givenUp: true,
			pages: 4, errors: 5, bytes: 1 << 40, lastStatus: 503,
		},
		head: middle - 5, tail: middle + 100, count: 42,
	}
	got, err := decodeRecord(want.append(nil))
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
