package graphio

import (
	"bytes"
	"iter"
)

// A record of a table is a line, or several where a field in quotes has line breaks in it. Where
// records end is told by the quotes that open a field: those after the beginning of the record or a
// delimiter, with blanks between at most. A quote twice within quotes is one of the text; every
// other one ends the field, and whatever else there is up to the next delimiter or line break may
// be malformed, but does not open quotes.

// recordEnd returns where the newline is that ends the record of which data[from] is a part outside
// of quotes, or -1 if there is none, or quotes do not end. Data begins with a record, or within one
// that data[:from] ends the quotes of.
func (c *csvGrammar) recordEnd(data []byte, from int) int {
	end := from - 1
	for at := from; ; {
		if end < at {
			next := bytes.IndexByte(data[at:], '\n')
			if next < 0 {
				return -1
			}
			end = at + next
		}
		quote := bytes.IndexByte(data[at:end], '"')
		if quote < 0 {
			return end
		}
		if quote += at; !c.opens(data, quote) {
			at = quote + 1
			continue
		}
		if at = closing(data, quote+1) + 1; at == 0 {
			return -1
		}
	}
}

// opens reports whether the quote at data[i], which is not within others, opens a field.
func (c *csvGrammar) opens(data []byte, i int) bool {
	for i--; i >= 0; i-- {
		switch b := data[i]; {
		case b == c.delimiter || b == '\n':
			return true
		case b != ' ' && (b != '\t' || c.delimiter == ' '):
			return false
		}
	}
	return true
}

// closing returns where the quote is that ends the field whose text begins at data[at], or -1.
func closing(data []byte, at int) int {
	for {
		i := bytes.IndexByte(data[at:], '"')
		switch {
		case i < 0:
			return -1
		case at+i+1 == len(data) || data[at+i+1] != '"':
			return at + i
		}
		at += i + 2
	}
}

// ends returns where the records of data end, after their newlines, in rising order. data[from] is
// in the first of them and outside of quotes.
func (c *csvGrammar) ends(data []byte, from int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := from; ; {
			end := c.recordEnd(data, at)
			if at = end + 1; end < 0 || !yield(at) {
				return
			}
		}
	}
}

// lastEnd returns where the last record of data that is complete ends, after its newline; 0 if
// there is none. Data begins with a record.
func (c *csvGrammar) lastEnd(data []byte) (last int) {
	if bytes.IndexByte(data, '"') < 0 {
		return bytes.LastIndexByte(data, '\n') + 1
	}
	for last = range c.ends(data, 0) {
	}
	return last
}

// endAfter returns where the first record begins that does so at data[over:] or later, 0 if data
// does not tell. Data begins with a record.
func (c *csvGrammar) endAfter(data []byte, over int) int {
	for at := range c.ends(data, 0) {
		if at >= over {
			return at
		}
	}
	return 0
}

// cutRecord cuts the first record off data, which ends with a newline, and reports whether its
// quotes end. One whose quotes do not is all there is.
func (c *csvGrammar) cutRecord(data []byte) (record, rest []byte, ends bool) {
	end := c.recordEnd(data, 0)
	if ends = end >= 0; !ends {
		end = len(data) - 1
	}
	return bytes.TrimSuffix(data[:end], carriage), data[end+1:], ends
}
