package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"decorum/internal/config"
)

func TestConfigPrintTellsOrigins(t *testing.T) {
	t.Setenv("DECORUM_MAX_PAGES", "77")
	source := &config.Source{File: config.Values{"retries": 9}}
	source.Note("delay", config.FromFlag)
	for _, e := range new(config.Crawl).Entries() {
		source.Lookup(e.Name)
	}
	origins := map[string]config.Origin{}
	for _, l := range new(configPrintCmd).lines(source, config.Values{"depth": 4, "retries": 2}) {
		origins[l.Name] = l.Origin
	}
	for name, want := range map[string]config.Origin{"delay": config.FromFlag, "max-pages": config.FromEnv, "retries": config.FromFile, "depth": config.FromFolder, "timeout": config.FromDefault} {
		if origins[name] != want {
			t.Errorf("%s comes from %s, not %s", name, origins[name], want)
		}
	}
}

func TestConfigPrint(t *testing.T) {
	path := folder(t, nil)
	if err := os.WriteFile(path+"/decorum.toml", []byte("depth = 4\ndelay = \"7s\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := decorum(t, "config", "print", "--dir", path, "--delay", "3", "--token", "SECRET", "-H", "Cookie: SECRET")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{`delay +3s +flag`, `depth +4 +crawl folder`, `timeout +30s +default`, `contact +- +default`, `token +\(set\) +flag`, `header +Cookie: \(set\) +flag`} {
		if !regexp.MustCompile("(?m)^" + want + "$").MatchString(out) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "SECRET") {
		t.Error("secrets are printed")
	}
}

func TestConfigPrintJSON(t *testing.T) {
	code, out, errs := decorum(t, "config", "print", "--json", "--max-pages", "5")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var lines []optionLine
	if err := json.Unmarshal([]byte(out), &lines); err != nil {
		t.Fatal(err)
	}
	if want := len(new(config.Crawl).Entries()); len(lines) != want {
		t.Errorf("%d options, not %d", len(lines), want)
	}
	for _, l := range lines {
		if l.Name == "max-pages" && (l.Value != 5.0 || l.Origin != config.FromFlag || l.Help == "") {
			t.Errorf("%+v", l)
		}
	}
}

func TestConfigPrintOutcomes(t *testing.T) {
	code, out, _ := decorum(t, "config", "print", "--outcomes")
	for _, want := range []string{`ok +visited +fetched`, `timeout +failed +`, `robots +skipped +disallowed by robots.txt`} {
		if code != exitOK || !regexp.MustCompile("(?m)^"+want).MatchString(out) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
}
