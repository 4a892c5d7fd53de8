package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"decorum/internal/config"
	"decorum/internal/outcome"
)

// configCmd is `decorum config`.
type configCmd struct {
	Print configPrintCmd `cmd:"" default:"withargs" help:"Print each option, its value and where it comes from."`
}

// configPrintCmd is `decorum config print`: the options a crawl with the same flags would have. With --dir those that
// the crawl in the folder was started with come before the defaults.
type configPrintCmd struct {
	config.Crawl `embed:""`
	Config       string `placeholder:"FILE" help:"TOML file of options; any flag may stand in it."`
	JSON         bool   `help:"Print JSON."`
	Outcomes     bool   `help:"List the outcomes instead: what became of a URL."`
}

// Run prints the options.
func (c *configPrintCmd) Run(e *env) error {
	if c.Outcomes {
		return printOutcomes(e.stdout, c.JSON)
	}
	var stored config.Values
	if c.Dir != "" {
		var err error
		if stored, err = storedOptions(c.Dir); err != nil {
			return usage("%v", err)
		}
	}
	lines := c.lines(e.source, stored)
	if c.JSON {
		return printJSON(e.stdout, lines)
	}
	t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "OPTION\tVALUE\tORIGIN")
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Name, shown(l.Value), l.Origin)
	}
	return t.Flush()
}

// optionLine is one option with its value and where that comes from.
type optionLine struct {
	Name   string        `json:"name"`
	Value  any           `json:"value"`
	Origin config.Origin `json:"origin"`
	Help   string        `json:"help"`
}

func (c *configPrintCmd) lines(source *config.Source, stored config.Values) []optionLine {
	var out []optionLine
	for _, entry := range c.Entries() {
		l := optionLine{entry.Name, entry.Value, source.Origin(entry.Name), entry.Help}
		if v, ok := stored[entry.Name]; ok && l.Origin == config.FromDefault {
			l.Value, l.Origin = v, config.FromFolder
		}
		l.Value = config.Shown(l.Name, l.Value)
		out = append(out, l)
	}
	return out
}

// shown is a value as text; "-" stands for nothing.
func shown(v any) string {
	text := ""
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		var parts []string
		for i := range list.Len() {
			parts = append(parts, fmt.Sprint(list.Index(i)))
		}
		text = strings.Join(parts, ",")
	} else {
		text = fmt.Sprint(v)
	}
	if text == "" {
		return "-"
	}
	return text
}

// outcomeLine is one thing that can become of a URL.
type outcomeLine struct {
	Name  string `json:"name"`
	Class string `json:"class"` // visited, failed, skipped
	Text  string `json:"text"`
}

func printOutcomes(w io.Writer, asJSON bool) error {
	classes := map[outcome.Class]string{outcome.ClassVisited: "visited", outcome.ClassFailed: "failed", outcome.ClassSkipped: "skipped"}
	var lines []outcomeLine
	for o := range outcome.All {
		if class, ok := classes[o.Class()]; ok {
			lines = append(lines, outcomeLine{o.String(), class, o.Text()})
		}
	}
	if asJSON {
		return printJSON(w, lines)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "OUTCOME\tCLASS\tWHAT IT MEANS")
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Name, l.Class, l.Text)
	}
	return t.Flush()
}
