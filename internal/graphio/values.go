package graphio

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/parallel"
)

// valueLines is how many lines of values a worker formats at a time.
const valueLines = 16 << 10

// WriteValues writes n lines to w in order. line appends line i, without its newline, to dst, or nothing if there is no such line; several
// goroutines call it at once.
func WriteValues(w io.Writer, n int, team *parallel.Team, line func(dst []byte, i int) []byte) error {
	return writeValues(context.Background(), w, n, team, line)
}

func writeValues(ctx context.Context, w io.Writer, n int, team *parallel.Team, line func(dst []byte, i int) []byte) error {
	pieces := (n + valueLines - 1) / valueLines
	format := func(_ int, dst []byte, piece int) ([]byte, error) {
		for i := piece * valueLines; i < min((piece+1)*valueLines, n); i++ {
			start := len(dst)
			dst = line(dst, i)
			if err := CheckLine(dst[start:]); err != nil {
				return nil, err
			}
			if len(dst) > start {
				dst = append(dst, '\n')
			}
		}
		return dst, nil
	}
	return ordered(ctx, team, pieces, format, func(_ int, data []byte) error {
		_, err := w.Write(data)
		return err
	})
}

// CheckLine refuses a line "id value" of a result that is too long to be read back, or to be merged by a master.
func CheckLine(line []byte) error {
	if len(line) < maxLine {
		return nil
	}
	id, value, _ := bytes.Cut(line, []byte(" "))
	return fmt.Errorf("the value of vertex %s takes %d bytes: with its id it may take %d", id, len(value), maxLine-1)
}

// AppendFloat appends x, a float of 32 or 64 bits, with as many digits as it takes to read the same back; infinity, -infinity and nan are
// the words for what is no number, as Graphalytics has them.
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

// ReadValues reads lines "id value", where a value is the rest of the line; name is for errors. Comments and empty
// lines are left out.
func ReadValues(r io.Reader, name string) (ids []uint64, values []string, err error) {
	lines := &lineReader{r: bufio.NewReaderSize(r, headSize)}
	err = eachValue(lines, func(id uint64, rest []byte) *fault {
		value := bytes.Trim(rest, " \t")
		if len(value) == 0 {
			return noValue(id)
		}
		ids, values = append(ids, id), append(values, string(value))
		return nil
	})
	if err != nil {
		return nil, nil, inFile(err, name)
	}
	return ids, values, nil
}

// ReadColumn reads a file of lines "id value", plain or compressed, and calls each with the values in a column of it, from 2: the id is
// column 1. Column 0 is what WriteValues has written: all that follows the id and a blank, be it nothing. What each returns as found, if
// that is anything, is an error of the line, with what it expected. Lines count from 1. A Matrix
// Market array of one column is a file of values, too, whose ids are its rows from 1 on.
func ReadColumn(ctx context.Context, path string, column int, each func(line int, id uint64, value []byte) (found, expected string)) error {
	f, err := newReader(ReadOptions{}, pieceSize).open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.foreign(f.head()); err != nil {
		return err
	}
	lines := &lineReader{r: f.content}
	if head, _ := bytes.CutPrefix(f.head(), utf8BOM); isMatrixMarket(head) {
		err = readVector(ctx, lines, column, each)
	} else {
		err = readFields(ctx, lines, column, each)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return inFile(err, path)
	}
	return f.unchanged()
}

// eachLine is what ReadColumn calls with values.
type eachLine func(line int, id uint64, value []byte) (found, expected string)

// readVector reads a column of Matrix Market, whose ids are its rows.
func readVector(ctx context.Context, lines *lineReader, column int, each eachLine) error {
	if column > 0 {
		return &fault{found: "a Matrix Market array, which has no column " + strconv.Itoa(column), expected: `lines "id value"`}
	}
	return eachElement(lines, func(row uint64, value []byte) *fault {
		if ctx.Err() != nil {
			return &fault{} // which is not told
		}
		if found, expected := each(lines.line, row, value); found != "" {
			return &fault{found: found, expected: expected}
		}
		return nil
	})
}

// readFields reads a column of lines that begin with an id.
func readFields(ctx context.Context, lines *lineReader, column int, each eachLine) error {
	return eachValue(lines, func(id uint64, rest []byte) *fault {
		if ctx.Err() != nil {
			return &fault{} // which is not told
		}
		if len(rest) == 0 {
			return noValue(id)
		}
		value, n := rest[1:], 2
		if column > 0 {
			for value, rest = cutField(bytes.Trim(rest, " \t")); n < column && len(rest) > 0; n++ {
				value, rest = cutField(rest)
			}
			if n < column || len(value) == 0 {
				return &fault{found: "no column " + strconv.Itoa(column) + " for vertex " + strconv.FormatUint(id, 10), expected: "one of every vertex"}
			}
		}
		if found, expected := each(lines.line, id, value); found != "" {
			return &fault{found: found, expected: expected}
		}
		return nil
	})
}

func noValue(id uint64) *fault {
	return &fault{found: fmt.Sprintf(`no value in "%d"`, id), expected: `"id value"`}
}

// eachValue calls each with the id that a line begins with and the rest of it, with the blank before.
func eachValue(lines *lineReader, each func(id uint64, rest []byte) *fault) error {
	g := grammar{high: maxID}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		text := bytes.TrimLeft(bytes.TrimSuffix(line, []byte{'\r'}), " \t")
		if len(text) == 0 || strings.IndexByte(listMarks, text[0]) >= 0 {
			continue
		}
		field, _ := cutField(text)
		id, f := g.id(field)
		if f == nil {
			f = each(id, text[len(field):])
		}
		if f != nil {
			return lines.at(f)
		}
	}
}

// LineError is what is wrong in a line of a file, as the errors of this package word it.
func LineError(path string, line int, found, expected string) error {
	return &fault{path, line, found, expected}
}
