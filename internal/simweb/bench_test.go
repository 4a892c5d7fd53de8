package simweb

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

func benchOptions() Options {
	o := Plain()
	o.Hosts, o.Pages, o.PageBytes, o.LinksPerPage, o.Uniform = 100, 1_000_000, 37_000, 40, true
	return o
}

// BenchmarkPage is an answer without the network.
func BenchmarkPage(b *testing.B) {
	w := New(benchOptions())
	var a answer
	q := query{method: "GET", host: w.hosts[3].name}
	var paths []string
	for n := range int32(1000) {
		paths = append(paths, string(w.appendPath(nil, page{3, n})))
	}
	b.ReportAllocs()
	b.SetBytes(37_000)
	for i := 0; b.Loop(); i++ {
		q.target = paths[i%len(paths)]
		w.reply(&a, &q, time.Time{})
		a.buf = a.body
	}
}

// BenchmarkDial is a request over the in-memory network with net/http's parser as the client.
func BenchmarkDial(b *testing.B) {
	w := New(benchOptions())
	conn, err := w.Dial(context.Background(), "tcp", w.hosts[3].name+":80")
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	request := []byte("GET / HTTP/1.1\r\nHost: " + w.hosts[3].name + "\r\nUser-Agent: bench\r\n\r\n")
	b.ReportAllocs()
	b.SetBytes(37_000)
	for b.Loop() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 37_000 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkTruth is the whole graph of 100,000 pages.
func BenchmarkTruth(b *testing.B) {
	o := Realistic()
	o.Hosts, o.Pages = 200, 100_000
	w := New(o)
	for b.Loop() {
		w.Truth("decorum")
	}
}

// BenchmarkNew is a web of a million pages.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(benchOptions())
	}
}

// The prose deflates about like real HTML does.
func TestCompressionRatio(t *testing.T) {
	w := New(benchOptions())
	var all bytes.Buffer
	for n := range int32(50) {
		z := gzip.NewWriter(&all)
		_, _ = z.Write(w.appendBody(nil, body{host: 0, n: n}, w.links(nil, 0, n)))
		_ = z.Close()
	}
	if ratio := float64(50*37_000) / float64(all.Len()); ratio < 3.3 || ratio > 5.5 {
		t.Errorf("gzip ratio %.2f", ratio)
	}
}
