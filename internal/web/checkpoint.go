package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// checkpointTimeout bounds the wait for a checkpoint: links, and a copy of what still grows.
const checkpointTimeout = time.Hour

// checkpoint answers POST /api/checkpoint with the folder, once it is there.
func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w) // what it cannot set stays as short as for other answers
	c.SetReadDeadline(time.Time{})
	c.SetWriteDeadline(time.Now().Add(checkpointTimeout))
	ctx, cancel := context.WithTimeout(r.Context(), checkpointTimeout)
	defer cancel()
	folder, err := s.opt.Checkpoint(ctx)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case r.PostFormValue("token") != "":
		done(w, r)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, folder)
	}
}

// maxAnswer is the most that is read of the answer of a running crawl to an order.
const maxAnswer = 64 << 10

// Checkpoint asks the running crawl for a checkpoint, waits for it, and returns its folder as that process names it.
func (l *Live) Checkpoint(ctx context.Context) (folder string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkpointTimeout)
	defer cancel()
	resp, err := l.ask(ctx, http.MethodPost, "api/checkpoint")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(raw))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", l.URL, resp.Status, Clean(text))
	}
	return text, nil
}
