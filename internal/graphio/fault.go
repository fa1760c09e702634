package graphio

import (
	"bytes"
	"fmt"
	"strconv"
)

// fault is what is wrong with an input, and where.
type fault struct {
	file            string
	line            int // from 1; 0 when the fault is of the file as a whole
	column          int // byte of the line, from 1; 0 when it is of the line as a whole
	found, expected string
	fatal           bool // the line cannot be left out: where it ends is not known
}

func (f *fault) Error() string {
	switch {
	case f.line > 0 && f.column > 0:
		return fmt.Sprintf("%s:%d:%d: found %s, expected %s", f.file, f.line, f.column, f.found, f.expected)
	case f.line > 0:
		return fmt.Sprintf("%s:%d: found %s, expected %s", f.file, f.line, f.found, f.expected)
	}
	return fmt.Sprintf("%s: found %s, expected %s", f.file, f.found, f.expected)
}

// wrong is a fault whose place is not known yet.
func wrong(found, expected string) *fault { return &fault{found: found, expected: expected} }

// fileFault is a fault of a file as a whole.
func fileFault(path, found, expected string) *fault {
	return &fault{file: path, found: found, expected: expected}
}

// fault is a fault of the file as a whole.
func (f *file) fault(found, expected string) *fault { return fileFault(f.path, found, expected) }

// firstLineFault is a fault of the first line of a table, whose file is not named yet.
func firstLineFault(found, expected string) *fault { return wrong(found, expected).onLine(1, 1) }

// onLine places the fault at a line and, if it is not 0, a column of it.
func (f *fault) onLine(line, column int) *fault {
	f.line, f.column = line, column
	return f
}

// inColumn places the fault at a column of a line that its reader knows.
func (f *fault) inColumn(column int) *fault {
	f.column = column
	return f
}

// at places the fault at a part of a line, unless it has a column already.
func (f *fault) at(line, part []byte) *fault {
	if f != nil && f.column == 0 {
		f.column = offsetIn(line, part) + 1
	}
	return f
}

// offsetIn returns where a part of a text, which was sliced from it and of which the end may have
// been cut off, begins in it.
func offsetIn(text, part []byte) int { return min(max(cap(text)-cap(part), 0), len(text)) }

// fieldAt returns field i, from 0, of columns between blanks.
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

// thousands writes a count for people: 12,345.
func thousands[T int | int64 | uint64](n T) string {
	digits := strconv.FormatUint(uint64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted is a count and its noun, in the plural unless there is one.
func counted[T int | int64 | uint64](n T, noun string, plural ...string) string {
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
	return thousands(n) + " " + noun
}
