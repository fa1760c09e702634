package store

import "os"

// SetSync replaces how directories are synced, until reset is called.
func SetSync(f func(*os.File) error) (reset func()) {
	before := syncFile
	syncFile = f
	return func() { syncFile = before }
}
