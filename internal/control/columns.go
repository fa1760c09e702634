package control

import (
	"regexp"
	"strings"
	"text/tabwriter"
)

const (
	gap   = 2 // between columns of a table
	least = 3 // of a column
)

// blanks are those at the ends of lines.
var blanks = regexp.MustCompile(`(?m) +$`)

// Columns lays out a text in which the cells of tables end with tabs. If width is above 0, tables fit
// into so many columns of a terminal, if they can.
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

// shorten shortens the cells of a table to so many characters, and returns how wide it is then. It
// leaves the first column, which other commands take names from, and cells that begin with a digit.
// What follows the last tab of a row is no cell.
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
