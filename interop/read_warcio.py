"""Reads WARC files with warcio and prints what each record says of itself, as JSON lines."""
import base64
import json
import os
import sys

from warcio.archiveiterator import ArchiveIterator


def hexadecimal(digest):
    """sha256:<base16 or base32> as sha256:<base16>."""
    if not digest:
        return None
    algorithm, _, value = digest.partition(":")
    if len(value) != 64:
        value = base64.b32decode(value + "=" * (-len(value) % 8)).hex()
    return algorithm + ":" + value


def bare(uri):
    return uri.strip("<>") if uri else None


def records(path):
    with open(path, "rb") as stream:
        archive = ArchiveIterator(stream, check_digests=True)
        for r in archive:
            h = r.rec_headers
            http = r.http_headers
            offset = archive.get_record_offset()
            while r.raw_stream.read(1 << 16):  # to the end, so that digests are complete
                pass
            yield {
                "file": os.path.basename(path), "offset": offset, "length": archive.get_record_length(), "type": r.rec_type,
                "id": bare(h.get_header("WARC-Record-ID")), "uri": bare(h.get_header("WARC-Target-URI")), "date": h.get_header("WARC-Date"),
                "ip": h.get_header("WARC-IP-Address"), "payload": hexadecimal(h.get_header("WARC-Payload-Digest")),
                "block": hexadecimal(h.get_header("WARC-Block-Digest")), "truncated": h.get_header("WARC-Truncated"),
                "status": http.get_statuscode() if http and r.rec_type in ("response", "revisit") else None,
                "concurrent": bare(h.get_header("WARC-Concurrent-To")), "refers": bare(h.get_header("WARC-Refers-To")),
                "refers_uri": h.get_header("WARC-Refers-To-Target-URI"), "refers_date": h.get_header("WARC-Refers-To-Date"),
                "verified": "yes" if r.digest_checker.passed else "no" if r.digest_checker.passed is False else "none",
                "problems": r.digest_checker.problems,
            }


def main():
    for path in sys.argv[1:]:
        for r in records(path):
            print(json.dumps(r))


main()
