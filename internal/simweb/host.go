package simweb

import (
	"fmt"
	"net/netip"
	"time"
)

// class is what a page is, given by the range its number lies in.
type class uint8

const (
	classPlain class = iota // the tree
	classNofollow
	classPrivate
	classError
	classFlaky
	classCut
	classRedirect
	classDup
	classNear
	classChanging
	classHidden // from here on no followable link leads to the page
	classOrphan
	numClasses
)

// host is one host name. Immutable after New.
type host struct {
	name                                                string
	authority                                           string // name, and port when it is not the default
	addr                                                netip.Addr
	content                                             int32 // the host whose pages it serves: itself, or its master
	mirror                                              int32 // the host that mirrors it, or -1
	rank                                                int32 // its place in Web.openHosts, or -1
	first                                               [numClasses + 1]int32
	robots                                              RobotsKind
	elsewhere                                           int32 // RobotsElsewhere: the host redirected to
	delay                                               time.Duration
	style                                               pathStyle
	limited, slow, traps, sitemap, gzip, chunked, close bool
}

// pages returns the number of pages.
func (h *host) pages() int32 { return h.first[numClasses] }

// count returns the number of pages of a class.
func (h *host) count(c class) int32 { return h.first[c+1] - h.first[c] }

// class returns the class of a page.
func (h *host) class(n int32) class {
	c := classPlain
	for n >= h.first[c+1] {
		c++
	}
	return c
}

// stepping reports whether the home page may be fetched under every agent name.
func (h *host) stepping() bool { return h.robots != RobotsDenyAll && h.robots != RobotsDown }

// makeHosts deals features and sizes to the hosts.
func (w *Web) makeHosts() {
	o := &w.opts
	w.hosts = make([]host, o.Hosts)
	w.byName = make(map[string]int32, o.Hosts)
	w.byAddr = make(map[netip.Addr]int32, o.Hosts)
	for i := range w.hosts {
		h := &w.hosts[i]
		h.name = fmt.Sprintf("h%d.sim%d.test", i, i/4)
		h.authority = h.name
		if o.Port != defaultPort(o.Scheme) {
			h.authority = fmt.Sprintf("%s:%d", h.name, o.Port)
		}
		h.addr = hostAddr(i, o.HostsPerAddr)
		h.content, h.mirror = int32(i), -1
		h.style = pathStyle(w.hash(saltPath, uint64(i), 0) % uint64(numStyles))
		w.byName[h.name] = int32(i)
		if _, ok := w.byAddr[h.addr]; !ok {
			w.byAddr[h.addr] = int32(i)
		}
	}
	w.dealRobots()
	w.dealFeatures()
	sizes := w.sizes()
	for i := range w.hosts {
		w.lay(int32(i), sizes[i])
	}
	w.dealMirrors()
	for i := range w.hosts {
		h := &w.hosts[i]
		if h.rank = -1; h.stepping() && h.content == int32(i) {
			h.rank = int32(len(w.openHosts))
			w.openHosts = append(w.openHosts, int32(i))
		} else {
			w.closedHosts = append(w.closedHosts, int32(i))
		}
	}
}

// hostAddr returns the address of the i-th host: 127.16.0.1 and up, clear of what else may listen.
func hostAddr(i, perAddr int) netip.Addr {
	if perAddr < 0 {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	n := i/perAddr + 1
	return netip.AddrFrom4([4]byte{127, byte(16 + n>>16), byte(n >> 8), byte(n)})
}

// shuffled returns the hosts in a random order, the first host last: it stays plain while others are left.
func (w *Web) shuffled(use uint64) []int32 {
	r := rng(w.hash(saltFeature, use, 0))
	list := make([]int32, 0, len(w.hosts))
	for i := 1; i < len(w.hosts); i++ {
		list = append(list, int32(i))
	}
	for i := len(list) - 1; i > 0; i-- {
		j := r.intn(i + 1)
		list[i], list[j] = list[j], list[i]
	}
	return append(list, 0)
}

// quota returns how many hosts a share means.
func (w *Web) quota(share float64) int {
	n := int(share*float64(len(w.hosts)) + 0.5)
	if n == 0 && share > 0 && len(w.hosts) > 1 {
		n = 1
	}
	return min(n, len(w.hosts))
}

// deal calls give for a share of the hosts.
func (w *Web) deal(use uint64, share float64, fits func(*host) bool, give func(int, *host)) {
	n := w.quota(share)
	for _, i := range w.shuffled(use) {
		if n == 0 {
			return
		}
		if h := &w.hosts[i]; fits == nil || fits(h) {
			give(int(i), h)
			n--
		}
	}
}

func (w *Web) dealRobots() {
	order := w.shuffled(1)
	for k, share := range w.opts.Robots.shares() {
		for n := w.quota(share); n > 0 && len(order) > 0; n-- {
			w.hosts[order[0]].robots = RobotsKind(k)
			order = order[1:]
		}
	}
	delays, target := 0, int32(0)
	for i := range w.hosts {
		switch h := &w.hosts[i]; h.robots {
		case RobotsDelay:
			h.delay = w.opts.CrawlDelay[delays%len(w.opts.CrawlDelay)]
			delays++
		case RobotsParts:
			target = int32(i)
		}
	}
	for i := range w.hosts {
		w.hosts[i].elsewhere = target
	}
}

func (w *Web) dealFeatures() {
	o := &w.opts
	w.deal(2, o.RateLimited, (*host).stepping, func(_ int, h *host) { h.limited = true })
	w.deal(3, o.Slow, (*host).stepping, func(_ int, h *host) { h.slow = true })
	w.deal(4, o.Traps, (*host).stepping, func(_ int, h *host) { h.traps = true })
	w.deal(5, o.Sitemaps, (*host).namesSitemap, func(_ int, h *host) { h.sitemap = true })
	w.deal(6, o.Gzip, nil, func(_ int, h *host) { h.gzip = true })
	w.deal(7, o.Chunked, nil, func(_ int, h *host) { h.chunked = true })
	w.deal(8, o.Close, nil, func(_ int, h *host) { h.close = true })
}

// namesSitemap reports whether the robots.txt has room for a Sitemap line.
func (h *host) namesSitemap() bool {
	switch h.robots {
	case RobotsAllow, RobotsParts, RobotsAgent, RobotsDelay, RobotsFlaky, RobotsMoved, RobotsSlow:
		return true
	}
	return false
}

// sizes divides the pages: the i-th host gets a share near 1/(i+1).
func (w *Web) sizes() []float64 {
	o := &w.opts
	sizes := make([]float64, len(w.hosts))
	sum := 0.0
	for i := range sizes {
		sizes[i] = 1
		if !o.EqualHosts {
			sizes[i] = 1 / float64(i+1)
		}
		sum += sizes[i]
	}
	scale := float64(o.Pages) / sum
	if o.DominantShare > 0 && len(sizes) > 1 {
		scale = float64(o.Pages) * (1 - o.DominantShare) / (sum - sizes[0])
		sizes[0] = float64(o.Pages) * o.DominantShare / scale
	}
	for i := range sizes {
		sizes[i] = max(1, sizes[i]*scale)
	}
	return sizes
}

// lay cuts the pages of a host into classes. Fractions of a page become whole by chance, so that small hosts
// have their part of everything.
func (w *Web) lay(i int32, size float64) {
	o, h := &w.opts, &w.hosts[i]
	share := [numClasses]float64{classNofollow: o.Nofollow, classError: o.Errors, classFlaky: o.Flaky, classCut: o.Cut,
		classRedirect: o.Redirects, classDup: o.Duplicates, classNear: o.NearDuplicates, classChanging: o.Changing,
		classHidden: o.Hidden}
	if h.hasPrivate() {
		share[classPrivate] = o.Private
	}
	if h.sitemap {
		share[classOrphan] = o.SitemapOnly
	}
	var count [numClasses]int32
	total := int32(size + unit(w.hash(saltClass, uint64(i), 0)))
	plain := max(1, total)
	for c := classNofollow; c < numClasses; c++ {
		n := int32(share[c]*float64(total) + unit(w.hash(saltClass, uint64(i), uint64(c))))
		count[c] = min(n, plain-1)
		plain -= count[c]
	}
	count[classPlain] = plain
	for c, n := range count {
		h.first[c+1] = h.first[c] + n
	}
}

// hasPrivate reports whether robots.txt has rules for some paths.
func (h *host) hasPrivate() bool {
	switch h.robots {
	case RobotsParts, RobotsAgent, RobotsFlaky, RobotsMoved, RobotsElsewhere, RobotsSlow:
		return true
	}
	return false
}

// dealMirrors turns some hosts into mirrors of larger ones. A mirror serves plain pages only, so robots.txt
// bars none of them on either side, and no trap, since a mirrored page must not depend on who serves it.
func (w *Web) dealMirrors() {
	fits := func(h *host) bool {
		return (h.robots == RobotsAllow || h.robots == RobotsNone) && !h.traps && !h.sitemap && w.master(h) >= 0
	}
	w.deal(9, w.opts.Mirrors, fits, func(i int, h *host) {
		m := w.master(h)
		master := &w.hosts[m]
		master.mirror, h.content, h.style = int32(i), m, master.style
		n := min(h.pages(), master.count(classPlain))
		h.first = [numClasses + 1]int32{}
		for c := range numClasses {
			h.first[c+1] = n
		}
	})
}

// master returns the host that h could mirror, or -1: the first larger one still without a mirror.
func (w *Web) master(h *host) int32 {
	if h.mirror >= 0 {
		return -1
	}
	for i := range w.hosts {
		m := &w.hosts[i]
		if m == h {
			break
		}
		if m.stepping() && m.mirror < 0 && m.content == int32(i) {
			return int32(i)
		}
	}
	return -1
}
