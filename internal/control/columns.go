package control

import (
	"regexp"
	"strings"

	"github.com/mattn/go-runewidth"
)

// The blanks between columns of a table, and the least width to which cells are shortened.
const gap, least = 2, 3

// blanks matches blanks at the ends of lines.
var blanks = regexp.MustCompile(`(?m) +$`)

// Columns lays out a text in which each cell of a table ends with a tab. If width is above 0, it
// shortens cells so that a table fits into that many columns of a terminal, if possible.
func Columns(text string, width int) string {
	var b strings.Builder
	var table [][]string
	for line := range strings.SplitAfterSeq(text, "\n") {
		row := strings.Split(line, "\t")
		if table = append(table, row); len(row) > 1 {
			continue
		}
		widths, all := shorten(table, 0)
		for most := width; most >= least && all > width; most-- {
			widths, all = shorten(table, most)
		}
		for _, row := range table {
			for i, cell := range row[:len(row)-1] {
				b.WriteString(runewidth.FillRight(cell, widths[i]+gap))
			}
			b.WriteString(row[len(row)-1])
		}
		table = nil
	}
	return blanks.ReplaceAllString(b.String(), "")
}

// shorten shortens the cells of a table to the width most, unless that is 0. It returns the widths
// of the columns, and of the table. It keeps the first column, because users copy names from it,
// and cells that begin with a digit. Text after the last tab of a row is not a cell.
func shorten(table [][]string, most int) (widths []int, all int) {
	for _, row := range table {
		for i, cell := range row[:len(row)-1] {
			if i > 0 && most > 0 && cell != "" && (cell[0] < '0' || cell[0] > '9') {
				cell = runewidth.Truncate(cell, most, "…")
				row[i] = cell
			}
			if i == len(widths) {
				widths = append(widths, 0)
				all += gap
			}
			n := runewidth.StringWidth(cell)
			all += max(n-widths[i], 0)
			widths[i] = max(widths[i], n)
		}
	}
	return widths, all - gap
}
