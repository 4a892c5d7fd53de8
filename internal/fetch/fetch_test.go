package fetch

import (
	"testing"

	"decorum/internal/outcome"
)

func TestExchange(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
	bubble(t, answering(answer), Options{UserAgent: "decorum/test"}, func(t *testing.T, n *network, tr *Transport) {
		for i := range 3 {
			x := do(t, tr, request(t, "http://example.org/a?b"))
			if x.Outcome != outcome.OK || x.Status != 200 || x.Proto != "HTTP/1.1" || x.Detail != "" || x.Truncated != "" {
				t.Errorf("exchange: %+v", x)
			}
			if x.Reused != (i > 0) {
				t.Errorf("exchange %d: reused %v", i, x.Reused)
			}
			if got := string(x.HeadBytes) + content(t, x.WireBody); got != answer {
				t.Errorf("archived %q", got)
			}
			if content(t, x.Body) != "hello" || x.Header.Get("content-type") != "text/html" || x.WireBytes != int64(len(answer)) {
				t.Errorf("body %q, %d bytes", content(t, x.Body), x.WireBytes)
			}
			want := "GET /a?b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: decorum/test\r\n" +
				"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip\r\n\r\n"
			if string(x.RequestBytes) != want {
				t.Errorf("request %q", x.RequestBytes)
			}
			x.Close()
			x.Close()
		}
		if n.dials != 1 {
			t.Errorf("%d dials", n.dials)
		}
	})
}
