// These tests hold the structure of the project: who may import whom, that each package says what it is, that no
// package keeps state of its own, and that files fit the eye.
package decorum_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "decorum"

// layers is the table of DESIGN §3. A package imports only packages of strictly lower layers.
var layers = map[string]int{
	"internal/weburl": 0, "internal/outcome": 0, "internal/meter": 0,
	"internal/store": 1, "internal/warc": 1, "internal/jobdir": 1,
	"internal/frontier": 2, "internal/urlseen": 2, "internal/robots": 2, "internal/dns": 2, "internal/fetch": 2, "internal/parse": 2,
	"internal/contentseen": 2, "internal/urlfilter": 2, "internal/simweb": 2,
	"internal/crawler": 3, "internal/housekeeping": 3, "internal/web": 3, "internal/credentials": 3,
	"internal/config": 4, "internal/inspect": 4,
	"internal/node": 5,
	"cmd/decorum":   7,
	"bench/real":    7, "bench/floor": 7,
}

// sameLayer lists imports within one layer, each with the reason why it is no knot.
var sameLayer = map[string]string{
	"internal/meter -> internal/outcome": "counts are kept by outcome; outcome imports nothing",
}

type source struct {
	name string // path from the root
	file *ast.File
	set  *token.FileSet
}

// sources parses the Go files of the project without its tests, by package folder.
func sources(t *testing.T) map[string][]source {
	t.Helper()
	out := map[string][]source{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		out[dir] = append(out[dir], source{name, f, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportsPointDown(t *testing.T) {
	for dir, files := range sources(t) {
		own, known := layers[dir]
		if !known {
			t.Errorf("%s is in no layer: give it one in the table of this test and in ARCHITECTURE.md, or put its code where it belongs", dir)
			continue
		}
		for _, f := range files {
			for _, imp := range f.file.Imports {
				target, _ := strconv.Unquote(imp.Path.Value)
				target, ours := strings.CutPrefix(target, module+"/")
				if !ours || sameLayer[dir+" -> "+target] != "" {
					continue
				}
				if layer := layers[target]; layer >= own {
					t.Errorf("%s (layer %d) imports %s (layer %d): imports point down; declare a small interface here and let node join the two",
						f.name, own, target, layer)
				}
			}
		}
	}
}

// onlyImporters names the packages that alone may import a library, so that it can be replaced in one place.
var onlyImporters = map[string]string{
	"github.com/cockroachdb/pebble":       "internal/store",
	"github.com/nlnwa/whatwg-url":         "internal/weburl",
	"github.com/alecthomas/kong":          "cmd/decorum",
	"github.com/prometheus/client_golang": "internal/web",
}

func TestLibrariesHaveOneHome(t *testing.T) {
	for dir, files := range sources(t) {
		for _, f := range files {
			for _, imp := range f.file.Imports {
				target, _ := strconv.Unquote(imp.Path.Value)
				for lib, home := range onlyImporters {
					if strings.HasPrefix(target, lib) && dir != home {
						t.Errorf("%s imports %s: only %s may, so that it stays replaceable", f.name, target, home)
					}
				}
			}
		}
	}
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	const atLeast = 120 // characters; a sentence or two
	for dir, files := range sources(t) {
		doc := ""
		for _, f := range files {
			if f.file.Doc != nil {
				doc += f.file.Doc.Text()
			}
		}
		want := atLeast
		if strings.HasPrefix(dir, "cmd/") {
			want = 20
		}
		if len(doc) < want {
			t.Errorf("%s has a package comment of %d characters: say what it is, its states and invariants, and what it does not do", dir, len(doc))
		}
	}
}

// packageState lists package variables that are not obviously constant, each with the reason.
var packageState = map[string]string{
	"cmd/decorum.version":   "set by the linker, never by code",
	"internal/web.pageText": "set by go:embed, never by code",
}

func TestNoMutablePackageVariables(t *testing.T) {
	for dir, files := range sources(t) {
		for _, f := range files {
			for _, decl := range f.file.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					checkVar(t, dir, f, spec.(*ast.ValueSpec))
				}
			}
		}
	}
}

func checkVar(t *testing.T, dir string, f source, v *ast.ValueSpec) {
	t.Helper()
	for i, name := range v.Names {
		if name.Name == "_" || packageState[path.Join(dir)+"."+name.Name] != "" {
			continue
		}
		if i < len(v.Values) && isFixed(v.Values[i]) && !assigned(f, name.Name) {
			continue
		}
		t.Errorf("%s: package variable %s can change: open it with Options and close it, or list it in this test with a reason",
			f.set.Position(name.Pos()), name.Name)
	}
}

// isFixed accepts error values, compiled patterns, tables written out, and what is computed from constants by a call.
func isFixed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit, *ast.CallExpr, *ast.BasicLit:
		return true
	case *ast.UnaryExpr:
		return isFixed(e.X)
	case *ast.BinaryExpr:
		return isFixed(e.X) && isFixed(e.Y)
	}
	return false
}

// assigned reports whether the file assigns to the variable or to an element of it.
func assigned(f source, name string) bool {
	found := false
	ast.Inspect(f.file, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || a.Tok == token.DEFINE {
			return true
		}
		for _, l := range a.Lhs {
			if ix, ok := l.(*ast.IndexExpr); ok {
				l = ix.X
			}
			if id, ok := l.(*ast.Ident); ok && id.Name == name {
				found = true
			}
		}
		return true
	})
	return found
}

func TestNoInitFunctions(t *testing.T) {
	for _, files := range sources(t) {
		for _, f := range files {
			for _, decl := range f.file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: init runs behind everybody's back: do it where something is opened", f.set.Position(fn.Pos()))
				}
			}
		}
	}
}

// Limits of size: code that fits the eye.
const (
	maxFileLines = 500
	maxFuncLines = 70
)

func TestCodeFitsTheEye(t *testing.T) {
	for _, files := range sources(t) {
		for _, f := range files {
			raw, err := os.ReadFile(f.name)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(raw), "\n"); n > maxFileLines {
				t.Errorf("%s has %d lines: files stay under %d", f.name, n, maxFileLines)
			}
			for _, decl := range f.file.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line
				if n > maxFuncLines {
					t.Errorf("%s: %s has %d lines: functions stay under %d", f.set.Position(fn.Pos()), fn.Name.Name, n, maxFuncLines)
				}
			}
		}
	}
}

func TestNamesAreOfTheField(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helpers", "models", "types", "pkg", "base", "misc"}
	for dir := range sources(t) {
		if slices.Contains(forbidden, path.Base(dir)) {
			t.Errorf("%s: %q says nothing; name the box of the picture", dir, path.Base(dir))
		}
	}
}
