package fetch

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"decorum/internal/outcome"
)

// step is one part of a SOCKS dialogue: what the client must send, and what is answered.
type step struct{ want, answer string }

// dialogue is a SOCKS proxy that follows a script, then lets s have the connection.
func dialogue(t testing.TB, s server, steps ...step) server {
	return func(c net.Conn) {
		for i, st := range steps {
			got := make([]byte, len(st.want))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != st.want {
				t.Errorf("step %d: got %q (%v), not %q", i, got, err, st.want)
				return
			}
			io.WriteString(c, st.answer)
		}
		if s != nil {
			s(c)
		}
	}
}

const (
	bound  = "\x05\x00\x00\x01\x0a\x00\x00\x01\x04\x38" // 10.0.0.1:1080
	bound6 = "\x05\x00\x00\x04" + "0123456789abcdef" + "\x04\x38"
	boundN = "\x05\x00\x00\x03\x05proxy\x04\x38"
)

func TestSocks(t *testing.T) {
	for _, c := range []struct {
		name, proxy, addr string
		steps             []step
	}{
		{"IPv4", "socks5://p.test:1080", "192.0.2.1:80",
			[]step{{"\x05\x01\x00", "\x05\x00"}, {"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50", bound}}},
		{"IPv6", "socks5://p.test:1080", "[2001:db8::1]:8080",
			[]step{{"\x05\x01\x00", "\x05\x00"}, {"\x05\x01\x00\x04\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x1f\x90", bound6}}},
		{"IPv4 in IPv6", "socks5://p.test:1080", "[::ffff:192.0.2.1]:80",
			[]step{{"\x05\x01\x00", "\x05\x00"}, {"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50", bound}}},
		{"name", "socks5h://p.test:1080", "",
			[]step{{"\x05\x01\x00", "\x05\x00"}, {"\x05\x01\x00\x03\x0bexample.org\x00\x50", boundN}}},
		{"password", "socks5h://me:s3cret@p.test:1080", "",
			[]step{{"\x05\x02\x00\x02", "\x05\x02"}, {"\x01\x02me\x06s3cret", "\x01\x00"}, {"\x05\x01\x00\x03\x0bexample.org\x00\x50", bound}}},
		{"password not wanted", "socks5h://me:s3cret@p.test:1080", "",
			[]step{{"\x05\x02\x00\x02", "\x05\x00"}, {"\x05\x01\x00\x03\x0bexample.org\x00\x50", bound}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, dialogue(t, answering(nextAnswer), c.steps...), Options{Proxy: mustProxy(t, c.proxy)}, func(t *testing.T, n *network, tr *Transport) {
				req := request(t, "http://example.org/")
				req.Addr = netip.AddrPortFrom(netip.Addr{}, 80)
				if c.addr != "" {
					req.Addr = netip.MustParseAddrPort(c.addr)
				}
				x := do(t, tr, req)
				if x.Outcome != outcome.OK || content(t, x.Body) != "next" {
					t.Errorf("%v %q", x.Outcome, x.Detail)
				}
				x.Close()
			})
		})
	}
}

func TestSocksRefused(t *testing.T) {
	greeting, login := step{"\x05\x01\x00", "\x05\x00"}, step{"\x05\x02\x00\x02", "\x05\x02"}
	question := "\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"
	const open, secret = "socks5://p.test:1", "socks5://me:s3cret@p.test:1"
	for _, c := range []struct {
		name, proxy string
		steps       []step
		outcome     outcome.Outcome
		err         error
		detail      string
	}{
		{"refused", open, []step{greeting, {question, "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00"}}, outcome.ConnectFailed, nil, "connection refused"},
		{"unreachable", open, []step{greeting, {question, "\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00"}}, outcome.ConnectFailed, nil, "host unreachable"},
		{"unknown reply", open, []step{greeting, {question, "\x05\x63\x00\x01"}}, outcome.ConnectFailed, nil, "reply 99"},
		{"hangs up", open, []step{greeting, {question, "\x05\x00\x00"}}, outcome.ConnectFailed, nil, "EOF"},
		{"hangs up in the address", open, []step{greeting, {question, "\x05\x00\x00\x03\x09ab"}}, outcome.ConnectFailed, nil, "EOF"},
		{"hangs up at once", open, []step{{"\x05\x01\x00", ""}}, outcome.ConnectFailed, nil, "EOF"},
		{"no such command", open, []step{greeting, {question, "\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"}}, 0, ErrProxyRefused, "connect to anybody"},
		{"odd address", open, []step{greeting, {question, "\x05\x00\x00\x09"}}, 0, ErrProxyRefused, "SOCKS5"},
		{"odd reply", open, []step{greeting, {question, "\x04\x00\x00\x01"}}, 0, ErrProxyRefused, "SOCKS5"},
		{"HTTP", open, []step{{"\x05\x01\x00", "HT"}}, 0, ErrProxyRefused, "SOCKS5"},
		{"wants a password", open, []step{{"\x05\x01\x00", "\x05\xff"}}, 0, ErrProxyRefused, "wants a user and password"},
		{"insists on a password", open, []step{{"\x05\x01\x00", "\x05\x02"}}, 0, ErrProxyRefused, "not supported"},
		{"wants Kerberos", secret, []step{{"\x05\x02\x00\x02", "\x05\xff"}}, 0, ErrProxyRefused, "not supported"},
		{"another password", secret, []step{login, {"\x01\x02me\x06s3cret", "\x01\x01"}}, 0, ErrProxyRefused, "does not accept"},
		{"hangs up at the password", secret, []step{login, {"\x01\x02me\x06s3cret", ""}}, outcome.ConnectFailed, nil, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, dialogue(t, nil, c.steps...), Options{Proxy: mustProxy(t, c.proxy)}, func(t *testing.T, n *network, tr *Transport) {
				checkRefusal(t, tr, c.outcome, c.err, c.detail)
			})
		})
	}
}
