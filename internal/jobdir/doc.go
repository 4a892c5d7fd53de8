// Package jobdir is the crawl folder: where everything lies, who holds it, and how its files are written.
//
//	example.org.crawl/
//	  archive/*.warc.gz      indexes/index.cdxj     pages/pages.jsonl
//	  skipped.jsonl          fetches.jsonl          summary.json
//	  decorum.toml           state/ (store, sieve runs, lock, format)      checkpoints/
//
// It is an unzipped WACZ: archive, indexes and pages are what replay tools look for. `links.jsonl` and
// `indexes/index.cdxj.part` (the index in order of fetching, from which the sorted one is made) join it.
//
// A [Dir] is the opened folder. A [Stream] is a file of JSON lines that only grows. The record types
// ([PageRecord], [FetchRecord], [SkipRecord], [LinkRecord], [CDXRecord]) are its lines: they encode
// themselves into valid JSON whatever bytes the web put into them, and [Records] reads them back.
//
// Invariants:
//
//   - One process writes a folder at a time. The lock is the kernel's, so it ends with the process
//     however that ends, and is never stale; the process id in it is for the message only.
//   - A folder is opened only when its format version is ours. A folder that is neither empty nor a crawl
//     folder is never written to.
//   - A stream holds whole lines up to the offset it was last synced at. Opened at a committed offset it is
//     cut back to it, so streams and state agree after a crash.
//   - A failed fsync is final for its stream.
//   - summary.json, the configuration and the sorted index are replaced whole, or not at all.
//   - A field that is absent from a record is unknown; false, empty text and a depth of 0 are plain values.
//     Where 0 means something other than unknown the field is an [Int].
//
// Concurrency: a Dir may be shared; a Stream and a SkipLog belong to one goroutine at a time.
//
// Not here: the store and its files, the WARC files themselves (see warc), and the meaning of outcomes.
package jobdir
