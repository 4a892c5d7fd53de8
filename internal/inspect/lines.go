package inspect

import (
	"bufio"
	"bytes"
	"io"

	"decorum/internal/jobdir"
)

// line is one line of a stream, valid until the next one is read.
type line struct {
	number int   // from 1
	at     int64 // offset of its first byte
	text   []byte
	torn   bool // it has no end: the last line, or one longer than jobdir.MaxLine
}

// lineReader reads lines and knows where they lie.
type lineReader struct {
	br   *bufio.Reader
	next line
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{br: bufio.NewReaderSize(r, jobdir.MaxLine)}
}

// read returns the next line, without its end, or io.EOF. What follows a torn line is not read.
func (r *lineReader) read() (line, error) {
	if r.next.torn {
		return line{}, io.EOF
	}
	text, err := r.br.ReadSlice('\n')
	l := line{number: r.next.number + 1, at: r.next.at, text: text}
	switch {
	case err == io.EOF && len(text) == 0:
		return line{}, io.EOF
	case err == io.EOF, err == bufio.ErrBufferFull:
		l.torn = true
	case err != nil:
		return line{}, err
	default:
		l.text = text[:len(text)-1]
	}
	r.next = line{number: l.number, at: l.at + int64(len(text)), torn: l.torn}
	return l, nil
}

// backwardBlock is how much is read at once from the end towards the beginning; it holds several lines of the longest.
const backwardBlock = 4 * jobdir.MaxLine

// linesBackward calls yield for each whole line, the last first, until it returns false. An unfinished last
// line, and lines longer than jobdir.MaxLine, are left out.
func linesBackward(r io.ReaderAt, size int64, yield func([]byte) bool) error {
	buf := make([]byte, 0, backwardBlock)
	first := true // the text after the last line end is no whole line
	for end := size; end > 0 || len(buf) > 0; {
		n := min(end, int64(backwardBlock-len(buf)))
		if end > 0 && n == 0 {
			buf, first, n = buf[:0], true, min(end, backwardBlock) // one line fills the block: skip it
		}
		block := make([]byte, int(n)+len(buf), backwardBlock)
		if _, err := r.ReadAt(block[:n], end-n); err != nil && err != io.EOF {
			return err
		}
		copy(block[n:], buf)
		end -= n
		rest := block
		for {
			i := bytes.LastIndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if text := rest[i+1:]; first {
				first = false
			} else if !yield(text) {
				return nil
			}
			rest = rest[:i]
		}
		buf = rest
		if end == 0 {
			if !first && len(buf) > 0 {
				yield(buf)
			}
			return nil
		}
	}
	return nil
}
