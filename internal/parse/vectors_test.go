package parse

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vectors returns the path of test vectors by others. Without them the test skips, but not on CI.
func vectors(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "vectors", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		missing(t, "no test vectors: "+name)
	}
	return path
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// tokenizerVectors returns the html5lib tokenizer tests: those of the vectors, or else the copy that comes
// with x/net.
func tokenizerVectors(t testing.TB) []string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "vectors", "html", "tokenizer", "*.test"))
	if len(files) > 0 {
		return files
	}
	files, _ = filepath.Glob(filepath.Join(netDir(t), "html", "testdata", "html5lib-tests", "tokenizer", "*.test"))
	if len(files) == 0 {
		missing(t, "no html5lib tokenizer tests")
	}
	return files
}

// netDir returns the folder of the module x/net, which has html5lib tests among its own.
func netDir(t testing.TB) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/net").Output()
	if err != nil {
		missing(t, "x/net is not there: "+err.Error())
	}
	return strings.TrimSpace(string(dir))
}
