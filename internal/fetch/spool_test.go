package fetch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"decorum/internal/outcome"

	"pgregory.net/rapid"
)

func files(t testing.TB, dir string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestSpool has bodies on both sides of the threshold in every framing and coding, in memory or in a file.
func TestSpool(t *testing.T) {
	const threshold = 10_000
	chunk := func(b []byte) string {
		var out strings.Builder
		out.WriteString(ok200 + "Transfer-Encoding: chunked\r\n\r\n")
		for len(b) > 0 {
			n := min(len(b), 777)
			fmt.Fprintf(&out, "%x\r\n%s\r\n", n, b[:n])
			b = b[n:]
		}
		return out.String() + "0\r\n\r\n"
	}
	for _, size := range []int{threshold - 1, threshold, threshold + 1, 12 * threshold, 500_000} {
		plain := prose(size)
		for name, c := range map[string]struct {
			answer    string
			wireInRAM bool
		}{
			"length":  {fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok200, size, plain), size <= threshold},
			"close":   {ok200 + "\r\n" + string(plain), size < threshold},
			"chunks":  {chunk(plain), len(chunk(plain)) <= threshold},
			"gzip":    {coded("gzip", encode(t, plain, "gzip")), len(encode(t, plain, "gzip")) <= threshold},
			"deflate": {coded("deflate", encode(t, plain, "deflate")), len(encode(t, plain, "deflate")) <= threshold},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				dir := t.TempDir()
				bubble(t, closing(c.answer), Options{SpoolThreshold: threshold, SpoolDir: dir}, func(t *testing.T, n *network, tr *Transport) {
					x := do(t, tr, request(t, "http://example.org/"))
					if x.Outcome != outcome.OK || x.Detail != "" || content(t, x.Body) != string(plain) {
						t.Errorf("%v %q, body of %d bytes", x.Outcome, x.Detail, x.Body.Len())
					}
					if string(x.HeadBytes)+content(t, x.WireBody) != c.answer {
						t.Error("the archive differs")
					}
					if _, mem := x.WireBody.Bytes(); mem != c.wireInRAM && size != threshold {
						t.Errorf("wire body in memory: %v", mem)
					}
					if _, mem := x.Body.Bytes(); mem != (size <= threshold) && size != threshold { // at the threshold either will do
						t.Errorf("body in memory: %v", mem)
					}
					x.Close()
					if left := files(t, dir); left != 0 {
						t.Errorf("%d files left", left)
					}
				})
			})
		}
	}
}

func TestSpoolLeftovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	os.Mkdir(dir, 0o700)
	for _, name := range []string{"body-1.spool", "body-2.spool", "other.txt"} {
		os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)
	}
	tr, err := New(Options{SpoolDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	tr.Close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "other.txt" {
		t.Errorf("left: %v %v", entries, err)
	}
}

func TestSpoolOwnFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	bubble(t, closing(ok200+"\r\n"+string(prose(100))), Options{SpoolThreshold: 10}, func(t *testing.T, n *network, tr *Transport) {
		x := do(t, tr, request(t, "http://example.org/"))
		if files(t, os.TempDir()) != 1 {
			t.Error("no folder in the temporary folder")
		}
		x.Close()
	})
	if files(t, os.TempDir()) != 0 {
		t.Error("folder left")
	}
}

// TestSpoolDiskFails has a disk that fails: an error of ours, not an outcome, and the connection goes.
func TestSpoolDiskFails(t *testing.T) {
	for name, answer := range map[string]string{
		"plain": ok200 + "\r\n" + string(prose(100)),
		"gzip":  coded("gzip", encode(t, prose(1000), "gzip")),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			os.WriteFile(file, nil, 0o600)
			bubble(t, answering(answer), Options{SpoolThreshold: 10, SpoolDir: filepath.Join(file, "spool")}, func(t *testing.T, n *network, tr *Transport) {
				for range 2 { // the host must not stay busy
					if _, err := tr.Do(t.Context(), request(t, "http://example.org/")); err == nil || !strings.Contains(err.Error(), "not a directory") {
						t.Errorf("error %v", err)
					}
				}
			})
		})
	}
}

// TestSpoolKeepsBytes compares a spool with a buffer over random pieces, thresholds and offsets.
func TestSpoolKeepsBytes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		m := &memory{}
		if err := m.open(dir); err != nil {
			rt.Fatal(err)
		}
		off := rapid.IntRange(0, 5000).Draw(rt, "off")
		s := spool{mem: m, threshold: rapid.Int64Range(1, 50_000).Draw(rt, "threshold"), buf: m.get(max(off, 1)), off: off, scan: off}
		s.buf.b = append(s.buf.b, bytes.Repeat([]byte("h"), off)...)
		var want bytes.Buffer
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 30_000), 0, 10).Draw(rt, "pieces") {
			p := bytes.Repeat([]byte{byte('a' + i)}, n)
			want.Write(p)
			if err := s.append(p); err != nil {
				rt.Fatal(err)
			}
		}
		if string(s.buf.b[:off]) != strings.Repeat("h", off) {
			rt.Error("the head changed")
		}
		b, err := s.body()
		if err != nil {
			rt.Fatal(err)
		}
		got, err := io.ReadAll(b.Reader())
		if _, mem := b.Bytes(); err != nil || !bytes.Equal(got, want.Bytes()) || b.Len() != int64(want.Len()) || mem && b.Len() > s.threshold {
			rt.Errorf("%d bytes, want %d, in memory %v: %v", len(got), want.Len(), mem, err)
		}
		s.release()
	})
	if files(t, dir) != 0 {
		t.Error("files left")
	}
}
