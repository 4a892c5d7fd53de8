package inspect

import (
	"fmt"
	"io"
)

// Verdict is the report in a few words.
func (r *RepairReport) Verdict() string {
	switch {
	case r.Failed != "":
		return "cannot be repaired: " + r.Failed
	case !r.OK:
		return "still " + r.After.Verdict()
	case len(r.Actions) == 0:
		return "sound, nothing to repair"
	case r.Again > 0:
		return fmt.Sprintf("sound again; %s will be fetched again by the next run", count(r.Again, "page"))
	}
	return "sound again"
}

// WriteJSON writes the report as JSON.
func (r *RepairReport) WriteJSON(w io.Writer) error { return writeJSON(w, "repair", r) }

// WriteText writes the report for a person: what was found, unless all was well, then what was done.
func (r *RepairReport) WriteText(w io.Writer) error {
	p := &printer{w: w}
	if !r.Before.OK {
		p.err = r.Before.WriteText(w)
	}
	p.line("%s: %s", Clean(r.Path), Clean(r.Verdict()))
	if r.Resumed {
		p.line("  note: an earlier repair had been interrupted; it was brought to its end first")
	}
	for _, a := range r.Actions {
		p.line("  %s", a.String())
	}
	for i, l := range r.Pages {
		if i == textFindings {
			break
		}
		p.line("  again %s: %s", l.URL, l.Why)
	}
	if more := r.Again - int64(min(len(r.Pages), textFindings)); more > 0 {
		p.line("  … and %s more", thousands(more))
	}
	if r.Kept != "" {
		p.line("  what was cut out, and this list, is in %s", r.Kept)
	}
	if !r.OK && r.Failed == "" {
		p.line("what is left:")
		if p.err == nil {
			p.err = r.After.WriteText(w)
		}
	}
	return p.err
}

// String is the action on one line.
func (a Action) String() string {
	f := Finding{File: a.File, Offset: a.Offset}
	s := f.where()
	if a.Bytes > 0 {
		s += ", " + count(a.Bytes, "byte")
	}
	return Clean(s + ": " + a.Text)
}
