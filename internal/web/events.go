package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// event is what a viewer of the live page gets each second. The first event of a stream holds all that is
// kept; later ones what is new.
type event struct {
	View    View    `json:"view"`
	Status  Status  `json:"status"`
	History []Point `json:"history,omitempty"` // first event only
	news
}

// events answers GET /api/events with server-sent events (HTML Living Standard, 9.2).
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if s.streams.Add(1) > int32(s.opt.MaxStreams) {
		s.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(s.opt.Period)
	defer tick.Stop()
	st := stream{s: s, w: w, c: http.NewResponseController(w)}
	st.c.SetReadDeadline(time.Time{}) // the request is read; what a client sends further is nobody's business
	for {
		if st.send() != nil {
			return // the viewer went away
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			st.send() // the last state, if someone still reads
			return
		}
	}
}

// stream is one viewer.
type stream struct {
	s    *Server
	w    http.ResponseWriter
	c    *http.ResponseController
	at   cursor
	sent bool
}

func (st *stream) send() error {
	status := st.s.opt.Monitor.Status(pageRows)
	e := event{View: status.view(), Status: status, news: st.s.opt.Feed.since(&st.at)}
	e.Status.Rows = nil // the view has them
	if !st.sent {
		e.History, st.sent = st.s.opt.Monitor.History(), true
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := st.c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(st.w, "data: %s\n\n", raw); err != nil {
		return err
	}
	return st.c.Flush()
}
