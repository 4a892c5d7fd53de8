package simweb

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const (
	sitemapPath  = "/sitemap.xml"
	sitemapChild = "/sitemap-"
	// sitemapPages is the number of URLs per file; the protocol allows 50,000, tests want several files.
	sitemapPages = 1000
)

// A sitemap lists all orphans, and the first linked pages again. Hosts alternate between one plain file and
// an index of gzip and text files; whatever does not fit one file gets an index.

// sitemapList returns how many linked pages and how many pages in all the sitemap of a host names.
func (h *host) sitemapList() (linked, all int32) {
	linked = min(h.first[1], 1+h.first[classHidden]/5)
	return linked, linked + h.count(classOrphan)
}

// sitemapPage returns the i-th page of a sitemap.
func (h *host) sitemapPage(i int32) int32 {
	if linked, _ := h.sitemapList(); i >= linked {
		return h.first[classOrphan] + i - linked
	}
	return i
}

// sitemap returns the file at a path of the host.
func (w *Web) sitemap(i int32, path string) (data []byte, ctype string, ok bool) {
	h := &w.hosts[i]
	if !h.sitemap {
		return nil, "", false
	}
	_, all := h.sitemapList()
	files := (all + sitemapPages - 1) / sitemapPages
	single := files == 1 && w.hash(saltForm, uint64(i), 1)%2 == 0
	if path == sitemapPath {
		if single {
			return w.urlset(i, 0, all), "application/xml", true
		}
		return w.sitemapIndex(i, files), "text/xml; charset=utf-8", true
	}
	var k int32
	var ext string
	if n, _ := fmt.Sscanf(strings.ReplaceAll(path[len(sitemapChild):], ".", " "), "%d %s", &k, &ext); n != 2 ||
		single || k < 0 || k >= files || path != childPath(k) {
		return nil, "", false
	}
	from, to := k*sitemapPages, min(all, (k+1)*sitemapPages)
	if ext == "txt" {
		return w.urlLines(i, from, to), "text/plain; charset=utf-8", true
	}
	return deflate(w.urlset(i, from, to)), "application/gzip", true
}

// childPath returns the path of the k-th file of an index: text and gzip in turn.
func childPath(k int32) string {
	if k%2 == 1 {
		return fmt.Sprintf("%s%d.txt", sitemapChild, k)
	}
	return fmt.Sprintf("%s%d.xml.gz", sitemapChild, k)
}

func (w *Web) sitemapIndex(i, files int32) []byte {
	b := []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for k := range files {
		b = append(w.appendOrigin(append(b, "<sitemap><loc>"...), i), childPath(k)...)
		b = append(b, "</loc><lastmod>2026-01-02</lastmod></sitemap>\n"...)
	}
	return append(b, "</sitemapindex>\n"...)
}

func (w *Web) urlset(i, from, to int32) []byte {
	b := []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for k := from; k < to; k++ {
		var room [128]byte
		b = w.appendOrigin(append(b, "<url><loc>"...), i)
		b = appendEscaped(b, w.appendPath(room[:0], page{i, w.hosts[i].sitemapPage(k)}))
		b = append(b, "</loc><lastmod>2026-01-02T03:04:05Z</lastmod><changefreq>weekly</changefreq><priority>0.5</priority></url>\n"...)
	}
	return append(b, "</urlset>\n"...)
}

func (w *Web) urlLines(i, from, to int32) []byte {
	var b []byte
	for k := from; k < to; k++ {
		b = append(w.appendPath(w.appendOrigin(b, i), page{i, w.hosts[i].sitemapPage(k)}), '\n')
	}
	return b
}

// deflate returns data as one gzip member.
func deflate(data []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(data)                              // a bytes.Buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
