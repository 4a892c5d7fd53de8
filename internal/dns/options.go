package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Options of a resolver. A zero field takes its default.
type Options struct {
	Servers   []netip.AddrPort        // recursive name servers, in order; default: those of /etc/resolv.conf
	HostsFile string                  // names known to the system; default /etc/hosts, "-" for none
	Static    map[string][]netip.Addr // names fixed by the operator; "*.example.test" fixes all names below

	Timeout       time.Duration // of one attempt with one server over one transport; default 3 s
	Attempts      int           // rounds through all servers; default 2
	MinTTL        time.Duration // shortest use of an answer; default 30 s, so that one visit asks once
	MaxTTL        time.Duration // longest use of an answer; default 24 h
	NegativeTTL   time.Duration // longest use of an absence; default 15 min (RFC 2308 §5 allows 3 h)
	FailureTTL    time.Duration // rest after a first failure, doubled with each; default 5 s
	FailureTTLMax time.Duration // where doubling ends; default 5 min, the limit of RFC 2308 §7
	MaxEntries    int           // names kept; default 65,536, some 30 MB
	MaxConcurrent int           // names asked for at once; default 256
	Rotate        bool          // spread questions over the servers; default: the one that works first
	RandomCase    bool          // draw the case of letters and demand it back (draft "dns 0x20"); default off

	// Dial opens "udp" and "tcp" connections to servers; default net.Dialer. Each call must use a port of
	// its own.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Remote says that a proxy resolves names: none is asked for, and what only name servers know is answered with
	// Answer.Remote. Addresses, Static and the hosts file still count. Default off.
	Remote bool

	Policy *Policy // which addresses may be contacted; default: public ones
}

// EnsureDefaults fills in the zero fields, except Servers.
func (o *Options) EnsureDefaults() {
	setDefault(&o.HostsFile, "/etc/hosts")
	setDefault(&o.Timeout, 3*time.Second)
	setDefault(&o.Attempts, 2)
	setDefault(&o.MinTTL, 30*time.Second)
	setDefault(&o.MaxTTL, 24*time.Hour)
	setDefault(&o.NegativeTTL, 15*time.Minute)
	setDefault(&o.FailureTTL, 5*time.Second)
	setDefault(&o.FailureTTLMax, 5*time.Minute)
	setDefault(&o.MaxEntries, 65_536)
	setDefault(&o.MaxConcurrent, 256)
	setDefault(&o.Policy, NewPolicy(PolicyOptions{}))
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports the first field out of range.
func (o *Options) Validate() error {
	switch {
	case o.Timeout < 0 || o.Attempts < 0 || o.MaxEntries < 0 || o.MaxConcurrent < 0:
		return fmt.Errorf("dns: a limit is negative")
	case o.MinTTL < 0 || o.MaxTTL < o.MinTTL:
		return fmt.Errorf("dns: TTL from %v to %v is no range", o.MinTTL, o.MaxTTL)
	case o.NegativeTTL < 0 || o.FailureTTL < 0 || o.FailureTTLMax < o.FailureTTL:
		return fmt.Errorf("dns: negative TTL %v, or failure TTL from %v to %v is no range",
			o.NegativeTTL, o.FailureTTL, o.FailureTTLMax)
	}
	for _, s := range o.Servers {
		if !s.IsValid() || s.Port() == 0 {
			return fmt.Errorf("dns: server %v is not ADDRESS:PORT", s)
		}
	}
	return nil
}

// complete fills in what is missing, from the system too, and validates. What resolv.conf says of
// time-outs and attempts holds unless the operator said something.
func (o *Options) complete() error {
	if len(o.Servers) == 0 && !o.Remote {
		s, err := readResolvConf("/etc/resolv.conf")
		if err != nil {
			return err
		}
		s.apply(o)
	}
	o.EnsureDefaults()
	return o.Validate()
}
