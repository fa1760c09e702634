//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksInFilesOfOthersHaveNoToken: if other users can read a log file, its link to the page has
// no token.
func TestLinksInFilesOfOthersHaveNoToken(t *testing.T) {
	const link = "the page is at http://127.0.0.1:7700/?token=0123abcd; 2 workers"
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o640: false, 0o644: false} {
		name := filepath.Join(t.TempDir(), "log")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		text := shown(link, sharedFile(f), "; do this")
		_ = f.Close()
		if strings.Contains(text, "0123abcd") != want || strings.Contains(text,
			"; do this)") == want || !strings.HasSuffix(text, "; 2 workers") {
			t.Errorf("mode %v: %q", mode, text)
		}
	}
	if sharedFile(&strings.Builder{}) {
		t.Error("a writer that is no file counts as shared")
	}
}

// TestLinkOfAPageThatIsHidden: if the link cannot be printed with its token, the output explains
// how to get it. No command prints it later.
func TestLinkOfAPageThatIsHidden(t *testing.T) {
	var said strings.Builder
	a := &app{err: &said, shared: [2]bool{1: true}}
	w := &observer{app: a, flags: &seeFlags{pageFlags: pageFlags{HTTP: "127.0.0.1:0"}}, local: pageOf("file", nil), progress: a.progress()}
	if err := w.serve(nil); err != nil {
		t.Fatal(err)
	}
	w.close()
	if !strings.HasSuffix(said.String(), " (its token is left out: others can read this file; under umask 077 or at a terminal it is shown)\n") {
		t.Errorf("output %q", said.String())
	}
}
