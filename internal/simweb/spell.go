package simweb

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
)

// hrefMode is how a page writes clean links to its own host.
type hrefMode uint8

const (
	hrefAbsolute hrefMode = iota
	hrefRoot              // from the slash on
	hrefRelative          // relative to the page
	hrefBase              // relative to a <base> two directories deep
)

// hrefMode returns the mode of the page n with a body of its own. Pages that other URLs repeat must mean
// the same links there: mirrored ones by naming the host, copied ones by not being relative to the path.
func (w *Web) hrefMode(c, n int32) hrefMode {
	h := &w.hosts[c]
	m := hrefMode(w.pageHash(saltForm, c, n) % 4)
	if h.mirror >= 0 && (m == hrefRoot || m == hrefRelative) {
		return hrefAbsolute
	}
	if m == hrefRelative && h.copied(n) {
		return hrefRoot
	}
	return m
}

// basePath is the directory of <base> in hrefBase pages.
const basePath = "/a/b/"

// appendHref appends the URL of a link as the page writes it, for a double-quoted attribute.
func (w *Web) appendHref(b []byte, from int32, mode hrefMode, depth int, l *link) []byte {
	if l.trap != 0 {
		return w.appendTrapEntry(w.appendOrigin(b, l.to.host), l.trap)
	}
	if l.spell != 0 {
		return w.appendMessy(b, l)
	}
	var room [128]byte
	path := w.appendPath(room[:0], l.to)
	switch {
	case mode == hrefAbsolute || l.to.host != from:
		b = w.appendOrigin(b, l.to.host)
	case mode == hrefRelative || mode == hrefBase:
		return appendEscaped(appendRelative(b, depth), path[1:])
	}
	return appendEscaped(b, path)
}

// appendRelative appends the way from a path with depth directories to the root.
func appendRelative(b []byte, depth int) []byte {
	if depth == 0 {
		return append(b, "./"...)
	}
	for range depth {
		b = append(b, "../"...)
	}
	return b
}

// appendEscaped appends a clean URL with its ampersands escaped.
func appendEscaped(b, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '&')
		if i < 0 {
			return append(b, s...)
		}
		b = append(append(b, s[:i]...), "&amp;"...)
		s = s[i+1:]
	}
}

// The unusual spellings.
const (
	spellFragment = iota
	spellTracking
	spellSession
	spellSID
	spellPathSession
	spellDots
	spellPercent
	spellHostCase
	spellPort
	spellSpace
	spellEntity
	spellNoScheme
	numSpellings
)

// appendMessy appends the URL of a link in one of the unusual spellings. All of them mean the same page: to
// any client for what the URL Standard normalises, under the key form for escapes, session and tracking parts.
func (w *Web) appendMessy(b []byte, l *link) []byte {
	h := &w.hosts[l.to.host]
	how := int(l.spell >> 1 % numSpellings)
	if h.class(l.to.n) == classPrivate && how >= spellTracking && how <= spellPercent {
		how = spellHostCase // rules of robots.txt match by path: keep it
	}
	if how == spellPort && w.opts.Port != defaultPort(w.opts.Scheme) {
		how = spellHostCase
	}
	if l.to.n == 0 && (how == spellPathSession || how == spellPercent) {
		how = spellFragment
	}
	var room [192]byte
	path := w.appendPath(room[:0], l.to)
	switch how {
	case spellHostCase:
		b = append(append(b, w.opts.Scheme...), "://"...)
		return appendEscaped(append(b, mixedCase(h.authority)...), path)
	case spellPort:
		b = strconv.AppendUint(append(w.appendOrigin(b, l.to.host), ':'), uint64(w.opts.Port), 10)
		return appendEscaped(b, path)
	case spellSpace:
		b = append(append(append(b, " \n "...), strings.ToUpper(w.opts.Scheme)...), "://"...)
		return append(appendEscaped(append(b, h.authority...), path), "\t "...)
	case spellEntity:
		b = append(append(w.appendOrigin(b, l.to.host), "&#x2F;"...), ""...)
		return appendEscaped(b, path[1:])
	case spellNoScheme:
		return appendEscaped(append(append(b, "//"...), h.authority...), path)
	}
	return appendEscaped(w.appendOrigin(b, l.to.host), messyPath(path, how, l.spell))
}

// messyPath respells path and query.
func messyPath(path []byte, how int, x uint64) []byte {
	clean, query, _ := strings.Cut(string(path), "?")
	param := ""
	switch how {
	case spellFragment:
		return append(path, "#sec-"+strconv.Itoa(int(x>>8%7))...)
	case spellTracking:
		param = [...]string{"utm_source=feed", "utm_source=mail&utm_medium=rss&utm_campaign=spring"}[x>>8%2]
	case spellSession:
		param = "PHPSESSID=" + strconv.FormatUint(x, 16)
	case spellSID:
		param = "sid=a1" + strconv.FormatUint(x|1<<63, 16) // letters and digits, as long as real ones
	case spellPathSession:
		clean += ";jsessionid=" + strings.ToUpper(strconv.FormatUint(x, 16))
	case spellDots:
		clean = [...]string{"/.", "/x/..", "/./y/z/../.."}[x>>8%3] + clean
	case spellPercent:
		clean = escapeOne(clean, x>>8)
	}
	switch {
	case query == "":
		query = param
	case param != "" && x>>20%2 == 0:
		query = param + "&" + query
	case param != "":
		query += "&" + param
	}
	if query != "" {
		clean += "?" + query
	}
	return []byte(clean)
}

// escapeOne percent-encodes one unreserved character of the last segments.
func escapeOne(path string, x uint64) string {
	at := 1 + int(x%uint64(len(path)-1))
	for path[at] == '/' {
		at--
	}
	if at == 0 {
		return path
	}
	digits := strings.ToUpper(strconv.FormatUint(uint64(path[at]), 16))
	if x>>20%2 == 0 {
		digits = strings.ToLower(digits)
	}
	return path[:at] + "%" + digits + path[at+1:]
}

func mixedCase(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i += 2 {
		if b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// canonicalTarget undoes what spellings do to path and query.
func canonicalTarget(target string) string {
	target, _, _ = strings.Cut(target, "#")
	if !strings.ContainsAny(target, "%;?") && !strings.Contains(target, "/.") {
		return target
	}
	path, query, _ := strings.Cut(target, "?")
	path = decodeUnreserved(path)
	if i := strings.Index(strings.ToLower(path), ";jsessionid="); i >= 0 {
		path = path[:i]
	}
	if strings.Contains(path, "/.") {
		path = removeDots(path)
	}
	if query = keptParams(query); query != "" {
		return path + "?" + query
	}
	return path
}

// keptParams drops tracking and session parameters.
func keptParams(query string) string {
	var kept []string
	for param := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(strings.ToLower(param), "=")
		if param == "" || name == "sid" || name == "phpsessid" || name == "jsessionid" || strings.HasPrefix(name, "utm_") {
			continue
		}
		kept = append(kept, param)
	}
	return strings.Join(kept, "&")
}

// decodeUnreserved decodes the escapes of unreserved characters (RFC 3986 §6.2.2.2).
func decodeUnreserved(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && isUnreserved(byte(v)) {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// removeDots removes dot segments (RFC 3986 §5.2.4).
func removeDots(path string) string {
	var out []string
	segments := strings.Split(path, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
		case "..":
			if len(out) > 1 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return strings.Join(out, "/")
}

// Canonical returns the canonical form of an absolute URL of this web: the one Truth uses. The form is
// "" when the host is not of this web.
func (w *Web) Canonical(raw string) string {
	h, target, ok := w.splitURL(raw)
	if !ok {
		return ""
	}
	return string(append(w.appendOrigin(nil, h), canonicalTarget(target)...))
}

// splitURL returns host and target of an absolute URL.
func (w *Web) splitURL(raw string) (h int32, target string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != w.opts.Scheme {
		return 0, "", false
	}
	port := u.Port()
	if port == "" {
		port = strconv.Itoa(int(defaultPort(u.Scheme)))
	}
	if port != strconv.Itoa(int(w.opts.Port)) {
		return 0, "", false
	}
	if h, ok = w.findHost(u.Hostname()); !ok {
		return 0, "", false
	}
	if target = u.EscapedPath(); target == "" {
		target = "/"
	}
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	return h, target, true
}
