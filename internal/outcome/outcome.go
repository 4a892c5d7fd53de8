// Package outcome is the closed, numbered list of everything that can happen to a URL.
//
// What the web did wrong is an Outcome, a value that is recorded, counted and explained; what this
// program did wrong is an error and stops the crawl. Every URL leaves the crawl through exactly one
// final outcome. Numbers are stored on disk: they are never reused and never change meaning; names are
// what a person reads in pages.jsonl, skipped.jsonl, summary.json and `decorum why`.
//
// An outcome has a class (what kind of thing happened) and a retry rule (what the frontier does next).
package outcome

import "time"

// Outcome is what happened to a URL. The zero value is "nothing yet".
type Outcome uint8

// A fetch that got an HTTP response.
const (
	None        Outcome = 0
	OK          Outcome = 1  // 2xx
	NotModified Outcome = 2  // 304 to a conditional request
	Redirect    Outcome = 3  // 3xx with a Location that was handed to the frontier
	BadRedirect Outcome = 4  // 3xx without a usable Location
	NotFound    Outcome = 5  // 404 and 410
	ClientError Outcome = 6  // any other 4xx
	ServerError Outcome = 7  // 5xx other than 503
	RateLimited Outcome = 8  // 429 and 503: a matter of the host
	Duplicate   Outcome = 9  // 2xx whose body was already seen at another URL
	Informal    Outcome = 10 // a status outside 200..599
)

// A fetch that got no usable response.
const (
	DNSNotFound   Outcome = 20 // the name does not exist
	DNSFailure    Outcome = 21 // no name server answered usefully
	ConnectFailed Outcome = 22 // refused or unreachable
	Timeout       Outcome = 23 // any time limit of the exchange
	TooSlow       Outcome = 24 // the body dripped below the minimum rate
	TLSFailed     Outcome = 25 // handshake or certificate
	Reset         Outcome = 26 // the peer closed or reset before the response was complete
	BadHTTP       Outcome = 27 // not HTTP, or outside the limits on headers
	RobotsDefer   Outcome = 28 // robots.txt could not be had (5xx, network): the host waits
)

// A URL that will not be fetched.
const (
	BadURL          Outcome = 40 // does not parse, or too long
	Scheme          Outcome = 41 // not http or https
	RobotsDenied    Outcome = 42 // robots.txt disallows it
	OutOfScope      Outcome = 43
	Excluded        Outcome = 44 // an exclude rule, or no include rule, matched
	TooDeep         Outcome = 45 // --depth
	Extension       Outcome = 46
	HostBudget      Outcome = 47 // --host-pages
	TrapRepeat      Outcome = 48 // repeated path segments
	TrapDepth       Outcome = 49 // ever deeper paths
	TrapQuery       Outcome = 50 // permutations of one query
	TrapPattern     Outcome = 51 // a URL pattern that stopped yielding new content (calendars)
	AddressRefused  Outcome = 52 // the address policy
	PortRefused     Outcome = 53
	Nofollow        Outcome = 54 // meta robots, X-Robots-Tag or rel
	LinkLimit       Outcome = 55 // more links on the page than the limit
	RedirectLimit   Outcome = 56 // too many redirects in a row
	GaveUp          Outcome = 57 // robots.txt or host unreachable for too long
	DuplicateParent Outcome = 58 // link of a page that duplicates another
	SitemapLimit    Outcome = 59 // more entries in the sitemap than the limit
	Seen            Outcome = 60 // already known; counted, never listed
	TrapHosts       Outcome = 61 // endless hosts of one domain
)

// Class groups outcomes.
type Class uint8

const (
	ClassNone    Class = iota
	ClassVisited       // an HTTP response was had
	ClassFailed        // tried, no usable response
	ClassSkipped       // not to be fetched
)

// Retry says what the frontier does with a URL after the outcome.
type Retry uint8

const (
	Never     Retry = iota // final
	RetryURL               // this URL again later, up to the limit of attempts, with growing rests
	RetryHost              // the whole host rests with back-off, then this URL again
)

type row struct {
	name, text string
	class      Class
	retry      Retry
}

func (o Outcome) row() row {
	if int(o) < len(table) {
		return table[o]
	}
	return row{}
}

// table is indexed by Outcome; it never changes.
var table = [...]row{
	None:        {"none", "not visited yet", ClassNone, Never},
	OK:          {"ok", "fetched", ClassVisited, Never},
	NotModified: {"not_modified", "unchanged since the last visit (304)", ClassVisited, Never},
	Redirect:    {"redirect", "redirects elsewhere; the target was queued", ClassVisited, Never},
	BadRedirect: {"bad_redirect", "redirects without a usable target", ClassVisited, Never},
	NotFound:    {"not_found", "the server has no such page (404, 410)", ClassVisited, Never},
	ClientError: {"client_error", "the server refused the request (4xx)", ClassVisited, Never},
	ServerError: {"server_error", "the server failed (5xx)", ClassVisited, RetryURL},
	RateLimited: {"rate_limited", "the server asked for less (429, 503)", ClassVisited, RetryHost},
	Duplicate:   {"duplicate", "same body as another URL; archived as a revisit, links not followed", ClassVisited, Never},
	Informal:    {"odd_status", "a status code outside 200 to 599", ClassVisited, Never},

	DNSNotFound:   {"dns_not_found", "the host name does not exist", ClassFailed, Never},
	DNSFailure:    {"dns_failure", "the host name could not be resolved", ClassFailed, RetryHost},
	ConnectFailed: {"connect_failed", "no connection to the host", ClassFailed, RetryHost},
	Timeout:       {"timeout", "the exchange took longer than the limit", ClassFailed, RetryURL},
	TooSlow:       {"too_slow", "the body came slower than the limit", ClassFailed, RetryURL},
	TLSFailed:     {"tls_failed", "TLS handshake or certificate failed", ClassFailed, RetryURL},
	Reset:         {"reset", "the connection ended before the response was complete", ClassFailed, RetryURL},
	BadHTTP:       {"bad_http", "the answer is not HTTP, or beyond the header limits", ClassFailed, RetryURL},
	RobotsDefer:   {"robots_unavailable", "robots.txt could not be fetched, so the host waits", ClassFailed, RetryHost},

	BadURL:          {"bad_url", "not a valid URL", ClassSkipped, Never},
	Scheme:          {"scheme", "not http or https", ClassSkipped, Never},
	RobotsDenied:    {"robots", "disallowed by robots.txt", ClassSkipped, Never},
	OutOfScope:      {"scope", "outside the scope of the crawl", ClassSkipped, Never},
	Excluded:        {"excluded", "an exclude rule matches, or no include rule does", ClassSkipped, Never},
	TooDeep:         {"depth", "deeper than the depth limit", ClassSkipped, Never},
	Extension:       {"extension", "file name extension is excluded", ClassSkipped, Never},
	HostBudget:      {"host_budget", "the page budget of the host is spent", ClassSkipped, Never},
	TrapRepeat:      {"trap_repeat", "path segments repeat: probably a trap", ClassSkipped, Never},
	TrapDepth:       {"trap_depth", "path deeper than any sane site: probably a trap", ClassSkipped, Never},
	TrapQuery:       {"trap_query", "another order of a query already seen: probably a trap", ClassSkipped, Never},
	TrapPattern:     {"trap_pattern", "URLs of this pattern stopped yielding new content: probably a trap", ClassSkipped, Never},
	AddressRefused:  {"address", "the address is not public, see --allow-net", ClassSkipped, Never},
	PortRefused:     {"port", "the port is not allowed, see --allow-port", ClassSkipped, Never},
	Nofollow:        {"nofollow", "the page asks not to follow", ClassSkipped, Never},
	LinkLimit:       {"link_limit", "more links on the page than the limit", ClassSkipped, Never},
	RedirectLimit:   {"redirect_limit", "too many redirects in a row", ClassSkipped, Never},
	GaveUp:          {"gave_up", "the host or its robots.txt stayed unreachable", ClassSkipped, Never},
	DuplicateParent: {"duplicate_parent", "link of a page that duplicates another", ClassSkipped, Never},
	SitemapLimit:    {"sitemap_limit", "more entries in the sitemap than the limit", ClassSkipped, Never},
	Seen:            {"seen", "already known", ClassSkipped, Never},
	TrapHosts:       {"trap_hosts", "more hosts of one domain than the limit: probably a trap", ClassSkipped, Never},
}

// String returns the name used in records: lower case, snake_case.
func (o Outcome) String() string {
	if n := o.row().name; n != "" {
		return n
	}
	return "unknown"
}

// Text explains the outcome to a person in a few words.
func (o Outcome) Text() string { return o.row().text }

// Class returns the class of the outcome.
func (o Outcome) Class() Class { return o.row().class }

// Retry returns what happens to the URL next.
func (o Outcome) Retry() Retry { return o.row().retry }

// Parse returns the outcome with the name String gives, or None and false.
func Parse(name string) (Outcome, bool) {
	for o := range table {
		if table[o].name == name && name != "" {
			return Outcome(o), true
		}
	}
	return None, false
}

// All calls yield for every outcome, in order of number.
func All(yield func(Outcome) bool) {
	for o := range table {
		if table[o].name != "" && !yield(Outcome(o)) {
			return
		}
	}
}

// FromStatus returns the outcome of an HTTP status code alone.
func FromStatus(code int) Outcome {
	switch {
	case code == 304:
		return NotModified
	case code >= 200 && code < 300:
		return OK
	case code >= 300 && code < 400:
		return BadRedirect
	case code == 404 || code == 410:
		return NotFound
	case code == 429 || code == 503:
		return RateLimited
	case code >= 400 && code < 500:
		return ClientError
	case code >= 500 && code < 600:
		return ServerError
	}
	return Informal
}

// Backoff returns how long a host or URL rests after the n-th failure in a row (n from 1): base doubled
// each time, never more than limit.
func Backoff(n int, base, limit time.Duration) time.Duration {
	d := base
	for ; n > 1 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}
