package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"decorum/internal/jobdir"
)

// startOver empties a crawl folder, and only a crawl folder. On a terminal it asks.
func startOver(e *env, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	held, err := jobdir.Open(dir, jobdir.Options{Tool: "decorum/" + version}) // refuses other folders and running crawls
	if err != nil {
		return err
	}
	defer held.Close()
	if f, ok := e.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(e.stderr, "remove everything in %s? [y/N] ", dir)
		answer, _ := bufio.NewReader(f).ReadString('\n') // no answer is no
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return usage("nothing removed")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
