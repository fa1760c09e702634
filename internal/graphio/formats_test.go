package graphio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// describe returns the content of an input in one line: "directed a>b(weight) ...; isolated
// vertices".
func describe(t testing.TB, in *edges.Input) string {
	t.Helper()
	name := func(v uint64) string {
		if in.Names != nil {
			return in.Names.Name(in.Labels.Of(v))
		}
		return fmt.Sprint(in.Labels.Of(v))
	}
	arrow := "-"
	if in.Directed {
		arrow = ">"
	}
	var parts []string
	met := map[uint64]bool{}
	var b edges.Block
	for i := range edges.Blocks(in.Edges) {
		if err := in.Edges.Read(i, &b); err != nil {
			t.Fatal(err)
		}
		for j := range b.N {
			met[b.U[j]], met[b.V[j]] = true, true
			part := name(b.U[j]) + arrow + name(b.V[j])
			if in.Edges.Weighted() {
				part += fmt.Sprintf("(%v)", b.W[j])
			}
			parts = append(parts, part)
		}
	}
	for v := range in.Vertices {
		if !met[uint64(v)] {
			parts = append(parts, name(uint64(v)))
		}
	}
	return strings.Join(parts, " ")
}

// twoKeys begins a GraphML file with a key of costs and a key of weights. The latter is preferred.
func twoKeys(ofCost, ofWeight string) string {
	return `<graphml><key id="c" for="edge" attr.name="cost">` + ofCost +
		`</key><key id="w" for="edge" attr.name="weight">` + ofWeight +
		`</key><graph edgedefault="directed"><node id="1"/>`
}

const graphmlHead = `<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="weight" attr.type="double"/><key id="d1" for="node" attr.name="color" attr.type="string"/>
`

// TestOtherFormats reads a small graph in each format that is not columns separated by blanks. The
// format is found by name and by content. The test uses pieces of all sizes, and parts where the
// format allows them.
func TestOtherFormats(t *testing.T) {
	team := team(t, 3)
	for _, test := range []struct {
		name, text, want string
		o                ReadOptions
		named            bool // each process has its own names
	}{
		{"a.jsonl", `{"source": 1, "target": 2}` + "\n\n" + `{"target":"3","x":[1,{"y":null}],"source":10}` + "\r\n", "1>2 10>3", ReadOptions{}, false},
		{"a", `{"src": 1, "dst": 2, "weight": 0.5}` + "\n" + `{"src": 2, "dst": 3, "weight": "-1e1"}`, "1>2(0.5) 2>3(-10)", ReadOptions{}, false},
		{"a.ndjson", `{"from": "Ada", "to": "Gr\u00e4ce \"G\""}` + "\n" + `{"from": 7, "to": "7"}`, `Ada>Gräce "G" 7>7`, ReadOptions{}, true},
		{"a.jsonl", `{"a": 1, "b": 2, "c": 3}` + "\n", "3>2(1)", ReadOptions{Columns: Columns{Source: "c", Target: "b", Weight: "a"}}, false},
		{"a.jsonl", `{"a": 1, "b": 2}` + "\n", "1>2", ReadOptions{Columns: Columns{IDs: "name"}}, true},
		{"a.giraph", "[0,0,[[1,1],[3,3]]]\n[1,0,[[0,1]]]\n\n[3,{\"a\":[]},[]]\n[9,\"x\",[]]", "0>1(1) 0>3(3) 1>0(1) 9", ReadOptions{Format: Giraph}, false},
		{"a.txt", "[0,0,[[1,1]]]\n[1,0,[[0,1]]]\n[7,0,[]]", "0-1(1) 7", ReadOptions{Directed: new(bool)}, false},
		{"a.gr", "c x\np sp 4 3\nc y\na 1 2 5\n\na 2 3 7.5\na 3 3 -1\n", "1>2(5) 2>3(7.5) 3>3(-1) 4", ReadOptions{}, false},
		{"a.col", "c x\np edge 4 2\nn 1 7\ne 1 2\ne 2 3", "1-2 2-3 4", ReadOptions{}, false},
		{"a.txt", "c x\np col 2 1\ne 1 2\n", "1-2", ReadOptions{}, false},
		{"a.graph", "% c\n3 2\n2\n% d\n1 3\n2\n\n\n", "1-2 2-3", ReadOptions{}, false},
		{"a.metis", "4 2 001\n2 5\n1 5 3 7\n2 7\n\n", "1-2(5) 2-3(7) 4", ReadOptions{}, false},
		{"a.metis", "2 1 111 2\n7 8 9 2 5\n0 0 0 1 5\n", "1-2(5)", ReadOptions{}, false},
		{"a.metis", "2 1 10\n3 2\n4 1", "1-2", ReadOptions{}, false},
		{"a.metis", "1 0\n\n", "1", ReadOptions{}, false},
		{"a.graphml", graphmlHead + `<graph id="G" edgedefault="undirected"><node id="n0"><data key="d1">a</data></node><node id="n1"/><node id="n2"/>
			<edge id="e" source="n1" target="n0"><data key="d0"> 1.5 </data></edge></graph></graphml>`, "n1-n0(1.5) n2", ReadOptions{}, false},
		{"a.xml", `<graphml><!-- c --><graph edgedefault="directed"><edge source="10" target="9"/><node id="9"/><node id="10"/><node id="3"/></graph></graphml>`, "10>9 3", ReadOptions{}, false},
		{"a.graphml", `<graphml><graph edgedefault="directed"><node id="01"/><node id="&lt;&#65;"/><edge source="01" target="&lt;A"/></graph></graphml>`, "01><A", ReadOptions{}, false},
		{"a.graphml", `<graphml><key id="k" for="edge" attr.name="cost"><default>4</default></key><graph edgedefault="directed"><node id="1"/><edge source="1" target="1"/></graph></graphml>`, "1>1(4)", ReadOptions{}, false},
		{"a.graphml", `<graphml><graph edgedefault="directed"><node id="1"/><node id="2"/></graph></graphml>`, "1 2", ReadOptions{}, false},
		{
			"a.graphml", twoKeys("<default>5</default>",
				"<default>2</default>") +
				`<edge source="1" target="1"/></graph></graphml>`, "1>1(2)",
			ReadOptions{},
			false,
		},
		{
			"a.graphml", twoKeys("<default>5</default>",
				"<default>2</default>") +
				`<edge source="1" target="1"/></graph></graphml>`, "1>1(5)",
			ReadOptions{Columns: Columns{Weight: "cost"}},
			false,
		},
		{"a.sg", serializedText(0, []int64{0, 1, 3, 4, 4},
			[]int32{1, 0, 2, 1}), "0-1 1-2 3", ReadOptions{}, false},
		{"a.sg", serializedText(1, []int64{0, 2, 2, 3}, []int32{1, 2, 0}) + serializedText(1,
			[]int64{0, 1, 2, 3}, []int32{2, 0, 0})[17:], "0>1 0>2 2>0", ReadOptions{}, false},
		{"a.wsg", serializedText(0, []int64{0, 1, 2},
			[]int32{1, -7, 0, -7}), "0-1(-7)", ReadOptions{}, false},
	} {
		path := put(t, test.name, test.text)
		for _, piece := range []int{1, 7, 50, pieceSize} {
			o := test.o
			o.Weights, o.Team = edges.Float64, team
			in, err := read(path, piece, o)
			if err != nil {
				t.Errorf("%s: %v", test.text, err)
				break
			}
			if got := describe(t, in); got != test.want {
				t.Errorf("%s by %d: %s, want %s", test.text, piece, got, test.want)
			}
			in.Close()
			for ranks := 1; ranks < 5 && !test.named; ranks++ {
				wantJoined(t, path, ranks, piece, o)
			}
		}
		if test.named {
			wantNamedParts(t, path, test.want, test.o)
		}
		if !strings.HasSuffix(test.name, "sg") {
			in, err := read(put(t, test.name+".gz", gz(test.text)), 50,
				ReadOptions{Format: test.o.Format, Directed: test.o.Directed, Columns: test.o.Columns, Weights: edges.Float64})
			if err != nil {
				t.Errorf("%s.gz: %v", test.name, err)
				continue
			}
			if got := describe(t, in); got != test.want {
				t.Errorf("%s.gz: %s, want %s", test.name, got, test.want)
			}
			in.Close()
		}
	}
}

// wantNamedParts reads the parts of a file with names. Each part has its own names. Together they
// have the file's edges.
func wantNamedParts(t *testing.T, path, want string, o ReadOptions) {
	t.Helper()
	for ranks := 1; ranks < 4; ranks++ {
		var parts []string
		for rank := range ranks {
			r := newReader(o, 9)
			r.rank, r.ranks = rank, ranks
			s, err := r.readRank(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if part := describe(t, &s.Input); part != "" {
				parts = append(parts, part)
			}
			s.Close()
		}
		if got := strings.Join(parts, " "); got != want {
			t.Errorf("%s by %d ranks: %s, want %s", path, ranks, got, want)
		}
	}
}

// serializedText returns a serialized graph of GAPBS without the lists of in-neighbours.
func serializedText(directed byte, offsets []int64, words []int32) string {
	n := offsets[len(offsets)-1]
	b := []byte{directed}
	b = fmt.Append(b, le64(n), le64(int64(len(offsets)-1)))
	for _, x := range offsets {
		b = append(b, le64(x)...)
	}
	for _, x := range words {
		b = append(b, le64(int64(x))[:4]...)
	}
	return string(b)
}

func le64(x int64) string {
	var b strings.Builder
	for i := range 8 {
		b.WriteByte(byte(x >> (8 * i)))
	}
	return b.String()
}

// TestFormatErrors has errors in files of these formats. The errors of the whole file and of its
// parts have the same texts.
func TestFormatErrors(t *testing.T) {
	head := graphmlHead + `<graph edgedefault="directed"><node id="a"/>`
	for _, test := range []struct {
		name, text, want string
		o                ReadOptions
	}{
		{"a.jsonl", "", "a.jsonl: found no edges, expected one or more", ReadOptions{}},
		{"a.jsonl", "\n[1]\n", `a.jsonl:2:1: found "[1]", expected an object, such as {"source": 1, "target": 2}`, ReadOptions{}},
		{"a.jsonl", "{\"a\":1}\n", `a.jsonl:1:1: found 1 member: "{\"a\":1}", expected 2 or more, such as {"source": 1, "target": 2}`, ReadOptions{}},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":1}\n", `a.jsonl:2:8: found no member "v": "{\"u\":1}", expected one, as in the first line`, ReadOptions{}},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":1,\"v\":null}\n", `a.jsonl:2:12: found "null}", expected a vertex: a number or a string`, ReadOptions{}},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":1,\"v\":-2}\n", `a.jsonl:2:12: found the negative number "-2" in "v", ` + idRange + ` (--ids name reads ids of any kind)`, ReadOptions{Columns: Columns{IDs: "number"}}},
		{"a.jsonl", "{\"u\":1,\"v\":2,\"w\":1}\n{\"u\":1,\"v\":2,\"w\":\"nan\"}\n", `a.jsonl:2:18: found the weight "nan" in "w", expected a finite number`, ReadOptions{}},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":1,\"v\":2,\"u\":3}\n", `a.jsonl:2:14: found two members "u", expected one`, ReadOptions{}},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":1,\"v\":2} x\n", `a.jsonl:2:15: found "x", expected the end of the line: one value a line`, ReadOptions{}},
		{
			"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":1,\"v\":2,\"x\":" + strings.Repeat("[",
				100) + "\n", "a.jsonl:2:83: found 64 brackets within each other, expected fewer",
			ReadOptions{},
		},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n{\"u\":01,\"v\":2}\n", `a.jsonl:2:6: found "01,\"v\":2}", expected a vertex: a number or a string`, ReadOptions{}},
		{"a.jsonl", "{\"u\":1,\"v\":2}\n", `a.jsonl:1:1: found no column "x", expected one of u, v`, ReadOptions{Columns: Columns{Weight: "x"}}},
		{"a.jsonl", `{"source":"\ud800","target":"b"}` + "\n", `a.jsonl:1:11: found half of a surrogate pair: "\"\\ud800\"", expected text in UTF-8`, ReadOptions{}},
		{"a.giraph", "[1,0,[[2,1]]]\n", "a.giraph:1:1: found vertex 2, expected one of the vertices that have a line", ReadOptions{Format: Giraph}},
		{"a.giraph", "[1,0,[]]\n[1,0,[]]\n", "a.giraph:2:1: found vertex 1 again, expected every vertex once", ReadOptions{Format: Giraph}},
		{"a.giraph", "[1,0,[[1]]]\n", `a.giraph:1:9: found "]]]", expected a comma and a weight: [target, weight]`, ReadOptions{Format: Giraph}},
		{"a.giraph", "[1,0,[[1,1e999]]]\n", `a.giraph:1:10: found the weight "1e999", expected a number that fits 64 bits`, ReadOptions{Format: Giraph}},
		{"a.giraph", "\n", "a.giraph: found no vertices, expected one a line", ReadOptions{Format: Giraph}},
		{"a.giraph", "[1,0,[[2,1]]]\n[2,0,[[1,3]]]\n", "a.giraph: found edges with different weights in the lists of their two ends, expected the same weight in the lists of both ends", ReadOptions{Format: Giraph, Directed: new(bool)}},
		{"a.giraph", "[1,0,[[2,1]]]\n[2,0,[]]\n", "a.giraph:1:1: found 2 among the neighbours of 1, expected 1 among those of 2 as often: an undirected edge in the lines of both its ends (--directed reads lists of one direction)", ReadOptions{Format: Giraph, Directed: new(bool)}},
		{"a.gr", "c\n", "a.gr:2:1: found the end of the file, expected p sp VERTICES ARCS or p edge VERTICES EDGES", ReadOptions{}},
		{"a.gr", "a 1 2 3\n", `a.gr:1:1: found "a 1 2 3", expected p sp VERTICES ARCS or p edge VERTICES EDGES`, ReadOptions{}},
		{"a.gr", "p max 3 2\n", `a.gr:1:1: found the problem "max", expected p sp VERTICES ARCS or p edge VERTICES EDGES`, ReadOptions{}},
		{"a.gr", "p sp 3\n", "a.gr:1:7: found 1 number, expected vertices and edges, two whole numbers", ReadOptions{}},
		{"a.gr", "p sp 3 2\na 1 2 3\n", "a.gr:1:1: found 1 edge in the file, expected 2, as this line says", ReadOptions{}},
		{"a.gr", "p sp 2000000 1\na 1 2 3\n", "a.gr:1:1: found 2,000,000 vertices for 1 edge, expected at most 1,048,576 (1024 each)", ReadOptions{}},
		{"a.gr", "p sp 99999999999 1\na 1 2 3\n", "a.gr:1:1: found 99,999,999,999 vertices, expected at most 4,294,967,296", ReadOptions{}},
		{"a.gr", "p sp 3 1\na 1 4 3\n", `a.gr:2:5: found the id "4", expected a whole number from 1 to 3`, ReadOptions{}},
		{"a.gr", "p sp 3 1\na 1 2\n", `a.gr:2:6: found "a 1 2", expected a SOURCE TARGET WEIGHT`, ReadOptions{}},
		{"a.gr", "p sp 3 1\ne 1 2\n", `a.gr:2:1: found "e 1 2", expected a SOURCE TARGET WEIGHT`, ReadOptions{}},
		{"a.gr", "p sp 3 1\na 1 2 nan\n", `a.gr:2:7: found the weight "nan", expected a finite number`, ReadOptions{}},
		{"a.metis", "% c\n", "a.metis:2:1: found the end of the file, expected the numbers of vertices and edges, and perhaps a format and a number of weights", ReadOptions{}},
		{"a.metis", "2 1 2\n", "a.metis:1:1: found the format 2, expected three digits, each 0 or 1: sizes of vertices, weights of vertices, weights of edges", ReadOptions{}},
		{"a.metis", "2 1 1 7\n2 1\n1 1\n", "a.metis:1:1: found 7 weights of each vertex, expected as many as the format has, at most 1024", ReadOptions{}},
		{"a.metis", "2 1\n2\n", "a.metis:1:1: found 1 line of vertices in the file, expected 2, as this line says (a vertex without neighbours has an empty one)", ReadOptions{}},
		{"a.metis", "2 1\n2\n1\n\n1\n", `a.metis:5:1: found line 4 of a vertex: "1", expected 2 lines, as line 1 says`, ReadOptions{}},
		{"a.metis", "2 2\n2\n1\n", "a.metis:1:1: found 1 edge in the file, expected 2, as this line says", ReadOptions{}},
		{"a.metis", "3 1\n2\n%\n\n\n", "a.metis:2:1: found 2 among the neighbours of 1, expected 1 among those of 2 as often: an undirected edge in the lines of both its ends", ReadOptions{}},
		{"a.metis", "2 1\n2\n3\n", `a.metis:3:1: found the id "3", expected a whole number from 1 to 2`, ReadOptions{}},
		{"a.metis", "2 1\n1\n2\n", "a.metis:2:1: found vertex 1 among its own neighbours, expected other vertices: a METIS graph has no loops", ReadOptions{}},
		{"a.metis", "2 1 1\n2\n1 2\n", "a.metis:2:2: found the neighbour 2 without a weight, expected neighbours and weights of edges by turns", ReadOptions{}},
		{"a.metis", "2 1 1\n2 3\n1 4\n", "a.metis: found edges with different weights in the lists of their two ends, expected the same weight in the lists of both ends", ReadOptions{}},
		{"a.metis", "2 1 10\n\n1 1\n", "a.metis:2:1: found fewer than 1 number before the neighbours, expected sizes and weights of the vertex", ReadOptions{}},
		{"a.metis", "2 1\n2\n1\n", "a.metis:1:1: found a METIS graph to be read as directed, expected an undirected one, which it is (it is walked both ways already)", ReadOptions{Directed: &yes}},
		{"a.graphml", "<gml/>", "a.graphml:1: found <gml>, expected <graphml>", ReadOptions{}},
		{"a.graphml", "<graphml>\n<graph", "a.graphml:2: found invalid XML: unexpected EOF, expected GraphML", ReadOptions{}},
		{"a.graphml", "<graphml/>", "a.graphml: found no <graph>, expected a graph in <graphml>", ReadOptions{}},
		{"a.graphml", head + "\n<node id=\"a\"/></graph></graphml>", `a.graphml:5: found the node "a" again, expected every node once`, ReadOptions{}},
		{"a.graphml", head + "\n<edge source=\"a\" target=\"b\"><data key=\"d0\">1</data></edge></graph></graphml>", "a.graphml:5: found an edge with an end that is no node, expected a <node> for every end", ReadOptions{}},
		{"a.graphml", head + "\n<edge source=\"a\" target=\"a\"/></graph></graphml>", `a.graphml:5: found an edge without "weight", expected one for every edge, or a default`, ReadOptions{}},
		{"a.graphml", head + "\n<edge source=\"a\" target=\"a\"><data key=\"d0\">NaN</data></edge></graph></graphml>", `a.graphml:5: found the weight "NaN", expected a finite number`, ReadOptions{}},
		{"a.graphml", head + "\n<edge source=\"a\" target=\"a\" directed=\"false\"/></graph></graphml>", `a.graphml:5: found directed="false" in a graph whose edges are directed, expected edges of one kind (--directed or --undirected takes all for that)`, ReadOptions{}},
		{"a.graphml", head + "\n<node id=\"b\"><graph edgedefault=\"directed\"/></node></graph></graphml>", "a.graphml:5: found another graph, or one within a node, expected one graph", ReadOptions{}},
		{
			"a.graphml", `<graphml><node id="x"><graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></node></graphml>`,
			"a.graphml:1: found a node outside of the graph, expected nodes in <graph>",
			ReadOptions{},
		},
		{
			"a.graphml", `<graphml><key id="x"><graph edgedefault="directed"><node id="a"/></graph></key></graphml>`,
			"a.graphml:1: found another graph, or one within a node, expected one graph",
			ReadOptions{},
		},
		{
			"a.graphml", head +
				"<node id=\"b\"><data>\n<node id=\"c\"/></data></node></graph></graphml>",
			"a.graphml:5: found <node> within <node>, expected nodes and edges in <graph>",
			ReadOptions{},
		},
		{
			"a.graphml", head + "<edge source=\"a\" target=\"a\"><data key=\"d0\">1<b>2</b></data></edge></graph></graphml>",
			"a.graphml:4: found <b> within a weight, expected a number alone",
			ReadOptions{},
		},
		{
			"a.graphml", twoKeys("", "<default>1<b/></default>"),
			"a.graphml:1: found <b> within a weight, expected a number alone",
			ReadOptions{},
		},
		{
			"a.graphml", head + "<node id=\"b\">" + strings.Repeat("<a>", 9000),
			"a.graphml:4: found elements nested more than 64 deep, expected fewer",
			ReadOptions{},
		},
		{
			"a.graphml", head + "<edge source=\"a\"\ntarget=\"a\">\n<data key=\"d1\"/>\n<data key=\"d0\">\nx\n</data></edge></graph></graphml>",
			`a.graphml:7: found the weight "x", expected a number`,
			ReadOptions{},
		},
		{"a.graphml", head + "<hyperedge/></graph></graphml>", "a.graphml:4: found a hyperedge, expected edges of two ends", ReadOptions{}},
		{"a.graphml", "<!DOCTYPE x [<!ENTITY y \"zzz\">]>\n<graphml><graph edgedefault=\"directed\"><node id=\"&y;\"/></graph></graphml>", "a.graphml:2: found invalid XML: invalid character entity &y;, expected GraphML", ReadOptions{}},
		{
			"a.graphml", "<graphml>" + strings.Repeat("<a>",
				70), "a.graphml:1: found elements nested more than 64 deep, expected fewer",
			ReadOptions{},
		},
		{
			"a.graphml", "<graphml>" + strings.Repeat("x",
				maxLine+10),
			"a.graphml:1: found an element or a text of more than 1 MiB, expected GraphML",
			ReadOptions{},
		},
		{"a.graphml", "<?xml version=\"1.0\" encoding=\"latin1\"?><graphml/>", "a.graphml:1: found another encoding, expected UTF-8 (iconv converts, and the first line must say so)", ReadOptions{}},
		{
			"a.graphml", twoKeys("<default>5</default>",
				"") + `<edge source="1" target="1"/></graph></graphml>`,
			`a.graphml:1: found an edge without "weight", expected one for every edge, or a default`,
			ReadOptions{},
		},
		{"a.graphml", head + "</graph></graphml>", `a.graphml:4: found no attribute of edges "x", expected one of weight`, ReadOptions{Columns: Columns{Weight: "x"}}},
		{"a.graphml", head + "</graph></graphml>", `a.graphml:4: found the id "a", expected a whole number (--ids name reads ids of any kind)`, ReadOptions{Columns: Columns{IDs: "number"}}},
		{"a.sg", "\x00", "a.sg: found 1 byte, expected a header of 17 bytes and an offset", ReadOptions{}},
		{
			"a.sg", "\x02" + serializedText(0, []int64{0, 0},
				nil)[1:],
			"a.sg: found the byte 2, expected 0 (undirected) or 1 (directed) at the beginning of a serialized graph",
			ReadOptions{},
		},
		{"a.sg", "\x00" + le64(-1) + le64(1<<40) + le64(0), "a.sg: found 1099511627776 nodes and -1 edges, expected at most 2147483647 nodes and 281474976710656 edges", ReadOptions{}},
		{"a.sg", "\x00" + le64(1<<40) + le64(1<<30) + le64(0), "a.sg: found 25 bytes, expected 4,406,636,445,721: those of 1,073,741,824 nodes and 1,099,511,627,776 edges", ReadOptions{}},
		{
			"a.sg", serializedText(0, []int64{0, 1, 2},
				[]int32{1, -7, 0, -7}),
			"a.sg: found 57 bytes, expected 49: those of 2 nodes and 2 edges (--format wsg reads weights)",
			ReadOptions{},
		},
		{
			"a.sg", serializedText(0, []int64{0, 2, 1, 3},
				[]int32{0, 0, 0}),
			"a.sg: found the offset 1 of node 2 after 2, expected offsets that rise from 0 to 3",
			ReadOptions{},
		},
		{
			"a.sg", serializedText(0, []int64{0, 1, 2},
				[]int32{1, 2}),
			"a.sg: found the neighbour 2 in the list of 1, expected one of 2 nodes, from 0",
			ReadOptions{},
		},
		{
			"a.sg", serializedText(0, []int64{0, 1, 1},
				[]int32{1}),
			"a.sg: found an undirected graph with edges in the list of one end alone, expected each in the lists of both its ends, with the same weight",
			ReadOptions{},
		},
		{"a.sg.gz", gz("x"), "a.sg.gz: found gzip data, expected a serialized graph that is not compressed: it is read from several places at once", ReadOptions{}},
		{"a.parquet.gz", gz("x"), "a.parquet.gz: found gzip data, expected Parquet as it is, whose pages are compressed: it is read from several places at once", ReadOptions{}},
		{"a.parquet", "PAR1", "a.parquet: found 4 bytes, expected a file of Parquet, which has more", ReadOptions{}},
		{"a.parquet", "PAR1xxxxxxxxxxx", "a.parquet: found no PAR1 at the beginning or the end, expected a whole file of Parquet", ReadOptions{}},
		{"a", "PAR1\xff\xff\xff\xffPAR1", "a: found a footer of 4,294,967,295 bytes, expected at most 0", ReadOptions{}},
		{"a.parquet", "PAR1\x19\xfc\xff\xff\x7f\x00\x06\x00\x00\x00PAR1", "a.parquet: found an invalid footer: a struct that goes on after its end, expected a whole file of Parquet", ReadOptions{}},
		{"a.el", "PAR1\x15\x04\x15", "a.el: found Parquet data, expected text (--format parquet reads it)", ReadOptions{}},
	} {
		path := put(t, test.name, test.text)
		for _, piece := range []int{1, 9, pieceSize} {
			o := test.o
			o.Weights = edges.Float64
			in, err := read(path, piece, o)
			if err == nil {
				in.Close()
			}
			wantError(t, err, path, test.want)
			if strings.HasSuffix(test.name, "graphml") {
				continue
			}
			if _, err := joined(t, path, 3, piece, o); err == nil ||
				err.Error() != strings.ReplaceAll(test.want, test.name+":", path+":") {
				t.Errorf("by 3 ranks: %v\nwant %s", err, test.want)
			}
		}
	}
}

// TestGraphMLParts: ranks read a GraphML graph, plain or compressed. Each rank has some of the
// edges, in order, and a range of the sorted names.
func TestGraphMLParts(t *testing.T) {
	const n = 3000 // more than one piece of compressed text
	for ids, counts := range map[string][]int{"names": {1, 3}, "numbers": {4}} {
		numbers := ids == "numbers"
		var text strings.Builder
		text.WriteString(graphmlHead + `<graph edgedefault="directed">`)
		name := func(i int) string {
			if numbers {
				return fmt.Sprint(3*i + 1)
			}
			return fmt.Sprintf("n%d", i)
		}
		for i := range n {
			fmt.Fprintf(&text,
				"<edge source=%q target=%q><data key=\"d0\">%d</data></edge>\n<node id=%q/>",
				name(i*7%n), name(i*i%n), i, name(i))
		}
		text.WriteString("</graph></graphml>")
		for _, content := range []string{text.String(), gz(text.String())} {
			path := put(t, "a.graphml", content)
			in := mustRead(t, path, ReadOptions{Weights: edges.Float64})
			for _, ranks := range counts {
				wantJoined(t, path, ranks, pieceSize, ReadOptions{Weights: edges.Float64})
				next := 0
				for rank := range ranks {
					r := newReader(ReadOptions{}, pieceSize)
					r.rank, r.ranks = rank, ranks
					s, err := r.readRank(t.Context(), path)
					if err != nil {
						t.Fatal(err)
					}
					if came := s.Edges.Len(); came == 0 && content[0] == '<' ||
						came == n && ranks > 1 {
						t.Errorf("rank %d of %d has %d edges", rank, ranks, came)
					}
					for i := 0; !numbers && i < s.Names.Len(); i++ {
						if s.Names.Name(uint64(i)) != in.Names.Name(uint64(next)) {
							t.Fatalf("rank %d of %d: name %d is %q", rank, ranks, next,
								s.Names.Name(uint64(i)))
						}
						next++
					}
					s.Close()
				}
				if !numbers && next != in.Vertices {
					t.Errorf("%d ranks have %d names, want %d", ranks, next, in.Vertices)
				}
			}
			in.Close()
		}
	}
}
