package worker

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// filling is a column that gets what it begins with: by blocks, or by lines.
type filling struct {
	blocks   *pack.Blocks
	vertices int // that are to come in blocks
	texts    *fill.Column
}

// fill takes a piece of what a column begins with.
func (x *executor) fill(t task, f *control.Fill) error {
	a, j, err := x.job(t)
	if err != nil {
		return err
	}
	defer a.Release()
	return j.fill(f)
}

// fill is called by one command at a time, before the first superstep. The master says of which
// column its error is.
func (j *job) fill(f *control.Fill) error {
	to := j.fills[f.Column]
	if to == nil {
		p, err := j.program.Prefill(f.Column)
		if err != nil {
			return err
		}
		if to, err = j.newFilling(p, f.File != ""); err != nil {
			return err
		}
		if j.fills == nil {
			j.fills = map[string]*filling{}
		}
		j.fills[f.Column] = to
	}
	if (f.File == "") != (to.blocks != nil) {
		return errors.New("found lines of a file and blocks for one column")
	}
	var err error
	if to.blocks == nil {
		err = to.lines(j, f)
	} else if _, err = to.blocks.Write(f.Data); err == nil && f.Last {
		err = to.blocks.Whole(to.vertices)
	}
	if err != nil || !f.Last {
		return err
	}
	delete(j.fills, f.Column)
	if j.unfilled--; j.unfilled == 0 {
		close(j.filled)
	}
	return nil
}

func (j *job) newFilling(p *engine.Prefilled, lines bool) (to *filling, err error) {
	to = new(filling)
	switch {
	case lines:
		to.texts, err = fill.New(p, j.graph.Graph)
	case p.OfEdges:
		err = errors.New("an edge column begins with lines of a file alone")
	default:
		to.blocks = pack.NewBlocks(p.Storage)
		for _, column := range p.Storage {
			to.vertices += column.Len()
		}
	}
	return to, err
}

// lines takes lines of vertices that are here, and of edges with an end here.
func (to *filling) lines(j *job, f *control.Fill) error {
	find := resolve.Finder(f.Vertices)
	for text := range bytes.Lines(f.Data) {
		line, err := fill.ParseLine(bytes.TrimSuffix(text, []byte{'\n'}), to.texts.OfEdges)
		if err != nil {
			return err
		}
		v, here := j.vertexHere(find, line.ID)
		other := v
		if to.texts.OfEdges {
			var too bool
			other, too = j.vertexHere(find, line.To)
			here = here || too
		}
		if !here || v == pregel.None || other == pregel.None {
			return fmt.Errorf("found a line of vertex %d, which is not here", line.ID)
		}
		if found, expected := to.texts.Set(v, other, &line, find); found != "" {
			return line.Fault(f.File, found, expected)
		}
	}
	if f.Last {
		if found, expected := to.texts.Missing(); found != "" {
			return graphio.LineError(f.File, 0, found, expected)
		}
	}
	return nil
}

// vertexHere returns a vertex of the graph, None if there is none, and whether it is here.
func (j *job) vertexHere(find engine.Find, label uint64) (pregel.VertexID, bool) {
	v, ok := find(label)
	if !ok || uint64(v) >= uint64(j.graph.N) {
		return pregel.None, false
	}
	return v, j.graph.Parts[uint64(v)%uint64(len(j.graph.Parts))] != nil
}
