//go:build !unix

package graphio

import "os"

// openInput opens a file to read it.
func openInput(path string) (*os.File, error) { return os.Open(path) }

// awaitWriter has nothing to wait for: to open a pipe has waited.
func awaitWriter(*os.File) error { return nil }
