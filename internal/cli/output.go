package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/superstep-go/superstep/internal/graphio"
)

func appendUint(dst []byte, x uint64) []byte { return strconv.AppendUint(dst, x, 10) }

// writeJSON writes a report to a file, if one is named.
func writeJSON(path string, report any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return graphio.WriteFile(path, 1, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// buffered is a file with a buffer.
type buffered struct {
	*bufio.Writer
	file io.Closer
}

func newBuffered(f *os.File) *buffered { return &buffered{bufio.NewWriterSize(f, 64<<10), f} }

// Close writes what is left and closes the file.
func (b *buffered) Close() error { return errors.Join(b.Flush(), b.file.Close()) }

// counted writes a number with commas.
func counted[T int | int64 | uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
