//go:build unix

package urlseen

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"decorum/internal/store"
)

// The benchmarks know BENCH_KEYS URLs (default 1 M; the bar of X-12 is at 20000000) on hosts of 40 URLs, in a
// folder of the operating system:
//
//	BENCH_KEYS=20000000 go test -run XXX -bench 'Checks|Known' -cpu 1 ./internal/urlseen

const benchURLs = 40 // per host

func benchKeys() int {
	if n, err := strconv.Atoi(os.Getenv("BENCH_KEYS")); err == nil {
		return n
	}
	return 1_000_000
}

// filled returns a sieve that knows benchKeys, settled.
func filled(b *testing.B) (*bed, *rand.Rand) {
	bd := newBed(b, Options{FS: prefixed(b)})
	r := rand.New(rand.NewPCG(11, 12))
	for n := 0; n < benchKeys(); {
		keys := hostKeys(r, 2500, benchURLs, 64)
		bd.step(keys...)
		n += len(keys)
	}
	bd.settle()
	return bd, r
}

// prefixed is the operating system's file layer beneath a temporary folder.
func prefixed(b *testing.B) store.FS {
	b.Chdir(b.TempDir())
	return store.OS()
}

// knownKeys samples URLs that the sieve knows, from all partitions.
func knownKeys(b *testing.B, s *Sieve, r *rand.Rand, n int) []Key {
	var keys []Key
	err := merge(context.Background(), s.runs, func(e entry) {
		if k := (Key{e.partition(), e.fingerprint()}); len(keys) < n {
			keys = append(keys, k)
		} else if at := r.IntN(int(s.Known())); at < n {
			keys[at] = k
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// BenchmarkChecks measures a check, as batches of links arrive: links to known URLs at random, to new ones on
// new hosts, and half of each. New ones are committed too, to the store.
func BenchmarkChecks(b *testing.B) {
	bd, r := filled(b)
	defer bd.close()
	known := knownKeys(b, bd.s, r, 1<<20)
	b.Logf("%+v", bd.s.Stats())
	for _, mix := range []struct {
		name  string
		fresh int // of 2
	}{{"known", 0}, {"half", 1}, {"new", 2}} {
		for _, size := range []int{1000, 10_000, 100_000, 1_000_000} {
			b.Run(mix.name+"/batch="+strconv.Itoa(size), func(b *testing.B) {
				keys := make([]Key, size)
				checks := 0
				var cpu time.Duration
				for b.Loop() {
					for i := range keys {
						if i%2 < mix.fresh {
							keys[i] = randomKey(r, 64)
						} else {
							keys[i] = known[r.IntN(len(known))]
						}
					}
					batch := bd.db.NewBatch()
					before := cpuTime(b)
					if _, err := bd.s.Step(batch, keys); err != nil {
						b.Fatal(err)
					}
					cpu += cpuTime(b) - before
					batch.Discard() // so that the set stays as large as it says
					checks += size
				}
				b.ReportMetric(float64(cpu.Nanoseconds())/float64(checks), "cpu-ns/check")
				b.ReportMetric(float64(checks)/cpu.Seconds()/1e6, "Mchecks/cpu-s")
			})
		}
	}
}

// cpuTime is the processor time of this process, which other load on the machine changes less than the clock's.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkGrow measures what a new URL costs in all: step, commit, flushes and merges, next to a store
// with a key per URL.
func BenchmarkGrow(b *testing.B) {
	b.Run("sieve", func(b *testing.B) {
		bd := newBed(b, Options{FS: prefixed(b)})
		r := rand.New(rand.NewPCG(11, 12))
		urls := 0
		for b.Loop() {
			b.StopTimer()
			keys := hostKeys(r, 250, benchURLs, 64)
			b.StartTimer()
			bd.step(keys...)
			urls += len(keys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(urls), "ns/url")
		bd.settle()
		b.ReportMetric(bd.s.Stats().BytesPerURL, "bytes/url")
		bd.close()
	})
	b.Run("store", func(b *testing.B) {
		db, err := store.Open(store.Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		r := rand.New(rand.NewPCG(11, 12))
		urls := 0
		for b.Loop() {
			b.StopTimer()
			keys := hostKeys(r, 250, benchURLs, 64)
			b.StartTimer()
			if err := getAndSet(db, keys); err != nil {
				b.Fatal(err)
			}
			urls += len(keys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(urls), "ns/url")
		b.ReportMetric(float64(db.Size())/float64(urls), "bytes/url")
	})
}

// getAndSet is the seen-set as a plain table.
func getAndSet(db *store.DB, keys []Key) error {
	batch := db.NewBatch()
	defer batch.Discard()
	for _, k := range keys {
		sk := store.Key{Partition: k.Partition, Space: store.Seen, ID: k.FP[:]}
		ok, err := db.Has(sk)
		if err != nil {
			return err
		}
		if !ok {
			batch.Set(sk, nil)
		}
	}
	return batch.Commit(false)
}

// BenchmarkOpen measures the start of a crawl with its URLs known; filters follow in the background.
func BenchmarkOpen(b *testing.B) {
	bd, _ := filled(b)
	for b.Loop() {
		if err := bd.s.Close(); err != nil {
			b.Fatal(err)
		}
		o := bd.opts
		o.DB, o.FS, o.Dir = bd.db, bd.fs, "sieve"
		s, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		bd.s = s
	}
	if err := errors.Join(bd.s.Close(), bd.db.Close()); err != nil {
		b.Fatal(err)
	}
}
