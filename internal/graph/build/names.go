package build

import (
	"context"
	"fmt"
	"sort"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/names"
)

// Names has the names of a graph's vertices by their input ids. Each rank has the names of a range,
// and the ranges follow one another. A nil *Names is for a graph without names.
type Names struct {
	rank    int
	starts  []uint64 // of the ranges; the last element is the number of names
	longest int      // bytes of the longest name of all ranks
	own     *names.Dictionary
}

// newNames combines the ranges of all ranks, which all call it at the same time.
func newNames(
	ctx context.Context, group *collective.Group, call collective.Call, own *names.Dictionary,
) (*Names, error) {
	longest := 0
	for c := own.Cursor(0, uint64(own.Len())); c.Next(); {
		longest = max(longest, len(c.Name()))
	}
	all, err := collective.Gather(ctx, group, call, &[2]uint64{uint64(own.Len()), uint64(longest)})
	if err != nil {
		return nil, err
	}
	x := &Names{rank: group.Link().Rank(), starts: make([]uint64, 1, len(all)+1), own: own}
	for rank, said := range all {
		if said[0] > graph.MaxVertices || said[1] > maxName {
			return nil, fmt.Errorf("rank %d has %v names: %w", rank, said, collective.ErrMessage)
		}
		x.starts = append(x.starts, x.starts[rank]+said[0])
		x.longest = max(x.longest, int(said[1]))
	}
	return x, nil
}

// maxName limits the bytes of a name. Lines of files are at most 1 MiB long.
const maxName = 1 << 24

// Len returns the number of names of all ranks.
func (x *Names) Len() uint64 {
	if x == nil {
		return 0
	}
	return x.starts[len(x.starts)-1]
}

// Bytes returns the bytes of this rank's names.
func (x *Names) Bytes() int64 {
	if x == nil {
		return 0
	}
	return x.own.Bytes()
}

// Longest returns the bytes of the longest name of all ranks.
func (x *Names) Longest() int { return x.longest }

// Share returns the names of this rank's range, and the input id of the first.
func (x *Names) Share() (own *names.Dictionary, first uint64) {
	if x == nil {
		return nil, 0
	}
	return x.own, x.starts[x.rank]
}

// Find returns the input id of a name in this rank's range.
func (x *Names) Find(name string) (label uint64, ok bool) {
	if x == nil {
		return 0, false
	}
	at, ok := x.own.Find(name)
	return x.starts[x.rank] + at, ok
}

// Append appends the name of an input id in this rank's range. It returns false if the id is not in
// the range.
func (x *Names) Append(dst []byte, label uint64) ([]byte, bool) {
	if x == nil || label < x.starts[x.rank] || label >= x.starts[x.rank+1] {
		return dst, false
	}
	return x.own.Append(dst, label-x.starts[x.rank]), true
}

// Owner returns the rank that has the name of an input id below Len.
func (x *Names) Owner(label uint64) int {
	return sort.Search(len(x.starts), func(rank int) bool { return x.starts[rank] > label }) - 1
}

// Fetch calls use with the names of input ids, in any order. The ids must be below Len and
// distinct. It is a collective of the ranks: each calls it with its own ids, and it runs until all
// ranks have their names. use must not retain name.
func (x *Names) Fetch(
	ctx context.Context, group *collective.Group, call collective.Call, labels []uint64,
	use func(label uint64, name []byte),
) error {
	for _, label := range labels {
		if label >= x.Len() {
			return fmt.Errorf("the name of input id %d of %d", label, x.Len())
		}
	}
	name := func(dst []byte, label uint64) []byte {
		dst, _ = x.Append(dst, label)
		return dst
	}
	return ask(ctx, group, call, labels, x.Owner, name, func(i int, data []byte) error {
		use(labels[i], data)
		return nil
	})
}
