package cli

import (
	"encoding/json"
	"fmt"
	"io"
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
