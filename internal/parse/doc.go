// Package parse turns the bytes of a page into what a crawler and an indexer want: links with their
// anchor text, base, canonical, meta robots, title, and text with tag information. It also reads
// sitemaps, feeds, Link and X-Robots-Tag headers, and says what kind of document bytes are.
//
// HTML is read in one scan without a DOM. The scan follows the tokenization stage of the HTML Standard
// (https://html.spec.whatwg.org/#tokenization) with the switches of the tree construction stage that
// decide where markup ends: raw text elements, and SVG and MathML content.
//
// Invariants:
//
//   - Nothing read from the network panics, and no input is an error: broken input gives what a browser
//     would see.
//   - Work is linear in the input: every byte is examined a bounded number of times, whatever is left
//     unclosed. Tests count the bytes examined.
//   - Memory is bounded by Options and by a small multiple of the body.
//   - Every kept string is valid UTF-8; what was not is U+FFFD.
//   - A Page and its slices belong to the Parser and are valid until its next call; the strings in them
//     may be kept. The strings of all links of a page share one allocation, those of its text another,
//     so keeping one string keeps that page's share: clone what is kept for long.
//
// A Parser is not safe for concurrent use: one per worker. The functions are safe.
//
// Not here: no resolving of references (weburl does that, with Page.Base), no scripts, no links of
// forms (submitting one is an action, not a visit), no links in comments, no layout or style.
package parse
