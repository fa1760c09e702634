package graphio

import (
	"bytes"
	"slices"
)

// firstRecord returns the beginning of the first record of f that begins at lo or later. The data
// begin at from. The text before lo tells whether lo is within quotes; window is how far before lo
// the first search begins. The text is read twice: as if it began outside quotes, and as if it
// began within. Soon both find the same beginning of a record, and agree from there on. Without
// quotes in the text they may never agree. But then quotes that reach lo would make a record that
// is too long, and an earlier part reports that.
func (c *csvGrammar) firstRecord(f *file, from, lo, window int64) (int64, error) {
	if lo <= from {
		return lo, nil
	}
	for ; ; window *= 8 {
		base, end := max(lo-window, from), min(lo+window, f.size())
		data := make([]byte, end-base)
		if err := f.readAt(data, base); err != nil {
			return 0, err
		}
		whole := end == f.size()
		if whole {
			data = endLine(data)
		}
		first := 0
		if base > from {
			first = bytes.IndexByte(data, '\n') + 1
		}
		outside := slices.AppendSeq([]int{0}, c.ends(data[first:], 0))
		sure := 0 // a record certainly begins here
		if base > from {
			if sure = c.agreed(outside, data[first:]); sure < 0 && lo-base > 2*maxLine &&
				bytes.IndexByte(data[:lo-base], '"') < 0 {
				sure = 0
			}
		}
		if sure < 0 || base+int64(first+sure) > lo {
			continue
		}
		for _, at := range outside {
			if at >= sure && base+int64(first+at) >= lo {
				return min(base+int64(first+at), f.size()), nil
			}
		}
		if whole || window > 2*maxLine { // the record does not end, or is too long
			return f.size(), nil
		}
	}
}

// agreed returns the first beginning of a record that is found even if data begins within quotes,
// or -1. outside has the beginnings that are found if data begins outside quotes.
func (c *csvGrammar) agreed(outside []int, data []byte) int {
	end := closing(data, 0) + 1
	if end == 0 {
		return -1
	}
	for at := range c.ends(data, end) {
		if _, both := slices.BinarySearch(outside, at); both {
			return at
		}
	}
	return -1
}
