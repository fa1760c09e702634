package graphio

import (
	"context"
	"slices"
	"strings"
)

// The files of a table each begin with the names of columns, or with data: which of them do is told
// by what any of them begins with.

// otherHeader looks for the names of columns in the files of the table after the first one, f,
// which has none. c and said are what the first says of the table; it returns what the table is
// then, and where the lines of data begin in f.
func (r *reader) otherHeader(ctx context.Context, f *file, c *csvGrammar, said string) (*csvGrammar, string, start, error) {
	for _, path := range r.others {
		other, err := newReader(ReadOptions{}, r.piece).open(ctx, path)
		if err != nil {
			return nil, "", start{}, err
		}
		found, means, from, err := r.Columns.understand(other.head(), other.headIsAll(), r.format)
		if err := other.Close(); err != nil {
			return nil, "", start{}, err
		}
		if err != nil || from.offset == 0 || found.columns != c.columns {
			continue // what is wrong with it shows when it is read
		}
		found.named = found.named || c.named
		from, err = found.begin(f, true)
		return found, means, from, err
	}
	return c, said, start{}, nil
}

// begin tells where the data begin in another file of the table: after the names of columns, if the
// first file has them and this one does.
func (c *csvGrammar) begin(f *file, header bool) (start, error) {
	rows, second, err := c.rows(f.head(), f.headIsAll())
	if err != nil || len(rows) == 0 || !header {
		return start{}, err
	}
	if slices.Equal(rows[0], c.titles) {
		return second, nil
	}
	for i, at := range c.at {
		if at >= 0 && slices.Contains(rows[0], c.titles[at]) && (i == 2 || c.named) {
			return start{}, firstLineFault(quote([]byte(strings.Join(rows[0], ", "))), "an edge, or the columns of the first file: "+strings.Join(c.titles, ", "))
		}
	}
	return start{}, nil
}
