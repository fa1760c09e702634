package graphio

import (
	"bytes"
	"fmt"
	"strconv"
)

// fault is an error in an input, with its place.
type fault struct {
	file            string
	line            int // from 1; 0 if the fault concerns the file as a whole
	column          int // byte of the line, from 1; 0 if the fault concerns the line as a whole
	found, expected string
	fatal           bool // the line cannot be skipped: where it ends is unknown
}

func (f *fault) Error() string {
	switch {
	case f.line > 0 && f.column > 0:
		return fmt.Sprintf("%s:%d:%d: found %s, expected %s", f.file, f.line, f.column,
			f.found, f.expected)
	case f.line > 0:
		return fmt.Sprintf("%s:%d: found %s, expected %s", f.file, f.line, f.found, f.expected)
	}
	return fmt.Sprintf("%s: found %s, expected %s", f.file, f.found, f.expected)
}

// wrong returns a fault whose place is not known yet.
func wrong(found, expected string) *fault { return &fault{found: found, expected: expected} }

// fileFault returns a fault of a file as a whole.
func fileFault(path, found, expected string) *fault {
	return &fault{file: path, found: found, expected: expected}
}

// fault returns a fault of the file as a whole.
func (f *file) fault(found, expected string) *fault { return fileFault(f.path, found, expected) }

// firstLineFault returns a fault of the first line of a table. The caller adds the file's name.
func firstLineFault(found, expected string) *fault { return wrong(found, expected).onLine(1, 1) }

// onLine sets the line of the fault and, if it is not 0, the column.
func (f *fault) onLine(line, column int) *fault {
	f.line, f.column = line, column
	return f
}

// inColumn sets the column of the fault.
func (f *fault) inColumn(column int) *fault {
	f.column = column
	return f
}

// at sets the column of the fault to the beginning of a part of the line, unless it has a column.
func (f *fault) at(line, part []byte) *fault {
	if f != nil && f.column == 0 {
		f.column = offsetIn(line, part) + 1
	}
	return f
}

// offsetIn returns the offset of part in text. part must be a slice of text, maybe without its end.
func offsetIn(text, part []byte) int { return min(max(cap(text)-cap(part), 0), len(text)) }

// fieldAt returns column i, from 0, of columns separated by blanks.
func fieldAt(text []byte, i int) []byte {
	rest := bytes.TrimLeft(text, " \t")
	for ; i > 0 && len(rest) > 0; i-- {
		_, rest = cutField(rest)
	}
	field, _ := cutField(rest)
	return field
}

// quote returns at most 80 bytes of input text in a form safe to print.
func quote(text []byte) string {
	if len(text) > 80 {
		return strconv.Quote(string(text[:80])) + "..."
	}
	return strconv.Quote(string(text))
}

// Thousands formats a count with commas: 12,345.
func Thousands[T int | int64 | uint64](n T) string {
	digits := strconv.FormatUint(uint64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Counted formats a count and its noun, in the plural unless the count is one.
func Counted[T int | int64 | uint64](n T, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		noun = plural[0]
	case noun == "vertex":
		noun = "vertices"
	case noun == "entry":
		noun = "entries"
	default:
		noun += "s"
	}
	return Thousands(n) + " " + noun
}
