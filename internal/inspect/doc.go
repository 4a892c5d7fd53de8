// Package inspect answers questions about a crawl folder, and about one page, from outside of a crawl, and repairs folders.
//
//   - [Audit]: was the crawl polite? From the crawl's own record of every exchange.
//   - [Check]: is every byte of the folder, or of a WARC file, what it should be?
//   - [Repair]: make it so again, as far as that can be, and say at what price.
//   - [Why]: why was this URL, or why was it not, crawled?
//   - [Fetch]: what does the crawler see at this URL? One page, no folder, with the same manners.
//
// Each returns a report: a struct that encodes to JSON, with a text form for people (WriteText).
//
// Invariants:
//
//   - Nothing in a folder is changed, except that its lock is taken while one looks, so that no crawl
//     starts underneath. Repair alone writes: it prepares everything beside the files of the folder, decides with one
//     batch of the state, and can be interrupted at any point. It throws nothing away: what it cuts out is in repairs/.
//   - A folder that a crawl is using is read as far as it is known to be whole; what cannot be known then
//     is said, not guessed, and never counted as a fault.
//   - Evidence is read again rather than believed: gaps are computed from times, verdicts from the
//     archived robots.txt, places from the archive.
//   - Memory is bounded by hosts, origins and 16 to 48 bytes for each URL, or capture, not by the size of files.
//   - Bytes from disk and network never panic, and reach a terminal only with control characters escaped.
//
// Reports are values. The functions may be called from any goroutine, one for a folder at a time.
//
// Not here: any decision about what to crawl.
package inspect
