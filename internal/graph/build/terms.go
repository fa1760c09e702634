package build

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
)

// terms are the arguments that must be equal on all ranks, each with its description.
type terms struct {
	Owner      []int            `is:"workers of the partitions"`
	Grid       graph.Grid       `is:"grid of partitions"`
	InputOrder bool             `is:"vertices in the order of the input"`
	Deal       string           `is:"deal of vertices to partitions"`
	Duplicates graph.Duplicates `is:"duplicate edges"`
	DropLoops  bool             `is:"loops dropped"`
	Units      bool             `is:"unit weights"`
	Degrees    bool             `is:"degrees as in the input"`
	Weights    edges.Weights    `is:"type of weights"`
	Naming     edges.Naming     `is:"kind of vertex ids"`
	Directed   bool             `is:"directed"`
	Weighted   bool             `is:"edges with weights"`
	Named      bool             `is:"vertices with names"`
	Vertices   int              `is:"number of vertices"`
	First      uint64           `is:"first vertex id"`
}

// facts are what a rank sends to the others first.
type facts struct {
	Terms   terms
	Tuples  int
	Largest uint64 // 0 also if there are no tuples
	Listed  int
	Last    uint64 // of the list
	Spans   []edges.Span
	Balance [2]uint64
	Skipped []string // malformed lines
}

// totals has the facts about all ranks' tuples together.
type totals struct {
	tuples, listed int
	largest        uint64 // endpoint
	last           uint64 // endpoint or listed id
	balance        [2]uint64
	skipped        []string // malformed lines
}

// exchangeTerms exchanges the arguments and facts of all ranks, and checks that they belong to the
// same graph.
func (b *builder) exchangeTerms(ctx context.Context) error {
	first, _ := b.in.Labels.First()
	mine := facts{
		Terms: terms{
			Owner: b.owner, Grid: b.o.Grid, InputOrder: b.o.InputOrder, Deal: b.o.Deal,
			Duplicates: b.o.Duplicates, DropLoops: b.o.DropLoops, Units: b.o.UnitWeights,
			Degrees: b.o.TupleDegrees,
			Weights: b.o.Weights, Naming: b.in.Naming, Directed: b.in.Directed,
			Weighted: b.in.Edges.Weighted(), Vertices: b.in.Vertices, First: first,
			Named: b.in.Names != nil,
		},
		Tuples: b.in.Edges.Len(), Largest: b.largest, Listed: len(b.in.IDs), Spans: b.in.Spans,
		Balance: b.in.Balance,
	}
	for _, line := range b.in.Skipped {
		mine.Skipped = append(mine.Skipped, strings.ToValidUTF8(line, "\ufffd"))
	}
	if len(b.in.IDs) > 0 {
		mine.Last = slices.Max(b.in.IDs)
	}
	ranks, err := collective.Gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return err
	}
	return b.compare(ctx, ranks)
}

// compare adds up the facts of all ranks.
func (b *builder) compare(ctx context.Context, ranks []facts) error {
	w := &b.all
	for rank := range ranks {
		s := &ranks[rank]
		if min(s.Tuples, s.Listed) < 0 {
			return invalid(rank, "%d tuples and %d listed ids", s.Tuples, s.Listed)
		}
		if err := same(&ranks[0].Terms, &s.Terms); err != nil {
			return fmt.Errorf("ranks 0 and %d were given parts of different graphs: %w", rank, err)
		}
		if rank > 0 {
			if err := follow(ranks[rank-1].Spans, s.Spans); err != nil {
				return fmt.Errorf("ranks %d and %d: %w", rank-1, rank, err)
			}
		}
		w.tuples += s.Tuples
		w.listed += s.Listed
		w.largest = max(w.largest, s.Largest)
		w.last = max(w.last, s.Largest, s.Last)
		w.balance[0] += s.Balance[0]
		w.balance[1] += s.Balance[1]
		w.skipped = append(w.skipped, s.Skipped...)
	}
	if most := b.in.SkipBad; len(w.skipped) > most {
		return ofInput(fmt.Errorf("%s %s", w.skipped[most], edges.TooManySkipped(most)))
	}
	if b.in.Check != nil {
		tuples := w.tuples
		if b.in.CountSkipped {
			tuples += len(w.skipped)
		}
		if err := b.in.Check(tuples, w.largest); err != nil {
			return ofInput(err)
		}
	}
	if w.balance != [2]uint64{} && b.in.Unbalanced != nil {
		return ofInput(b.in.Unbalanced(ctx))
	}
	return nil
}

// same returns an error about the first difference between two ranks' terms.
func same(a, z *terms) error {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*z)
	for i := range x.NumField() {
		if p, q := fmt.Sprint(x.Field(i)), fmt.Sprint(y.Field(i)); p != q {
			return fmt.Errorf("%s: %s and %s", x.Type().Field(i).Tag.Get("is"), p, q)
		}
	}
	return nil
}

// follow checks that each of a rank's parts of files begins where the previous rank's part ends.
func follow(before, after []edges.Span) error {
	if len(before) != len(after) {
		return fmt.Errorf("parts of %d and of %d files", len(before), len(after))
	}
	for i, a := range before {
		if z := after[i]; a.Size != z.Size || a.To != z.From {
			return fmt.Errorf("file %d: to byte %d of %d bytes, then from byte %d of %d: the ranks have different files", i+1, a.To, a.Size, z.From, z.Size)
		}
	}
	return nil
}

// plan decides what the places of the directory are: the ids themselves if they are dense, else
// numbers.
func (b *builder) plan() (end uint64, dense bool) {
	if b.in.Naming == edges.Numbers {
		n := uint64(b.in.Vertices)
		if n == 0 && b.all.tuples > 0 {
			n = b.all.largest + 1
		}
		return n, true
	}
	// Each id of a dense range takes some words in the rank that owns its entry; a tuple takes
	// about as many. So ids are used directly only if they are not much more numerous than tuples.
	end = b.all.last + 1
	if b.all.tuples+b.all.listed == 0 {
		return 0, true
	}
	if dense = end <= maxIDs && end <= 2*uint64(b.all.tuples)+uint64(b.all.listed)+1024; dense {
		return end, true
	}
	return math.MaxUint64, false
}

// sampledBlocks is the number of blocks of endpoints that a rank samples, and quantiles the number
// of quantiles that it sends.
const (
	sampledBlocks = 16
	quantiles     = 512
)

// The memory of an endpoint and of an id, in bytes, in the rank that owns their entries.
const (
	endpointCost = 3
	idCost       = 16
	maxCost      = 1 << 48 // of a point of a sample, so that sums do not overflow
)

// divide divides the ids into ranges, by samples of all ranks.
func (b *builder) divide(ctx context.Context) error {
	mine, err := b.sample(b.end)
	if err != nil {
		return err
	}
	all, err := collective.Gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return err
	}
	for rank, points := range all {
		for _, p := range points {
			if p.ID >= b.end || p.Cost > maxCost {
				return invalid(rank, "id %d, of cost %d", p.ID, p.Cost)
			}
		}
	}
	each := uint64(0)
	if b.dense {
		each = idCost
	}
	b.ranges = newRanges(cut(slices.Concat(all...), b.end, each, b.ranks), b.end)
	return nil
}

// sample returns quantiles of some endpoints and of the listed ids, with the work that each
// represents. A single rank needs no sample: it has one range.
func (b *builder) sample(end uint64) ([]point, error) {
	if b.ranks == 1 {
		return nil, nil
	}
	var ends []uint64
	var block edges.Block
	blocks := edges.Blocks(b.in.Edges)
	for i := range min(sampledBlocks, blocks) {
		if err := b.in.Edges.Read(i*blocks/min(sampledBlocks, blocks), &block); err != nil {
			return nil, err
		}
		ends = append(append(ends, block.U[:block.N]...), block.V[:block.N]...)
	}
	// route reports these as errors
	ends = slices.DeleteFunc(ends, func(id uint64) bool { return id >= end })
	points := quantilePoints(ends, 2*endpointCost*uint64(b.in.Edges.Len()))
	some := make([]uint64, 0, 1<<14)
	for i := range min(cap(some), len(b.in.IDs)) {
		some = append(some, b.in.IDs[i*len(b.in.IDs)/min(cap(some), len(b.in.IDs))])
	}
	return append(points, quantilePoints(some, idCost*uint64(len(b.in.IDs)))...), nil
}

// quantilePoints returns quantiles of ids that together have this cost.
func quantilePoints(ids []uint64, cost uint64) []point {
	slices.Sort(ids)
	n := min(len(ids), quantiles)
	points := make([]point, n)
	for i := range points {
		points[i] = point{ids[(2*i+1)*len(ids)/(2*n)], cost / uint64(n)}
	}
	return points
}
