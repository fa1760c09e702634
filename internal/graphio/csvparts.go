package graphio

import (
	"context"
	"slices"
	"strings"
)

// Each file of a table begins with the names of columns or with data. The first lines of all files
// decide which.

// otherHeader looks for the names of columns in the files after f, the first file of the table,
// which has none. c describes the table according to f. It returns the new description.
func (r *reader) otherHeader(ctx context.Context, f *file, c *csvGrammar) (*csvGrammar, error) {
	for _, path := range r.others {
		other, err := newReader(ReadOptions{}, r.piece).open(ctx, path)
		if err != nil {
			return nil, err
		}
		found, err := r.Columns.understand(other, r.format)
		if err := other.Close(); err != nil {
			return nil, err
		}
		if err != nil || !found.header || found.columns != c.columns {
			continue // its errors are reported when it is read
		}
		found.named = found.named || c.named
		found.from, err = found.begin(f)
		return found, err
	}
	return c, nil
}

// begin returns the beginning of the data in another file of the table: after the names of columns,
// if both the first file and this one have them.
func (c *csvGrammar) begin(f *file) (start, error) {
	rows, second, err := c.rows(f)
	if err != nil || len(rows) == 0 || !c.header {
		return start{}, err
	}
	if slices.Equal(rows[0], c.titles) {
		return second, nil
	}
	for i, at := range c.at {
		if at >= 0 && slices.Contains(rows[0], c.titles[at]) && (i == 2 || c.named) {
			return start{}, firstLineFault(quote([]byte(strings.Join(rows[0], ", "))),
				"an edge, or the columns of the first file: "+strings.Join(c.titles, ", "))
		}
	}
	return start{}, nil
}
