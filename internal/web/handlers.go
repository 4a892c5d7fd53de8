package web

import (
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// pageText is the live page: one file, nothing from outside.
//
//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Handler returns all that the server answers. Serve uses it; tests may as well.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /api/status", s.status)
	mux.HandleFunc("GET /api/events", s.events)
	mux.Handle("GET /metrics", s.metrics())
	for path, act := range map[string]func(){"pause": s.opt.Pause, "resume": s.opt.Resume, "stop": s.opt.Stop} {
		if act != nil {
			mux.Handle("POST /api/"+path, s.change(func(w http.ResponseWriter, r *http.Request) {
				act()
				done(w, r)
			}))
		}
	}
	if s.opt.Why != nil {
		mux.HandleFunc("GET /api/why", s.explain)
	}
	if s.opt.Checkpoint != nil {
		mux.Handle("POST /api/checkpoint", s.change(s.checkpoint))
	}
	if s.opt.Exclude != nil {
		mux.Handle("POST /api/exclude", s.change(s.exclude))
	}
	return s.guarded(mux)
}

// done answers a button: a form goes back to the page, a program gets no content.
func done(w http.ResponseWriter, r *http.Request) {
	if token := r.PostFormValue("token"); token != "" {
		http.Redirect(w, r, "/?token="+url.QueryEscape(token), http.StatusSeeOther)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// pageRows is how many hosts the page lists.
const pageRows = 50

// pageData is what the template of the page sees.
type pageData struct {
	View
	Tool, Dir, Token, Nonce                       string
	Pause, Resume, Stop, Checkpoint, Why, Exclude bool
	Log                                           []Line
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	status := s.opt.Monitor.Status(pageRows)
	d := pageData{View: status.view(), Tool: status.Tool, Dir: status.Dir, Nonce: rand.Text(), Why: s.opt.Why != nil, Log: s.opt.Feed.Lines()}
	if s.authorized(r) { // without the token there are no buttons
		d.Token = s.opt.Token
		d.Pause, d.Resume, d.Stop = s.opt.Pause != nil, s.opt.Resume != nil, s.opt.Stop != nil
		d.Checkpoint, d.Exclude = s.opt.Checkpoint != nil, s.opt.Exclude != nil
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+d.Nonce+"'; script-src 'nonce-"+d.Nonce+
		"'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	var b strings.Builder
	if err := pageTemplate.Execute(&b, d); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, b.String())
}

// status answers GET /api/status?rows=N.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	rows := 0
	if text := r.URL.Query().Get("rows"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > MaxRows {
			http.Error(w, fmt.Sprintf("rows: a number from 0 to %d", MaxRows), http.StatusBadRequest)
			return
		}
		rows = n
	}
	raw, err := json.MarshalIndent(s.opt.Monitor.Status(rows), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(raw, '\n'))
}

// explain answers GET /api/why?url=... One at a time: the answer is looked up in the store.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	select {
	case s.why <- struct{}{}:
		defer func() { <-s.why }()
	case <-r.Context().Done():
		return
	}
	text, err := s.opt.Why(r.URL.Query().Get("url"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, text)
}

// exclude answers POST /api/exclude with the field pattern.
func (s *Server) exclude(w http.ResponseWriter, r *http.Request) {
	pattern := strings.TrimSpace(r.PostFormValue("pattern"))
	if pattern == "" {
		http.Error(w, "a pattern is needed: a glob such as */print/*, or re: and a regular expression", http.StatusBadRequest)
		return
	}
	text, err := s.opt.Exclude(pattern)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, text)
}
