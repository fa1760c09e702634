package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// summarizes reports whether reports include a summary of the job's values.
func (j *Job) summarizes() bool {
	m := j.methods
	return j.options.Summary && (m.Score || m.Reached || m.Group || m.Number)
}

// summarizer makes the summary of the values at the end of a run.
type summarizer struct{ *partition }

// summarize summarizes the values of the partition's vertices, after the program has ended. A group
// of equal values is counted by the partition that owns the group's key.
func (r *summarizer) summarize(ctx context.Context) (err error) {
	r.report.Begin()
	r.report.Cells = r.threads[0].State().Cells // nothing adds to them
	r.exchange.Begin(r.command.Superstep)
	r.report.Summary = new(trace.Summary)
	if err := r.summarizeValues(ctx, r.report.Summary); err != nil {
		return err
	}
	r.report.Account, err = r.exchange.End(ctx)
	return err
}

// summarizeValues calls the functions of the program's Report for all values, and adds up the
// results.
func (r *summarizer) summarizeValues(ctx context.Context, s *trace.Summary) (err error) {
	m := r.job.methods
	if m.Score {
		s.TopBy = m.ScoreName
		if err := r.each("Score", func(v uint32) {
			if score := r.instance.Score(v); s.Wants(score) {
				s.AddScore(trace.Scored{Vertex: r.label(r.part.Global(v)), Score: score})
			}
		}); err != nil {
			return err
		}
	}
	if m.Reached {
		s.Reached = new(int)
		if err := r.each("Reached", func(v uint32) {
			if r.instance.Reached(v) {
				*s.Reached++
			}
		}); err != nil {
			return err
		}
	}
	if m.Group || m.Number {
		s.Groups, err = r.groups(ctx)
	}
	return err
}

// each calls f for each owned vertex that exists. A panic in f is a panic of the program's method.
func (r *summarizer) each(method string, f func(v uint32)) error {
	current := uint32(0)
	defer func() {
		if v := recover(); v != nil {
			e := bsp.NewProgramError(r.job.name, v, bsp.NoSuperstep)
			e.Method, e.Vertex, e.Known = method, r.label(r.part.Global(current)), true
			e.Name = r.job.vertexName(e.Vertex)
			r.failure.CompareAndSwap(nil, e)
			panic(v) // superstep reports it
		}
	}()
	for ; int(current) < r.part.Owned; current++ {
		if current&(1<<12-1) == 0 && r.stop.Load() {
			return errStopped
		}
		if !r.isAbsent(current) {
			f(current)
		}
	}
	return nil
}

// size is a group and its number of vertices.
type size struct{ key, count uint64 }

// groups counts the groups whose keys the partition owns, over the vertices of all partitions.
func (r *summarizer) groups(ctx context.Context) (*trace.Groups, error) {
	of, m := uint64(r.part.Of), r.job.methods
	keys := make([][]uint64, of)
	keep := r.job.newStore()
	defer keep.Close()
	if err := r.each("Group", func(v uint32) {
		key, ok := r.instance.Group(v)
		switch {
		case !ok:
			return
		case m.Group && key >= r.ids():
			panic(fmt.Sprintf("the group of a vertex is vertex %v: the graph has vertices 0..%d",
				pregel.VertexID(key), int64(r.ids())-1))
		}
		q := int(key % of)
		if m.Group { // the owner knows the vertex's input id
			q, _ = r.part.Deal.Of(uint32(key))
		}
		list := &keys[q]
		if len(*list) == cap(*list) {
			*list = mem.Grow(keep, *list, 1)
		}
		*list = append(*list, key)
	}); err != nil {
		return nil, err
	}
	data := make([][]uint64, of)
	for q, list := range keys {
		for _, s := range sizes(list) {
			data[q] = append(data[q], s.key, s.count)
		}
	}
	received, err := r.exchange.Words(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("counting groups: %w", err)
	}
	var own []size
	for q, list := range received {
		if len(list)%2 != 0 {
			return nil, fmt.Errorf("counting groups: %d numbers from partition %d", len(list), q)
		}
		for ; len(list) > 0; list = list[2:] {
			own = append(own, size{list[0], list[1]})
		}
	}
	slices.SortFunc(own, func(a, b size) int { return cmp.Compare(a.key, b.key) })
	g := &trace.Groups{Largest: []trace.Group{}}
	for len(own) > 0 {
		key, count, n := own[0].key, uint64(0), 0
		for ; n < len(own) && own[n].key == key; n++ {
			count += own[n].count
		}
		own = own[n:]
		one := trace.Group{Group: key, Size: int(count)}
		if m.Group {
			one.Group = r.label(pregel.VertexID(key))
		}
		g.Add(one)
	}
	return g, nil
}

// ids returns one more than the largest vertex id.
func (r *partition) ids() uint64 { return r.threads[0].State().IDs }

// sizes counts equal keys. It sorts keys.
func sizes(keys []uint64) (list []size) {
	slices.Sort(keys)
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n] == keys[0] {
			n++
		}
		list = append(list, size{keys[0], uint64(n)})
		keys = keys[n:]
	}
	return list
}
