package master

import (
	"os"
	"path/filepath"
	"testing"
)

// TestClearStale removes files of a killed master. Files of a live master and other files stay.
func TestClearStale(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living, err := newResults("", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer living.close()
	if living.lock == nil {
		t.Skip("there are no locks here")
	}
	killed, err := newResults("", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.root.WriteFile("j-1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = killed.root.Close(), killed.lock.Close() // as when a process ends
	other := filepath.Join(os.TempDir(), temporaryName+"of-another")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	next, err := newResults("", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{living.files.String(): true, killed.files.String(): false, other: true, next.files.String(): true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: found %v, expected it to be there: %v", dir, err, want)
		}
	}
	next.close()
	if _, err := os.Stat(next.files.String()); err == nil {
		t.Error("a master that ended left its results")
	}
}
