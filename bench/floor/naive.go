package main

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"

	"decorum/internal/simweb"
)

// naive is the floor of PERF.md: one loop, nothing else. It is not polite, not durable, and keeps every URL in a map.
func naive(w *simweb.Web) error {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1}
	dialer := &net.Dialer{}
	transport.DialContext = dialer.DialContext
	static := w.StaticDNS()
	out, err := os.CreateTemp("", "naive")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	gz, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	seen, queue := map[string]bool{}, w.Seeds()
	for _, s := range queue {
		seen[s] = true
	}
	var body bytes.Buffer
	for len(queue) > 0 {
		page := queue[0]
		queue = queue[1:]
		base, err := url.Parse(page)
		if err != nil {
			return err
		}
		if err := get(transport, static, base, &body); err != nil {
			return err
		}
		sum := sha1.Sum(body.Bytes())
		fmt.Fprintf(gz, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nWARC-Payload-Digest: sha1:%x\r\nContent-Length: %d\r\n\r\n", page, sum, body.Len())
		gz.Write(body.Bytes())
		if err := gz.Close(); err != nil {
			return err
		}
		gz.Reset(out)
		queue = follow(base, body.Bytes(), seen, queue)
	}
	return out.Close()
}

// get reads a page, connecting to the host's address on loopback.
func get(t *http.Transport, static hostTable, u *url.URL, body *bytes.Buffer) error {
	host := u.Hostname()
	req := &http.Request{Method: "GET", URL: &url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(static[host][0].String(), u.Port()), Path: u.Path,
		RawPath: u.RawPath, RawQuery: u.RawQuery}, Host: u.Host, Header: http.Header{"User-Agent": {"naive"}}}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body.Reset()
	_, err = io.Copy(body, resp.Body)
	return err
}

// follow appends the new links of a page to the queue.
func follow(base *url.URL, page []byte, seen map[string]bool, queue []string) []string {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return queue
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "a" {
				continue
			}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) != "href" {
					continue
				}
				u, err := base.Parse(string(value))
				if err != nil || u.Scheme != "http" {
					continue
				}
				u.Fragment = ""
				if s := u.String(); !seen[s] {
					seen[s] = true
					queue = append(queue, s)
				}
			}
		}
	}
}

// hostTable maps names to addresses.
type hostTable = map[string][]netip.Addr
