package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestHelp holds all help texts against golden files: they are what a user reads first, so a change should be meant.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	help := func(words ...string) []byte {
		code, stdout, stderr := decorum(t, append(words, "--help")...)
		if code != exitOK || stderr != "" {
			t.Errorf("%v: exit code %d: %s", words, code, stderr)
		}
		return []byte(stdout)
	}
	golden(t, "help.txt", help())
	if _, stdout, _ := decorum(t, "help", "crawl"); stdout != string(help("crawl")) {
		t.Errorf("decorum help crawl:\n%s", stdout)
	}
	golden(t, "help_crawl.txt", help("crawl"))
	var others []byte
	for _, verb := range verbs {
		if verb != "crawl" && verb != "config" { // whose flags are the same
			others = append(others, help(verb)...)
		}
	}
	golden(t, "help_verbs.txt", others)
}

// golden compares text with a file of testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update writes it. Now:\n%s", path, got)
	}
}
