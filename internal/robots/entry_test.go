package robots

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

func TestEntryRoundTrip(t *testing.T) {
	for _, e := range []Entry{
		{},
		{Origin: "http://a.example", FetchedAt: start.Add(123), Status: 200, Body: []byte("user-agent: *\n")},
		{Origin: "http://a.example", Errors: 7, Since: start, Until: start.Add(1<<63 - 1), LastStatus: 503},
	} {
		got, err := Unmarshal(e.Marshal())
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%+v became %+v, %v", e, got, err)
		}
	}
}

// TestEntryDamage: no byte can change, and no end be lost, unnoticed.
func TestEntryDamage(t *testing.T) {
	whole := Entry{Origin: "http://a.example", FetchedAt: start, Status: 200, Body: []byte("x")}.Marshal()
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 0x10
		for _, b := range [][]byte{damaged, whole[:i]} {
			if e, err := Unmarshal(b); !errors.Is(err, ErrCorrupt) || !reflect.DeepEqual(e, Entry{}) {
				t.Fatalf("byte %d: %+v, %v", i, e, err)
			}
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte{})
	f.Add(Entry{Origin: "http://a.example", FetchedAt: time.Unix(1, 2), Status: 200, Body: []byte("allow: /")}.Marshal())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 5 { // pass the checksum, to reach the fields
			b[0] = entryVersion
			putChecksum(b)
		}
		e, err := Unmarshal(b)
		if err != nil {
			return
		}
		if again, err := Unmarshal(e.Marshal()); err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%+v became %+v, %v", e, again, err)
		}
		_ = newCache(Options{}).Restore(e)
	})
}
