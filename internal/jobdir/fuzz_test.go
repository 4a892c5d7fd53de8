package jobdir

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzRecords reads streams of any bytes: it ends, errors name their lines, and what is read can be written again as one valid
// line that reads the same.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"format":"json-pages-1.0","id":"pages","title":"All Pages"}` + "\n" + `{"v":1,"type":"page","url":"http://a/","ts":"2026-01-02T03:04:05.678Z","status":200,"bytes_wire":7}` + "\n"))
	f.Add([]byte(`{"v":1,"type":"fetch","url":"http://a/\u0000","gap_ms":null}` + "\n" + `{"v":2,"type":"page"}` + "\n{\n\n\xff\n"))
	f.Add([]byte(`{"v":1,"type":"skip","url":"a"}` + "\n" + `{"v":1,"type":"skip_count","count":9}` + "\n" + `{"v":1,"type":"link"`))
	f.Add([]byte(strings.Repeat("x", MaxLine+1) + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		again[PageRecord](t, data, func(r *PageRecord, b []byte) []byte { return r.AppendJSON(b) })
		again[FetchRecord](t, data, func(r *FetchRecord, b []byte) []byte { return r.AppendJSON(b) })
		again[SkipRecord](t, data, func(r *SkipRecord, b []byte) []byte { return r.AppendJSON(b) })
		again[LinkRecord](t, data, func(r *LinkRecord, b []byte) []byte { return r.AppendJSON(b) })
	})
}

func again[T any, P record[T]](t *testing.T, data []byte, write func(P, []byte) []byte) {
	t.Helper()
	for r, err := range Records[T, P](bytes.NewReader(data)) {
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Error(err)
			}
			continue
		}
		line := write(&r, nil)
		checkLine(t, line)
		n := 0
		for back, err := range Records[T, P](bytes.NewReader(line)) {
			n++
			if second := write(&back, nil); err != nil || !bytes.Equal(line, second) {
				t.Errorf("%s came back as %s (%v)", line, second, err)
			}
		}
		if n != 1 {
			t.Errorf("%s reads as %d records", line, n)
		}
	}
}
