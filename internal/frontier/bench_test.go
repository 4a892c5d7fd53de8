package frontier

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// benchItems returns n links as pages have them: 40 per page, a third of them to other hosts.
func benchItems(b testing.TB, n, hosts int) []Item {
	hasher := weburl.NewHasher([16]byte{1}, weburl.KeyRules{})
	items := make([]Item, n)
	for i := range items {
		page := i / 40
		host := page % hosts
		if i%3 == 0 {
			host = i * 7919 % hosts
		}
		it := item(b, fmt.Sprintf("http://www.host%d.example/section/%d/article-%d.html", host, page, i))
		it.FP = hasher.Fingerprint(it.URL)
		it.Depth, it.Hops, it.Anchor = uint16(i%5), "LL", "the anchor text of it"
		it.Parent = fmt.Sprintf("http://www.host%d.example/section/%d/", page%hosts, page)
		items[i] = it
	}
	return items
}

func benchOpen(b testing.TB, o Options) *rig {
	r := newRig(b, o)
	r.fs = store.Memory()
	r.open()
	return r
}

func perSecond(b *testing.B, n int) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "urls/s")
}

// BenchmarkAdd measures URLs into the front queues, commit included, in batches of 10,000.
func BenchmarkAdd(b *testing.B) {
	items := benchItems(b, 10_000, 1000)
	r := benchOpen(b, Options{})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		batch := r.db.NewBatch()
		if err := r.f.Add(batch, items); err != nil {
			b.Fatal(err)
		}
		if err := batch.Commit(false); err != nil {
			b.Fatal(err)
		}
		r.f.Applied(0)
		n += len(items)
	}
	perSecond(b, n)
}

// BenchmarkOut measures URLs out: refill, window, lease, done, settle and commit (without fsync), with fast
// hosts and workers that do nothing.
func BenchmarkOut(b *testing.B) {
	for _, hosts := range []int{10, 1000, 20_000} {
		b.Run(fmt.Sprint("hosts=", hosts), func(b *testing.B) { benchOut(b, hosts) })
	}
}

func benchOut(b *testing.B, hosts int) {
	const total = 200_000
	items := benchItems(b, total, hosts)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		r := benchOpen(b, Options{Workers: 16, Fast: func(string) bool { return true }})
		batch := r.db.NewBatch()
		if err := r.f.Add(batch, items); err != nil {
			b.Fatal(err)
		}
		if err := batch.Commit(false); err != nil {
			b.Fatal(err)
		}
		r.f.Applied(0)
		b.StartTimer()
		n += r.drive(b)
	}
	perSecond(b, n)
}

// drive crawls to the end with workers that do nothing.
func (r *rig) drive(b testing.TB) (n int) {
	run, cancel := context.WithCancel(context.Background())
	var workers, stepper sync.WaitGroup
	stepper.Go(func() { _ = r.f.Run(run) })
	stepper.Go(func() {
		for {
			w, err := r.f.Collect(context.Background())
			if err != nil {
				return
			}
			n += len(w.Finished)
			batch := r.db.NewBatch()
			if err := r.f.Settle(batch, w); err != nil {
				b.Error(err)
			}
			if _, err := r.f.Refill(batch); err != nil {
				b.Error(err)
			}
			if err := batch.Commit(false); err != nil {
				b.Error(err)
			}
			r.f.Applied(0)
		}
	})
	for range r.f.opt.Workers {
		workers.Go(func() {
			v := &visitOf{Exchange{Outcome: outcome.OK, Contact: true}}
			for {
				l, err := r.f.Next(run)
				if err != nil {
					return
				}
				r.f.Done(l, v)
			}
		})
	}
	workers.Wait()
	cancel()
	stepper.Wait()
	return n
}

// BenchmarkRefill measures one Refill that moves refillScan URLs.
func BenchmarkRefill(b *testing.B) {
	items := benchItems(b, 100_000, 5000)
	r := benchOpen(b, Options{Backs: 1 << 30})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		batch := r.db.NewBatch()
		if r.f.step.front.waiting() < refillScan {
			b.StopTimer()
			if err := r.f.Add(batch, items); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		r.f.step.census.overflow() // always search
		before := r.f.step.ready
		if _, err := r.f.Refill(batch); err != nil {
			b.Fatal(err)
		}
		if err := batch.Commit(false); err != nil {
			b.Fatal(err)
		}
		r.f.Applied(0)
		n += int(r.f.step.ready - before)
	}
	perSecond(b, n)
}

// BenchmarkSchedule measures lease, done and rest of one contact with 100,000 hosts in the heap.
func BenchmarkSchedule(b *testing.B) {
	const hosts = 100_000
	o := Options{Floor: time.Second, Workers: 1}
	o.EnsureDefaults()
	o.MaxUncommitted = 1 << 60
	s := newScheduler(&o, time.Time{})
	now := time.Now()
	for i := range hosts {
		q := newBack(fmt.Sprintf("www.host%d.example", i), 0)
		s.grant(&grant{back: q, backlog: 1 << 40, items: []queued{{1, Item{}}, {2, Item{}}, {3, Item{}}, {4, Item{}}}}, now)
	}
	v := &visitOf{Exchange{Outcome: outcome.RateLimited, Contact: true}} // the URL stays
	o.Retries, o.HostGiveUp = 1<<40, -1
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		s.advance(now)
		l, ch := s.offer(make(chan Lease))
		if ch == nil {
			now = s.heap[0].at
			continue
		}
		s.lease(l, now)
		v.x.Start, v.x.End = now, now
		s.done(Finished{Lease: l, Visit: v}, now)
		s.finished = s.finished[:0]
	}
}

// BenchmarkSnapshot measures a snapshot with rows while 100,000 hosts are in memory: the scheduler stands
// still for that long.
func BenchmarkSnapshot(b *testing.B) {
	o := Options{}
	o.EnsureDefaults()
	s := newScheduler(&o, time.Time{})
	for i := range 100_000 {
		q := newBack(fmt.Sprintf("www.host%d.example", i), 0)
		s.grant(&grant{back: q, backlog: uint64(i * 7919 % 1000), items: []queued{{1, Item{}}}}, time.Now())
	}
	b.ReportAllocs()
	for b.Loop() {
		if sn := s.snapshot(20); len(sn.Rows) != 20 {
			b.Fatal(len(sn.Rows))
		}
	}
}

func BenchmarkEncodeItems(b *testing.B) {
	items := benchItems(b, chunkItems, 1000)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = EncodeItems(buf[:0], items)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportMetric(float64(len(buf))/chunkItems, "bytes/url")
}

func BenchmarkDecodeItems(b *testing.B) {
	buf := EncodeItems(nil, benchItems(b, chunkItems, 1000))
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeItems(buf); err != nil {
			b.Fatal(err)
		}
	}
}
