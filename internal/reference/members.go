package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// traces documents the lines of a trace and the reports in JSON, from their structs.
func traces(to *text, root string) error {
	to.line("## Traces")
	to.paragraphs("`--trace FILE` writes JSON lines. Each has `v`, the version of the form, 2, " +
		"and `kind`, by which the other members are known. Members and kinds may be added under " +
		"the same version: readers skip what they do not know. `superstep ui FILE` shows a " +
		"trace. A `job` line begins a run, an `end` line ends it. The times of a `superstep` " +
		"line belong to the messages of the superstep before.")
	for _, s := range []struct{ title, file, name string }{
		{"kind superstep", "record/record.go", "Superstep"},
		{"partitions of superstep", "record/record.go", "Partition"},
		{"seconds of a partition", "record/record.go", "Seconds"},
		{"peers of a partition", "record/record.go", "Peer"},
		{"sums of a partition", "record/record.go", "Sum"},
		{"kind job", "internal/trace/trace.go", "Job"},
		{"kind end", "internal/trace/trace.go", "End"},
		{"kind stage", "internal/trace/trace.go", "Stage"},
		{"kind search", "internal/trace/search.go", "Search"},
		{"kind log", "internal/trace/trace.go", "Log"},
		{"", "", "## Reports in JSON"},
		{"run --json", "internal/cli/runcmd.go", "runReport"},
		{"info --json", "internal/graph/build/survey.go", "Survey"},
		{"netbench --json", "internal/netbench/report.go", "Report"},
	} {
		if s.file == "" {
			to.line(s.name)
			continue
		}
		to.line("### " + s.title)
		rows, about, err := members(filepath.Join(root, s.file), s.name)
		if err != nil {
			return err
		}
		if strings.HasPrefix(s.title, "kind ") {
			to.paragraphs(about)
		}
		to.table([]string{"member", "type", "meaning"}, rows)
	}
	return nil
}

// members returns the JSON members of a struct with their comments, and the struct's comment
// without its name.
func members(file, name string) (rows [][]string, about string, err error) {
	types, err := typesIn(file)
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(types, func(t *doc.Type) bool { return t.Name == name })
	if i < 0 {
		return nil, "", fmt.Errorf("%s has no struct %s", file, name)
	}
	s, ok := types[i].Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		return nil, "", fmt.Errorf("%s: %s is no struct", file, name)
	}
	for _, f := range s.Fields.List {
		rows = append(rows, memberRows(f)...)
	}
	about = strings.TrimPrefix(types[i].Doc, name+" is ")
	return rows, strings.ToUpper(about[:1]) + about[1:], nil
}

// memberRows returns the rows of a field, one per name.
func memberRows(f *ast.Field) (rows [][]string) {
	comment := cmp.Or(f.Comment.Text(), f.Doc.Text())
	for _, n := range f.Names {
		key := n.Name
		if f.Tag != nil {
			key, _, _ = strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"),
				",")
		}
		if key != "-" && key != "" && n.IsExported() {
			rows = append(rows,
				[]string{code(key), kindOf(f.Type), plain(strings.TrimPrefix(comment,
					n.Name+" is "))})
		}
	}
	return rows
}

// kindOf returns the JSON type for a Go type.
func kindOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return kindOf(t.X)
	case *ast.ArrayType:
		return "list of " + kindOf(t.Elt)
	case *ast.MapType:
		return "object"
	case *ast.SelectorExpr:
		if t.Sel.Name == "Time" {
			return "time, RFC 3339"
		}
		return kindOf(t.Sel)
	case *ast.Ident:
		switch name := t.Name; {
		case name == "string", name == "Ended":
			return "text"
		case name == "bool":
			return "bool"
		case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"),
			strings.HasPrefix(name, "float"):
			return "number"
		}
	}
	return "object"
}
