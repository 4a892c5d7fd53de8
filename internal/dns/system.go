package dns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxServers    = 3        // glibc asks no more either (resolv.conf(5), MAXNS)
	maxSystemFile = 16 << 20 // block lists make hosts files of megabytes
)

// system is what resolv.conf(5) says that concerns absolute names.
type system struct {
	servers  []netip.AddrPort
	timeout  time.Duration
	attempts int
	rotate   bool
}

// apply fills in what the options leave open.
func (s system) apply(o *Options) {
	o.Servers = s.servers
	setDefault(&o.Timeout, s.timeout)
	setDefault(&o.Attempts, s.attempts)
	o.Rotate = o.Rotate || s.rotate
}

// readResolvConf reads the file; without one, or without servers, the machine itself is asked, as
// resolv.conf(5) says.
func readResolvConf(path string) (system, error) {
	text, err := readSystemFile(path)
	if err != nil {
		return system{}, err
	}
	s := parseResolvConf(text)
	if len(s.servers) == 0 {
		const port = 53
		s.servers = []netip.AddrPort{
			netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port),
			netip.AddrPortFrom(netip.IPv6Loopback(), port),
		}
	}
	return s, nil
}

// readSystemFile returns the text of a file, "" if there is none.
func readSystemFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("dns: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSystemFile))
	if err != nil {
		return "", fmt.Errorf("dns: %w", err)
	}
	return string(bytes.ToValidUTF8(b, nil)), nil
}

// parseResolvConf skips what it does not know, as every resolver does.
func parseResolvConf(text string) system {
	var s system
	for line := range strings.Lines(text) {
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if addr, err := netip.ParseAddr(fields[1]); err == nil && len(s.servers) < maxServers {
				s.servers = append(s.servers, netip.AddrPortFrom(addr, 53))
			}
		case "options":
			for _, option := range fields[1:] {
				s.option(option)
			}
		}
	}
	return s
}

// option reads one word after "options", within the limits of resolv.conf(5).
func (s *system) option(word string) {
	name, value, _ := strings.Cut(word, ":")
	n, err := strconv.Atoi(value)
	switch {
	case name == "rotate":
		s.rotate = true
	case err != nil || n < 1:
	case name == "timeout":
		s.timeout = time.Duration(min(n, 30)) * time.Second
	case name == "attempts":
		s.attempts = min(n, 5)
	}
}

// overrides are the names no server is asked for.
type overrides struct {
	static map[string][]netip.Addr // the operator's, wildcards included
	hosts  map[string][]netip.Addr // the system's
}

func newOverrides(static map[string][]netip.Addr, hostsFile string) (overrides, error) {
	o := overrides{static: make(map[string][]netip.Addr, len(static))}
	for name, addrs := range static {
		if len(addrs) == 0 {
			return overrides{}, fmt.Errorf("dns: static name %q has no address", name)
		}
		o.static[strings.ToLower(strings.TrimSuffix(name, "."))] = slices.Clone(addrs)
	}
	if hostsFile == "-" {
		return o, nil
	}
	text, err := readSystemFile(hostsFile)
	o.hosts = parseHosts(text)
	return o, err
}

// parseHosts reads hosts(5): an address and its names on each line.
func parseHosts(text string) map[string][]netip.Addr {
	hosts := make(map[string][]netip.Addr)
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, name := range fields[1:] {
			name = strings.ToLower(strings.TrimSuffix(name, "."))
			hosts[name] = append(hosts[name], addr)
		}
	}
	return hosts
}

// find returns the addresses fixed for name: by the operator, exactly or by the nearest wildcard; then by
// the hosts file; then by RFC 6761 §6.3 for localhost.
func (o overrides) find(name string) ([]netip.Addr, bool) {
	if addrs, ok := o.wildcard(name); ok {
		return addrs, true
	}
	if addrs, ok := o.hosts[name]; ok {
		return addrs, true
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, true
	}
	return nil, false
}

func (o overrides) wildcard(name string) ([]netip.Addr, bool) {
	if len(o.static) == 0 {
		return nil, false
	}
	if addrs, ok := o.static[name]; ok {
		return addrs, true
	}
	for rest, ok := name, true; ok; {
		if _, rest, ok = strings.Cut(rest, "."); ok {
			if addrs, found := o.static["*."+rest]; found {
				return addrs, true
			}
		}
	}
	return nil, false
}

// checkName says why name cannot exist in the DNS, or "".
func checkName(name string) string {
	const maxName, maxLabel = 253, 63 // RFC 1035 §2.3.4, in text form
	if name == "" || len(name) > maxName {
		return fmt.Sprintf("a host name has 1 to %d characters, this one %d", maxName, len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return fmt.Sprintf("each label of a host name has 1 to %d characters", maxLabel)
		}
	}
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "invalid", "onion": // RFC 6761 §6.4, RFC 7686 §2: not to be asked for
		return "names of this kind are not in the DNS"
	}
	return ""
}
