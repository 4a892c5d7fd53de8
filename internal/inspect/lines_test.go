package inspect

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"decorum/internal/jobdir"
)

// forward reads all whole lines.
func forward(t interface{ Fatal(...any) }, raw []byte) (whole []string) {
	lines := newLineReader(bytes.NewReader(raw))
	at := int64(0)
	for n := 1; ; n++ {
		l, err := lines.read()
		if err == io.EOF {
			return whole
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.number != n || l.at != at {
			t.Fatal("line", l.number, "at", l.at, "want", n, at)
		}
		if at += int64(len(l.text)) + 1; !l.torn {
			whole = append(whole, string(l.text))
		}
	}
}

func backward(t interface{ Fatal(...any) }, raw []byte) (whole []string) {
	if err := linesBackward(bytes.NewReader(raw), int64(len(raw)), func(text []byte) bool {
		whole = append(whole, string(text))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(whole)
	return whole
}

func TestLinesReadTheSameBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z]{0,9}`)).Draw(t, "lines"), "\n"))
		a, b := forward(t, raw), backward(t, raw)
		if len(a) > 0 && a[0] == "" && len(b) == len(a)-1 {
			a = a[1:] // an empty first line says nothing
		}
		if !slices.Equal(a, b) {
			t.Fatalf("%q: forward %q, backward %q", raw, a, b)
		}
	})
}

func TestLongLinesAcrossBlocks(t *testing.T) {
	var raw []byte
	var want []string
	for i := range 40 {
		text := strings.Repeat(string(rune('a'+i%26)), jobdir.MaxLine/3+i*1000)
		want = append(want, text)
		raw = append(append(raw, text...), '\n')
	}
	if got := backward(t, raw); !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	if got := forward(t, raw); !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	monster := append(bytes.Repeat([]byte("x"), backwardBlock+backwardBlock/2), "\nshort\n"...)
	if got := backward(t, append([]byte("first\n"), monster...)); !slices.Contains(got, "short") || !slices.Contains(got, "first") {
		t.Errorf("lines around a monster are lost: %d", len(got))
	}
}

func FuzzParseIndexLine(f *testing.F) {
	f.Add([]byte(`org,example)/ 20260304100000 {"url":"http://example.org/","mime":"text/html","status":"200","length":"12","offset":"34","filename":"a.warc.gz"}`))
	f.Add([]byte(`a b {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseIndexLine(text)
		if err == nil && (e.Offset < 0 || e.Length <= 0 || e.File == "" || strings.ContainsAny(e.File, "/")) {
			t.Errorf("%q gives %+v", text, e)
		}
	})
}
