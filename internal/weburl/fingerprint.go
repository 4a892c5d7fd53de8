package weburl

import (
	"encoding/binary"

	"github.com/dchest/siphash"
)

// Fingerprint identifies a URL in the seen-set: a keyed 64-bit hash of the host, then a keyed 64-bit
// hash of the key form, big-endian, so that the order of bytes groups the URLs of a host.
type Fingerprint [16]byte

// Hasher makes fingerprints under the crawl's secret (SipHash-2-4, Aumasson and Bernstein 2012), so that a
// hostile site cannot make its URLs collide with another's. Safe for concurrent use.
type Hasher struct {
	k0, k1 uint64
	rules  KeyRules
}

// NewHasher returns a hasher with a 16-byte secret and the rules of the key form.
func NewHasher(secret [16]byte, rules KeyRules) *Hasher {
	return &Hasher{
		k0:    binary.LittleEndian.Uint64(secret[:8]),
		k1:    binary.LittleEndian.Uint64(secret[8:]),
		rules: rules,
	}
}

// Fingerprint returns the fingerprint of u's key form. It allocates only for keys beyond typicalLength.
func (h *Hasher) Fingerprint(u URL) (f Fingerprint) {
	if u.IsZero() {
		return f
	}
	var buf [typicalLength]byte
	key := u.appendKey(buf[:0], h.rules)
	host := key[len(u.Scheme())+len("://"):][:u.hostEnd-u.hostStart]
	binary.BigEndian.PutUint64(f[:8], siphash.Hash(h.k0, h.k1, host))
	binary.BigEndian.PutUint64(f[8:], siphash.Hash(h.k0, h.k1, key))
	return f
}

// HostHash returns the keyed hash of a host name: the first half of its URLs' fingerprints.
func (h *Hasher) HostHash(host string) uint64 {
	var buf [typicalLength]byte
	return siphash.Hash(h.k0, h.k1, append(buf[:0], host...))
}
