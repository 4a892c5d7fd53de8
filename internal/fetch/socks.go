package fetch

import (
	"errors"
	"fmt"
	"io"
	"net"

	"decorum/internal/outcome"
)

// Bytes of SOCKS version 5 (RFC 1928) and its user name authentication (RFC 1929).
const (
	socksVersion    = 5
	socksNoAuth     = 0
	socksPassword   = 2
	socksNoMethod   = 0xff
	socksConnect    = 1
	socksIPv4       = 1
	socksName       = 3
	socksIPv6       = 4
	socksAuthFormat = 1
	socksMaxName    = 255
)

// socksReplies are the words for a reply, RFC 1928 §6.
var socksReplies = [...]string{"", "general failure", "not allowed by its rules", "network unreachable", "host unreachable",
	"connection refused", "TTL expired", "command not supported", "address type not supported"}

const socksNoCommand = 7

// socks asks a SOCKS5 proxy for a connection.
func (p *Proxy) socks(c net.Conn, to target) error {
	if err := p.socksGreet(c); err != nil {
		return p.socksLost(to, err)
	}
	b := []byte{socksVersion, socksConnect, 0}
	switch {
	case to.addr.Is4():
		b = append(append(b, socksIPv4), to.addr.AsSlice()...)
	case to.addr.IsValid():
		b = append(append(b, socksIPv6), to.addr.AsSlice()...)
	case len(to.name) > socksMaxName:
		return fail(outcome.ConnectFailed, "the name is too long for a SOCKS proxy")
	default:
		b = append(append(b, socksName, byte(len(to.name))), to.name...)
	}
	if _, err := c.Write(append(b, byte(to.port>>8), byte(to.port))); err != nil {
		return p.lost(to, err)
	}
	return p.socksLost(to, p.socksReply(c, to))
}

// socksGreet agrees on a method and authenticates.
func (p *Proxy) socksGreet(c net.Conn) error {
	methods := []byte{socksVersion, 1, socksNoAuth}
	if p.secret {
		methods = []byte{socksVersion, 2, socksNoAuth, socksPassword}
	}
	var answer [2]byte
	if err := ask(c, methods, answer[:]); err != nil {
		return err
	}
	switch {
	case answer[0] != socksVersion:
		return fmt.Errorf("%w: %v does not speak SOCKS5", ErrProxyRefused, p)
	case answer[1] == socksNoAuth:
		return nil
	case answer[1] == socksPassword && p.secret:
		return p.socksLogin(c)
	case answer[1] == socksNoMethod && !p.secret:
		return fmt.Errorf("%w: %v wants a user and password", ErrProxyRefused, p)
	}
	return fmt.Errorf("%w: %v wants authentication of a kind that is not supported", ErrProxyRefused, p)
}

func (p *Proxy) socksLogin(c net.Conn) error {
	b := append([]byte{socksAuthFormat, byte(len(p.user))}, p.user...)
	b = append(append(b, byte(len(p.password))), p.password...)
	var answer [2]byte
	if err := ask(c, b, answer[:]); err != nil {
		return err
	}
	if answer[1] != 0 {
		return fmt.Errorf("%w: %v does not accept the user and password given", ErrProxyRefused, p)
	}
	return nil
}

// socksReply reads the answer to the request, to its last byte: what follows is the target's.
func (p *Proxy) socksReply(c net.Conn, to target) error {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	code := int(head[1])
	switch {
	case head[0] != socksVersion:
		return fmt.Errorf("%w: %v does not speak SOCKS5", ErrProxyRefused, p)
	case code == socksNoCommand:
		return fmt.Errorf("%w: %v does not connect to anybody", ErrProxyRefused, p)
	case code != 0 && code < len(socksReplies):
		return fail(outcome.ConnectFailed, "proxy %v does not connect to %v: %s", p, to, socksReplies[code])
	case code != 0:
		return fail(outcome.ConnectFailed, "proxy %v does not connect to %v: reply %d", p, to, code)
	}
	return p.socksBound(c, head[3])
}

// socksBound reads the address that the proxy connects from, which nobody needs.
func (p *Proxy) socksBound(c net.Conn, kind byte) error {
	const port = 2
	n := net.IPv4len
	switch kind {
	case socksIPv4:
	case socksIPv6:
		n = net.IPv6len
	case socksName:
		var length [1]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return err
		}
		n = int(length[0])
	default:
		return fmt.Errorf("%w: %v does not speak SOCKS5", ErrProxyRefused, p)
	}
	_, err := io.ReadFull(c, make([]byte, n+port))
	return err
}

// socksLost leaves failures and errors of ours as they are, and calls the rest a lost connection.
func (p *Proxy) socksLost(to target, err error) error {
	if f := (*failure)(nil); err == nil || errors.As(err, &f) || errors.Is(err, ErrProxyRefused) {
		return err
	}
	return p.lost(to, err)
}

// ask writes and reads a full answer.
func ask(c net.Conn, question, answer []byte) error {
	if _, err := c.Write(question); err != nil {
		return err
	}
	_, err := io.ReadFull(c, answer)
	return err
}
