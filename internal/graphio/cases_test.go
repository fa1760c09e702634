package graphio

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// understood reads a file as a whole and by ranks. It returns the notes about the file, or the
// error.
func understood(t *testing.T, name, text string, o ReadOptions) string {
	t.Helper()
	path := put(t, name, text)
	o.Weights = edges.Float64
	in, err := read(path, 100, o)
	whole, notes := "", []string(nil)
	if err == nil {
		notes = in.Notes
		whole = strings.Join(slices.Concat(in.Account, in.Notes), "\n")
		in.Close()
	} else {
		whole = err.Error()
	}
	for rank := range 3 {
		s, wrong := readRank(path, 100, rank, 3, o)
		if wrong == nil {
			if err == nil && rank == 0 && !slices.Equal(s.Notes, notes) || rank > 0 &&
				s.Notes != nil {
				t.Errorf("%s: rank %d notes %q, of the whole %q", name, rank, s.Notes, notes)
			}
			s.Close()
		}
	}
	return strings.ReplaceAll(whole, filepath.Dir(path)+"/", "")
}

func readRank(path string, piece, rank, ranks int, o ReadOptions) (*edges.RankInput, error) {
	r := newReader(o, piece)
	r.rank, r.ranks = rank, ranks
	return r.readRank(context.Background(), path)
}

func ofCases(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expect checks that text contains all parts.
func expect(t *testing.T, of, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q: %s\nexpected %s", of, text, part)
		}
	}
}

// TestTableHeaders: the first line is taken for column names or for an edge, or is refused. The
// note tells which columns were used.
func TestTableHeaders(t *testing.T) {
	yes, no, undirected := true, false, false
	far := "x,y\n" + strings.Repeat("a,b\n", 30_000) + "x,b\n"
	for _, c := range []struct {
		name, text string
		o          ReadOptions
		parts      []string
	}{
		{
			"bipartite.csv", ofCases(t,
				"bipartite.csv"),
			ReadOptions{},
			[]string{`bipartite.csv: csv, "customer" to "product"`, "6 edges, 6 vertices", "\nbipartite.csv: csv, "},
		},
		{"a.csv", "name_a,name_b\nAnn,Bo\n", ReadOptions{}, []string{`"name_a" to "name_b", 1 edge`}},
		{"a.csv", "follower,followed\nAnn,Bo\n", ReadOptions{}, []string{`"follower" to "followed", 1 edge`}},
		{
			"payments.csv", ofCases(t, "payments.csv"),
			ReadOptions{},
			[]string{"payments.csv:1:1: found 5 columns", "date, payer, payee, amount, currency", "--source-column and --target-column"},
		},
		{
			"payments.csv", ofCases(t, "payments.csv"),
			ReadOptions{Columns: Columns{Source: "payer", Target: "payee", Weight: "amount"}},
			[]string{`"payer" to "payee", weight "amount", 4 edges, 4 vertices`},
		},
		{"a.csv", "date,payer,payee\n2026-01-01,Ann,Bo\n", ReadOptions{}, []string{"found 3 columns", "date, payer, payee"}},
		{"a.csv", "1,2,5,1300000\n2,3,5,1300001\n", ReadOptions{}, []string{"found 4 columns", "1, 2, 5, 1300000"}},
		{"a.csv", "1,2,5,1300000\n2,3,5,1300001\n", ReadOptions{Columns: Columns{Source: "1", Target: "2"}}, []string{"2 edges, 3 vertices"}},
		{"a.csv", "1,2,5,1300000\n2,3,5,1300001\n", ReadOptions{Columns: Columns{Source: "1"}}, []string{"found 4 columns"}},
		{"a.jsonl", `{"a":1,"b":2,"c":3,"d":4}`, ReadOptions{}, []string{"found 4 columns", "a, b, c, d"}},
		{"a.csv", "left,right\nAnn,Bo\nBo,Cy\n", ReadOptions{}, []string{"a.csv:1:1: found \"left, right\"", "--header yes", "--header no"}},
		{"a.csv", "left,right\nAnn,Bo\n", ReadOptions{Columns: Columns{Header: &yes}}, []string{"1 edge"}},
		{"a.csv", "left,right\nAnn,Bo\n", ReadOptions{Columns: Columns{Header: &no}}, []string{"2 edges"}},
		{"a.csv", "Ann,Bo\nBo,Cy\n", ReadOptions{}, []string{"no line with names of columns, 2 edges"}},
		{"a.csv", "Ann,Bo,knows\nCy,Dee,knows\n", ReadOptions{}, []string{"no line with names of columns, 2 edges"}},
		{"a.csv", "u,v\nu,w\nv,w\n", ReadOptions{}, []string{`"u" again below`, "--header yes", "--header no"}},
		{"a.csv", far, ReadOptions{}, []string{"found \"x, y\"", "--header yes"}},
		{"a.csv", strings.Replace(far, "a,b\n", "y,b\n",
			1), ReadOptions{}, []string{"no line with names of columns, 30,002 edges"}},
		{"a.csv", "x,y\n" + strings.Repeat("a,b\n", 9990) + "q,y\n" + strings.Repeat("a,b\n",
			20_000), ReadOptions{}, []string{"29,992 edges"}},
		{
			"matrix.csv", ofCases(t,
				"matrix.csv"),
			ReadOptions{},
			[]string{"matrix.csv:1:1: found what looks like a matrix"},
		},
		{"a.csv", "x,A,B\nA,0,1\nB,1,0\n", ReadOptions{}, []string{"what looks like a matrix"}},
		{"a.csv", ",source,target\n0,a,b\n1,b,c\n", ReadOptions{}, []string{`"source" to "target", 2 edges`}},
		{"a.csv", "0,1,1\n1,2,1\n2,0,5\n", ReadOptions{}, []string{"weight column 3", "3 edges"}},
		{
			"leading-zeros.csv", ofCases(t,
				"leading-zeros.csv"),
			ReadOptions{},
			[]string{"3 vertices", "ids with leading zeros are names"},
		},
		{
			"leading-zeros.csv", ofCases(t,
				"leading-zeros.csv"),
			ReadOptions{Columns: Columns{IDs: "number"}},
			[]string{"2 vertices, ids 7..123"},
		},
		{
			"a.csv", strings.Repeat("1,2\n",
				30_000) + "1,02\n",
			ReadOptions{},
			[]string{`a.csv:30001:3: found the number "02"`, "--ids number", "--ids name"},
		},
		{"a.csv", strings.Repeat("1,2\n",
			30_000) + "1,0\n", ReadOptions{}, []string{"3 vertices, ids 0..2"}},
		{"a.jsonl", `{"source":"00123","target":7}` + "\n" + `{"source":"123","target":7}`, ReadOptions{}, []string{"3 vertices"}},
		{
			"floats-as-ids.csv", ofCases(t,
				"floats-as-ids.csv"),
			ReadOptions{},
			[]string{`found the number "1.0" for a vertex`, "--ids name"},
		},
		{
			"floats-as-ids.csv", ofCases(t,
				"floats-as-ids.csv"),
			ReadOptions{Columns: Columns{IDs: "name", Header: &no}},
			[]string{"4 vertices"},
		},
		{"a.csv", "source,target,weight\n1,2,1_0\n", ReadOptions{}, []string{`found the weight "1_0" in "weight", expected a number`}},
		{"a.wel", "1 2 1_0\n", ReadOptions{}, []string{`a.wel:1:5: found the weight "1_0", expected a number`}},
		{
			"type-undirected.csv", ofCases(t,
				"type-undirected.csv"),
			ReadOptions{},
			[]string{`undirected by "Type"`, "weights float64, undirected"},
		},
		{
			"type-undirected.csv", ofCases(t,
				"type-undirected.csv"),
			ReadOptions{Directed: &yes},
			[]string{"weights float64, directed"},
		},
		{"a.csv", "Source,Target,Type\na,b,Directed\nb,c,\"Directed\"\n", ReadOptions{}, []string{`directed by "Type"`, "weights no, directed"}},
		{
			"a.csv", "Source,Target,Type\na,b,Directed\nb,c,Undirected\n",
			ReadOptions{},
			[]string{`a.csv:3:5: found "Undirected" in "Type", expected "Directed" as in the first line`, "--directed or --undirected"},
		},
		{"a.csv", "Source,Target,Type\na,b,Directed\nb,c,Undirected\n", ReadOptions{Directed: &undirected}, []string{"2 edges", "undirected"}},
		{"a.csv", "source,target,type\na,b,friend\nb,c,foe\n", ReadOptions{}, []string{"2 edges", "directed"}},
	} {
		expect(t, c.name+": "+c.text[:min(len(c.text), 60)], understood(t, c.name, c.text, c.o),
			c.parts...)
	}
}

// TestListsDeclare: the reader follows the comments of an edge list about the graph's direction,
// and notes it or warns.
func TestListsDeclare(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		text  string
		o     ReadOptions
		parts []string
	}{
		{
			ofCases(t,
				"says-undirected.txt"),
			ReadOptions{},
			[]string{"weights no, undirected", `a.txt: undirected, as its comment says: "# Undirected graph`},
		},
		{ofCases(t,
			"says-undirected.txt"), ReadOptions{Directed: &yes}, []string{"weights no, directed"}},
		{"# Undirected graph: ../../data/output/dblp.ungraph.txt\n0 1\n", ReadOptions{}, []string{"no, undirected\n"}},
		{"# Directed graph (each ordered pair of nodes is saved once): web.txt\n0 1\n", ReadOptions{}, []string{"no, directed\n", "as its comment says"}},
		{
			"# Directed graph (each unordered pair of nodes is saved once): CA-GrQc.txt\n0\t1\n",
			ReadOptions{},
			[]string{"no, directed\n", "may mean that edges are undirected: --undirected"},
		},
		{"# friendships, undirected\n0 1\n", ReadOptions{}, []string{"no, directed\n", "may mean that edges are undirected: --undirected"}},
		{"# friendships\n0 1\n# undirected\n", ReadOptions{}, []string{"no, directed"}},
		{"% sym unweighted\n% 2 3 3\n1 2\n", ReadOptions{}, []string{"no, undirected\n", `"% sym unweighted"`}},
		{"% asym weighted\n1 2 0.5\n", ReadOptions{}, []string{"weights float64, directed\n", `"% asym weighted"`}},
		{"% asym posweighted\n1 2 0.5 1300000\n", ReadOptions{}, []string{"with 1 other column", "directed\n"}},
		{"% bip unweighted\n1 1\n1 2\n", ReadOptions{}, []string{"a.txt: found a bipartite graph: % bip unweighted", "awk", "--undirected"}},
		{"% bip unweighted\n1 1\n1 2\n", ReadOptions{Directed: &no}, []string{"2 edges, 2 vertices", "undirected"}},
		{"% sym is a word\n1 2\n", ReadOptions{}, []string{"no, directed"}},
	} {
		got := understood(t, "a.txt", c.text, c.o)
		if expect(t, c.text, got, c.parts...); c.o.Directed != nil &&
			strings.Contains(got, "comment says") {
			t.Errorf("%q with a flag: %s", c.text, got)
		}
	}
}

// TestGraphMLKeyForNodes: a weight whose key is declared for nodes is refused, with and without the
// option of the key's name.
func TestGraphMLKeyForNodes(t *testing.T) {
	text := ofCases(t, "weight-for-node.graphml")
	for _, name := range []string{"", "weight"} {
		got := understood(t, "a.graphml", text, ReadOptions{Columns: Columns{Weight: name}})
		expect(t, name, got, "is for node", `<key for="edge">`)
	}
	of := strings.Replace(text, `for="node"`, `for="edge"`, 1)
	expect(t, of, understood(t, "a.graphml", of, ReadOptions{Columns: Columns{Weight: "weight"}}),
		`weight "weight", 1 edge`)
	plain := strings.Replace(text, `<data key="weight">0.5</data>`, "", 1)
	expect(t, plain, understood(t, "a.graphml", plain, ReadOptions{}), "1 edge", "weights no")
}

// TestNamedColumnHeader: if a first line of CSV may be column names, it is refused. The error
// contains the column name to give.
func TestNamedColumnHeader(t *testing.T) {
	path := put(t, "labels.csv", ofCases(t, "labels.csv"))
	read := func(of Column) (all []string, err error) {
		of.Named = true
		err = ReadColumn(t.Context(), path, of, func(v *Value) (found, expected string) {
			all = append(all, fmt.Sprintf("%s=%s", v.Names[0], v.Text))
			return "", ""
		})
		return all, err
	}
	for _, column := range []int{0, 2, 5} {
		if _, err := read(Column{Number: column}); err == nil ||
			!strings.Contains(err.Error(), "labels.csv:label, which names the column") {
			t.Errorf("column %d: %v", column, err)
		}
	}
	if all, err := read(Column{Name: "label"}); err != nil ||
		!slices.Equal(all, []string{"ann=x", "bob=y"}) {
		t.Errorf("%q, %v", all, err)
	}
}
