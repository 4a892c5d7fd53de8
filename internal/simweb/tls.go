package simweb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"
)

// tlsOnce makes the certificate authority of an https web when it is first needed.
type tlsOnce struct {
	once sync.Once
	ca   *x509.Certificate
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // guarded by mu; by host name
}

// CertPool returns the authority that signs the certificates of an https web.
func (w *Web) CertPool() *x509.CertPool {
	w.tls.once.Do(w.tls.init)
	pool := x509.NewCertPool()
	pool.AddCert(w.tls.ca)
	return pool
}

func (w *Web) tlsConfig() *tls.Config {
	w.tls.once.Do(w.tls.init)
	return &tls.Config{GetCertificate: w.tls.leaf, MinVersion: tls.VersionTLS12}
}

// init makes the authority. A failure of the system's random source or of our own template is a panic.
func (t *tlsOnce) init() {
	var err error
	if t.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		panic(err)
	}
	t.leaves = map[string]*tls.Certificate{}
	t.ca = certTemplate("simweb")
	t.ca.IsCA, t.ca.BasicConstraintsValid, t.ca.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t.ca, t.ca, &t.key.PublicKey, t.key)
	if err != nil {
		panic(err)
	}
	if t.ca, err = x509.ParseCertificate(der); err != nil {
		panic(err)
	}
}

// certTemplate is valid in real time and in synctest's, which begins in 2000.
func certTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// leaf returns the certificate of the host a client names.
func (t *tlsOnce) leaf(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.leaves[hello.ServerName]; c != nil {
		return c, nil
	}
	template := certTemplate(hello.ServerName)
	template.DNSNames = []string{hello.ServerName}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, t.ca, &t.key.PublicKey, t.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: t.key}
	t.leaves[hello.ServerName] = c
	return c, nil
}
