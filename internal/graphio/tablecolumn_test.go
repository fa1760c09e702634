package graphio

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// readCells returns the ids and values in a column of a table, in order.
func readCells(path string, ofEdges bool, of Column) (rows [][]string, err error) {
	of.OfEdges = ofEdges
	err = ReadColumn(context.Background(), path, of, func(v *Value) (found, expected string) {
		row := []string{string(v.Names[0]), string(v.Names[1]), string(v.Text)}
		if !ofEdges {
			row = []string{string(v.Names[0]), string(v.Text)}
		}
		if rows = append(rows, row); string(v.Text) == "refused" {
			return "what is refused", "what is not"
		}
		if v.OfID = string(v.Names[0]) == "nobody"; v.OfID {
			return "vertex " + v.Vertex(0), "one of the graph"
		}
		return "", ""
	})
	return rows, err
}

// TestTableColumn reads columns of tables by name and by number, and checks errors.
func TestTableColumn(t *testing.T) {
	people := "name,age,note\nAda,36,\"first\nprogrammer\"\n\n\"Hopper, Grace\",85,\"\"\"quoted\"\"\"\n"
	roads := "km,from,to,toll\n1,a,b,5\n2,b,c,7\n"
	for _, test := range []struct {
		text    string
		ofEdges bool
		of      Column
		want    string
	}{
		{people, false, Column{Name: "age"}, `[["Ada" "36"] ["Hopper, Grace" "85"]]`},
		{people, false, Column{Name: "2"}, `[["Ada" "36"] ["Hopper, Grace" "85"]]`},
		{people, false, Column{Name: "note"}, `[["Ada" "\"first\\nprogrammer\""] ["Hopper, Grace" "\"\\\"quoted\\\"\""]]`},
		{people, false, Column{Name: "name", IDs: []string{"age"}}, `[["36" "Ada"] ["85" "Hopper, Grace"]]`},
		{people, false, Column{}, `a.csv:1:1: found several columns that may have the values: name, age, note, expected FILE:COLUMN, which names one`},
		{"7,x\n8,y\n", false, Column{}, `[["7" "x"] ["8" "y"]]`},
		{roads, true, Column{Name: "toll"}, `[["a" "b" "5"] ["b" "c" "7"]]`},
		{roads, true, Column{Name: "km", IDs: []string{"to", "from"}}, `[["b" "a" "1"] ["c" "b" "2"]]`},
		{roads, true, Column{Name: "tolls"}, `a.csv:1:1: found no column "tolls", expected one of km, from, to, toll`},
		{roads, true, Column{Name: "toll", IDs: []string{"from"}}, `a.csv: found 1 column of ids: from, expected 2: the ids are columns 1 and 2`},
		{roads, false, Column{Name: "toll", IDs: []string{"from", "to"}}, `a.csv: found 2 columns of ids: from,to, expected 1: the id is column 1`},
		{"id,x\n1,2\n2,refused\n", false, Column{Name: "x"}, "a.csv:3:3: found what is refused, expected what is not"},
		{"x,id\n1,2\n2, nobody\n", false, Column{Name: "x"}, `a.csv:3:4: found vertex "nobody", expected one of the graph`},
		{"id,x\n1,2\n,3\n", false, Column{Name: "x"}, `a.csv:3:1: found nothing in "id", expected a vertex`},
		{"id,x\n1,2\n1,3,4\n", false, Column{Name: "x"}, `a.csv:3:5: found 3 columns: "1,3,4", expected 2 as in the first line`},
		{"id,x\n1,\"2\n1,3\n", false, Column{Name: "x"}, `a.csv:2:3: found quotes that do not end, expected a " that ends them`},
		{"id\n1\n", false, Column{}, "a.csv:1:1: found no column of values, expected one beside the ids"},
		{"id,x\n\"1\na\",2\n1,\x00\n", false, Column{Name: "x"}, "a.csv:4:3: found a NUL byte, expected text in UTF-8 or ASCII"},
	} {
		for _, packed := range []string{test.text, gz(test.text)} {
			path := put(t, "a.csv", packed)
			rows, err := readCells(path, test.ofEdges, test.of)
			if err != nil {
				wantError(t, err, path, test.want)
			} else if got := fmt.Sprintf("%q", rows); got != test.want {
				t.Errorf("%q: found %s, want %s", test.text, got, test.want)
			}
		}
	}
}

// TestVertexTable reads tables of vertices in CSV and Parquet beside edges, as a whole and by
// ranks. It also checks errors.
func TestVertexTable(t *testing.T) {
	people := mustParquet(t, "source,target\n1,2\n7,3\n")
	for _, test := range []struct {
		edges, name, vertices string
		o                     Columns
		want                  string
	}{
		{"1,2\n2,3\n", "v.csv", "id\n9\n2\n", Columns{}, "1>2 2>3 9"},
		{"1,2\n2,3\n", "v.csv", "9\n1\n18446744073709551614\n", Columns{}, "1>2 2>3 9 18446744073709551614"},
		{"a,b\n", "v.tsv", "age\tid\n1\tc\n2\t\"b\"\n", Columns{}, "a>b c"},
		{"a,b\n", "v.csv", "x,y\n1,2\n3,4\n", Columns{Vertex: "y"}, "a>b 2 4"},
		{"1,2\n", "v.parquet", people, Columns{Vertex: "target"}, "1>2 3"},
		{"1,2\n", "v", people, Columns{}, "1>2 7"},
		{"a,1\n", "v.parquet", people, Columns{}, "a>1 7"},
		{"1,2\n", "v.parquet", people, Columns{Vertex: "name"}, `v.parquet: found no column "name", expected one of source, target`},
		{
			"1,2\n", "v.parquet", mustParquet(t,
				"source,target\n1,2\n3,2\n"),
			Columns{Vertex: "target"},
			"v.parquet: found the vertex of row 2 again, expected every vertex once",
		},
		{
			"a,b\n", "v.parquet", mustParquet(t,
				"source,target\nx,2\ny,2\n"),
			Columns{Vertex: "2"},
			"v.parquet: found the vertex of row 2 again, expected every vertex once",
		},
		{"1,2\n", "v.csv", "", Columns{}, "v.csv: found no vertices, expected a line for each"},
		{"1,2\n", "v.csv", "\n\n", Columns{}, "v.csv: found no vertices, expected a line for each"},
		{"1,2\n", "v.csv", "id,age\n\n", Columns{}, "v.csv: found no vertices, expected a line for each"},
		{"1,2\n", "v.csv", "id\n1\nx\n", Columns{}, `v.csv:3:1: found "x", which is not a number in "id", expected a whole number from 0 to 18446744073709551614 (--ids name reads ids of any kind)`},
		{"1,2\n", "v.csv", "id\n5\n6\n7\n005\n", Columns{IDs: "number"}, "v.csv:5:1: found vertex 5 again, expected every vertex once"},
		{"1,2\n", "v.csv", "id\n5\n6\n7\n005\n", Columns{}, `v.csv:5:1: found the number "005" in "id", expected no zeros before it (--ids number takes 005 and 5 for one vertex, --ids name for two)`},
		{
			"1,2\n", "v.csv", "id,label\n1,Jos\xe9\n2,x\n3,y\n2,z\n4,w\n5,k\n",
			Columns{},
			"v.csv:5:1: found vertex 2 again, expected every vertex once",
		},
		{"a,b\n", "v.csv", "n,id\n1,b\n2, c\n3,\"b\"\n", Columns{}, `v.csv:4:3: found vertex "b" again, expected every vertex once`},
	} {
		edges, vertices := put(t, "e.csv", "s,t\n"+test.edges), put(t, test.name, test.vertices)
		yes := true
		o := ReadOptions{Columns: Columns{Header: &yes, IDs: test.o.IDs, Vertices: vertices, Vertex: test.o.Vertex, Source: "s", Target: "t"}}
		in, err := read(edges, pieceSize, o)
		if err != nil {
			wantError(t, err, vertices, test.want)
		} else if got := describe(t, in); got != test.want {
			t.Errorf("%q: found %s, want %s", test.vertices, got, test.want)
		}
		named := err == nil && in.Names != nil
		if err == nil {
			in.Close()
		}
		for ranks := 1; ranks < 4 && !named && !strings.Contains(test.want, `"b" again`) &&
			!strings.Contains(test.edges, "a"); ranks++ {
			for _, piece := range []int{1, 7, pieceSize} {
				wantJoined(t, edges, ranks, piece, o)
			}
		}
	}
	for _, name := range []string{"e.el", "e.v", "e.g500", "e.gr"} {
		_, err := read(put(t, name, "1 2\n"), pieceSize,
			ReadOptions{Columns: Columns{Vertices: "v.csv"}})
		if err == nil ||
			!strings.Contains(err.Error(), "expected edges of csv, tsv, jsonl or parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// mustParquet converts a table of edges to Parquet.
func mustParquet(t *testing.T, table string) string {
	t.Helper()
	in := mustRead(t, put(t, "e.csv", table), ReadOptions{})
	defer in.Close()
	path := put(t, "e.parquet", "")
	if err := Write(context.Background(), path, in, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// FuzzTableColumn compares the values of a column with encoding/csv.
func FuzzTableColumn(f *testing.F) {
	f.Add("id,x\n1,2\n\"a\nb\",\"c\"\"d\"\n", false)
	f.Add("from,to,x\n1,2,3\na,b,c\n", true)
	f.Add("id,x\n1,\"2", false)
	f.Fuzz(func(t *testing.T, text string, ofEdges bool) {
		of := Column{Name: "x", IDs: []string{"id"}}
		if ofEdges {
			of.IDs = []string{"from", "to"}
		}
		rows, err := readCells(put(t, "a.csv", text), ofEdges, of)
		if err != nil || codecOf([]byte(text)) != plain || strings.Contains(text, "\r") {
			return
		}
		r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\xef\xbb\xbf")))
		all, err := r.ReadAll()
		if err != nil || len(all) == 0 {
			return // some tables that encoding/csv accepts are refused here: see FuzzCSVLikeGo
		}
		if len(all)-1 != len(rows) {
			t.Fatalf("%d rows, of encoding/csv %d", len(rows), len(all)-1)
		}
		at := slices.IndexFunc(all[0], func(s string) bool { return strings.Trim(s, " \t") == "x" })
		for i, row := range all[1:] {
			got, want := rows[i][len(rows[i])-1], strings.Trim(row[at], " \t")
			if got != want && got != row[at] && !strings.HasPrefix(got, `"`) {
				t.Fatalf("row %d: %q, want %q", i, got, want)
			}
		}
	})
}

// TestVertices: a table of vertices adds vertices without edges.
func TestVertices(t *testing.T) {
	for _, test := range []struct{ edges, vertices, column, want string }{
		{"from,to\na,b\n", "name,age\nc,1\na,2\n", "", `csv, "from" to "to", vertices by "name" of DIR/v.csv (2 lines), 1 edge, 3 vertices, named "a".."c", weights no, directed`},
		{"1,2\n", "age,id\n7,9\n8,1\n", "", `csv, column 1 to column 2, no line with names of columns, vertices by "id" of DIR/v.csv (2 lines), 1 edge, 3 vertices, ids 1..9 sparse, weights no, directed`},
		{"1,2\n", "3\n4\n1\n", "", `csv, column 1 to column 2, no line with names of columns, vertices by column 1 of DIR/v.csv (3 lines), 1 edge, 4 vertices, ids 1..4, weights no, directed`},
		{"1,2\n", "age,who\n7,99999999999\n", "who", `csv, column 1 to column 2, no line with names of columns, vertices by "who" of DIR/v.csv (1 line), 1 edge, 3 vertices, ids 1..99999999999 sparse, weights no, directed`},
		{"1,2\n", "id\nAda\n", "", `v.csv:2:1: found "Ada", which is not a number in "id", ` + idRange + ` (--ids name reads ids of any kind)`},
		{"1,2\n", "id,x\n1,2\n", "y", `v.csv:1:1: found no column "y", expected one of id, x`},
	} {
		path := put(t, "a.csv", test.edges)
		dir := strings.TrimSuffix(path, "/a.csv")
		v := putIn(t, dir, "v.csv", test.vertices)
		o := ReadOptions{Team: team(t, 2), Columns: Columns{Vertices: v, Vertex: test.column}}
		in, err := read(path, 10, o)
		if err != nil {
			wantError(t, err, path, test.want)
			continue
		}
		if got := strings.TrimPrefix(strings.ReplaceAll(in.Account[0], dir, "DIR"),
			"DIR/a.csv: "); got != test.want {
			t.Errorf("%q: account\n%s\nwant\n%s", test.vertices, got, test.want)
		}
		_ = plainly(t, in)
		in.Close()
	}
	path := put(t, "a.el", "1 2\n")
	_, err := read(path, pieceSize, ReadOptions{Columns: Columns{Vertices: "v.csv"}})
	wantError(t, err, path,
		"v.csv: found a table of vertices beside edges of format el, expected edges of csv, tsv, jsonl or parquet")
}
