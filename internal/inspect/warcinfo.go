package inspect

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"decorum/internal/warc"
)

// ignoredField is the field of a warcinfo record that names a host whose robots.txt was not consulted.
const ignoredField = "robots-ignored-host"

// maxInfo bounds a warcinfo block; ours are below 1 KB, and each ignored host adds a line.
const maxInfo = 1 << 20

// ignoredHosts reads every warcinfo record: each run that appends to a file begins with one, wherever
// that is. The whole archive is read, so it is asked for only when a fetch names no robots.txt.
func ignoredHosts(dir string) (map[string]bool, error) {
	names, err := archiveFiles(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hosts := map[string]bool{}
	for _, name := range names {
		if err := ignoredIn(filepath.Join(dir, name), hosts); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

func ignoredIn(path string, hosts map[string]bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := warc.NewReader(bufio.NewReaderSize(f, 1<<20))
	for {
		e, err := r.Next()
		if err != nil {
			return nil // the end, or damage, which is what check is for
		}
		if e.Type() != warc.Warcinfo {
			continue
		}
		block, err := io.ReadAll(io.LimitReader(e.Block, maxInfo))
		if err != nil {
			return nil
		}
		for text := range strings.Lines(string(block)) {
			if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(name, ignoredField) {
				hosts[strings.TrimSpace(value)] = true
			}
		}
	}
}
