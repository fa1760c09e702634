package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Unit is the unit of a column's numbers. Text has prefixes, CSV and JSON have plain numbers.
type Unit string

// Units of columns.
const (
	Plain   Unit = ""     // names and counts
	Seconds Unit = "s"    //
	Bytes   Unit = "B"    //
	TEPS    Unit = "TEPS" // edges per second: the input's tuples in the component
	Ratio   Unit = "1"    // to another row, or to a formula
)

// Column is a column of a table.
type Column struct {
	Name    string `json:"name"`
	Unit    Unit   `json:"unit,omitempty"`
	Meaning string `json:"meaning"`
}

// Columns of many tables.
var (
	secondsColumns = []Column{
		{"seconds", Seconds, "median of the rounds"},
		{"seconds_low", Seconds, "their first quartile"},
		{"seconds_high", Seconds, "and their third"},
	}
	tepsColumn = Column{"teps", TEPS, "harmonic mean over the roots, median of the rounds"}
)

// byTurns ends the description of a ratio of times: rounds of the same turn are compared, in which
// the machine was equally busy.
const byTurns = "turn by turn, median"

// byTurns returns the names of such columns.
func (t *Table) byTurns() (names []string) {
	for _, c := range t.Columns {
		if strings.HasSuffix(c.Meaning, byTurns) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Table has rows of strings, ints and float64s, with a cell for each column.
type Table struct {
	Name    string
	Columns []Column
	Rows    [][]any
}

// add adds a row.
func (t *Table) add(cells ...any) {
	if len(cells) != len(t.Columns) {
		panic(fmt.Sprintf("experiment: %d cells in a table of %d columns", len(cells),
			len(t.Columns)))
	}
	t.Rows = append(t.Rows, cells)
}

// Text writes the table as text.
func (t *Table) Text(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range t.Columns {
		fmt.Fprintf(out, "%s\t", c.Name)
	}
	fmt.Fprintln(out)
	for _, row := range t.Rows {
		for i, cell := range row {
			fmt.Fprintf(out, "%s\t", t.Columns[i].Unit.text(cell))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// axis formats a number for an axis.
func (u Unit) axis(x float64) string { return u.text(x) }

func (u Unit) text(cell any) string {
	x, number := cell.(float64)
	if n, ok := cell.(int); ok && u != Plain {
		x, number = float64(n), true
	}
	switch {
	case !number:
		return fmt.Sprint(cell)
	case u == Ratio:
		return fmt.Sprintf("%.3f", x)
	case u == Plain:
		return fmt.Sprintf("%.7g", x)
	default:
		return prefixed(x) + string(u)
	}
}

// prefixed formats a number with three digits and a prefix.
func prefixed(x float64) string {
	for _, p := range []struct {
		unit   float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}} {
		if x >= 0.9995*p.unit {
			return fmt.Sprintf("%.3g %s", min(x/p.unit, 999e9), p.prefix)
		}
	}
	return fmt.Sprintf("%.3g ", x)
}

// CSV writes a line with the columns' names, and a line for each row.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, row := range t.Rows {
		for i, cell := range row {
			line[i] = fmt.Sprint(cell)
			if x, ok := cell.(float64); ok {
				line[i] = strconv.FormatFloat(x, 'g', -1, 64)
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// MarshalJSON writes rows as objects. Their keys are in the order of the columns.
func (t *Table) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	head, err := json.Marshal(struct {
		Name    string   `json:"name"`
		Columns []Column `json:"columns"`
	}{t.Name, t.Columns})
	if err != nil {
		return nil, err
	}
	b.Write(head[:len(head)-1])
	b.WriteString(`,"rows":[`)
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, cell := range row {
			value, err := json.Marshal(cell)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", t.Name, t.Columns[j].Name, err)
			}
			fmt.Fprintf(&b, "%c%q:%s", "{,"[min(j, 1)], t.Columns[j].Name, value)
		}
		b.WriteByte('}')
	}
	b.WriteString("]}")
	return b.Bytes(), nil
}

// method returns how the first table was made. A table with a column how says it for each row.
func (r *Report) method() string {
	what := "result"
	if r.Scale == 0 {
		what = "message"
	}
	text := fmt.Sprintf("medians of %d rounds by turns, every %s checked", r.Repeat, what)
	if r.Tables[0].Columns[0].Name == "how" {
		text = "rows tell how they came about; measured: " + text
	}
	return text
}

// Text writes the report as text: the first table and the findings.
func (r *Report) Text(w io.Writer) error {
	fmt.Fprintf(w,
		"%s: %s (%s)\n%s, %d processors, %s\n\n", r.Name, r.Title, r.Paper, r.graphText(), r.CPUs,
		r.method())
	if err := r.Tables[0].Text(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if names := r.Tables[0].byTurns(); len(names) > 0 {
		fmt.Fprintf(w,
			"%s: the median of the ratios of times within a turn, which is not the ratio of the medians in the table\n", strings.Join(names, ", "))
	}
	for _, f := range r.Findings {
		fmt.Fprintln(w, f)
	}
	return nil
}
