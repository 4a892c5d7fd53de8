package node

import (
	"context"
	"testing"

	"decorum/internal/simweb"
)

// BenchmarkCrawl is a whole crawl of pages of 37 KB with 40 links over an in-memory network: the pipeline without the
// kernel's share. One operation is one page. Profile it with -cpuprofile; compare whole crawls with bench/floor.
func BenchmarkCrawl(b *testing.B) {
	o := simweb.Plain()
	o.Hosts, o.Pages, o.PageBytes, o.Uniform, o.LinksPerPage, o.EqualHosts = 20, 100+b.N, 37<<10, true, 40, true
	o.LogLimit = 1
	s := newSim(b, o)
	s.cfg.Delay, s.cfg.MaxPages = 0, uint64(b.N)
	n := s.open()
	defer n.Close()
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := n.Run(context.Background(), context.Background()); err != nil {
		b.Fatal(err)
	}
}
