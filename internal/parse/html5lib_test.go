package parse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// tokenizerTest is one case of the html5lib tokenizer tests; its README has the format.
type tokenizerTest struct {
	Description   string
	Input         string
	Output        [][]any
	InitialStates []string
	LastStartTag  string
	DoubleEscaped bool
}

// TestHTML5LibTokenizer holds the scanner to the tokens of the standard. Doctypes are compared only in
// where they end, and parse errors not at all.
func TestHTML5LibTokenizer(t *testing.T) {
	ran := 0
	for _, file := range tokenizerVectors(t) {
		if filepath.Base(file) == "xmlViolation.test" {
			continue // about coercion to XML, which we do not do
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var suite struct{ Tests []tokenizerTest }
		if err := json.Unmarshal(data, &suite); err != nil {
			t.Fatal(file, err)
		}
		for _, test := range suite.Tests {
			states := test.InitialStates
			if states == nil {
				states = []string{"Data state"}
			}
			for _, state := range states {
				ran++
				checkTokens(t, filepath.Base(file), state, test)
			}
		}
	}
	if ran < 6500 {
		t.Errorf("only %d cases", ran)
	}
}

func checkTokens(t *testing.T, file, state string, test tokenizerTest) {
	t.Helper()
	input, want := test.Input, test.Output
	if test.DoubleEscaped {
		if strings.Contains(strings.ToLower(input), `\ud8`) || strings.Contains(strings.ToLower(input), `\udf`) {
			return // lone surrogates cannot be in UTF-8
		}
		input = unescapeTwice(input)
		for _, tok := range want {
			for i := range tok {
				if s, ok := tok[i].(string); ok {
					tok[i] = unescapeTwice(s)
				}
			}
		}
	}
	got := scanTokens(input, state, test.LastStartTag)
	var expected [][]any
	for _, tok := range want {
		if tok[0] != "DOCTYPE" {
			expected = append(expected, tok)
		}
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("%s: %s, in %s\ninput %q\n got %q\nwant %q", file, test.Description, state, input, got, expected)
	}
}

var escapes = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}`)

func unescapeTwice(s string) string {
	return escapes.ReplaceAllStringFunc(s, func(e string) string {
		code, _ := strconv.ParseUint(e[2:], 16, 32)
		return string(rune(code))
	})
}

// scanTokens gives the tokens of the input in the form of the tests.
func scanTokens(input, state, lastStartTag string) (out [][]any) {
	src := []byte(strings.ReplaceAll(strings.ReplaceAll(input, "\r\n", "\n"), "\r", "\n"))
	s := scanner{src: src, rawTag: cmp.Or(lastStartTag, "none")} // no end tag is appropriate without a start tag
	s.raw = map[string]rawKind{"RCDATA state": rawRC, "RAWTEXT state": rawText, "Script data state": rawScript, "PLAINTEXT state": rawPlain}[state]
	isRaw := s.raw != rawNone
	chars := func(text []byte) {
		if n := len(out); n > 0 && out[n-1][0] == "Character" {
			out[n-1][1] = out[n-1][1].(string) + string(text)
		} else if len(text) > 0 {
			out = append(out, []any{"Character", string(text)})
		}
	}
	if state == "CDATA section state" {
		s.cdata(0)
		chars(s.src[s.tok.start:s.tok.end])
	}
	for s.next() {
		text := src[s.tok.start:s.tok.end]
		switch s.tok.kind {
		case tokText, tokRaw:
			if isRaw {
				text = appendClean(nil, text)
			}
			if s.tok.kind == tokText {
				text = decodeText(text)
			}
			chars(text)
		case tokStart, tokEnd:
			if tok := tagToken(&s); tok != nil {
				out = append(out, tok)
			}
		case tokComment:
			if data, ok := commentData(text); ok {
				out = append(out, []any{"Comment", string(appendClean(nil, data))})
			}
		}
		isRaw = false
	}
	return out
}

func decodeText(raw []byte) (out []byte) {
	for len(raw) > 0 {
		n := 0
		if raw[0] == '&' {
			out, n = appendCharRef(out, raw, false)
		}
		if n == 0 {
			out, n = append(out, raw[0]), 1
		}
		raw = raw[n:]
	}
	return out
}

// tagToken reads the attributes of the tag, and returns nil for a tag cut off by the end.
func tagToken(s *scanner) []any {
	name := asciiLower(appendClean(nil, s.src[s.tok.start:s.tok.end]))
	kind := s.tok.kind
	attrs := map[string]any{}
	for s.attr() {
		key := asciiLower(appendClean(nil, s.src[s.name.start:s.name.end]))
		if _, dup := attrs[key]; !dup {
			attrs[key] = string(appendClean(nil, appendValue(nil, s.src[s.val.start:s.val.end])))
		}
	}
	switch {
	case s.eof:
		return nil
	case kind == tokEnd:
		return []any{"EndTag", name}
	case s.closed:
		return []any{"StartTag", name, attrs, true}
	}
	return []any{"StartTag", name, attrs}
}

func asciiLower(b []byte) string {
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}

// commentData returns the text of a comment, and false for what is no comment token.
func commentData(b []byte) ([]byte, bool) {
	switch {
	case bytes.Equal(b, []byte("</>")), len(b) >= 9 && equalFold(b[:9], "<!doctype"):
		return nil, false
	case bytes.HasPrefix(b, []byte("<!--")):
		b = b[4:]
		for _, end := range []string{"-->", "--!>", "--!", "--"} {
			if rest, ok := bytes.CutSuffix(b, []byte(end)); ok {
				return rest, true
			}
		}
		if s := string(b); s == ">" || s == "->" {
			return nil, true
		}
		return bytes.TrimSuffix(b, []byte("-")), true
	case bytes.HasPrefix(b, []byte("<?")):
		b = b[1:]
	default:
		b = b[2:]
	}
	return bytes.TrimSuffix(b, []byte(">")), true
}

func TestCharRefsAgreeWithTokenizerOnEveryCodePoint(t *testing.T) {
	for code := range rune(utf8.MaxRune + 2) {
		want := code
		switch {
		case code == 0, code > utf8.MaxRune, code >= 0xd800 && code < 0xe000:
			want = utf8.RuneError
		case code >= 0x80 && code < 0xa0:
			want = windows1252[code-0x80]
		}
		ref := "&#" + strconv.Itoa(int(code)) + ";"
		if got, n := appendCharRef(nil, []byte(ref), true); string(got) != string(want) || n != len(ref) {
			t.Fatalf("%s is %q", ref, got)
		}
	}
}
