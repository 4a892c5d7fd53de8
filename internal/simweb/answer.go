package simweb

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// query is what a request says.
type query struct {
	method, host, target, agent string
	match                       string // If-None-Match
	gzip                        bool   // accepted
	close                       bool   // Connection: close, or HTTP/1.0
}

// answer is what to say to it. Its buffers live on with the connection.
type answer struct {
	kind       Kind
	host       int32 // -1 unknown
	page       int32 // -1 none
	status     int
	delay      time.Duration // before the first byte
	cut        bool          // end in the middle of the body
	failed     bool          // no lasting answer
	chunked    bool
	close      bool
	compressed bool
	headOnly   bool
	robots     int32 // number of the robots.txt body, or -1
	location   string
	ctype      string
	etag       string
	robotsTag  string
	retryAfter string
	notBefore  time.Time

	body  []byte // of the answer; with room for the header before it when served by serve
	buf   []byte
	zip   bytes.Buffer
	links []link
	gz    *gzip.Writer
}

const htmlType = "text/html; charset=utf-8"

// headerRoom is kept free before a body so that header and body go out in one write.
const headerRoom = 1024

// reset forgets the last answer but keeps its buffers.
func (a *answer) reset() {
	*a = answer{host: -1, page: -1, robots: -1, status: http.StatusOK, ctype: htmlType,
		buf: a.buf, zip: a.zip, links: a.links, gz: a.gz}
	if cap(a.buf) < headerRoom {
		a.buf = make([]byte, headerRoom, 64<<10)
	}
	a.body = a.buf[:headerRoom]
}

// setBody makes the text the body.
func (a *answer) setBody(text string) { a.body = append(a.body[:headerRoom], text...) }

// reply fills in the answer to a request.
func (w *Web) reply(a *answer, q *query, now time.Time) {
	a.reset()
	a.close = q.close
	i, ok := w.findHost(q.host)
	if !ok {
		a.fail(http.StatusMisdirectedRequest, KindUnknown)
		return
	}
	h := &w.hosts[i]
	a.host = i
	a.chunked, a.close = h.chunked, a.close || h.close
	target, _, _ := strings.Cut(q.target, "#")
	path, _, _ := strings.Cut(target, "?")
	switch {
	case q.method != http.MethodGet && q.method != http.MethodHead:
		a.fail(http.StatusMethodNotAllowed, KindUnknown)
	case path == robotsPath || path == movedRobotsPath && h.robots == RobotsMoved:
		w.replyRobots(a, path, now)
	case path == sitemapPath || strings.HasPrefix(path, sitemapChild):
		a.delay = w.opts.Latency
		w.replySitemap(a, path)
	case strings.HasPrefix(path, "/img/") || path == "/style.css" || path == "/favicon.ico":
		a.kind, a.ctype, a.delay = KindAsset, "image/png", w.opts.Latency
		if path == "/style.css" {
			a.ctype = "text/css"
		}
		a.setBody("/* " + path + " */\n")
	default:
		w.replyPage(a, q, now)
	}
	if q.gzip && h.gzip && a.status == http.StatusOK && a.ctype == htmlType {
		a.compress()
	}
	if q.method == http.MethodHead {
		a.headOnly, a.chunked = true, false
	}
}

// fail makes the answer a short error page. It has no links.
func (a *answer) fail(status int, kind Kind) {
	a.status, a.kind, a.failed = status, kind, status >= 500 || status == http.StatusTooManyRequests
	a.setBody("<!DOCTYPE html>\n<html><head><title>" + http.StatusText(status) + "</title></head><body><h1>" +
		http.StatusText(status) + "</h1></body></html>\n")
}

func (a *answer) compress() {
	if a.gz == nil {
		a.gz, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	}
	a.zip.Reset()
	a.zip.Write(a.body[:headerRoom])
	a.gz.Reset(&a.zip)
	_, _ = a.gz.Write(a.body[headerRoom:]) // a bytes.Buffer takes everything
	_ = a.gz.Close()
	a.buf, a.body, a.compressed = a.body, a.zip.Bytes(), true
}

// replyRobots answers for robots.txt and what it redirects to.
func (w *Web) replyRobots(a *answer, path string, now time.Time) {
	h := &w.hosts[a.host]
	a.kind, a.ctype, a.delay = KindRobots, "text/plain; charset=utf-8", w.opts.Latency
	w.mu.Lock()
	text, set := w.override[a.host]
	w.tries[a.host]++
	try := w.tries[a.host]
	w.mu.Unlock()
	if !set {
		text = w.robotsText(a.host)
		if w.refuseRobots(a, path, try, now) {
			return
		}
		if h.robots == RobotsSlow {
			a.delay = w.opts.RobotsLatency
		}
		if h.robots == RobotsJunk {
			a.ctype = htmlType
		}
	}
	a.setBody(text)
	a.robots = w.robotsNumber(text)
}

// refuseRobots answers for the kinds that do not give a file.
func (w *Web) refuseRobots(a *answer, path string, try int, now time.Time) bool {
	h := &w.hosts[a.host]
	switch h.robots {
	case RobotsNone:
		a.fail(http.StatusNotFound, KindRobots)
	case RobotsForbidden:
		a.fail(http.StatusForbidden, KindRobots)
	case RobotsDown:
		a.fail(http.StatusInternalServerError, KindRobots)
	case RobotsFlaky:
		if try > robotsFailures {
			return false
		}
		a.fail(http.StatusInternalServerError, KindRobots)
		if try == robotsFailures {
			a.fail(http.StatusServiceUnavailable, KindRobots)
			a.setRetryAfter(now, w.opts.RetryAfter, false)
		}
	case RobotsMoved:
		if path == movedRobotsPath {
			return false
		}
		a.fail(http.StatusMovedPermanently, KindRobots)
		a.location = movedRobotsPath
	case RobotsElsewhere:
		a.fail(http.StatusFound, KindRobots)
		a.location = string(append(w.appendOrigin(nil, h.elsewhere), robotsPath...))
	default:
		return false
	}
	return true
}

func (w *Web) replySitemap(a *answer, path string) {
	data, ctype, ok := w.sitemap(a.host, path)
	if !ok {
		a.fail(http.StatusNotFound, KindUnknown)
		if path == sitemapPath {
			a.kind = KindSitemap // crawlers may try
		}
		return
	}
	a.kind, a.ctype = KindSitemap, ctype
	a.body = append(a.body, data...)
}

// setRetryAfter asks the client to wait: in seconds, or as a date.
func (a *answer) setRetryAfter(now time.Time, d time.Duration, date bool) {
	seconds := (d + time.Second - 1) / time.Second
	if date {
		a.notBefore = now.Add(d).Truncate(time.Second)
		if a.notBefore.Before(now.Add(d)) {
			a.notBefore = a.notBefore.Add(time.Second)
		}
		a.retryAfter = a.notBefore.UTC().Format(http.TimeFormat)
		return
	}
	a.notBefore = now.Add(seconds * time.Second)
	a.retryAfter = strconv.Itoa(int(seconds))
}

// replyPage answers for everything else.
func (w *Web) replyPage(a *answer, q *query, now time.Time) {
	h := &w.hosts[a.host]
	a.delay = w.latency(a.host, q.target)
	if h.limited && w.limit(a, now) {
		return
	}
	target := canonicalTarget(q.target)
	if h.traps && strings.HasPrefix(target, TrapPrefix) {
		if text, ok := w.trapPage(target); ok {
			a.kind = KindTrap
			a.setBody(text)
			return
		}
	}
	p, ok := w.lookup(a.host, target)
	if !ok {
		a.fail(http.StatusNotFound, KindUnknown)
		return
	}
	a.page = p.n
	w.replyClass(a, q, p)
}

// replyClass answers for a page by its class.
func (w *Web) replyClass(a *answer, q *query, p page) {
	h := &w.hosts[p.host]
	d := body{host: h.content, n: p.n}
	a.kind = KindPage
	switch c := h.class(p.n); c {
	case classError:
		a.fail(errorStatus[w.pageHash(saltStatus, p.host, p.n)%uint64(len(errorStatus))], KindError)
		return
	case classRedirect:
		status, to := w.redirect(p)
		a.fail(status, KindRedirect)
		if a.location = w.pageURL(to); to.host == p.host && p.n%2 == 0 {
			a.location = string(w.appendPath(nil, to))
		}
		return
	case classFlaky, classCut:
		try, limit := w.attempt(p), 1
		if c == classFlaky {
			limit += int(w.pageHash(saltStatus, p.host, p.n) % 2)
		}
		if try <= limit && c == classFlaky {
			a.fail(http.StatusInternalServerError, KindPage)
			return
		}
		a.cut = try <= limit
		a.failed = a.cut
	case classChanging:
		d.version = uint64(w.attempt(p))
	case classDup:
		a.kind, d.n = KindDuplicate, h.original(p.n)
	case classNear:
		a.kind, d.n, d.near = KindNearDuplicate, h.original(p.n), p.n
	case classNofollow:
		if w.nofollowWay(p.host, p.n) == nofollowHeader {
			a.robotsTag = "nofollow"
		}
	}
	if h.content != p.host {
		a.kind = KindDuplicate
	}
	w.page(a, q, d)
}

var errorStatus = [...]int{http.StatusNotFound, http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusInternalServerError}

// page renders a body, unless the client has it.
func (w *Web) page(a *answer, q *query, d body) {
	a.etag = "\"" + strconv.FormatUint(mix(w.pageHash(saltBody, d.host, d.n)+d.version*3+uint64(d.near)), 16) + "\""
	if q.match == a.etag && !a.cut {
		a.status = http.StatusNotModified
		return
	}
	a.links = w.links(a.links[:0], d.host, d.n)
	a.body = w.appendBody(a.body, d, a.links)
}

// attempt counts a request for a page that changes with them.
func (w *Web) attempt(p page) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts[p]++
	return w.attempts[p]
}

// latency returns how long a page takes.
func (w *Web) latency(i int32, target string) time.Duration {
	h := &w.hosts[i]
	switch {
	case w.opts.LatencyFunc != nil:
		return w.opts.LatencyFunc(h.name, target)
	case h.slow:
		return time.Duration(float64(w.opts.SlowLatency) * min(4, logNormal(w.hash(saltLatency, uint64(i), hashString(target)), 0.5)))
	}
	return w.opts.Latency
}

// limit decides whether a limited host refuses a request. Robots and sitemaps never are.
func (w *Web) limit(a *answer, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.hash(saltFeature, uint64(a.host), 99)
	r := w.limits[a.host]
	refuse := now.Before(r.until)
	wait := r.until.Sub(now)
	if !refuse {
		r.count++
		wait = w.opts.RetryAfter
		if x%2 == 0 || w.opts.RateGap < 0 {
			refuse = r.count%w.opts.RateEvery == 0
		} else {
			refuse = !r.lastEnd.IsZero() && now.Sub(r.lastEnd) < w.opts.RateGap
		}
		if refuse {
			r.until = now.Add(wait)
		}
		r.lastEnd = now // until it really ends
	}
	w.limits[a.host] = r
	if refuse {
		a.fail([...]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[x>>1%2], KindLimited)
		a.setRetryAfter(now, wait, x>>2%2 == 0)
	}
	return refuse
}
