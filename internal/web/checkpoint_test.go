package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestCheckpointButton(t *testing.T) {
	fails := errors.New("the disk is full")
	s, _ := newServer(t, func(o *Options) {
		o.Checkpoint = func(ctx context.Context) (string, error) {
			if until, ok := ctx.Deadline(); !ok || time.Until(until) < time.Minute {
				t.Error("it has little time")
			}
			return "x.crawl/checkpoints/1", fails
		}
	})
	base, _ := serve(t, s)
	l := Live{URL: base, Token: secret}
	if folder, err := l.Checkpoint(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%q %v", folder, err)
	}
	fails = nil
	if folder, err := l.Checkpoint(t.Context()); err != nil || folder != "x.crawl/checkpoints/1" {
		t.Errorf("%q %v", folder, err)
	}
	l.Token = "another"
	if folder, err := l.Checkpoint(t.Context()); err == nil {
		t.Errorf("without the token: %q", folder)
	}
	form := func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = http.NoBody
		r.PostForm = map[string][]string{"token": {secret}}
	}
	if r := request(s, "POST", "/api/checkpoint", form); r.StatusCode != http.StatusSeeOther {
		t.Error("the form of the page:", r.Status)
	}
	if page := body(t, request(s, "GET", "/?token="+secret, nil)); !strings.Contains(page, "/api/checkpoint") {
		t.Error("the page has no button")
	}
	bare, _ := newServer(t, nil)
	if page := body(t, request(bare, "GET", "/?token="+secret, nil)); strings.Contains(page, "/api/checkpoint") {
		t.Error("the page has a button for nothing")
	}
}
