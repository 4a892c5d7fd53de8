"""Compares what independent readers find in an archive with what the crawl folder says of it.

    compare.py NAME FOLDER warcio.jsonl jwarc.jsonl [pywb.cdxj]

Prints a row for each comparison: how many things were compared, and how many differ. Exit code 1 when any does.
"""
import json
import os
import sys

SHOWN = 5  # differences of a comparison that are printed in full


class Table:
    def __init__(self, name):
        self.name, self.rows, self.texts = name, [], []

    def row(self, what, compared, differences, note=""):
        self.rows.append((what, compared, len(differences), note))
        self.texts += ["%s: %s" % (what, d) for d in differences[:SHOWN]]
        if len(differences) > SHOWN:
            self.texts.append("%s: and %d more" % (what, len(differences) - SHOWN))

    def print(self):
        print("%-78s%9s%8s" % (self.name, "compared", "differ"))
        for what, compared, differ, note in self.rows:
            print("  %-76s%9d%8d  %s" % (what, compared, differ, note))
        for text in self.texts:
            print("  ! " + text)
        return 1 if self.texts or not all(r[1] for r in self.rows if r[3] != "may be none") else 0


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(l) for l in f]


def place(r):
    return (r["file"], int(r["offset"]))


def differing(pairs, fields):
    """Where two readings of the same thing are not the same. fields maps names in the first to names in the second."""
    out = []
    for a, b, where in pairs:
        for name, other in fields.items():
            if a.get(name) != b.get(other):
                out.append("%s: %s is %r, not %r" % (where, name, a.get(name), b.get(other)))
    return out


def readers(t, warcio, jwarc):
    out = [] if len(warcio) == len(jwarc) else ["warcio finds %d records, jwarc %d" % (len(warcio), len(jwarc))]
    fields = {f: f for f in ("file", "offset", "length", "type", "id", "uri", "date", "ip", "payload", "block", "truncated", "concurrent",
                             "refers", "refers_uri", "refers_date", "status")}
    pairs = [(a, b, "%s:%d" % place(a)) for a, b in zip(warcio, jwarc)]
    t.row("records: warcio and jwarc", len(pairs), out + differing(pairs, fields))
    t.row("digests computed by warcio", sum(r["verified"] == "yes" for r in warcio),
          ["%s:%d: %s" % (*place(r), r["problems"]) for r in warcio if r["verified"] == "no"])
    t.row("block digests computed by jwarc", sum(r["block_verified"] == "yes" for r in jwarc),
          ["%s:%d" % place(r) for r in jwarc if r["block_verified"] != "yes"])
    verified = [r for r in jwarc if r.get("verified", "none") != "none"]
    chunked = sum(r["verified"] == "as received" for r in verified)
    t.row("payload digests computed with jwarc", len(verified), ["%s:%d %s" % (*place(r), r["verified"]) for r in verified if r["verified"] == "no"],
          "%d chunked, as received" % chunked if chunked else "")


def references(t, records):
    by_id = {r["id"]: r for r in records}
    out, n = [], 0
    if len(by_id) != len(records):
        out.append("%d records share an id" % (len(records) - len(by_id)))
    for r in records:
        to = r["concurrent"]
        if to is None:
            continue
        n += 1
        if to not in by_id or by_id[to]["uri"] != r["uri"] or by_id[to]["type"] not in ("response", "revisit"):
            out.append("%s is concurrent to %s, which is no capture of %s" % (r["id"], to, r["uri"]))
    t.row("requests and metadata: the capture they belong to", n, out)
    out, n = [], 0
    for r in records:
        if r["type"] != "revisit":
            continue
        n += 1
        first = by_id.get(r["refers"])
        if not first or (first["type"], first["uri"], first["date"], first["payload"]) != ("response", r["refers_uri"], r["refers_date"], r["payload"]):
            out.append("%s refers to %s, which is %s" % (r["id"], r["refers"], first))
    t.row("revisits: the response they refer to", n, out, "may be none")


def timestamp(date):
    return "".join(c for c in date if c.isdigit())[:14]


def index(path):
    out = []
    with open(path, "rb") as f:
        raw = f.read().split(b"\n")[:-1]
    for line in raw:
        key, ts, block = line.decode("utf-8", "surrogateescape").split(" ", 2)
        r = json.loads(block)
        r.update(key=key, ts=ts, file=r["filename"], offset=int(r["offset"]), length=int(r["length"]))
        out.append(r)
    return out, raw == sorted(raw)


def indexed(t, captures, ours, in_order):
    at = {place(r): r for r in captures}
    out = [] if in_order else ["the lines are not in order"]
    if len(ours) != len({place(r) for r in ours}):
        out.append("captures are listed twice")
    out += ["%s:%d is not in the index" % p for p in sorted(set(at) - {place(r) for r in ours})]
    for r in ours:
        r["date14"], r["revisit"] = r["ts"], r.get("mime") == "warc/revisit"
        record = at.get(place(r))
        if record is None:
            out.append("%s:%d is no capture" % place(r))
            continue
        record["date14"], record["revisit"] = timestamp(record["date"]), record["type"] == "revisit"
        out += differing([(r, record, "%s:%d" % place(r))], {"url": "uri", "date14": "date14", "digest": "payload", "length": "length", "status": "status", "revisit": "revisit"})
    t.row("index.cdxj and the archive: URL, time, digest, length, status, revisit", len(ours), out)


def paged(t, captures, pages):
    by_id = {r["id"]: r for r in captures}
    out, n = [], 0
    for p in pages:
        w = p.get("warc")
        if not w:
            continue
        n += 1
        record = by_id.get(w["record_id"])
        if record is None:
            out.append("%s: record %s is not in the archive" % (p["url"], w["record_id"]))
            continue
        page = dict(p, file=w["file"], offset=w["offset"], length=w["length"], status=str(p["status"]), ts=p["ts"])
        out += differing([(page, record, p["url"])], {"file": "file", "offset": "offset", "length": "length", "id": "id", "url": "uri", "digest": "payload", "status": "status",
                                                     "ts": "date", "ip": "ip", "truncated": "truncated"})
    t.row("pages.jsonl and the archive: place, id, URL, digest, status, time, address", n, out)


def fetched(t, captures, fetches):
    answered = [f for f in fetches if f.get("status")]
    want = sorted((f["url"], str(f["status"]), f["ts"]) for f in answered)
    got = sorted((r["uri"], r["status"], r["date"]) for r in captures)
    out = ["%s answered %s at %s is not in the archive" % f for f in want if f not in set(got)]
    out += ["%s answered %s at %s is archived, not listed" % f for f in got if f not in set(want)]
    t.row("fetches.jsonl and the archive: each answer", len(want), out)


def against_pywb(t, ours, pywb):
    theirs = {place(r): r for r in pywb}
    out = ["%s:%d is in our index alone" % place(r) for r in ours if place(r) not in theirs]
    out += ["%s:%d is in pywb's index alone" % p for p in sorted(set(theirs) - {place(r) for r in ours})]
    for r in ours:
        other = dict(theirs.get(place(r), r))
        if r["revisit"]:
            other["status"] = r["status"]  # pywb leaves it out
        if other.get("mime") == "unk":
            other.pop("mime")  # its word for a response without a type
        out += differing([(r, other, r["url"])], {f: f for f in ("key", "ts", "url", "length", "digest", "status", "mime")})
    t.row("index.cdxj and pywb's: key, time, URL, place, digest, status, type", len(ours), out)


def main():
    name, folder, warcio, jwarc = sys.argv[1:5]
    t = Table(name)
    records = lines(warcio)
    captures = [r for r in records if r["type"] in ("response", "revisit")]
    readers(t, records, lines(jwarc))
    references(t, records)
    ours, in_order = index(os.path.join(folder, "indexes", "index.cdxj"))
    indexed(t, captures, ours, in_order)
    paged(t, captures, lines(os.path.join(folder, "pages", "pages.jsonl"))[1:])
    fetched(t, captures, lines(os.path.join(folder, "fetches.jsonl")))
    if len(sys.argv) > 5:
        against_pywb(t, ours, index(sys.argv[5])[0])
    sys.exit(t.print())


main()
