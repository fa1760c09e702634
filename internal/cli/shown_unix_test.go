//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksInFilesOfOthersHaveNoToken: a log that every user can read does not let them in.
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
		t.Error("what is no file is shared")
	}
}
