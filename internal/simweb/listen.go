package simweb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// maxListeners is how many addresses get a listener of their own. More share one on all addresses that
// hangs up on everyone but loopback.
const maxListeners = 1024

// server is the real network: listeners and their connections.
type server struct {
	web       *Web
	listeners []net.Listener
	wg        sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu; nil once closed
}

// Listen serves the hosts on their loopback addresses at the port, 0 meaning Options.Port, until close is
// called or ctx is done. close waits for all connections.
func (w *Web) Listen(ctx context.Context, port int) (close func() error, err error) {
	if port == 0 {
		port = int(w.opts.Port)
	}
	s := &server{web: w, conns: map[net.Conn]bool{}}
	addrs := []netip.Addr{netip.IPv4Unspecified()}
	if len(w.byAddr) <= maxListeners {
		addrs = addrs[:0]
		for addr := range w.byAddr {
			addrs = append(addrs, addr)
		}
	}
	var lc net.ListenConfig
	for _, addr := range addrs {
		l, err := lc.Listen(ctx, "tcp4", netip.AddrPortFrom(addr, uint16(port)).String())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("simweb: listen: %w", err), s.close())
		}
		s.listeners = append(s.listeners, l)
		s.wg.Add(1)
		go s.accept(l)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.close() })
	return func() error { stop(); return s.close() }, nil
}

// accept serves what comes to one listener, until it is closed.
func (s *server) accept(l net.Listener) {
	defer s.wg.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if !s.add(conn) {
			_ = conn.Close()
			continue
		}
		local, _ := netip.ParseAddrPort(conn.LocalAddr().String())
		go func() {
			defer s.wg.Done()
			s.web.serve(conn, local.Addr().Unmap())
			s.drop(conn)
		}()
	}
}

// add takes a connection in, if it comes from this machine and the server is not closed.
func (s *server) add(conn net.Conn) bool {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !from.Addr().Unmap().IsLoopback() || s.conns == nil {
		return false
	}
	s.conns[conn] = true
	s.wg.Add(1)
	return true
}

func (s *server) drop(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

func (s *server) close() error {
	var errs []error
	for _, l := range s.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close() // its session notices
	}
	s.conns = nil
	s.mu.Unlock()
	s.wg.Wait()
	return errors.Join(errs...)
}
