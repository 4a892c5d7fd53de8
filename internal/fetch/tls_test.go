package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"decorum/internal/outcome"
)

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	a.cert = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(10 * 365 * 24 * time.Hour),
	}, nil, &key.PublicKey)
	return a
}

func (a *authority) sign(c, parent *x509.Certificate, key *ecdsa.PublicKey) *x509.Certificate {
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func (a *authority) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// server returns a TLS configuration with a certificate for host until the time.
func (a *authority) server(host string, until time.Time) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until}
	leaf := a.sign(cert, a.cert, &key.PublicKey)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}}}
}

// secured puts TLS before a server.
func secured(cfg *tls.Config, s server) server {
	return func(c net.Conn) {
		b := newBuffered(c)
		defer b.Close()
		tc := tls.Server(b, cfg)
		if tc.Handshake() == nil {
			s(tc)
		}
	}
}

func TestTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		cfg := a.server("example.org", time.Now().Add(time.Hour))
		var hello *tls.ClientHelloInfo
		cfg.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) { hello = h; return nil, nil }
		n := newNetwork(t, secured(cfg, answering(nextAnswer)))
		tr, err := New(Options{Dial: n.dial, RootCAs: a.roots()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			req := request(t, "https://example.org/")
			if i == 1 {
				req.KeepFor = 0
			}
			x := do(t, tr, req)
			if x.Outcome != outcome.OK || content(t, x.Body) != "next" || x.Reused != (i == 1) {
				t.Errorf("exchange %d: %v %q reused %v", i, x.Outcome, x.Detail, x.Reused)
			}
			if x.TLS == nil || x.TLS.Version != "TLS 1.3" || x.TLS.Resumed != (i == 2) {
				t.Errorf("exchange %d: TLS %+v", i, x.TLS)
			}
			x.Close()
		}
		if hello.ServerName != "example.org" || len(hello.SupportedProtos) != 1 || hello.SupportedProtos[0] != "http/1.1" {
			t.Errorf("client hello: %q %q", hello.ServerName, hello.SupportedProtos)
		}
		x := do(t, tr, request(t, "http://example.org/")) // plain text to a TLS server closes the kept connection first
		if x.Outcome == outcome.OK || n.worst > 1 {
			t.Errorf("%v, %d connections at once", x.Outcome, n.worst)
		}
		x.Close()
		tr.Close()
		n.serves.Wait()
	})
}

func TestTLSFailures(t *testing.T) {
	good := func(a *authority) *tls.Config { return a.server("example.org", time.Now().Add(time.Hour)) }
	for _, c := range []struct {
		name   string
		serve  func(a *authority) server
		roots  bool
		want   outcome.Outcome
		detail string
		within time.Duration
	}{
		{name: "expired", roots: true, want: outcome.TLSFailed, detail: "certificate is expired",
			serve: func(a *authority) server {
				return secured(a.server("example.org", time.Now().Add(-time.Hour)), answering(nextAnswer))
			}},
		{name: "wrong host", roots: true, want: outcome.TLSFailed, detail: "for another host",
			serve: func(a *authority) server {
				return secured(a.server("example.com", time.Now().Add(time.Hour)), answering(nextAnswer))
			}},
		{name: "unknown authority", want: outcome.TLSFailed, detail: "unknown authority",
			serve: func(a *authority) server { return secured(good(a), answering(nextAnswer)) }},
		{name: "TLS 1.1", roots: true, want: outcome.TLSFailed, detail: "protocol version",
			serve: func(a *authority) server {
				cfg := good(a)
				cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
				return secured(cfg, answering(nextAnswer))
			}},
		{name: "no TLS", roots: true, want: outcome.TLSFailed, detail: "does not speak TLS",
			serve: func(*authority) server { return closingRaw("HTTP/1.1 400 Bad Request\r\n\r\n") }},
		{name: "closes", roots: true, want: outcome.TLSFailed, detail: "closed the connection during the handshake",
			serve: func(*authority) server { return closingRaw("") }},
		{name: "stalls", roots: true, want: outcome.Timeout, detail: "TLS handshake not done within 10s", within: 10 * time.Second,
			serve: func(*authority) server { return func(c net.Conn) { io.Copy(io.Discard, c) } }},
		{name: "silent after the handshake", roots: true, want: outcome.Timeout, detail: "no answer within 20s", within: 20 * time.Second,
			serve: func(a *authority) server { return secured(good(a), stay("")) }},
		{name: "cut without a farewell", roots: true, want: outcome.Reset, detail: "after 4 of 9 bytes",
			serve: func(a *authority) server { return secured(good(a), closing(ok200+"Content-Length: 9\r\n\r\nfour")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				n := newNetwork(t, c.serve(a))
				opt := Options{Dial: n.dial, RootCAs: x509.NewCertPool()}
				if c.roots {
					opt.RootCAs = a.roots()
				}
				tr, err := New(opt)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				x := do(t, tr, request(t, "https://example.org/"))
				hostileCase{outcome: c.want, status: x.Status, body: content(t, x.Body), truncated: x.Truncated, detail: c.detail, within: c.within}.check(t, x, time.Since(start))
				x.Close()
				tr.Close()
				n.serves.Wait()
				if n.open["192.0.2.1"] != 0 {
					t.Error("connection left open")
				}
			})
		})
	}
}

// closingRaw takes some bytes, answers and closes.
func closingRaw(text string) server {
	return func(c net.Conn) {
		c.Read(make([]byte, 64<<10))
		io.WriteString(c, text)
	}
}
