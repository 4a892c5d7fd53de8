package simweb

import (
	"math"
	"strconv"
	"strings"
)

// pathStyle is how a host writes the paths of its pages.
type pathStyle uint8

const (
	styleFile  pathStyle = iota // /section/slug-id.html
	styleDir                    // /section/slug-id/
	styleQuery                  // /index.php?page=id&lang=en
	styleUser                   // /~section/slug-id
	numStyles
)

// fanOut is the number of children of a page in its host's tree, and of a host in the tree of hosts.
const fanOut = 6

// Paths which robots.txt files speak of.
const (
	privatePath = "/private/"
	openPath    = "/private/open/"
	draftPrefix = "draft-"
	tempPath    = "/yoursite/temp/" // of the example of IIR 20.2.1
)

// pageURL returns the canonical URL of a page.
func (w *Web) pageURL(p page) string {
	var room [128]byte
	return string(w.appendPath(w.appendOrigin(room[:0], p.host), p))
}

// appendOrigin appends scheme, host and port.
func (w *Web) appendOrigin(b []byte, h int32) []byte {
	b = append(b, w.opts.Scheme...)
	b = append(b, "://"...)
	return append(b, w.hosts[h].authority...)
}

// appendPath appends the canonical path of a page, with its query if it has one.
func (w *Web) appendPath(b []byte, p page) []byte {
	h := &w.hosts[p.host]
	if p.n == 0 {
		return append(b, '/')
	}
	x := w.pageHash(saltPath, h.content, p.n)
	section, slug := w.pathWord(x), w.pathWord(x>>16)
	if h.class(p.n) == classPrivate {
		b = append(b, w.privatePrefix(h, x)...)
		if b[len(b)-1] != '-' {
			b = append(append(append(b, section...), '-'), slug...)
		} else {
			b = append(b, slug...)
		}
		return append(appendID(b, p.n), ".html"...)
	}
	switch h.style {
	case styleQuery:
		b = append(b, "/index.php?page="...)
		return append(strconv.AppendInt(b, int64(p.n), 36), "&lang=en"...)
	case styleUser:
		b = append(b, "/~"...)
	default:
		b = append(b, '/')
	}
	b = append(append(append(b, section...), '/'), slug...)
	b = appendID(b, p.n)
	switch h.style {
	case styleFile:
		b = append(b, ".html"...)
	case styleDir:
		b = append(b, '/')
	}
	return b
}

// privatePrefix returns the beginning of a private page's path: barred, excepted, or barred by a wildcard.
func (w *Web) privatePrefix(h *host, x uint64) string {
	switch {
	case h.robots == RobotsAgent:
		return tempPath
	case x>>40%4 == 0:
		return openPath
	case x>>40%4 == 1:
		return "/notes/" + draftPrefix
	}
	return privatePath
}

// pathWord returns one of the common words.
func (w *Web) pathWord(x uint64) string { return w.text.words[64+x%512] }

func appendID(b []byte, n int32) []byte {
	return strconv.AppendInt(append(b, '-'), int64(n), 36)
}

// lookup returns the page of a canonical path.
func (w *Web) lookup(h int32, path string) (page, bool) {
	if path == "/" {
		return page{h, 0}, true
	}
	id := path
	if q, ok := strings.CutPrefix(path, "/index.php?page="); ok {
		id, _, _ = strings.Cut(q, "&")
	} else {
		id = strings.TrimSuffix(strings.TrimSuffix(id, "/"), ".html")
		id = id[strings.LastIndexByte(id, '-')+1:]
	}
	n, err := strconv.ParseInt(id, 36, 32)
	if err != nil || n <= 0 || n >= int64(w.hosts[h].pages()) {
		return page{}, false
	}
	p := page{h, int32(n)}
	var room [128]byte
	return p, string(w.appendPath(room[:0], p)) == path
}

// link is one link of a page.
type link struct {
	to       page
	trap     uint64 // not 0: into a trap instead
	form     linkForm
	nofollow bool
	spell    uint64 // not 0: an unusual spelling of the URL, chosen by these bits
}

type linkForm uint8

const (
	formNav linkForm = iota
	formAnchor
	formArea
	formFrame
)

// spread returns which of count things belong to the i-th of n places when they are spread evenly:
// thing s belongs to place s*n/count, so place i has those from ceil(i*count/n) on.
func spread(i, n, count int32) (from, to int32) {
	at := func(i int32) int32 { return int32((int64(i)*int64(count) + int64(n) - 1) / int64(n)) }
	return at(i), at(i + 1)
}

// place is the inverse of spread.
func place(s, n, count int32) int32 { return int32(int64(s) * int64(n) / int64(count)) }

// original returns the plain page that a page has the body of: itself unless it is a duplicate.
func (h *host) original(n int32) int32 {
	for _, c := range [...]class{classDup, classNear} {
		if n >= h.first[c] && n < h.first[c+1] {
			return place(n-h.first[c], h.first[1], h.count(c))
		}
	}
	return n
}

// copied reports whether a plain page has duplicates or near-duplicates on its host.
func (h *host) copied(n int32) bool {
	for _, c := range [...]class{classDup, classNear} {
		if k := h.count(c); k > 0 && n < h.first[1] {
			if from, to := spread(n, h.first[1], k); from < to {
				return true
			}
		}
	}
	return false
}

// links appends the links of the page n with a body of its own on the host c (not a mirror, not a duplicate).
func (w *Web) links(list []link, c, n int32) []link {
	h := &w.hosts[c]
	start := len(list)
	list = append(list, link{to: page{c, 0}, form: formNav})
	if n < h.first[1] {
		list = w.treeLinks(list, c, n)
	}
	list = w.randomLinks(list, c, n, w.opts.LinksPerPage-(len(list)-start))
	if h.class(n) == classNofollow && w.nofollowWay(c, n) == nofollowRel {
		for i := start; i < len(list); i++ {
			list[i].nofollow = true
		}
	}
	return list
}

// treeLinks appends what makes every page reachable: children, special pages, the mirror, hosts, traps.
func (w *Web) treeLinks(list []link, c, n int32) []link {
	h := &w.hosts[c]
	plain := h.first[1]
	add := func(host, n int32, nofollow bool) {
		l := link{to: page{host, n}, form: formAnchor, nofollow: nofollow}
		if x := w.hash(saltForm, uint64(c)<<32|uint64(n), uint64(len(list))); unit(x) < w.opts.Messy {
			l.spell = mix(x) | 1
		}
		list = append(list, l)
	}
	for k := int64(n)*fanOut + 1; k <= int64(n)*fanOut+fanOut && k < int64(plain); k++ {
		add(c, int32(k), false)
	}
	from, to := spread(n, plain, h.first[classHidden]-plain)
	for s := from; s < to; s++ {
		add(c, plain+s, false)
	}
	from, to = spread(n, plain, h.count(classHidden))
	for s := from; s < to; s++ {
		add(c, h.first[classHidden]+s, true)
	}
	if h.mirror >= 0 && n < w.hosts[h.mirror].pages() {
		add(h.mirror, n, false)
	}
	if n == 0 {
		for _, k := range w.childHosts(c) {
			add(k, 0, false)
		}
	}
	if h.traps && (n == 0 || n%16 == 3) {
		list = append(list, link{to: page{c, 0}, trap: w.pageHash(saltTrap, c, n) | 1, form: formAnchor})
	}
	return list
}

// childHosts returns the hosts below c in the tree of hosts: open hosts in order of rank form a tree behind
// the seeds, closed ones are spread over them.
func (w *Web) childHosts(c int32) []int32 {
	rank := w.hosts[c].rank
	if rank < 0 {
		return nil
	}
	var list []int32
	seeds := int64(min(w.opts.SeedHosts, len(w.openHosts)))
	for k := seeds + int64(rank)*fanOut; k < seeds+int64(rank+1)*fanOut && k < int64(len(w.openHosts)); k++ {
		list = append(list, w.openHosts[k])
	}
	from, to := spread(rank, int32(len(w.openHosts)), int32(len(w.closedHosts)))
	return append(list, w.closedHosts[from:to]...)
}

// randomLinks appends count links to popular pages, here and elsewhere.
func (w *Web) randomLinks(list []link, c, n int32, count int) []link {
	r := rng(w.pageHash(saltLinks, c, n))
	for range count {
		x, y := r.next(), r.next()
		l := link{to: page{host: c}, form: formAnchor}
		if unit(y) < w.opts.CrossLinks {
			l.to.host = int32(zipf(unit(mix(y)), len(w.hosts)))
		}
		visible := w.hosts[l.to.host].first[classHidden]
		u := unit(x)
		l.to.n = min(int32(u*u*float64(visible)), visible-1) // half of the links go to a quarter of the pages
		switch x & 31 {
		case 0:
			l.form = formArea
		case 1:
			l.form = formFrame
		}
		if z := mix(x); unit(z) < w.opts.Messy {
			l.spell = mix(z) | 1
		}
		list = append(list, l)
	}
	return list
}

// nofollowWay is how a page says nofollow.
type nofollowWay uint8

const (
	nofollowMeta nofollowWay = iota
	nofollowHeader
	nofollowRel
)

func (w *Web) nofollowWay(c, n int32) nofollowWay {
	return nofollowWay(w.pageHash(saltStatus, c, n) % 3)
}

// redirect returns the status and the target of a redirect page: groups of four go to the same host, go to
// another, form a chain, or form a loop.
func (w *Web) redirect(p page) (status int, to page) {
	h := &w.hosts[p.host]
	first, end := h.first[classRedirect], h.first[classRedirect+1]
	i := p.n - first
	group := w.hash(saltStatus, uint64(p.host), uint64(i/4)) % 4
	x := w.pageHash(saltLinks, p.host, p.n)
	status = [...]int{301, 302, 303, 307, 308}[x%5]
	last := i%4 == 3 || p.n+1 == end
	switch {
	case group == 2 && !last:
		return status, page{p.host, p.n + 1}
	case group == 3 && !last:
		return status, page{p.host, p.n + 1}
	case group == 3 && i%4 > 0: // a page does not redirect to itself: a crawler cannot tell that from leaving a spelling
		return status, page{p.host, p.n - i%4}
	case group == 1:
		k := int32(zipf(unit(mix(x)), len(w.hosts)))
		return status, page{k, int32(unit(mix(x+1)) * float64(w.hosts[k].first[1]))}
	}
	return status, page{p.host, int32(unit(mix(x+2)) * float64(h.first[1]))}
}

// size returns the bytes a page aims for.
func (w *Web) size(c, n int32) int {
	if w.opts.Uniform {
		return w.opts.PageBytes
	}
	const sigma = 0.6 // HTTP Archive: the 90th percentile of HTML is about 3.5 times the median, here 2.2
	f := logNormal(w.pageHash(saltSize, c, n), sigma)
	return int(float64(w.opts.PageBytes) * math.Min(f, 8))
}
