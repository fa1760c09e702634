package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/parallel"
)

// small runs an experiment on a small graph. It checks properties of all reports.
func small(t *testing.T, name string, scale int) *Report {
	t.Helper()
	e, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	team := parallel.NewTeam(2, false)
	defer team.Close()
	r, err := e.Run(t.Context(), Options{
		Scale: scale, Repeat: 2, Team: team, Command: workers, Measured: speed, Small: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Scale == 0 {
		scale = 0
	}
	if r.Name != name || r.Scale != scale || r.Repeat != 2 || r.Threads != 2 ||
		len(r.Tables) == 0 || len(r.Findings) == 0 {
		t.Errorf("report %+v", r)
	}
	for _, table := range r.Tables {
		written(t, table)
	}
	var text, svg bytes.Buffer
	if err := errors.Join(r.Text(&text), r.Figure.Write(&svg)); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Tables[0].Columns {
		if !strings.Contains(text.String(), c.Name) {
			t.Errorf("the text has no column %s", c.Name)
		}
	}
	if len(r.Figure.Panels) == 0 || strings.Contains(svg.String(), "NaN") {
		t.Error("the figure is empty or has coordinates that are no numbers")
	}
	for d := xml.NewDecoder(&svg); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// written compares a table's CSV and JSON.
func written(t *testing.T, table *Table) {
	t.Helper()
	var b bytes.Buffer
	if err := table.CSV(&b); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Name    string
		Columns []struct{ Name, Meaning string }
		Rows    []map[string]any
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if len(lines) != len(back.Rows)+1 || len(back.Rows) == 0 ||
		len(back.Columns) != len(lines[0]) || back.Name != table.Name {
		t.Fatalf("%s: %d lines of CSV, %d rows and %d columns of JSON", table.Name, len(lines),
			len(back.Rows), len(back.Columns))
	}
	for i, row := range back.Rows {
		for j, name := range lines[0] {
			cell := lines[i+1][j]
			if n, ok := row[name].(json.Number); ok {
				x, err1 := n.Float64()
				y, err2 := json.Number(cell).Float64()
				if err1 != nil || err2 != nil || x != y {
					t.Errorf("%s, row %d, %s: %q in CSV, %v in JSON", table.Name, i, name, cell, n)
				}
			} else if row[name] != cell {
				t.Errorf("%s, row %d, %s: %q in CSV, %v in JSON", table.Name, i, name, cell,
					row[name])
			}
		}
	}
}

// row is a row with the columns' names.
type row map[string]any

func (r row) int(name string) int       { return r[name].(int) }
func (r row) float(name string) float64 { return r[name].(float64) }

// rows returns the rows that begin with these cells.
func (t *Table) rows(first ...any) []row {
	var found []row
	for _, cells := range t.Rows {
		if !slices.Equal(cells[:len(first)], first) {
			continue
		}
		r := row{}
		for i, c := range t.Columns {
			r[c.Name] = cells[i]
		}
		found = append(found, r)
	}
	return found
}

// one returns the only row that begins with these cells.
func (t *Table) one(tb testing.TB, first ...any) row {
	tb.Helper()
	rows := t.rows(first...)
	if len(rows) != 1 {
		tb.Fatalf("%s: %d rows of %v", t.Name, len(rows), first)
	}
	return rows[0]
}

// tuples returns a generator's tuples.
func tuples(tb testing.TB, text string) (n int, list [][2]int) {
	tb.Helper()
	g, err := generate.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	l := generate.Lazy(g, false)
	var b edges.Block
	for i := range edges.Blocks(l) {
		if err := l.Read(i, &b); err != nil {
			tb.Fatal(err)
		}
		for j := range b.N {
			list = append(list, [2]int{int(b.U[j]), int(b.V[j])})
		}
	}
	return int(g.Vertices()), list
}

// ranks returns the rank of every vertex by falling degree. Ties are broken by number.
func ranks(n int, list [][2]int) []int {
	degree, order := make([]int, n), make([]int, n)
	for _, e := range list {
		degree[e[0]]++
		degree[e[1]]++
	}
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return degree[b] - degree[a] })
	rank := make([]int, n)
	for i, v := range order {
		rank[v] = i
	}
	return rank
}

func TestWhatIsRefused(t *testing.T) {
	if _, err := Find("nothing"); err == nil ||
		!strings.Contains(err.Error(), `found experiment "nothing", expected all, messages`) {
		t.Error(err)
	}
	for _, o := range []Options{{Scale: 1}, {Scale: MostScale + 1}, {Repeat: -1}, {Repeat: MostRepeat + 1}} {
		if _, err := All[0].Run(t.Context(), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// TestACancelledExperimentEnds cancels each experiment at several points.
func TestACancelledExperimentEnds(t *testing.T) {
	for _, e := range All {
		for _, after := range []int{0, 3} {
			ctx, cancel := context.WithCancel(t.Context())
			stages := map[string]bool{}
			_, err := e.Run(ctx,
				Options{Scale: LeastScale, Repeat: 1, Measured: speed, Progress: func(stage string, _, _ int64) {
					if stages[stage] = true; len(stages) > after {
						cancel()
					}
				}})
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled in stage %d: %v", e.Name, after, err)
			}
		}
	}
}
