package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Options configure a Transport. The zero value of a field is its default.
type Options struct {
	// UserAgent is the User-Agent field. Default "decorum".
	UserAgent string
	// Accept is the Accept field, unless a request brings its own. Default: HTML first, anything else too.
	Accept string

	// ConnectTimeout bounds the TCP handshake; with a proxy, that of both connections. Default 10 s.
	ConnectTimeout time.Duration
	// TLSTimeout bounds the TLS handshake. Default 10 s.
	TLSTimeout time.Duration
	// Timeout bounds the whole exchange, wall clock, from Do to the last byte. Default 30 s.
	Timeout time.Duration
	// TTFBTimeout bounds the wait for the final response's first byte once the request is sent. Default 20 s.
	TTFBTimeout time.Duration

	// MinRate is the least bytes per second, counted from the first byte of the response with
	// MinRateGrace for free: the n-th byte must be there after MinRateGrace + n/MinRate. Default 1 KiB/s;
	// negative means no limit.
	MinRate int64
	// MinRateGrace is the head start of MinRate. Default 10 s.
	MinRateGrace time.Duration

	// MaxHeaderBytes bounds status line and header together, and the trailers of a chunked body. Default 64 KiB.
	MaxHeaderBytes int
	// MaxHeaders bounds the fields of one header. Default 500: the 64 KiB hold as many of usual size.
	MaxHeaders int
	// MaxInformational bounds the 1xx responses before the final one. Default 5, as in net/http.
	MaxInformational int

	// MaxBody bounds the decoded body in bytes. Default 10 MiB. A longer body is cut there.
	MaxBody int64
	// MaxWire bounds the body on the wire, framing and coding included. Default: the MaxBody in force
	// plus 1 MiB, room for the framing of tiny chunks; a coded body larger than its decoded form is odd.
	MaxWire int64

	// SpoolThreshold is the size in bytes past which a body moves from memory to a file. Default 1 MiB.
	SpoolThreshold int64
	// SpoolDir holds those files and nothing else: New removes what an earlier process left there.
	// Default: a new folder in the system's temporary folder, removed by Close.
	SpoolDir string

	// Dial opens connections. It must honour its context. Default: net.Dialer.DialContext.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Control refuses a target's address by returning an error. It is asked on each dial, with IPv4-mapped IPv6
	// addresses unmapped; never about a name that a proxy resolves. Default: every address is allowed.
	Control func(netip.AddrPort) error

	// Proxy is the way to all targets; its own address is not subject to Control. Default: none, whatever the environment says.
	Proxy Proxy

	// RootCAs verify servers. Default: the system's, which honour SSL_CERT_FILE and SSL_CERT_DIR.
	RootCAs *x509.CertPool
	// TLSSessions bounds the cache of resumable TLS sessions. Default 512.
	TLSSessions int

	// MaxIdle bounds the kept connections; past it the one kept longest is closed. Default 1000,
	// so that with the connections in use a process stays below the usual 4096 files. Negative keeps none.
	MaxIdle int
}

// EnsureDefaults fills in the defaults.
func (o *Options) EnsureDefaults() {
	def(&o.UserAgent, "decorum")
	def(&o.Accept, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	def(&o.ConnectTimeout, 10*time.Second)
	def(&o.TLSTimeout, 10*time.Second)
	def(&o.Timeout, 30*time.Second)
	def(&o.TTFBTimeout, 20*time.Second)
	def(&o.MinRate, 1<<10)
	def(&o.MinRateGrace, 10*time.Second)
	def(&o.MaxHeaderBytes, 64<<10)
	def(&o.MaxHeaders, 500)
	def(&o.MaxInformational, 5)
	def(&o.MaxBody, 10<<20)
	def(&o.SpoolThreshold, 1<<20)
	def(&o.TLSSessions, 512)
	def(&o.MaxIdle, 1000)
	if o.Dial == nil {
		// No keep-alive probes: a connection rests for a gap of seconds, and each probe setting is a system call.
		o.Dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports the first option that makes no sense.
func (o *Options) Validate() error {
	if err := validValue("User-Agent", o.UserAgent); err != nil {
		return err
	}
	if err := validValue("Accept", o.Accept); err != nil {
		return err
	}
	for name, d := range map[string]time.Duration{"ConnectTimeout": o.ConnectTimeout, "TLSTimeout": o.TLSTimeout,
		"Timeout": o.Timeout, "TTFBTimeout": o.TTFBTimeout, "MinRateGrace": o.MinRateGrace} {
		if d < 0 {
			return fmt.Errorf("%s is negative", name)
		}
	}
	for name, n := range map[string]int64{"MaxHeaderBytes": int64(o.MaxHeaderBytes), "MaxHeaders": int64(o.MaxHeaders),
		"MaxInformational": int64(o.MaxInformational), "MaxBody": o.MaxBody, "MaxWire": o.MaxWire,
		"SpoolThreshold": o.SpoolThreshold, "TLSSessions": int64(o.TLSSessions)} {
		if n < 0 {
			return fmt.Errorf("%s is negative", name)
		}
	}
	if o.MaxHeaderBytes > 16<<20 {
		return errors.New("MaxHeaderBytes is more than 16 MiB")
	}
	return nil
}
