package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"decorum/internal/web"
)

// terminal draws lines that change in place below the lines that scroll away. Between two writes the cursor
// stands, visible, on the line below the block, and nothing needs to be restored: a killed program leaves a
// usable terminal.
type terminal struct {
	w     io.Writer
	width func() int // columns at the moment
	color bool
	drawn []int // columns of each line of the block that is on the screen
}

// defaultWidth is that of a terminal that does not tell.
const defaultWidth = 80

// openTerminal returns the terminal behind w, or nil if there is none that can redraw.
func openTerminal(w io.Writer) *terminal {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	width := func() int {
		n, _, err := term.GetSize(int(f.Fd()))
		if err != nil || n <= 0 {
			return defaultWidth
		}
		return n
	}
	return &terminal{w: f, width: width, color: os.Getenv("NO_COLOR") == ""} // no-color.org
}

// Control sequences (ECMA-48; DEC private modes).
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	noWrap     = "\x1b[?7l" // a miscounted wide character must not make a second row
	wrap       = "\x1b[?7h"
	clearBelow = "\x1b[J"
)

// draw replaces the block.
func (t *terminal) draw(lines []string) { t.replace("", lines) }

// print puts a line above the block.
func (t *terminal) print(line string, block []string) { t.replace(line+"\n", block) }

// replace clears the block, writes what scrolls away, and the block again, in one write.
func (t *terminal) replace(above string, block []string) {
	var b strings.Builder
	width := max(t.width(), 1)
	b.WriteString(hideCursor)
	b.WriteString(t.up(width))
	b.WriteString(clearBelow + above + noWrap)
	t.drawn = t.drawn[:0]
	for _, line := range block {
		line = web.Cut(line, width) // the terminal may have become narrower since it was made
		t.drawn = append(t.drawn, web.Columns(line))
		b.WriteString(line + "\n")
	}
	b.WriteString(wrap + showCursor)
	text := b.String()
	if t.color {
		text = t.paint(text)
	}
	io.WriteString(t.w, text) // a screen that went away does not stop the crawl
}

// up moves the cursor to the first row of the block. If the terminal became narrower since, its lines may
// take several rows now.
func (t *terminal) up(width int) string {
	rows := 0
	for _, columns := range t.drawn {
		rows += max(1, (columns+width-1)/width)
	}
	if rows == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows)
}

// dots are the colours of the dot by the state that follows it: green, blue, yellow.
var dots = strings.NewReplacer("● "+string(web.Crawling), "\x1b[32m●\x1b[0m "+string(web.Crawling),
	"● "+string(web.Waiting), "\x1b[34m●\x1b[0m "+string(web.Waiting),
	"● "+string(web.Paused), "\x1b[33m●\x1b[0m "+string(web.Paused),
	"● "+string(web.Finishing), "\x1b[33m●\x1b[0m "+string(web.Finishing))

func (t *terminal) paint(text string) string { return dots.Replace(text) }
