package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// ReadFile sets the values that a file has, as results are written, in one of its columns; 0 is all that follows the id. The graph is
// in this process as a whole. A vertex that the file does not name keeps its zero; a vertex that is not in the graph is an error, and so is one
// that is named twice.
func (p *Prefilled) ReadFile(ctx context.Context, g *graph.Graph, path string, column int) error {
	if p.Type.Kind() == reflect.Slice || !settable(p.Type) {
		return fmt.Errorf("values of type %v are not read from files, only strings, booleans, numbers, time.Duration and pregel.VertexID", p.Type)
	}
	parts := make([]reflect.Value, len(g.Parts))
	for i := range parts {
		parts[i] = reflect.ValueOf(p.Storage[i])
	}
	seen := make([]uint64, bitmap.Words(g.N))
	return graphio.ReadColumn(ctx, path, column, func(label uint64, value []byte) (found, expected string) {
		id, ok := g.Find(label)
		switch {
		case !ok:
			return fmt.Sprintf("vertex %d", label), "one of " + g.Name
		case bitmap.Get(seen, uint32(id)):
			return fmt.Sprintf("vertex %d again", label), "every vertex once"
		}
		bitmap.Set(seen, uint32(id))
		n := uint64(len(parts))
		var wrong *misfit
		if errors.As(setValue(parts[uint64(id)%n].Index(int(uint64(id)/n)), value, g.Find), &wrong) {
			return wrong.found, wrong.expected
		}
		return "", ""
	})
}

// setValue sets a value to what a text, as AppendAs writes it, says. An error is a misfit.
func setValue(to reflect.Value, text []byte, find Find) error {
	if to.Kind() == reflect.String {
		return setString(to, string(text))
	}
	text = bytes.Trim(text, " \t")
	if to.Type() == vertexType && string(text) == "-1" {
		to.SetUint(uint64(pregel.None))
		return nil
	}
	err := setOne(to, string(text), find)
	if err != nil && !errors.As(err, new(*misfit)) {
		return &misfit{fmt.Sprintf("vertex %s as a value", text), "one of the graph, or -1"}
	}
	return err
}

// setString sets a string, which is quoted if it could not be a line otherwise.
func setString(to reflect.Value, text string) error {
	if strings.HasPrefix(text, `"`) {
		plain, err := strconv.Unquote(text)
		if err != nil {
			return unlike(text, "text quoted as Go does, or that begins with no quotation mark")
		}
		text = plain
	}
	to.SetString(text)
	return nil
}
