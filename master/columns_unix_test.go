//go:build unix

package master

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestColumnsOnAFullDisk: if nothing of a column could be written, no file remains.
func TestColumnsOnAFullDisk(t *testing.T) {
	data := t.TempDir()
	s, _ := retaining(t, data, noon, time.Hour, 1000)
	defer s.gone()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	id := rand.Text()
	full := before
	full.Cur = 0 // writes to files fail as on a full disk
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	refused := s.columns.send(id, 0, "1 2 3\n", true)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if refused == nil {
		t.Error("it was written")
	}
	if left, _ := os.ReadDir(filepath.Join(data, "results", columnsName)); len(left) > 0 {
		t.Errorf("found %v", left)
	}
	if err := s.columns.send(id, 0, "1 2 3\n", true); err != nil ||
		s.columns.sentNow(id, "1 2 3\n") != "1 2 3\n" {
		t.Errorf("when there is room: %v", err)
	}
}
