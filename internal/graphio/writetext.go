package graphio

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// edgeList writes lines "u v" or, in format wel, "u v w".
func (w *writer) edgeList(format Format) error {
	weighted := format == WEL
	if weighted && !w.in.Edges.Weighted() {
		return fmt.Errorf("format wel needs weights, the graph has none: write el")
	}
	vertices, _, err := w.extent()
	if err != nil {
		return err
	}
	isolated, err := w.isolated(vertices)
	if err != nil {
		return err
	}
	if !weighted && w.in.Edges.Weighted() {
		w.warn("the weights are not written: format %s has none, wel has", format)
	}
	if isolated > 0 {
		w.warn("%s not written: format %s has only edges", counted(isolated, "isolated vertex is", "isolated vertices are"), format)
	}
	if !w.in.Directed {
		w.warn("format %s does not say that the graph is undirected: say so when reading it", format)
	}
	out, err := w.create(w.path, w.codec)
	if err != nil {
		return err
	}
	return w.lines(out, weighted, "\t", func(v uint64) uint64 { return w.in.Labels.Of(v) })
}

// lines writes a line for each tuple, with endpoints as id gives them.
func (w *writer) lines(out *output, weighted bool, gap string, id func(v uint64) uint64) error {
	return w.blocks(out, func(dst []byte, _ int, b *edges.Block) ([]byte, error) {
		for j := range b.N {
			dst = strconv.AppendUint(dst, id(b.U[j]), 10)
			dst = append(dst, gap...)
			dst = strconv.AppendUint(dst, id(b.V[j]), 10)
			if weighted {
				dst = append(dst, gap...)
				dst = AppendFloat(dst, b.W[j], 64)
			}
			dst = append(dst, '\n')
		}
		return dst, nil
	})
}

// matrixMarket writes entries of a pattern or real matrix, symmetric when the graph is undirected. Its vertices are
// numbered from 1.
func (w *writer) matrixMarket() error {
	vertices, _, err := w.extent()
	if err != nil {
		return err
	}
	first, ok := consecutiveLabels(w.in.Labels, vertices)
	if !ok || first > 1 {
		return fmt.Errorf("format mtx needs vertices 1 to n, or 0 to n-1 to be written one higher")
	}
	if first == 0 && vertices > 0 {
		w.warn("ids are written one higher: Matrix Market counts from 1")
	}
	out, err := w.create(w.path, w.codec)
	if err != nil {
		return err
	}
	field, symmetry := "pattern", "general"
	if w.in.Edges.Weighted() {
		field = "real"
	}
	if !w.in.Directed {
		symmetry = "symmetric"
	}
	header := fmt.Sprintf("%s matrix coordinate %s %s\n%d %d %d\n", mtxBanner, field, symmetry, vertices, vertices, w.in.Edges.Len())
	if _, err := out.Write([]byte(header)); err != nil {
		return err
	}
	return w.blocks(out, func(dst []byte, _ int, b *edges.Block) ([]byte, error) {
		for j := range b.N {
			u, v := b.U[j]+1, b.V[j]+1
			if !w.in.Directed && u < v {
				u, v = v, u // a symmetric matrix is given by its lower triangle
			}
			dst = strconv.AppendUint(dst, u, 10)
			dst = append(dst, ' ')
			dst = strconv.AppendUint(dst, v, 10)
			if field == "real" {
				dst = append(dst, ' ')
				dst = AppendFloat(dst, b.W[j], 64)
			}
			dst = append(dst, '\n')
		}
		return dst, nil
	})
}

// consecutiveLabels reports whether n vertices have ids that follow one another, and the first of them.
func consecutiveLabels(l edges.Labels, n int) (first uint64, ok bool) {
	if l.Identity() || n == 0 {
		return 0, true
	}
	first = l.Of(0)
	return first, l.Of(uint64(n-1))-first == uint64(n-1) // labels rise
}

// ldbc writes FILE.v, FILE.e and FILE.properties, where path is one of them or what they have in common.
func (w *writer) ldbc() error {
	base := w.base
	for _, end := range []string{".v", ".e", ".properties"} {
		if cut, ok := strings.CutSuffix(base, end); ok {
			base = cut
			break
		}
	}
	vertices, _, err := w.extent()
	if err != nil {
		return err
	}
	v, err := w.create(base+".v"+w.codec.suffix(), w.codec)
	if err != nil {
		return err
	}
	err = writeValues(w.ctx, v, vertices, w.Team, func(dst []byte, i int) []byte {
		return strconv.AppendUint(dst, w.in.Labels.Of(uint64(i)), 10)
	})
	if err != nil {
		return err
	}
	p, err := w.create(base+".properties", plain)
	if err != nil {
		return err
	}
	name := filepath.Base(base)
	text := fmt.Sprintf("graph.%s.meta.vertices = %d\ngraph.%s.meta.edges = %d\ngraph.%s.directed = %t\n",
		escape(name), vertices, escape(name), w.in.Edges.Len(), escape(name), w.in.Directed)
	if w.in.Edges.Weighted() {
		text += fmt.Sprintf("graph.%s.edge-properties.names = weight\ngraph.%s.edge-properties.types = real\n", escape(name), escape(name))
	}
	if _, err := p.Write([]byte(text)); err != nil {
		return err
	}
	e, err := w.create(base+".e"+w.codec.suffix(), w.codec)
	if err != nil {
		return err
	}
	return w.lines(e, w.in.Edges.Weighted(), " ", func(v uint64) uint64 { return w.in.Labels.Of(v) })
}

// escape writes a key of a properties file.
func escape(key string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, "=", `\=`, ":", `\:`, "\t", `\	`).Replace(key)
}
