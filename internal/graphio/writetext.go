package graphio

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// edgeList writes lines "u v" or, in format wel, "u v w".
func (w *writer) edgeList() error {
	weighted := w.format == WEL
	if weighted && !w.in.Edges.Weighted() {
		return fmt.Errorf("format wel needs weights, the graph has none: write el")
	}
	if !weighted && w.in.Edges.Weighted() {
		w.warn("the weights are not written: format %s has none, wel has", w.format)
	}
	if err := w.warnTable(); err != nil {
		return err
	}
	l := w.layout("\t")
	l.weighted = weighted
	return w.lines(w.path, "", l)
}

// lineLayout is the layout of a line for a tuple: source, target and perhaps weight, each after its
// prefix.
type lineLayout struct {
	before   [3]string
	end      string
	weighted bool
	labels   edges.Labels
	// appends a vertex's name; nil if vertices are numbers
	name  func(dst []byte, v uint64) ([]byte, error)
	lower bool // the larger end comes first
	both  bool // each tuple has two lines, one per direction
}

// layout returns the layout of lines with a separator between columns.
func (w *writer) layout(separator string) lineLayout {
	return lineLayout{
		before: [3]string{"", separator, separator}, end: "\n",
		weighted: w.in.Edges.Weighted(), labels: w.in.Labels,
	}
}

// lines writes a file with a header and a line for each tuple.
func (w *writer) lines(path, header string, l lineLayout) error {
	out, err := w.create(path, w.codec, header)
	if err != nil {
		return err
	}
	return w.blocks(out, w.report, func(_ int, dst []byte, _ int, b *edges.Block) ([]byte, error) {
		var err error
		for j := range b.N {
			u, v := b.U[j], b.V[j]
			if l.lower && u < v {
				u, v = v, u
			}
			if dst, err = l.append(dst, u, v, b.W[j]); err == nil && l.both {
				dst, err = l.append(dst, v, u, b.W[j])
			}
			if err != nil {
				return nil, err
			}
		}
		return dst, nil
	})
}

// append appends a line.
func (l *lineLayout) append(dst []byte, u, v uint64, weight float64) (_ []byte, err error) {
	for i, end := range [2]uint64{u, v} {
		dst = append(dst, l.before[i]...)
		if l.name == nil {
			dst = strconv.AppendUint(dst, l.labels.Of(end), 10)
		} else if dst, err = l.name(dst, end); err != nil {
			return nil, err
		}
	}
	if l.weighted {
		dst = AppendFloat(append(dst, l.before[2]...), weight, 64)
	}
	return append(dst, l.end...), nil
}

// matrixMarket writes a pattern or real matrix, which is symmetric if the graph is undirected. Its
// vertices are numbered from 1.
func (w *writer) matrixMarket() error {
	vertices, err := w.fromOne()
	if err != nil {
		return err
	}
	l, field, symmetry := w.layout(" "), "pattern", "general"
	l.labels = edges.Consecutive(1)
	if l.weighted {
		field = "real"
	}
	if l.lower = !w.in.Directed; l.lower { // a symmetric matrix has only its lower triangle
		symmetry = "symmetric"
	}
	header := fmt.Sprintf("%s matrix coordinate %s %s\n%d %d %d\n", mtxBanner, field, symmetry,
		vertices, vertices, w.in.Edges.Len())
	return w.lines(w.path, header, l)
}

// consecutiveLabels reports whether n vertices have consecutive ids, and returns the first id.
func consecutiveLabels(l edges.Labels, n int) (first uint64, ok bool) {
	if l.Identity() || n == 0 {
		return 0, true
	}
	first = l.Of(0)
	return first, l.Of(uint64(n-1))-first == uint64(n-1) // labels are sorted
}

// ldbc writes FILE.v, FILE.e and FILE.properties. path is one of them, or the common part of their
// names.
func (w *writer) ldbc() error {
	base := ldbcBase(w.base)
	vertices, _, err := w.extent()
	if err != nil {
		return err
	}
	v, err := w.create(base+".v"+w.codec.suffix(), w.codec, "")
	if err != nil {
		return err
	}
	err = WriteValues(w.ctx, v, vertices, w.Team, func(dst []byte, i int) []byte {
		return strconv.AppendUint(dst, w.in.Labels.Of(uint64(i)), 10)
	})
	if err != nil {
		return err
	}
	name := filepath.Base(base)
	text := fmt.Sprintf(
		"graph.%s.meta.vertices = %d\ngraph.%s.meta.edges = %d\ngraph.%s.directed = %t\n",
		escape(name), vertices, escape(name), w.in.Edges.Len(), escape(name), w.in.Directed)
	if w.in.Edges.Weighted() {
		text += fmt.Sprintf("graph.%s.edge-properties.names = weight\n"+
			"graph.%[1]s.edge-properties.types = real\n", escape(name))
	}
	if _, err := w.create(base+".properties", plain, text); err != nil {
		return err
	}
	return w.lines(base+".e"+w.codec.suffix(), "", w.layout(" "))
}

// escape escapes a key of a properties file.
func escape(key string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, "=", `\=`, ":", `\:`, "\t",
		`\	`).Replace(key)
}
