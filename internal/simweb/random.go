package simweb

import "math"

// salt keeps the uses of randomness apart.
type salt uint64

const (
	saltHosts salt = iota + 1
	saltText
	saltPath
	saltClass
	saltLinks
	saltSize
	saltBody
	saltForm
	saltStatus
	saltLatency
	saltTrap
	saltFeature
)

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash returns the random number of a place in the web.
func (w *Web) hash(s salt, a, b uint64) uint64 {
	return mix(mix(mix(w.opts.Seed^uint64(s)<<56)^a) ^ b)
}

// pageHash is hash for a page.
func (w *Web) pageHash(s salt, host, n int32) uint64 { return w.hash(s, uint64(host), uint64(n)) }

// rng is a stream of random numbers; the value is its state.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// intn returns a number in [0, n).
func (r *rng) intn(n int) int { return int((r.next() >> 32) * uint64(n) >> 32) }

// unit maps a hash to [0, 1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// logNormal maps a hash to a log-normal variate with median 1 and the given sigma (Box-Muller).
func logNormal(x uint64, sigma float64) float64 {
	u, v := unit(x), unit(mix(x))
	return math.Exp(sigma * math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v))
}

// zipf maps u in [0, 1) to a rank below n, rank k with probability near 1/k.
func zipf(u float64, n int) int {
	return min(int(math.Pow(float64(n)+1, u))-1, n-1)
}
