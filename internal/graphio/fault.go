package graphio

import (
	"fmt"
	"strconv"
)

// fault is what is wrong with an input, and where.
type fault struct {
	file            string
	line            int // from 1; 0 when the fault is of the file as a whole
	found, expected string
}

func (f *fault) Error() string {
	if f.line > 0 {
		return fmt.Sprintf("%s:%d: found %s, expected %s", f.file, f.line, f.found, f.expected)
	}
	return fmt.Sprintf("%s: found %s, expected %s", f.file, f.found, f.expected)
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
func counted[T int | int64 | uint64](n T, noun, plural string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + plural
}
