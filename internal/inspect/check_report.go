package inspect

import (
	"fmt"
	"io"
)

// Verdict is the report in a few words.
func (r *CheckReport) Verdict() string {
	switch {
	case r.Faults == 0:
		return "sound"
	case r.First == "":
		return "DAMAGED: " + count(r.Faults, "fault")
	}
	return fmt.Sprintf("DAMAGED: %s, first at %s", count(r.Faults, "fault"), r.First)
}

// WriteJSON writes the report as JSON.
func (r *CheckReport) WriteJSON(w io.Writer) error { return writeJSON(w, "check", r) }

// WriteText writes the report for a person.
func (r *CheckReport) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s: %s", Clean(r.Path), Clean(r.Verdict()))
	for _, part := range r.Parts {
		state := "ok"
		switch {
		case part.Faults > 0:
			state = count(part.Faults, "fault")
		case part.Unread:
			state = "not read"
		case part.Warnings > 0:
			state = count(part.Warnings, "warning")
		}
		p.line("  %-8s  %-10s  %s", part.Name, state, Clean(part.Text))
	}
	for _, n := range r.Notes {
		p.line("  note: %s", n)
	}
	for _, part := range r.Parts {
		for i, f := range part.Findings {
			if i == textFindings {
				break
			}
			p.line("%s", f.String())
		}
		if all := part.Faults + part.Warnings; all > int64(min(len(part.Findings), textFindings)) {
			p.line("… and %s more in %s", thousands(all-int64(min(len(part.Findings), textFindings))), part.Name)
		}
	}
	return p.err
}

// textFindings is how many findings of a part the text form lists.
const textFindings = 20

// String is the finding on one line.
func (f Finding) String() string {
	grade := "fault"
	if f.Warning {
		grade = "warning"
	}
	if where := f.where(); where != "" {
		return Clean(fmt.Sprintf("%s: %s: %s", where, grade, f.Text))
	}
	return Clean(fmt.Sprintf("%s: %s", grade, f.Text))
}
