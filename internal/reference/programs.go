package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// algorithms lists the built-in programs with their parameters, and the comments of their types.
func algorithms(to *text, root string) error {
	comments, err := commentsOf(filepath.Join(root, "algorithms"))
	if err != nil {
		return err
	}
	to.paragraphs("`superstep run NAME --graph GRAPH -p KEY=VALUE` runs one of these programs. From Go they are types of package `algorithms`.")
	all := builtin.Programs()
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", p.Name, p.Name), plain(p.Help)})
	}
	to.table([]string{"name", "what it computes"}, rows)
	for _, p := range all {
		to.line("## " + p.Name)
		types, err := typesOf(p)
		if err != nil {
			return err
		}
		for _, name := range types {
			if comments[name] == "" {
				return fmt.Errorf("the program %s is of algorithms.%s, which has no comment",
					p.Name, name)
			}
			to.paragraphs(comments[name])
		}
		var described strings.Builder
		cli.Describe(&described, p)
		to.block(described.String())
	}
	return nil
}

// typesOf returns the types that a program may have depending on its parameters, the default first.
func typesOf(p engine.Registered) (all []string, err error) {
	choices := []map[string]string{nil}
	for _, q := range p.Parameters {
		for _, word := range q.Words {
			choices = append(choices, map[string]string{q.Name: word})
		}
	}
	for _, values := range choices {
		made, err := p.New(values, anyVertex)
		if err != nil {
			return nil, err
		}
		if name, _, _ := strings.Cut(made.Name(), "["); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// anyVertex finds every vertex.
func anyVertex(uint64) (pregel.VertexID, bool) { return 0, true }

// links are references to identifiers in comments, such as [pregel.None].
var links = regexp.MustCompile(`\[(\*?[A-Za-z][\w.]*)\]`)

// commentsOf returns the comments of a package's types as plain text.
func commentsOf(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	types, err := typesIn(files...)
	all := map[string]string{}
	printer := &comment.Printer{TextWidth: -1, TextPrefix: "", TextCodePrefix: "    "}
	for _, t := range types {
		text := links.ReplaceAllString(t.Doc, "$1") // links lead nowhere here
		all[t.Name] = string(printer.Text(new(comment.Parser).Parse(text)))
	}
	return all, err
}

// typesIn returns the types that files of a package declare.
func typesIn(files ...string) ([]*doc.Type, error) {
	set, trees := token.NewFileSet(), []*ast.File(nil)
	for _, file := range files {
		tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	p, err := doc.NewFromFiles(set, trees, "", doc.AllDecls)
	if err != nil {
		return nil, err
	}
	return p.Types, nil
}

// formats lists the formats of graphs.
func formats(to *text, root string) error {
	to.line("[formats.md](../formats.md) explains ids, weights, names, results and errors.")
	to.paragraphs("Without `--format` the end of a file's name tells the format, before `.gz`, " +
		"`.zst`, `.bz2` and `.xz`. A text that begins with `%%MatrixMarket` is `mtx` whatever " +
		"its name. A file called `.txt`, or without such an end, is `parquet`, `graphml`, " +
		"`jsonl`, `giraph` or `dimacs` if it begins as these do, and `wel` if its first line has " +
		"three columns or more. `--directed` and `--undirected` override the column edges.")
	var read, written [][]string
	for _, d := range graphio.Known() {
		names := map[bool]string{true: "numbers or names", false: "numbers"}[d.Named]
		read = append(read, []string{
			code(string(d.Format)), codes(d.Suffixes), d.Layout, d.Edges, d.Vertices,
			d.Weights, names,
		})
		if d.Written {
			written = append(written, []string{code(string(d.Format)), d.Needs, d.Lost})
		}
	}
	to.line("## Read")
	to.table([]string{"format", "names of files", "content", "edges", "vertices", "weights", "ids"},
		read)
	to.line("## Written by `generate` and `convert`")
	to.paragraphs("Only formats with names can hold a graph with names.")
	to.table([]string{"format", "refused unless the graph has", "lost, with a warning"}, written)
	to.line("## Usual names of columns")
	to.paragraphs("A table needs no flag for a column with one of these names, in upper or lower case. The first that is there counts.")
	source, target, weight, vertex := graphio.UsualNames()
	to.table([]string{"column", "flag", "names"}, [][]string{
		{"source", "`--source-column`", codes(source)},
		{"target", "`--target-column`", codes(target)},
		{"weight", "`--weight-column`", codes(weight)},
		{"id in `--vertices`", "`--vertex-column`", codes(vertex)},
	})
	return traces(to, root)
}

// generators lists the generators and the graphs of their examples.
func generators(to *text, _ string) error {
	to.paragraphs("A generator stands where a graph is named: `NAME:PARAMETER=VALUE,...`, in any " +
		"order. The same text makes the same graph on any machine, with any number of threads. " +
		"Ids are 0 to n-1. A graph has at most 2^32 - 2^20 vertices. All vertices exist, " +
		"isolated or not; loops and duplicates are kept.")
	var rows, made [][]string
	for _, d := range generate.Known() {
		for i, p := range d.Parameters {
			name := ""
			if i == 0 {
				name = code(d.Name)
			}
			usual := code(p.Default)
			if p.Default == "" {
				usual = "required"
			}
			rows = append(rows, []string{name, code(p.Name), usual, plain(p.Help)})
		}
		g, err := generate.Parse(d.Example)
		if err != nil {
			return err
		}
		made = append(made, []string{
			code(d.Example), plain(d.Help), fmt.Sprint(g.Vertices()), fmt.Sprint(g.Edges()),
			edges.Kind(g.Directed()),
		})
	}
	to.table([]string{"example", "what it makes", "vertices", "edges", "kind"}, made)
	to.line("## Parameters")
	to.table([]string{"generator", "parameter", "default", "meaning"}, rows)
	to.line("## Weights")
	to.paragraphs("A program that wants weights gets random ones. Those of `kronecker` are " +
		"Graph500's, float32 from 0 to 1; 1 can occur. Those of the others are multiples of " +
		"2^-53 in [0, 1), by the seed; `grid`, `star` and `path` have seed 1. Rounded to float32 " +
		"one may be 1. `--unit-weights` makes all of them 1.")
	return nil
}
