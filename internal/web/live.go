package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// LiveName is the file in a crawl folder that says which process crawls into it and where it listens. It
// is there while the process runs; one that was killed leaves it behind.
const LiveName = "state/live.json"

// Live is the content of LiveName. It holds the token, so only its owner may read it.
type Live struct {
	PID   int       `json:"pid"`
	URL   string    `json:"url,omitempty"` // of the live page, without token; "" when it is off
	Token string    `json:"token,omitempty"`
	Began time.Time `json:"began"`
}

// WriteLive writes the file into a crawl folder.
func WriteLive(dir string, l Live) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("%s: %w", LiveName, err)
	}
	path := filepath.Join(dir, filepath.FromSlash(LiveName))
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(temp, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// RemoveLive removes the file, if it is there.
func RemoveLive(dir string) error {
	err := os.Remove(filepath.Join(dir, filepath.FromSlash(LiveName)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReadLive reads the file; ok is false when there is none.
func ReadLive(dir string) (l Live, ok bool, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(LiveName)))
	if errors.Is(err, fs.ErrNotExist) {
		return Live{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &l)
	}
	if err != nil {
		return Live{}, false, fmt.Errorf("%s: %w", LiveName, err)
	}
	return l, true, nil
}

// Limits of asking a running crawl.
const (
	askTimeout    = 3 * time.Second
	maxStatusSize = 4 << 20
)

// ask sends a request to the running crawl.
func (l *Live) ask(ctx context.Context, method, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.URL+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Decorum-Token", l.Token)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, // no proxy: it is this machine
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(req)
}

// Status asks the running crawl how it stands. The answer of another process that has the port by now is an error.
func (l *Live) Status(ctx context.Context, rows int) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := l.ask(ctx, http.MethodGet, fmt.Sprintf("api/status?rows=%d", rows))
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxStatusSize))
	if err != nil {
		return s, err
	}
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s: %s", l.URL, resp.Status)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%s: %w", l.URL, err)
	}
	if s.PID != l.PID {
		return s, fmt.Errorf("%s belongs to another process", l.URL)
	}
	return s, nil
}
