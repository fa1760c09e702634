package master

import (
	"os"
	"path/filepath"

	"github.com/superstep-go/superstep/internal/statefile"
)

// temporaryName is what the names of temporary directories of results begin with.
const temporaryName = "superstep-results-"

// lockName is the file in such a directory that its master holds locked: the lock goes with the process, however that ends.
const lockName = ".lock"

// own marks a directory as this process's, until the file is closed; nil where there are no locks, and nothing is cleared
// then. The file gets its name when it is locked: one with that name and no lock belongs to nobody.
func own(dir string) *os.File {
	f, err := os.Create(filepath.Join(dir, lockName+"-new"))
	if err != nil {
		return nil
	}
	if statefile.TryLock(f) != nil || os.Rename(f.Name(), filepath.Join(dir, lockName)) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// clearStale removes directories of masters that were killed. What cannot be removed stays.
func clearStale(in string) {
	dirs, _ := filepath.Glob(filepath.Join(in, temporaryName+"*")) // the pattern is right
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		f, err := openLock(filepath.Join(dir, lockName))
		if err != nil {
			continue // another user's, or one that is being made
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && statefile.TryLock(f) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}
