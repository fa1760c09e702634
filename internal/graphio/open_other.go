//go:build !unix

package graphio

import (
	"context"
	"os"
)

// toRead is the flag to open a file for reading.
const toRead = os.O_RDONLY

// openPipe opens a pipe for writing.
func openPipe(_ context.Context, path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY, 0)
}

// awaitWriter does nothing: opening a pipe has waited for a writer.
func awaitWriter(*os.File) error { return nil }
