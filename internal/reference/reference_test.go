package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreCurrent compares the pages with those that the code makes now.
func TestPagesAreCurrent(t *testing.T) {
	t.Setenv("SUPERSTEP_MASTER", "elsewhere:1")
	root := filepath.Join("..", "..")
	all, err := render(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the code makes: run go generate ./internal/reference", name)
		}
	}
	if len(all) != len(pages) {
		t.Errorf("%d pages, want %d", len(all), len(pages))
	}
}
