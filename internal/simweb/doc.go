// Package simweb is a deterministic synthetic web: what it serves is a function of Options, so a test, a
// benchmark or `decorum demo` meets the same hosts, links, redirects, errors, duplicates, traps and
// robots.txt files every time, and knows beforehand what a perfect crawl of it finds.
//
// A web is served in three ways that share one answer per request: Dial is an in-memory network for
// virtual time (testing/synctest), Listen serves loopback addresses over TCP, and ServeHTTP is a handler.
// Every request is logged at the server's side with its start and end; Verify judges that log against what
// a polite crawler promises, and Truth is the exact set of URLs a crawl should visit.
//
// Pages are classes over ranges. The pages of a host are numbered; plain pages come first and form a tree
// rooted at the home page; the other classes (redirects, errors, duplicates, ...) are ranges of numbers
// behind them, each page linked from a plain page found by proportion. So the class of a page, its links and
// the page of a path need no tables, and a page costs no memory. Rendering 37 KB takes about 8 us (BenchmarkPage).
//
// Invariants:
//   - The links of a page depend on the web and the page's number alone, never on time or order.
//   - A duplicate has the bytes of its original, a mirror those of its master: whichever a crawler
//     meets first, it finds the same links. Hence Truth does not depend on the order of a crawl.
//   - Every spelling of a URL that pages use maps to one page under the rules of weburl's key form.
//   - What fails recovers: flaky pages answer by the third request, limited hosts answer after the
//     Retry-After they gave, failing robots.txt files (but RobotsDown) answer by the third request.
//   - Traps live under TrapPrefix only, and are in no Truth.
//
// All methods of Web are safe for concurrent use. The package does not test crawlers itself: it knows nothing
// of this module's crawler, and its robots matcher is its own so that it can be a judge.
package simweb
