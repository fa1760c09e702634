package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// Grid arranges partitions in processor rows and columns. Partition b is in row b mod R and column
// b div R (Yoo's distribution: Nakao20, 3.3; Ueno11).
// A 2 x 3 grid:
//
//	        column 0   column 1   column 2
//	row 0       0          2          4
//	row 1       1          3          5
type Grid struct{ Rows, Columns int }

// Of returns the N x 1 grid, which is the default for a number of partitions.
func Of(partitions int) Grid { return Grid{partitions, 1} }

// Squarest returns the grid with this number of partitions whose sides differ least, with at least
// as many rows as columns. A partition sends less the longer both sides are (Nakao20: R ~ C is
// best, else R > C).
func Squarest(partitions int) Grid {
	columns := 1
	for c := 2; c*c <= partitions; c++ {
		if partitions%c == 0 {
			columns = c
		}
	}
	return Grid{partitions / columns, columns}
}

// ParseGrid parses the form RxC.
func ParseGrid(s string) (Grid, error) {
	rows, columns, ok := strings.Cut(strings.ToLower(s), "x")
	r, err1 := strconv.Atoi(rows)
	c, err2 := strconv.Atoi(columns)
	if !ok || err1 != nil || err2 != nil || r < 1 || c < 1 || r > 1<<20 || c > 1<<20 {
		return Grid{}, fmt.Errorf("found %q, expected RxC, such as 4x1", s)
	}
	return Grid{r, c}, nil
}

func (g Grid) String() string { return fmt.Sprintf("%dx%d", g.Rows, g.Columns) }

// Partitions returns the number of partitions.
func (g Grid) Partitions() int { return g.Rows * g.Columns }

// Flat reports whether one side is 1. All flat grids with the same number of partitions are stored
// in the same way: each partition has its block of the 1 x P grid and its block of the P x 1 grid.
func (g Grid) Flat() bool { return g.Rows <= 1 || g.Columns <= 1 }

// Row and Column return the position of a partition. At returns the partition at a position.
func (g Grid) Row(partition int) int    { return partition % g.Rows }
func (g Grid) Column(partition int) int { return partition / g.Rows }
func (g Grid) At(row, column int) int   { return column*g.Rows + row }

// Arc returns the partition whose block has the arcs from u's vertices to v's: it is in the row of
// v, to which it folds, and in the column of u, from which it gets messages. In an R x 1 grid it is
// v, in a 1 x C grid u. A flat graph stores the arc in both.
func (g Grid) Arc(u, v int) int { return g.At(g.Row(v), g.Column(u)) }

// row and column return the other partitions of a partition's processor row and column, beginning
// with its next neighbour.
func (g Grid) row(partition int) []int {
	line := make([]int, 0, g.Columns-1)
	for step := 1; step < g.Columns; step++ {
		line = append(line, g.At(g.Row(partition), (g.Column(partition)+step)%g.Columns))
	}
	return line
}

func (g Grid) column(partition int) []int {
	line := make([]int, 0, g.Rows-1)
	for step := 1; step < g.Rows; step++ {
		line = append(line, g.At((g.Row(partition)+step)%g.Rows, g.Column(partition)))
	}
	return line
}
