package worker

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// filling is a vertex column that gets what it begins with: one of the two.
type filling struct {
	blocks *pack.Blocks
	texts  *engine.ColumnText
}

// fill takes a piece of what a vertex column begins with.
func (x *executor) fill(t task, f *control.Fill) error {
	j, err := x.job(t)
	if err != nil {
		return err
	}
	defer j.Release()
	return j.fill(f)
}

// fill is called by one command at a time, before the first superstep. The master says of which column its error is.
func (j *job) fill(f *control.Fill) error {
	to := j.fills[f.Column]
	if to == nil {
		p, err := j.program.Prefill(f.Column)
		if err != nil {
			return err
		}
		to = new(filling)
		if f.File == "" {
			to.blocks = pack.NewBlocks(p.Storage, p.Bytes)
		} else if to.texts, err = engine.NewColumnText(p, len(j.graph.Parts)); err != nil {
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
	if f.Last {
		delete(j.fills, f.Column)
	}
	if to.texts != nil {
		return to.lines(j, f)
	}
	if _, err := to.blocks.Write(f.Data); err != nil || !f.Last {
		return err
	}
	return to.blocks.Whole()
}

// lines takes lines "LINE ID VALUE" of vertices that are here.
func (to *filling) lines(j *job, f *control.Fill) error {
	find := jobspec.Finder(f.Vertices)
	for text := range bytes.Lines(f.Data) {
		line, err := engine.ParseColumnLine(bytes.TrimSuffix(text, []byte{'\n'}))
		if err != nil {
			return err
		}
		v, ok := find(line.Label)
		if !ok || uint64(v) >= uint64(j.graph.N) || j.graph.Parts[uint64(v)%uint64(len(j.graph.Parts))] == nil {
			return fmt.Errorf("found a line of vertex %d, which is not here", line.Label)
		}
		if found, expected := to.texts.Set(v, line.Label, line.Value, find); found != "" {
			return graphio.LineError(f.File, line.Number, found, expected)
		}
	}
	return nil
}
