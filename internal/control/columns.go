package control

import (
	"regexp"
	"strings"
	"text/tabwriter"
)

// The blanks between columns of a table, and the least width to which cells are shortened.
const gap, least = 2, 3

// blanks matches blanks at the ends of lines.
var blanks = regexp.MustCompile(`(?m) +$`)

// Columns lays out a text in which each cell of a table ends with a tab. If width is above 0, it
// shortens cells so that a table fits into that many columns of a terminal, if possible.
func Columns(text string, width int) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, gap, ' ', 0)
	var table [][]string
	for line := range strings.SplitAfterSeq(text, "\n") {
		row := strings.Split(line, "\t")
		if table = append(table, row); len(row) > 1 {
			continue
		}
		for most := width; most >= least && shorten(table, most) > width; most-- {
		}
		for _, row := range table {
			_, _ = t.Write([]byte(strings.Join(row, "\t")))
		}
		table = nil
	}
	_ = t.Flush()
	return blanks.ReplaceAllString(b.String(), "")
}

// shorten shortens the cells of a table to at most most characters, and returns the width of the
// table. It keeps the first column, because users copy names from it, and cells that begin with a
// digit. Text after the last tab of a row is not a cell.
func shorten(table [][]string, most int) (width int) {
	var widths []int
	for _, row := range table {
		for i, cell := range row[:len(row)-1] {
			text := []rune(cell)
			if i > 0 && len(text) > most && (text[0] < '0' || text[0] > '9') {
				text = append(text[:most-1], '…')
				row[i] = string(text)
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			width += max(len(text)-widths[i], 0)
			widths[i] = max(widths[i], len(text))
		}
	}
	return width + gap*(len(widths)-1)
}
