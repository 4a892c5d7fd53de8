package fetch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"decorum/internal/outcome"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"io"
)

// encode applies codings in the order of a Content-Encoding field. "raw" is deflate without zlib.
func encode(t testing.TB, plain []byte, names ...string) []byte {
	for _, name := range names {
		var out bytes.Buffer
		var w io.WriteCloser
		switch name {
		case "gzip":
			w = gzip.NewWriter(&out)
		case "deflate":
			w = zlib.NewWriter(&out)
		case "raw":
			w, _ = flate.NewWriter(&out, 5)
		case "br":
			w = brotli.NewWriterLevel(&out, 3)
		case "zstd":
			w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		default:
			t.Fatalf("no coding %q", name)
		}
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		plain = out.Bytes()
	}
	return plain
}

func coded(coding string, body []byte) string {
	return fmt.Sprintf("%sContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", ok200, coding, len(body), body)
}

// prose is text that compresses as pages do.
func prose(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "<p>word%d and word%d</p>\n", rng.IntN(500), rng.IntN(5000))
	}
	return b.Bytes()[:n]
}

func TestCodings(t *testing.T) {
	for _, size := range []int{0, 1, 100, 70_000, 1_500_000} {
		plain := prose(size)
		for _, c := range []struct {
			field string
			codes []string
		}{
			{"gzip", []string{"gzip"}}, {"X-GZIP", []string{"gzip"}}, {"deflate", []string{"deflate"}}, {"deflate", []string{"raw"}},
			{"br", []string{"br"}}, {"zstd", []string{"zstd"}}, {"gzip, identity, br", []string{"gzip", "br"}},
			{"zstd,deflate,gzip", []string{"zstd", "deflate", "gzip"}},
		} {
			t.Run(fmt.Sprintf("%d/%v", size, c.codes), func(t *testing.T) {
				body := encode(t, plain, c.codes...)
				bubble(t, answering(coded(c.field, body)), Options{}, func(t *testing.T, n *network, tr *Transport) {
					for i := range 2 { // the second time with pooled decoders
						x := do(t, tr, request(t, "http://example.org/"))
						if x.Outcome != outcome.OK || x.Detail != "" || x.Truncated != "" || x.Reused != (i > 0) {
							t.Errorf("%v %q %q", x.Outcome, x.Detail, x.Truncated)
						}
						if content(t, x.Body) != string(plain) {
							t.Errorf("body of %d bytes is wrong", x.Body.Len())
						}
						if content(t, x.WireBody) != string(body) {
							t.Errorf("wire body of %d bytes is wrong", x.WireBody.Len())
						}
						x.Close()
					}
				})
			})
		}
	}
}

func TestBrokenCodings(t *testing.T) {
	plain := prose(20_000)
	zip := encode(t, plain, "gzip")
	empty := encode(t, nil, "gzip")
	ok := func(name, field string, body []byte, want, detail string) hostileCase {
		return hostileCase{name: name, serve: stay(coded(field, body) + "+"), outcome: outcome.OK, status: 200, body: want, detail: detail}
	}
	for _, h := range []hostileCase{
		ok("empty body", "gzip", nil, "", ""),
		ok("two members", "gzip", append(bytes.Clone(zip), zip...), string(plain)+string(plain), ""),
		ok("empty members between", "gzip", bytes.Join([][]byte{empty, zip, empty, empty, zip}, nil), string(plain)+string(plain), ""),
		ok("trailing junk", "gzip", append(bytes.Clone(zip), "junk"...), string(plain), ""),
		ok("no checksum", "gzip", zip[:len(zip)-8], string(plain), "gzip: unexpected EOF"),
		ok("wrong checksum", "gzip", append(bytes.Clone(zip[:len(zip)-8]), make([]byte, 8)...), string(plain), "gzip: invalid checksum"),
		ok("gzip header only", "gzip", zip[:5], "", "unexpected EOF"),
		ok("labelled gzip, is text", "gzip", plain, string(plain), "not in this coding"),
		ok("labelled zstd, is text", "zstd", plain, string(plain), "not in this coding"),
		ok("labelled br, is text", "br", plain, "", "br: "),
		ok("labelled deflate, is text", "deflate", plain, "", "deflate: "),
		ok("deflate with a dictionary", "deflate", []byte("\x78\xbb\x00\x00"), "", "dictionary"),
		ok("unknown coding", "utf-8", plain, string(plain), `"utf-8" is unknown`),
		ok("four codings", "br,br,br,br", encode(t, plain, "br", "br", "br", "br"), string(encode(t, plain, "br", "br", "br", "br")), "more than 3"),
		ok("empty members without end", "gzip", bytes.Repeat(empty, 3000), "", "empty gzip members"),
		ok("zstd window of 1 GB", "zstd", []byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"), "", "zstd: "),
	} {
		t.Run(h.name, h.run)
	}
}

// TestTruncatedCodings cuts a coded body everywhere: what was decoded is a prefix, and nothing panics.
func TestTruncatedCodings(t *testing.T) {
	plain := prose(3000)
	for _, name := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		whole := encode(t, plain, name)
		field := strings.Replace(name, "raw", "deflate", 1)
		tr, dial := scripted(t)
		for cut := 0; cut < len(whole); cut += 7 {
			dial.script = []byte(coded(field, whole[:cut]))
			x := do(t, tr, request(t, "http://example.org/"))
			if x.Outcome != outcome.OK || !strings.HasPrefix(string(plain), content(t, x.Body)) {
				t.Errorf("%s cut at %d: %v, %d bytes", name, cut, x.Outcome, x.Body.Len())
			}
			if x.Detail == "" && cut > 0 {
				t.Errorf("%s cut at %d: no detail", name, cut)
			}
			x.Close()
		}
	}
}

// TestBombs checks that a small body that decodes to a huge one ends with bounded work.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	for _, codes := range [][]string{{"gzip"}, {"deflate"}, {"br"}, {"zstd"}, {"gzip", "gzip"}, {"zstd", "br"}, {"br", "zstd", "gzip"}} {
		bomb := encode(t, zeros, codes...)
		hostileCase{
			serve: stay(coded(strings.Join(codes, ", "), bomb)), opt: Options{MaxBody: 5 << 20}, outcome: outcome.OK, status: 200,
			bodyLen: 5 << 20, truncated: "length", detail: "5242880 bytes when decoded",
		}.run(t)
	}
}

// TestInnerBomb has a bomb inside that the outer decoder never gets to show: its output is all framing.
func TestInnerBomb(t *testing.T) {
	skip := append([]byte("\x50\x2a\x4d\x18\x00\x00\x00\x20"), make([]byte, 8<<20)...) // a skippable zstd frame of 512 MiB
	inner := encode(t, skip, "gzip")
	hostileCase{
		serve: stay(coded("zstd, gzip", inner)), opt: Options{MaxBody: 1 << 20}, outcome: outcome.OK, status: 200,
		truncated: "length", detail: "when decoded",
	}.run(t)
}
