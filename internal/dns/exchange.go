package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// maxForeign is how many datagrams that are not the reply are read past per attempt: a flood of forged ones
// is a reason to leave, not to keep guessing with them.
const maxForeign = 32

// ask puts a question to the servers in turn, all of them Attempts times, until one answers: with records,
// or that there are none. The server returned is the one that did.
func (r *Resolver) ask(ctx context.Context, name string, kind dnsmessage.Type) (reply, netip.AddrPort, error) {
	servers := r.options.Servers
	first := r.preferred.Load()
	if r.options.Rotate {
		first = r.preferred.Add(1)
	}
	var last error
	for i := range r.options.Attempts * len(servers) {
		at := (int(first%uint32(len(servers))) + i) % len(servers)
		rep, err := r.askServer(ctx, servers[at], name, kind)
		if err == nil {
			if i > 0 && !r.options.Rotate {
				r.preferred.Store(uint32(at)) // the ones before it do not work
			}
			return rep, servers[at], nil
		}
		last = fmt.Errorf("server %v, %s %s: %w", servers[at], name, kind.String()[len("Type"):], err)
		if ctx.Err() != nil {
			break
		}
	}
	return reply{}, netip.AddrPort{}, last
}

// askServer returns the useful answer of one server. A server that does not know EDNS0 is asked again
// without (RFC 6891 §7).
func (r *Resolver) askServer(
	ctx context.Context, server netip.AddrPort, name string, kind dnsmessage.Type,
) (reply, error) {
	rep, err := r.exchange(ctx, server, name, kind, true)
	if err == nil && (rep.code == dnsmessage.RCodeFormatError || rep.code == dnsmessage.RCodeNotImplemented) {
		rep, err = r.exchange(ctx, server, name, kind, false)
	}
	switch {
	case err != nil:
		return reply{}, err
	case rep.code != dnsmessage.RCodeSuccess && rep.code != dnsmessage.RCodeNameError:
		return reply{}, fmt.Errorf("answered %s", rep.code.String()[len("RCode"):])
	case rep.lame:
		return reply{}, errors.New("does not resolve names for others")
	}
	return rep, nil
}

// exchange asks over UDP, and over TCP if the reply did not fit.
func (r *Resolver) exchange(
	ctx context.Context, server netip.AddrPort, name string, kind dnsmessage.Type, edns bool,
) (reply, error) {
	q, err := newQuery(name, kind, r.options.RandomCase)
	if err != nil {
		return reply{}, err
	}
	msg, err := q.pack(edns)
	if err != nil {
		return reply{}, err
	}
	rep, err := r.over(ctx, "udp", server, func(c net.Conn) (reply, error) { return overUDP(c, q, msg[2:]) })
	if errors.Is(err, errTruncated) {
		binary.BigEndian.PutUint16(msg, uint16(len(msg)-2))
		return r.over(ctx, "tcp", server, func(c net.Conn) (reply, error) { return overTCP(c, q, msg) })
	}
	return rep, err
}

// over makes one exchange on a connection of its own, so from a port of its own, within Timeout.
func (r *Resolver) over(
	ctx context.Context, network string, server netip.AddrPort, talk func(net.Conn) (reply, error),
) (reply, error) {
	r.queries.Add(1)
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	conn, err := r.options.Dial(ctx, network, server.String())
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return reply{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // wakes the reader
	defer stop()
	return talk(conn)
}

// overUDP waits for the reply among the datagrams that come in.
func overUDP(c net.Conn, q query, msg []byte) (reply, error) {
	if _, err := c.Write(msg); err != nil {
		return reply{}, err
	}
	buf := make([]byte, udpBuffer)
	for range maxForeign {
		n, err := c.Read(buf)
		if err != nil {
			return reply{}, err
		}
		rep, err := q.parse(buf[:n])
		if !errors.Is(err, errForeign) {
			return rep, err
		}
	}
	return reply{}, errForeign
}

// overTCP sends and reads one message with its length before it (RFC 1035 §4.2.2).
func overTCP(c net.Conn, q query, framed []byte) (reply, error) {
	if _, err := c.Write(framed); err != nil {
		return reply{}, err
	}
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return reply{}, err
	}
	buf := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, buf); err != nil {
		return reply{}, err
	}
	rep, err := q.parse(buf)
	if errors.Is(err, errTruncated) { // over TCP that makes no sense, and must not loop
		return reply{}, errMalformed
	}
	return rep, err
}
