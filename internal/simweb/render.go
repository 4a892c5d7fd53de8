package simweb

import (
	"bytes"
	"strconv"
)

// body says which body to render.
type body struct {
	host, n int32  // the page whose body it is: never a duplicate or of a mirror
	version uint64 // of changing pages
	near    int32  // number of the near-duplicate, or 0
}

// footerRoom is what the end of a page takes at most.
const footerRoom = 420

// appendBody appends a page: a head, links with words among blocks of prose until the page has its size, a foot.
func (w *Web) appendBody(b []byte, d body, list []link) []byte {
	start := len(b)
	h := &w.hosts[d.host]
	size := w.size(d.host, d.n)
	mode := w.hrefMode(d.host, d.n)
	depth := w.depth(d, mode)
	r := rng(w.pageHash(saltBody, d.host, d.n))
	b = w.appendHead(b, d, mode, &r)
	blocks := walk{text: &w.text, at: uint32(r.next() + d.version*7), step: uint32(r.next()) | 1}
	room := max(0, size-footerRoom-(len(b)-start))
	for i := range list {
		b = w.appendLink(b, h, d, mode, depth, &list[i], &r)
		goal := start + size - footerRoom - room + room*(i+1)/len(list)
		b = blocks.fill(b, goal)
	}
	return w.appendFoot(b, start, size, d, &r)
}

// walk goes through all blocks in an order of its own.
type walk struct {
	text     *text
	at, step uint32
}

// fill appends blocks as long as they fit before goal.
func (k *walk) fill(b []byte, goal int) []byte {
	for {
		block := k.text.blocks[k.at%blockCount]
		if len(b)+len(block) > goal {
			return b
		}
		b = append(b, block...)
		k.at += k.step
	}
}

// depth returns the directories between the base URL of a page and the root.
func (w *Web) depth(d body, mode hrefMode) int {
	if mode == hrefBase {
		return bytes.Count([]byte(basePath), []byte("/")) - 1
	}
	var room [128]byte
	path := w.appendPath(room[:0], page{d.host, d.n})
	if q := bytes.IndexByte(path, '?'); q >= 0 {
		path = path[:q]
	}
	return bytes.Count(path, []byte("/")) - 1
}

func (w *Web) appendHead(b []byte, d body, mode hrefMode, r *rng) []byte {
	b = append(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"...)
	b = w.appendTitle(b, d, *r)
	b = append(b, "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"description\" content=\""...)
	b = w.text.sentence(b, r, 8)
	b = append(b, "\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n"...)
	if w.hosts[d.host].class(d.n) == classNofollow && w.nofollowWay(d.host, d.n) == nofollowMeta {
		b = append(b, "<meta name=\"robots\" content=\"index, nofollow\">\n"...)
	}
	if d.near != 0 || unit(w.pageHash(saltForm, d.host, ^d.n)) < w.opts.Canonical {
		b = append(b, "<link rel=\"canonical\" href=\""...)
		var room [128]byte
		b = appendEscaped(w.appendOrigin(b, d.host), w.appendPath(room[:0], page{d.host, d.n}))
		b = append(b, "\">\n"...)
	}
	if mode == hrefBase {
		b = append(w.appendOrigin(append(b, "<base href=\""...), d.host), basePath+"\">\n"...)
	}
	b = append(b, "<script>window.site = { theme: \"plain\", track: function (a) { return a < 1; } };</script>\n</head>\n<body class=\"page\">\n<h1 class=\"page-title\">"...)
	b = w.appendTitle(b, d, *r)
	return append(b, "</h1>\n"...)
}

// appendTitle appends a title no other page has. It takes r by value: title and heading agree.
func (w *Web) appendTitle(b []byte, d body, r rng) []byte {
	b = w.text.sentence(b, &r, 4)
	b = strconv.AppendInt(append(b, ' '), int64(d.n), 10)
	return append(append(b, " &ndash; "...), w.hosts[d.host].name...)
}

// appendLink appends a link with its text.
func (w *Web) appendLink(b []byte, h *host, d body, mode hrefMode, depth int, l *link, r *rng) []byte {
	open, end := "<p class=\"lead\"><a class=\"more\" href=\"", "</a></p>\n"
	switch l.form {
	case formNav:
		open, end = "<nav class=\"site-nav\"><a class=\"nav-link\" href=\"", "</a></nav>\n"
	case formArea:
		open, end = "<map name=\"m\"><area shape=\"rect\" coords=\"0,0,9,9\" href=\"", "</map>\n"
	case formFrame:
		open, end = "<iframe class=\"embed\" src=\"", "</iframe>\n"
	}
	b = append(b, open...)
	b = w.appendHref(b, d.host, mode, depth, l)
	b = append(b, '"')
	if l.nofollow {
		b = append(b, " rel=\"nofollow ugc\""...)
	}
	if l.form == formArea {
		return append(append(b, " alt=\"area\">"...), end...)
	}
	b = append(b, '>')
	x := r.next()
	b = append(append(append(b, w.pathWord(x)...), ' '), w.pathWord(x>>16)...)
	return append(b, end...)
}

// appendFoot ends the page: at exactly the size when pages are uniform and there is room.
func (w *Web) appendFoot(b []byte, start, size int, d body, r *rng) []byte {
	b = append(b, "<footer class=\"site-footer\"><p class=\"revision\">"...)
	note := rng(*r + rng(d.near))
	b = w.text.sentence(b, &note, 3)
	if d.version != 0 {
		b = strconv.AppendUint(append(b, " Version "...), d.version, 10)
	}
	b = append(b, "</p></footer>\n"...)
	const tail = "</body>\n</html>\n"
	if pad := size - (len(b) - start) - len(tail); w.opts.Uniform && pad > 0 {
		b = w.appendPadding(b, pad, uint32(r.next()))
	}
	return append(b, tail...)
}

// appendPadding appends exactly n bytes of nothing.
func (w *Web) appendPadding(b []byte, n int, at uint32) []byte {
	const open, end = "<!-- ", " -->\n"
	if n < len(open)+len(end) {
		return append(b, "\n\n\n\n\n\n\n\n\n\n"[:n]...)
	}
	b = append(b, open...)
	for n -= len(open) + len(end); n > 0; {
		piece := w.text.filler[at%(1<<15):]
		piece = piece[:min(n, len(piece))]
		b = append(b, piece...)
		n -= len(piece)
	}
	return append(b, end...)
}
