#!/usr/bin/env python3
"""A web server of odd answers on loopback, for the archive to hold. Prints its port."""
import gzip
import random
import socket
import threading
import time
import zlib

BIG = b"<p>" + b"0123456789abcdef" * 90000
PAGES = {}


def page(path, body=b"", head=b"Content-Type: text/html", status=b"200 OK", length=True, eol=b"\r\n"):
    fields = [b"HTTP/1.1 " + status] + [f for f in head.split(b"\n") if f]
    if length:
        fields.append(b"Content-Length: %d" % len(body))
    PAGES[path] = eol.join(fields) + eol + eol + body


def chunked(body, size=1000):
    out = b""
    for i in range(0, len(body), size):
        part = body[i:i + size]
        out += b"%x;ext=1\r\n%s\r\n" % (len(part), part)
    return out + b"0\r\nTrailer: yes\r\n\r\n"


def text(name):
    return b"<title>%s</title><p>all about %s, and nothing else" % (name, name)


LINKS = [b"/chunked", b"/gzip", b"/gzip-chunked", b"/deflate", b"/empty", b"/204", b"/dup1", b"/dup2", b"/dup-chunked", b"/slow", b"/moved", b"/moved-empty",
         b"/404", b"/500?x", b"/big", b"/noise1", b"/noise2", b"/cut", b"/bare-lf", b"/folded", b"/latin1-head", b"/no-type", b"/old", b"/unsized", b"/binary",
         b"/q?b=2&a=1", b"/q?a=1&b=2", b"/q?B=2&A=1", b"/Q?Mixed=Case", b"/q?", b"/q?a=1&a=0&&", b"/q?=x&y", b"/%7Euser/%e4?u=%E4%20+", "/ä/ö?ü=ß".encode(),
         b"/a//b/./c/../d;x=1/", b"/path;jsessionid=0123456789abcdef0123456789abcdef?x=1", b"/s?sid=0123456789abcdef0123456789abcdef&y=1",
         b"/p/?utm_source=a&z=1", b"/index.html", b"/dir/index.php", b"/'quote\"<>`{}|\\^", b"/sp%20ace", b"/%2Fslash%3F%23", b"/tab%09", b"/www.x.test/", b"/CAPS/Path.HTML",
         b"/a?http://www.other.test/x?y=1", b"/!$&'()*+,;=:@", b"/%", b"/%zz", b"/\xff", b"/trailing.", b"/.well-known/x", b"//double", b"/x?a=%26&b=%3D&c=%2B", b"/?", b"/?a"]


def links():
    return b"<title>odd</title>" + b"".join(b'<a href="%s">x</a>' % l.replace(b"&", b"&amp;").replace(b'"', b"&quot;").replace(b"<", b"&lt;") for l in LINKS)


def build():
    page(b"/", links())
    page(b"/robots.txt", b"User-agent: *\nDisallow: /none\n", b"Content-Type: text/plain")
    html = b"Content-Type: text/html; charset=utf-8"
    page(b"/chunked", chunked(text(b"chunked") * 100), html + b"\nTransfer-Encoding: chunked", length=False)
    page(b"/gzip", gzip.compress(text(b"gzip") * 100), html + b"\nContent-Encoding: gzip")
    page(b"/gzip-chunked", chunked(gzip.compress(text(b"gzip in chunks") * 100), 7), html + b"\nContent-Encoding: gzip\nTransfer-Encoding: chunked", length=False)
    page(b"/deflate", zlib.compress(text(b"deflate") * 100), html + b"\nContent-Encoding: deflate")
    page(b"/empty")
    page(b"/204", b"", b"", b"204 No Content", length=False)
    page(b"/dup1", text(b"twice"))
    page(b"/dup2", text(b"twice"))
    page(b"/dup-chunked", chunked(text(b"twice")), html + b"\nTransfer-Encoding: chunked", length=False)
    page(b"/slow", text(b"slow") + b'<a href="/dup3">')  # by then the first of the duplicates is on disk
    page(b"/dup3", text(b"twice"))
    page(b"/moved", text(b"moved"), b"Location: /moved-to?a=1#x", b"301 Moved")
    page(b"/moved-empty", b"", b"Location: /\xc3\xa4", b"302 ")
    page(b"/404", text(b"not found"), html, b"404 Not Found\xff")
    page(b"/big", BIG)  # beyond --max-body
    page(b"/noise1", random.Random(1).randbytes(900_000), b"Content-Type: image/png")  # two of these fill an archive file
    page(b"/noise2", random.Random(2).randbytes(900_000), b"Content-Type: image/png")
    PAGES[b"/cut"] = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<p>only this"
    page(b"/bare-lf", text(b"bare line feeds"), eol=b"\n")
    page(b"/folded", text(b"folded"), b"Content-Type: text/html;\n  charset=utf-8\nX-Empty:\nX-Long: " + b"x" * 3000)
    page(b"/latin1-head", text(b"latin"), b"Content-Type: text/html\nX-Latin: \xe4\xf6\xfc\nX-Utf: \xc3\xa4")
    page(b"/no-type", text(b"no type"), b"")
    PAGES[b"/old"] = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + text(b"old")
    PAGES[b"/unsized"] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=\"utf-8\"\r\nConnection: close\r\n\r\n" + text(b"unsized")
    page(b"/binary", bytes(range(256)) * 40, b"Content-Type: application/x-\"odd\" thing")


def answer(path):
    if path in PAGES:
        return PAGES[path]
    body = text(path.hex().encode())
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def serve(conn):
    try:
        converse(conn)
    except OSError:
        pass  # the crawler hung up, which it may


def converse(conn):
    with conn, conn.makefile("rb") as lines:
        while True:
            first = lines.readline()
            while line := lines.readline():
                if line == b"\r\n":
                    break
            if not first:
                return
            path = first.split(b" ")[1]
            if path == b"/slow":
                time.sleep(1)
            conn.sendall(answer(path))
            if path in (b"/cut", b"/old", b"/unsized"):
                return


def main():
    build()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=serve, args=(conn,), daemon=True).start()


main()
