// Package fetch performs one HTTP/1.1 exchange within limits and keeps the bytes as they were on the wire.
//
// An exchange is one GET of one URL at one address. Transport.Do returns an Exchange whose Outcome says
// what the web did; an error means that we failed (context cancelled, disk, a request that cannot be
// written) and that there is nothing to record.
//
// # Life of an exchange
//
// take the host's kept connection, or dial and shake hands -> send the request -> head (informational
// responses are skipped) -> body: framing is parsed in place, wire bytes kept, content codings decoded
// as they arrive -> the connection is kept for the host, or closed. All of it happens in the caller's
// goroutine; nothing else runs but one timer that closes kept connections when they expire.
//
// # Invariants
//
//   - A politeness host (Request.HostKey) has at most one open connection at any instant, whatever the
//     scheme, port or address: the old one is closed before a new one is dialled. A second exchange with
//     a busy host is refused with ErrHostBusy, never queued: the frontier grants one lease per host.
//   - The address policy (Options.Control) is asked about the very address that is dialled, on each dial. What a
//     proxy makes of a name that it resolves itself is the proxy's business.
//   - Every exchange ends: by Timeout at the latest, with at most MaxHeaderBytes per head, MaxInformational
//     interim heads, MaxWire bytes of body, and MaxBody bytes out of each decoder.
//   - HeadBytes followed by WireBody is the response as received, byte for byte; bytes behind the end of a
//     response are never part of it, and a connection that carried such bytes is never used again.
//   - A connection is used again only after a response whose end was marked by its own framing.
//   - Bytes from the network never panic and never become an error: they become an outcome.
//
// # Framing (RFC 9112 §6)
//
// Transfer-Encoding wins over Content-Length, and such a connection is closed afterwards: the RFC allows
// it, servers behind careless proxies do it, and smuggling needs a second response on the connection,
// which there will not be. Differing Content-Length values, codings other than "chunked" and 101 are
// BadHTTP. Bare LF and obs-fold are tolerated, NUL and other control bytes in a field are not. HTTP/0.9 is
// BadHTTP; HTTP/1.0 is read until its length or the end and closed.
//
// # Redial
//
// A kept connection that fails before the first byte of an answer was closed by the server meanwhile. The
// request is sent once more on a new connection, inside the same exchange: the first attempt got no
// answer, so for politeness there was one contact.
//
// # TLS
//
// TLS 1.2 at least (RFC 8996 retired 1.0 and 1.1), ALPN "http/1.1" alone, certificates verified against
// Options.RootCAs or the system's roots, sessions resumed.
//
// # Proxy
//
// With Options.Proxy each connection is a tunnel: CONNECT or SOCKS5 to the target, for http and https alike, so that
// the bytes inside are those of the target and nobody rewrites them. The rules stay those of a direct connection, one
// per politeness host. An http or socks5h proxy gets names, a socks5 proxy the addresses that the caller found. A target
// that the proxy does not reach is ConnectFailed; a proxy that cannot be reached, or that does not want us, is an error
// of ours (ErrProxyDown, ErrProxyRefused): going on would write off every host for the proxy's fault. The
// credentials of the proxy are sent to it alone and are in no Exchange.
//
// # Concurrency
//
// A Transport serves any number of concurrent exchanges with different hosts. An Exchange belongs to one
// goroutine at a time; its bytes are valid until Close.
//
// # Not here
//
// No redirect is followed, no retry made, no cookie kept, no TLS to the proxy itself, no HTTP/2, no request method but
// GET; names are resolved and hosts paced by others.
package fetch
