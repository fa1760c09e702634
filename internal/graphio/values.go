package graphio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/superstep-go/superstep/internal/parallel"
)

// atOnce is the number of lines of values, or of lists of neighbours, that a worker formats at a
// time.
const atOnce = 8 << 10

// WriteValues writes n lines to w in order. line appends line i, without its newline, to dst. If
// there is no such line, it appends nothing. Several goroutines call line at the same time.
func WriteValues(
	ctx context.Context, w io.Writer, n int, team *parallel.Team,
	line func(dst []byte, i int) []byte,
) error {
	return ordered(ctx, team, w, n, atOnce, func(_ int, dst []byte, i int) ([]byte, error) {
		start := len(dst)
		dst = line(dst, i)
		if err := CheckLine(dst[start:]); err != nil || len(dst) == start {
			return dst, err
		}
		return append(dst, '\n'), nil
	}, nil)
}

// CheckLine returns an error if a result line "id value" is too long to be read back, or to be
// merged by a master.
func CheckLine(line []byte) error {
	if len(line) < maxLine {
		return nil
	}
	id, value, _ := bytes.Cut(line, []byte(" "))
	return fmt.Errorf("the value of vertex %s takes %d bytes: with its id it may take %d", id,
		len(value), maxLine-1)
}

// AppendField appends the text that write appends. It quotes the text like Go if it would not be
// read back as one field of a line with tabs between fields.
func AppendField(dst []byte, write func(dst []byte) []byte) []byte {
	start := len(dst)
	dst = write(dst)
	if text := dst[start:]; len(text) > 0 && text[0] == '"' || bytes.ContainsAny(text, "\t\r\n") {
		return strconv.AppendQuote(dst[:start], string(text))
	}
	return dst
}

// AppendFloat appends x, a float of 32 or 64 bits, with the minimum number of digits that identify
// it. As in Graphalytics, special values are infinity, -infinity and nan.
func AppendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "nan"...)
	case math.IsInf(x, 1):
		return append(dst, "infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-infinity"...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, bits)
}

// LineError returns an error in a line of a file, in the form of this package's errors. The column
// is unknown.
func LineError(path string, line int, found, expected string) error {
	return &fault{file: path, line: line, found: found, expected: expected}
}
