package store

import "os"

// SetSync replaces the function that syncs directories, until reset is called.
func SetSync(f func(*os.File) error) (reset func()) {
	before := syncFile
	syncFile = f
	return func() { syncFile = before }
}
