// Package examples_test checks the README.md of the examples.
package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestREADMEHasTheOutputs: the README shows the outputs that the Example functions are tested for.
func TestREADMEHasTheOutputs(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob("*/main_test.go")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, output, ok := strings.Cut(string(text), "\n\t// Output:\n")
		if !ok {
			continue
		}
		compared++
		output, _, _ = strings.Cut(strings.ReplaceAll(output, "\t// ", ""), "}\n")
		name := filepath.Dir(file)
		if !strings.Contains(string(readme), "go run ./examples/"+name+"\n```\n\n```text\n"+output+
			"```\n") {
			t.Errorf("README.md does not show that %s prints\n%s", name, output)
		}
	}
	if compared < 5 {
		t.Errorf("found %d outputs", compared)
	}
}
