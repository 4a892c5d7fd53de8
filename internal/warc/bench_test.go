package warc

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// page is HTML of 37 KB with 40 links, made of words that compress about as well as English does.
func page() []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var words [2000]string
	for i := range words {
		w := make([]byte, 3+rnd.IntN(7))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgkjqxz"[min(rnd.IntN(26), rnd.IntN(26))]
		}
		words[i] = string(w)
	}
	b := []byte("<!doctype html><html><head><title>A page</title></head><body>\n")
	for i := 0; len(b) < 37<<10; i++ {
		if i%160 == 0 {
			b = fmt.Appendf(b, "</p>\n<p class=\"text\"><a href=\"/%s/%s-%d.html\">%s</a> ", words[rnd.IntN(2000)], words[rnd.IntN(2000)], i, words[rnd.IntN(2000)])
		}
		b = append(b, words[min(rnd.IntN(2000), rnd.IntN(2000), rnd.IntN(2000))]...)
		b = append(b, ' ')
	}
	return b
}

func benchRecord() *Record {
	return &Record{Type: Response, Date: testDate, TargetURI: "http://example.org/a/page", IPAddress: "192.0.2.1", HTTPHead: []byte(testHead), Body: page()}
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct {
		name string
		o    EncoderOptions
	}{{"level1", EncoderOptions{}}, {"level1-no-block-digest", EncoderOptions{OmitBlockDigest: true}}, {"level3", EncoderOptions{Level: 3}}, {"level6", EncoderOptions{Level: 6}}, {"plain", EncoderOptions{Plain: true}}} {
		b.Run(c.name, func(b *testing.B) {
			r, e := benchRecord(), NewEncoder(c.o)
			dst, _, _ := e.Append(nil, r)
			b.SetBytes(int64(len(r.Body)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, _, err = e.Append(dst[:0], r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(r.Body))/float64(len(dst)), "ratio")
		})
	}
}

// The standard library's gzip over the same bytes, without digests: the yardstick.
func BenchmarkEncodeStandardLibrary(b *testing.B) {
	for _, level := range []int{1, 6} {
		b.Run(fmt.Sprintf("level%d", level), func(b *testing.B) {
			body := page()
			var dst bytes.Buffer
			w, _ := stdgzip.NewWriterLevel(&dst, level)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				dst.Reset()
				w.Reset(&dst)
				w.Write(body)
				w.Close()
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	r := goldenRecords()["request"]
	r.ID = ""
	e := NewEncoder(EncoderOptions{})
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _, _ = e.Append(dst[:0], &r)
	}
}

func BenchmarkRead(b *testing.B) {
	one, _, _ := NewEncoder(EncoderOptions{}).Append(nil, benchRecord())
	file := bytes.Repeat(one, 20)
	b.SetBytes(20 * int64(len(benchRecord().Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readAll(file); err != nil && err != io.EOF {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewEncoder(b *testing.B) {
	r := goldenRecords()["request"]
	b.ReportAllocs()
	for b.Loop() {
		NewEncoder(EncoderOptions{}).Append(nil, &r)
	}
}
