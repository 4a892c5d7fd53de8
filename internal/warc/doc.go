// Package warc writes, reads and checks web archives: WARC 1.1 (ISO 28500:2017) records, each
// compressed as a gzip member of its own, so that any record can be read knowing only where it begins.
//
// A record is a header, a block and two line ends. An [Encoder] turns a [Record] into a whole member in
// memory (workers do this in parallel: it is nearly all of the cost), a [Writer] appends members to
// numbered files (one goroutine does this: the committer), a [Reader] walks any WARC file, and a
// [Checker] reads every byte of one and says what is wrong and where.
//
// Invariants:
//
//   - A file holds whole members only, up to the position the last successful Sync vouches for. What
//     lies behind the position given to OpenWriter is removed before anything is appended.
//   - Each file, and each run that appends to it, begins with a warcinfo record. Records therefore need
//     no WARC-Warcinfo-ID: the standard binds them to the warcinfo that precedes them.
//   - The records of one Append lie in one file, in order, without others between them.
//   - A failed fsync is final: the kernel may have dropped the pages, so the writer refuses all further
//     work instead of asking again and believing the answer.
//   - HTTP heads and bodies are stored as they came: transfer and content codings untouched.
//
// Digests are "sha256:" and 64 hex digits. warcio and pywb accept base16, padded base32 and base64,
// told apart by length; unpadded base32, which the grammar of the standard would want, they refuse for
// SHA-256. Hex is what every tool reads. The payload of an HTTP record is what follows its head on the
// wire, chunk framing included: that is what warcio verifies. The checker takes the reading with the
// framing removed as well.
//
// Concurrency: an Encoder, a Writer, a Reader and a Checker each belong to one goroutine at a time; a
// [Pool] hands encoders to many. Separate values share nothing.
//
// Not here: ARC files (recognised and refused), segmented records (read, never written), zstd
// compression, indexes (see jobdir), and any decision about what to archive.
package warc
