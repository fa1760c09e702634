//go:build !unix

package graphio

import (
	"context"
	"os"
)

// openFile opens a file to read it.
// toRead is how a file is opened to read it.
const toRead = os.O_RDONLY

// openPipe opens a pipe to write to it.
func openPipe(_ context.Context, path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY, 0)
}

// awaitWriter has nothing to wait for: to open a pipe has waited.
func awaitWriter(*os.File) error { return nil }
