package graphio

import (
	"bytes"
	"iter"
)

// A record of a table is one line, or several if a quoted field contains line breaks. The opening
// quotes of fields determine where records end. A quote opens a field if only blanks stand between
// it and the beginning of the record or a delimiter. Within quotes, a doubled quote is part of the
// text. Any other quote ends the field. The rest up to the next delimiter or line break may be
// malformed, but cannot open quotes.

// recordEnd returns the position of the newline that ends the record at data[from], which is
// outside quotes. It returns -1 if there is none, or if quotes do not end. Data begins with a
// record, or within a quoted field that ends in data[:from].
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

// opens reports whether the quote at data[i], which is not within quotes, opens a field.
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

// closing returns the position of the quote that ends the field whose text begins at data[at], or
// -1.
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

// ends returns the ends of the records in data, after their newlines, in rising order. data[from]
// is in the first record, outside quotes.
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

// lastEnd returns the end of the last complete record in data, after its newline, or 0. Data begins
// with a record.
func (c *csvGrammar) lastEnd(data []byte) (last int) {
	if bytes.IndexByte(data, '"') < 0 {
		return bytes.LastIndexByte(data, '\n') + 1
	}
	for last = range c.ends(data, 0) {
	}
	return last
}

// endAfter returns the beginning of the first record that begins at data[over:] or later, or 0 if
// data is too short. Data begins with a record.
func (c *csvGrammar) endAfter(data []byte, over int) int {
	for at := range c.ends(data, 0) {
		if at >= over {
			return at
		}
	}
	return 0
}

// cutRecord cuts the first record off data, which ends with a newline. ends reports whether its
// quotes end; if not, the record is all of data.
func (c *csvGrammar) cutRecord(data []byte) (record, rest []byte, ends bool) {
	end := c.recordEnd(data, 0)
	if ends = end >= 0; !ends {
		end = len(data) - 1
	}
	return bytes.TrimSuffix(data[:end], carriage), data[end+1:], ends
}
