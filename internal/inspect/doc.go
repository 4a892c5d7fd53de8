// Package inspect answers questions about a crawl folder, and about one page, from outside of a crawl.
//
//   - [Audit]: was the crawl polite? From the crawl's own record of every exchange.
//   - [Check]: is every byte of the folder, or of a WARC file, what it should be?
//   - [Why]: why was this URL, or why was it not, crawled?
//   - [Fetch]: what does the crawler see at this URL? One page, no folder, with the same manners.
//
// Each returns a report: a struct that encodes to JSON, with a text form for people (WriteText).
//
// Invariants:
//
//   - Nothing in a folder is changed, except that its lock is taken while one looks, so that no crawl
//     starts underneath.
//   - A folder that a crawl is using is read as far as it is known to be whole; what cannot be known then
//     is said, not guessed, and never counted as a fault.
//   - Evidence is read again rather than believed: gaps are computed from times, verdicts from the
//     archived robots.txt, places from the archive.
//   - Memory is bounded by hosts, origins and 16 to 48 bytes for each URL, not by the size of files.
//   - Bytes from disk and network never panic, and reach a terminal only with control characters escaped.
//
// Reports are values. The functions may be called from any goroutine, one for a folder at a time.
//
// Not here: repairing a folder, and any decision about what to crawl.
package inspect
