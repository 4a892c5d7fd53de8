package urlseen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"decorum/internal/weburl"
)

// model is a policy written for clarity.
type model interface {
	seen(fp weburl.Fingerprint) bool
}

// lruModel keeps fingerprints newest first.
type lruModel struct {
	limit int
	fps   []weburl.Fingerprint
}

func (m *lruModel) seen(fp weburl.Fingerprint) bool {
	i := slices.Index(m.fps, fp)
	if i >= 0 {
		m.fps = slices.Delete(m.fps, i, i+1)
	} else if len(m.fps) == m.limit {
		m.fps = m.fps[:m.limit-1]
	}
	m.fps = slices.Insert(m.fps, 0, fp)
	return i >= 0
}

// clockModel keeps fingerprints as a queue with second chances.
type clockModel struct {
	limit int
	fps   []weburl.Fingerprint
	used  map[weburl.Fingerprint]bool
}

func (m *clockModel) seen(fp weburl.Fingerprint) bool {
	if slices.Contains(m.fps, fp) {
		m.used[fp] = true
		return true
	}
	for len(m.fps) == m.limit {
		first := m.fps[0]
		m.fps = m.fps[1:]
		if m.used[first] {
			m.used[first] = false
			m.fps = append(m.fps, first)
		}
	}
	m.fps = append(m.fps, fp)
	return false
}

// setModel remembers all, or the members of a set.
type setModel struct {
	only map[weburl.Fingerprint]bool
	came map[weburl.Fingerprint]bool
}

func (m *setModel) seen(fp weburl.Fingerprint) bool {
	if m.only != nil && !m.only[fp] {
		return false
	}
	came := m.came[fp]
	m.came[fp] = true
	return came
}

func TestPoliciesMatchTheirModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "entries")
		fp := func(i int) weburl.Fingerprint { return key(0, i%7, i).FP }
		only := map[weburl.Fingerprint]bool{fp(1): true, fp(2): true, fp(9): true}
		pairs := map[Policy]model{
			CLOCK:    &clockModel{limit: n, used: map[weburl.Fingerprint]bool{}},
			LRU:      &lruModel{limit: n},
			Static:   &setModel{only: only, came: map[weburl.Fingerprint]bool{}},
			Infinite: &setModel{came: map[weburl.Fingerprint]bool{}},
			Off:      &setModel{only: map[weburl.Fingerprint]bool{}},
		}
		caches := map[Policy]*Cache{}
		for p := range pairs {
			caches[p] = NewCache(CacheOptions{Policy: p, Entries: n, PerHost: -1, Static: []weburl.Fingerprint{fp(1), fp(2), fp(9), fp(1)}})
		}
		for i, u := range rapid.SliceOfN(rapid.IntRange(0, 30), 1, 300).Draw(t, "links") {
			for p, m := range pairs {
				if got, want := caches[p].Seen(fp(u)), m.seen(fp(u)); got != want {
					t.Fatalf("%v: link %d (%d): %v, want %v", p, i, u, got, want)
				}
			}
		}
	})
}

// Whatever the policy, a cache never says "seen" of a URL that was not given before.
func TestCacheIsNeverWrong(t *testing.T) {
	for p := CLOCK; p <= Off; p++ {
		t.Run(p.String(), func(t *testing.T) {
			static := []weburl.Fingerprint{key(0, 1, 1).FP, key(0, 2, 2).FP}
			c := NewCache(CacheOptions{Policy: p, Entries: 100, PerHost: 8, Hosts: 4, Static: static})
			given := map[weburl.Fingerprint]bool{}
			r := rand.New(rand.NewPCG(uint64(p), 1))
			z := rand.NewZipf(r, 1.1, 1, 3000)
			var hits uint64
			for range 20000 {
				u := int(z.Uint64())
				fp := key(0, u%40, u).FP
				if c.Seen(fp) {
					hits++
					if !given[fp] {
						t.Fatal("a new URL was taken for seen")
					}
				}
				given[fp] = true
			}
			if h, m := c.Counters(); h != hits || h+m != 20000 {
				t.Errorf("Counters = %d, %d; want %d hits of 20000", h, m, hits)
			}
			if (p == Off) != (hits == 0) {
				t.Errorf("%d hits", hits)
			}
		})
	}
}

// A site's navigation is remembered by its host cache however many other URLs pass through the global one.
func TestHostCacheKeepsNavigation(t *testing.T) {
	c := NewCache(CacheOptions{Entries: 64, PerHost: 64, Hosts: 16})
	nav := func() (seen int) {
		for i := range 16 {
			if c.Seen(key(0, 1, i+1).FP) {
				seen++
			}
		}
		return seen
	}
	nav()
	for i := range 5000 {
		c.Seen(key(0, 2+i%3, 100+i).FP)
		if i%100 == 0 && nav() < 14 {
			t.Fatal("navigation was forgotten while its host was active")
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for p := CLOCK; p <= Off; p++ {
		if got, err := ParsePolicy(p.String()); got != p || err != nil {
			t.Errorf("ParsePolicy(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := ParsePolicy("fifo"); err == nil {
		t.Error("an unknown policy was read")
	}
}

func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	c := NewCache(CacheOptions{Policy: Infinite})
	var wg sync.WaitGroup
	var fresh [4]int
	for w := range fresh {
		wg.Go(func() {
			for i := range 5000 {
				if !c.Seen(key(0, i%10, i+1).FP) {
					fresh[w]++
				}
			}
		})
	}
	wg.Wait()
	if n := fresh[0] + fresh[1] + fresh[2] + fresh[3]; n != 5000 {
		t.Errorf("%d URLs were new to someone, want each once: 5000", n)
	}
}

// linkStream imitates the links of a crawl: pages of 40 links, whose host is due at random; of a page's links 60 % are its
// site's navigation, 20 % other pages of the site and 20 % pages of other sites, both by popularity: Zipf with exponents
// near the 1.1 that the in-degrees of the web suggest (Broder et al. 2000).
func linkStream(seed uint64, hosts int) func() weburl.Fingerprint {
	r := rand.New(rand.NewPCG(seed, 0))
	site := rand.NewZipf(r, 1.1, 1, 5000)
	web := rand.NewZipf(r, 1.1, 1, 10_000_000)
	links, host := 0, 0
	return func() weburl.Fingerprint {
		if links%40 == 0 {
			host = r.IntN(hosts) + 1
		}
		links++
		switch x := r.Float64(); {
		case x < 0.60:
			return key(0, host, 1+r.IntN(25)).FP
		case x < 0.80:
			return key(0, host, 100+int(site.Uint64())).FP
		default:
			u := int(web.Uint64())
			return key(0, 1<<20+u%100003, u+1).FP
		}
	}
}

// S1-27: at the recommended size the cache answers at least four links of five, so the sieve is asked for one of five.
func TestHitRate(t *testing.T) {
	const links = 2_000_000
	c := NewCache(CacheOptions{})
	next := linkStream(1, 1000)
	for range links {
		c.Seen(next())
	}
	hits, misses := c.Counters()
	t.Logf("%.1f %% of %d links", 100*float64(hits)/links, links)
	if float64(hits) < 0.8*float64(hits+misses) {
		t.Errorf("%d hits of %d links, want 80 %%", hits, links)
	}
}

func BenchmarkCacheSeen(b *testing.B) {
	fps := make([]weburl.Fingerprint, 1<<20)
	next := linkStream(2, 1000)
	for i := range fps {
		fps[i] = next()
	}
	for _, p := range []Policy{CLOCK, LRU, Random, Infinite} {
		b.Run(p.String(), func(b *testing.B) {
			c := NewCache(CacheOptions{Policy: p})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.Seen(fps[i&(len(fps)-1)])
			}
			hits, misses := c.Counters()
			b.ReportMetric(100*float64(hits)/float64(hits+misses), "%hits")
		})
	}
}

// The plot of S1-29: hit rate by policy and size.
func BenchmarkHitRate(b *testing.B) {
	for _, entries := range []int{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18} {
		for _, p := range []Policy{CLOCK, LRU, Random, Infinite} {
			for _, perHost := range []int{-1, 128} {
				b.Run(fmt.Sprintf("%v/entries=%d/perhost=%d", p, entries, perHost), func(b *testing.B) {
					c := NewCache(CacheOptions{Policy: p, Entries: entries, PerHost: perHost})
					next := linkStream(3, 1000)
					for b.Loop() {
						c.Seen(next())
					}
					hits, misses := c.Counters()
					b.ReportMetric(100*float64(hits)/float64(hits+misses), "%hits")
				})
			}
		}
	}
}
