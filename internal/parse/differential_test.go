package parse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// startTags gives the start tags and attributes of src as our scanner sees them. With raw, the elements that
// x/net takes for raw text are; without, none is.
func startTags(src []byte, raw bool) (out []string) {
	s := scanner{src: src}
	for s.next() {
		if s.tok.kind != tokStart && s.tok.kind != tokEnd {
			continue
		}
		t := s.tok.tag
		if tok := tagToken(&s); tok != nil && tok[0] == "StartTag" {
			out = append(out, fmt.Sprint(tok[1], tok[2]))
			if kind := elements[t].raw; raw && kind != rawNone {
				s.raw, s.rawTag = kind, elements[t].name
			} else if raw && t == tagNoscript {
				s.raw, s.rawTag = rawText, "noscript"
			}
		}
	}
	return out
}

// startTagsOfNet gives the same by the tokenizer of x/net.
func startTagsOfNet(src []byte, raw bool) (out []string) {
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			attrs := map[string]any{}
			for _, a := range tok.Attr {
				if _, dup := attrs[a.Key]; !dup {
					attrs[a.Key] = string(appendClean(nil, []byte(a.Val)))
				}
			}
			out = append(out, fmt.Sprint(tok.Data, attrs))
			if !raw {
				z.NextIsNotRawText()
			}
		}
	}
}

// links gives the targets of a elements in the tree that x/net builds without scripting.
func treeLinks(src []byte) (out []string) {
	root, err := html.ParseWithOptions(bytes.NewReader(src), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "a" {
			for _, a := range n.Attr {
				if a.Key == "href" && (a.Namespace == "" || a.Namespace == "xlink") {
					out = append(out, string(trimSpace(appendClean(nil, []byte(a.Val)))))
					break
				}
			}
		}
	}
	return out
}

// normalise does what the standard does before tokenization, and takes out what the two sides treat differently
// on purpose: NUL and bytes beyond ASCII in names.
func normalise(src []byte) []byte {
	src = bytes.ReplaceAll(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	src = bytes.ReplaceAll(src, []byte{0}, []byte("0"))
	return bytes.ToValidUTF8(src, []byte("?"))
}

func checkDifferential(t *testing.T, src []byte) {
	t.Helper()
	src = normalise(src)
	for _, raw := range []bool{false, true} {
		ours, theirs := startTags(src, raw), startTagsOfNet(src, raw)
		if !slices.Equal(ours, theirs) && !(raw && explained.Match(src)) {
			t.Errorf("raw text %v\ninput  %q\nours   %q\ntheirs %q", raw, src, ours, theirs)
		}
	}
}

// explained matches what x/net reads differently from the standard. In escaped script data, "<" before
// what is neither a letter nor a slash is text and the data stays escaped (script data escaped less-than sign
// state); x/net goes on in unescaped script data, where a script start tag means nothing.
var explained = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

func TestDifferentialOnVectors(t *testing.T) {
	n := 0
	for _, file := range append(tokenizerVectors(t), treeVectors(t)...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkDifferential(t, data)
		for _, c := range treeCases(data) {
			n++
			checkDifferential(t, c)
		}
	}
	t.Log(n, "cases")
}

// treeVectors returns the tree construction tests of html5lib that come with x/net.
func treeVectors(t testing.TB) []string {
	files, _ := filepath.Glob(filepath.Join(netDir(t), "html", "testdata", "html5lib-tests", "tree-construction", "*.dat"))
	if len(files) == 0 {
		missing(t, "no html5lib tree construction tests")
	}
	return files
}

// treeCases returns the documents of a file of tree construction tests.
func treeCases(data []byte) (out [][]byte) {
	for _, c := range bytes.Split(data, []byte("#data\n"))[1:] {
		doc, _, _ := bytes.Cut(c, []byte("\n#errors"))
		out = append(out, doc)
	}
	return out
}

// soup makes markup of the pieces that make tokenizers differ.
func soup(r *rand.Rand) []byte {
	pieces := []string{"<", ">", "/", "=", "\"", "'", " ", "\n", "<a", "<a href=", "<a href='x", "</a>", "<!--", "-->", "--!>", "-", "--", "!", "<!", "<?", "?>",
		"<![CDATA[", "]]>", "<script>", "</script>", "<script", "</script", "<style>", "</style", "<title>", "</title>", "<textarea>", "</textarea>",
		"<noscript>", "</noscript>", "<plaintext>", "<xmp>", "</xmp>", "<iframe>", "</iframe>", "<svg>", "</svg>", "<math>", "</math>", "<p>", "<div ", "&amp;",
		"&amp", "&notit;", "&#x41;", "&#", "&", ";", "x", "é", "href=y", "HREF", "<A HREF=Z>", "<b/>", "<br/ >", "</", "</>", "</ x>", "<1", "\t", "\f"}
	var b strings.Builder
	for range 1 + r.IntN(24) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return []byte(b.String())
}

func TestDifferentialOnSoup(t *testing.T) {
	const seed = 9
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range 30000 {
		src := soup(r)
		checkDifferential(t, src)
		checkTree(t, src)
		if t.Failed() {
			t.Fatalf("seed %d, case %d", seed, i)
		}
	}
}

func TestTreeLinksOnVectors(t *testing.T) {
	for _, file := range treeVectors(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range treeCases(data) {
			checkTree(t, c)
		}
	}
}

// checkTree tests that no link of the tree is lost.
func checkTree(t *testing.T, src []byte) {
	t.Helper()
	src = normalise(src)
	found := map[string]bool{}
	for _, l := range NewParser(Options{}).HTML(src, "text/html; charset=utf-8", "").Links {
		found[l.Ref] = true
	}
	for _, ref := range treeLinks(src) {
		if !found[ref] && !explained.Match(src) {
			t.Errorf("link %q of the tree is not found in %q", ref, src)
		}
	}
}
