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

// atOnce is how many lines of values, or lists of neighbours, a worker formats at a time.
const atOnce = 8 << 10

// WriteValues writes n lines to w in order. line appends line i, without its newline, to dst, or
// nothing if there is no such line; several goroutines call it at once.
func WriteValues(ctx context.Context, w io.Writer, n int, team *parallel.Team, line func(dst []byte, i int) []byte) error {
	return writeEach(ctx, w, n, team, func(dst []byte, i int) ([]byte, error) {
		start := len(dst)
		dst = line(dst, i)
		if err := CheckLine(dst[start:]); err != nil || len(dst) == start {
			return dst, err
		}
		return append(dst, '\n'), nil
	})
}

// writeEach writes what format appends for each of n things, in order.
func writeEach(ctx context.Context, w io.Writer, n int, team *parallel.Team, format func(dst []byte, i int) ([]byte, error)) error {
	return ordered(ctx, team, (n+atOnce-1)/atOnce, func(_ int, dst []byte, piece int) ([]byte, error) {
		var err error
		for i := piece * atOnce; i < min((piece+1)*atOnce, n) && err == nil; i++ {
			dst, err = format(dst, i)
		}
		return dst, err
	}, func(_ int, data []byte) error {
		_, err := w.Write(data)
		return err
	})
}

// CheckLine refuses a line "id value" of a result that is too long to be read back, or to be merged
// by a master.
func CheckLine(line []byte) error {
	if len(line) < maxLine {
		return nil
	}
	id, value, _ := bytes.Cut(line, []byte(" "))
	return fmt.Errorf("the value of vertex %s takes %d bytes: with its id it may take %d", id, len(value), maxLine-1)
}

// AppendField appends what write appends, in quotes as Go has them if it would not be read as a
// field of a line with tabs between fields.
func AppendField(dst []byte, write func(dst []byte) []byte) []byte {
	start := len(dst)
	dst = write(dst)
	if text := dst[start:]; len(text) > 0 && text[0] == '"' || bytes.ContainsAny(text, "\t\r\n") {
		return strconv.AppendQuote(dst[:start], string(text))
	}
	return dst
}

// AppendFloat appends x, a float of 32 or 64 bits, with as many digits as it takes to read the same
// back; infinity, -infinity and nan are the words for what is no number, as Graphalytics has them.
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

func noValue(id uint64) *fault {
	return wrong(fmt.Sprintf(`no value in "%d"`, id), vertexLine)
}

// LineError is what is wrong in a line of a file, as the errors of this package word it, by
// somebody who does not know the column.
func LineError(path string, line int, found, expected string) error {
	return &fault{file: path, line: line, found: found, expected: expected}
}
