package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guarded refuses requests that reached the server under a foreign name (DNS rebinding), readers without the token
// when other machines can reach it, and sets the headers that keep browsers from doing more than the page needs.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the address may hold the token
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		switch {
		case !s.knows(r.Host):
			http.Error(w, "this name is not that of the crawler; use its IP address or localhost", http.StatusMisdirectedRequest)
		case s.public.Load() && r.URL.Path != "/healthz" && r.Method != http.MethodPost && !s.authorized(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is needed: ?token=... or the header Authorization: Bearer ...", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether the server goes by that name: an address, localhost, or the configured host.
func (s *Server) knows(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport // no port
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || host != "" && host == strings.ToLower(s.opt.Host)
}

// authorized reports whether a reader brought the token.
func (s *Server) authorized(r *http.Request) bool {
	return s.isToken(bearer(r)) || s.isToken(r.Header.Get("X-Decorum-Token")) || s.isToken(r.URL.Query().Get("token"))
}

// mayChange reports whether a request may change the crawl. The token in the address does not count: an
// address is too easily followed.
func (s *Server) mayChange(r *http.Request) bool {
	return s.isToken(bearer(r)) || s.isToken(r.Header.Get("X-Decorum-Token")) || s.isToken(r.PostFormValue("token"))
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func (s *Server) isToken(t string) bool {
	return subtle.ConstantTimeCompare([]byte(t), []byte(s.opt.Token)) == 1
}

// change wraps what a button does: POST, from this origin, with the token.
func (s *Server) change(do func(w http.ResponseWriter, r *http.Request)) http.Handler {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
		if !s.mayChange(r) {
			http.Error(w, "the token is needed; the address with it stands on the screen of the crawl", http.StatusForbidden)
			return
		}
		do(w, r)
	})
	return http.NewCrossOriginProtection().Handler(h)
}
