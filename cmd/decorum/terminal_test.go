package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"decorum/internal/web"
)

// vt is as much of a terminal as the live block needs: a screen of fixed width without end below, the cursor, and the
// sequences that terminal sends. Resizing reflows lines as terminals do.
type vt struct {
	t      testing.TB
	width  int
	rows   [][]rune
	soft   []bool // the row goes on in the next
	x, y   int
	nowrap bool
}

func (v *vt) at(y int) {
	for len(v.rows) <= y {
		v.rows, v.soft = append(v.rows, nil), append(v.soft, false)
	}
}

// Write interprets what is drawn.
func (v *vt) Write(b []byte) (int, error) {
	s := []rune(string(b))
	for i := 0; i < len(s); i++ {
		v.at(v.y)
		switch c := s[i]; {
		case c == '\r':
			v.x = 0
		case c == '\n':
			v.x, v.y = 0, v.y+1 // the line discipline adds the carriage return
			v.at(v.y)
		case c == 0x1b:
			i = v.sequence(s, i+1)
		default:
			v.put(c)
		}
	}
	return len(b), nil
}

func (v *vt) put(c rune) {
	if v.x == v.width {
		if v.nowrap {
			v.x--
		} else {
			v.soft[v.y] = true
			v.x, v.y = 0, v.y+1
			v.at(v.y)
		}
	}
	row := v.rows[v.y]
	for len(row) <= v.x {
		row = append(row, ' ')
	}
	row[v.x] = c
	v.rows[v.y] = row
	v.x++
}

// sequence interprets one control sequence and returns where it ends.
func (v *vt) sequence(s []rune, i int) int {
	end := i + 1
	for end < len(s) && (s[end] < '@' || s[end] > '~') {
		end++
	}
	arg := string(s[i+1 : end])
	switch s[end] {
	case 'A':
		n, _ := strconv.Atoi(arg)
		if v.y -= n; v.y < 0 {
			v.t.Fatalf("the cursor leaves the screen by %d rows", -v.y)
		}
	case 'J':
		v.rows, v.soft = v.rows[:v.y+1], v.soft[:v.y+1]
		v.rows[v.y] = v.rows[v.y][:min(v.x, len(v.rows[v.y]))]
		v.soft[v.y] = false
	case 'h', 'l':
		if arg == "?7" {
			v.nowrap = s[end] == 'l'
		}
	case 'm':
	default:
		v.t.Fatalf("unknown sequence %q", string(s[i:end+1]))
	}
	return end
}

// resize reflows: a line that is longer than the width takes several rows. The cursor stays on the last row, where
// it is between two writes.
func (v *vt) resize(width int) {
	v.at(0)
	var rows [][]rune
	var soft []bool
	var line []rune
	for y, row := range v.rows {
		if line = append(line, row...); v.soft[y] {
			continue
		}
		for len(line) > width {
			rows, soft, line = append(rows, line[:width:width]), append(soft, true), line[width:]
		}
		rows, soft, line = append(rows, line), append(soft, false), nil
	}
	v.rows, v.soft, v.width, v.x, v.y = rows, soft, width, 0, len(rows)-1
}

// lines are what was written, whatever rows it takes.
func (v *vt) lines() []string {
	var out []string
	line := ""
	for y, row := range v.rows {
		if line += string(row); !v.soft[y] {
			out, line = append(out, strings.TrimRight(line, " ")), ""
		}
	}
	return out
}

// TestBlockIsRedrawnInPlace draws blocks, lines above them, and resizes the terminal at random: what is seen is
// always all lines, each once, and the last block.
func TestBlockIsRedrawnInPlace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := &vt{t: t, width: 100}
		term := &terminal{w: v, width: func() int { return v.width }, color: rapid.Bool().Draw(r, "color")}
		var above, block []string
		for step := range rapid.IntRange(1, 30).Draw(r, "steps") {
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0:
				line := fmt.Sprintf("line %d %s", step, strings.Repeat("x", rapid.IntRange(1, 250).Draw(r, "length")))
				above = append(above, line)
				term.print(line, block)
			case 1:
				v.resize(rapid.IntRange(10, 200).Draw(r, "width"))
				if rapid.Bool().Draw(r, "not redrawn yet") {
					continue
				}
				block = draw(term, v.width, step, len(block))
			default:
				block = draw(term, v.width, step, rapid.IntRange(0, 6).Draw(r, "lines"))
			}
		}
		block = draw(term, v.width, 99, 6)
		seen := strings.Split(strings.TrimRight(strings.Join(v.lines(), "\n"), "\n"), "\n")
		if want := append(above, block...); strings.Join(seen, "\n") != strings.Join(want, "\n") {
			r.Fatalf("seen:\n%s\nwant:\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
	})
}

// draw draws a block of n lines that fit the width.
func draw(t *terminal, width, step, n int) []string {
	var block []string
	for i := range n {
		text := fmt.Sprintf("%d of %d %s", i, step, strings.Repeat("=", 150))
		if i == 0 {
			text = "● crawling " + text
		}
		block = append(block, web.Cut(text, width))
	}
	t.draw(block)
	return block
}
