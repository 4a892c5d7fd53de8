package simweb

import (
	"slices"
	"strings"
)

// Truth is what a perfect crawl of the web visits, by canonical URL. Each URL of URLs is to be visited exactly
// once, in whatever spelling.
type Truth struct {
	URLs        map[string]Kind   // page, duplicate, near_duplicate, redirect or error
	SitemapOnly map[string]bool   // those of URLs which no page links to
	Original    map[string]string // of duplicates and near-duplicates in URLs: the page they repeat
	Denied      map[string]bool   // found, but barred by robots.txt
	Nofollow    map[string]bool   // found through nofollow links only
}

// Count returns the number of URLs of a kind.
func (t *Truth) Count(k Kind) int {
	n := 0
	for _, v := range t.URLs {
		if v == k {
			n++
		}
	}
	return n
}

// walker finds what can be reached.
type walker struct {
	web      *Web
	truth    Truth
	rules    []*rules // by host, nil until needed
	seen     [][]uint64
	queue    []page
	agent    string
	override map[int32]string
}

// Truth returns what a crawler of this product token should visit when it follows links of a, area, iframe and
// link rel=canonical, redirects and sitemaps named in robots.txt, to any host of the web, obeys robots.txt
// and nofollow, and leaves TrapPrefix alone.
func (w *Web) Truth(agent string) Truth {
	k := &walker{web: w, agent: agent, rules: make([]*rules, len(w.hosts)), seen: make([][]uint64, len(w.hosts)),
		truth: Truth{URLs: map[string]Kind{}, SitemapOnly: map[string]bool{}, Original: map[string]string{},
			Denied: map[string]bool{}, Nofollow: map[string]bool{}}}
	w.mu.Lock()
	k.override = make(map[int32]string, len(w.override))
	for i, text := range w.override {
		k.override[i] = text
	}
	w.mu.Unlock()
	for _, seed := range w.Seeds() {
		h, _, _ := w.splitURL(seed)
		k.found(page{h, 0})
	}
	var list []link
	hidden := map[page]bool{}
	for len(k.queue) > 0 {
		p := k.queue[len(k.queue)-1]
		k.queue = k.queue[:len(k.queue)-1]
		list = k.visit(p, list[:0], hidden)
	}
	for p := range hidden {
		if !k.isSeen(p) {
			k.truth.Nofollow[w.pageURL(p)] = true
		}
	}
	return k.truth
}

// found takes in a page that something leads to.
func (k *walker) found(p page) {
	if k.isSeen(p) {
		return
	}
	k.seen[p.host][p.n>>6] |= 1 << (p.n & 63)
	url := k.web.pageURL(p)
	if r := k.hostRules(p.host); r == nil || !r.allowed(string(k.web.appendPath(nil, p))) {
		k.truth.Denied[url] = true
		return
	}
	kind, original := k.web.kindOf(p)
	k.truth.URLs[url] = kind
	if original != p {
		k.truth.Original[url] = k.web.pageURL(original)
	}
	if k.web.hosts[p.host].class(p.n) == classOrphan {
		k.truth.SitemapOnly[url] = true
	}
	k.queue = append(k.queue, p)
}

func (k *walker) isSeen(p page) bool {
	if k.seen[p.host] == nil {
		k.seen[p.host] = make([]uint64, k.web.hosts[p.host].pages()>>6+1)
		k.readSitemap(p.host)
	}
	return k.seen[p.host][p.n>>6]>>(p.n&63)&1 != 0
}

// hostRules returns the rules of a host, nil when nothing may be fetched.
func (k *walker) hostRules(i int32) *rules {
	if k.rules[i] == nil {
		text, ok := k.robots(i)
		if !ok {
			return nil
		}
		r := parseRules(text, k.agent)
		k.rules[i] = &r
	}
	return k.rules[i]
}

// robots returns the text of the robots.txt in force on a host; no rules are "".
func (k *walker) robots(i int32) (text string, ok bool) {
	if text, ok := k.override[i]; ok {
		return text, true
	}
	switch h := &k.web.hosts[i]; h.robots {
	case RobotsNone, RobotsForbidden:
		return "", true
	case RobotsDown:
		return "", false
	case RobotsElsewhere:
		return k.robots(h.elsewhere)
	}
	return k.web.robotsText(i), true
}

// readSitemap takes in what the sitemap of a host names, if its robots.txt names the sitemap.
func (k *walker) readSitemap(i int32) {
	h := &k.web.hosts[i]
	text, _ := k.robots(i)
	if !h.sitemap || !strings.Contains(text, string(k.web.appendOrigin(nil, i))+sitemapPath) {
		return
	}
	_, all := h.sitemapList()
	for s := range all {
		k.found(page{i, h.sitemapPage(s)})
	}
}

// visit follows what a page leads to; hidden collects the targets of nofollow links.
func (k *walker) visit(p page, list []link, hidden map[page]bool) []link {
	w := k.web
	h := &w.hosts[p.host]
	class := h.class(p.n)
	switch class {
	case classError:
		return list
	case classRedirect:
		_, to := w.redirect(p)
		k.found(to)
		return list
	}
	_, body := w.kindOf(p)
	if class == classNear {
		k.found(body) // its canonical link
	}
	list = w.links(list, body.host, body.n)
	for _, l := range list {
		switch {
		case l.trap != 0:
		case l.nofollow || class == classNofollow:
			hidden[l.to] = true
		default:
			k.found(l.to)
		}
	}
	return list
}

// kindOf returns what a page is, and the page whose body it has.
func (w *Web) kindOf(p page) (Kind, page) {
	h := &w.hosts[p.host]
	body := page{h.content, h.original(p.n)}
	switch c := h.class(p.n); {
	case c == classError:
		return KindError, p
	case c == classRedirect:
		return KindRedirect, p
	case c == classNear:
		return KindNearDuplicate, body
	case body != p:
		return KindDuplicate, body
	}
	return KindPage, p
}

// Compare holds the URLs a crawl visited, in any spelling, against Truth. Each list is sorted. Robots.txt files,
// sitemaps, assets and traps are nobody's business here.
func (w *Web) Compare(got []string, agent string) (missing, extra, repeated []string) {
	truth := w.Truth(agent)
	seen := make(map[string]int, len(got))
	for _, raw := range got {
		url := w.Canonical(raw)
		if url == "" {
			url = raw
		} else if w.aside(url) {
			continue
		}
		seen[url]++
		if _, ok := truth.URLs[url]; !ok && seen[url] == 1 {
			extra = append(extra, url)
		}
		if seen[url] == 2 {
			repeated = append(repeated, url)
		}
	}
	for url := range truth.URLs {
		if seen[url] == 0 {
			missing = append(missing, url)
		}
	}
	slices.Sort(missing)
	slices.Sort(extra)
	slices.Sort(repeated)
	return missing, extra, repeated
}

// aside reports whether a canonical URL is no page.
func (w *Web) aside(url string) bool {
	_, path, _ := strings.Cut(url, "://")
	path = path[strings.IndexByte(path, '/'):]
	for _, prefix := range [...]string{robotsPath, movedRobotsPath, "/sitemap", TrapPrefix, "/img/", "/style.css", "/favicon.ico"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
