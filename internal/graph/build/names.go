package build

import (
	"context"
	"encoding/binary"
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

// The number of names that a rank requests from each other rank in a round, and the approximate
// number of bytes that it receives in the round.
const (
	fetchLabels = 1 << 14
	fetchBytes  = 4 << 20
)

// Fetch calls use with the names of input ids, in any order. The ids must be below Len and
// distinct. It is a collective of the ranks: each calls it with its own ids, and it runs until all
// ranks have their names. use must not retain name.
func (x *Names) Fetch(
	ctx context.Context, group *collective.Group, call collective.Call, labels []uint64,
	use func(label uint64, name []byte),
) error {
	ranks := group.Link().Size()
	pending := make([][]uint64, ranks)
	for _, label := range labels {
		if label >= x.Len() {
			return fmt.Errorf("the name of input id %d of %d", label, x.Len())
		}
		to := x.Owner(label)
		pending[to] = append(pending[to], label)
	}
	for left := len(labels); ; {
		out := make([][]byte, ranks)
		for rank := range out {
			more := uint64(0)
			if left > 0 {
				more = 1
			}
			out[rank] = appendWord(out[rank], more)
			for _, label := range pending[rank][:min(len(pending[rank]), fetchLabels)] {
				out[rank] = appendWord(out[rank], label)
			}
		}
		in, err := group.Alltoall(ctx, call, out)
		if err != nil {
			return err
		}
		back, more, err := x.answer(in)
		if err != nil || !more {
			return err
		}
		if in, err = group.Alltoall(ctx, call, back); err != nil {
			return err
		}
		for rank, data := range in {
			n, err := eachName(data, pending[rank], use)
			if err != nil {
				return fmt.Errorf("from rank %d: %w", rank, err)
			}
			pending[rank] = pending[rank][n:]
			left -= n
		}
	}
}

// answer makes the answers to the ranks' requests: at least one name each, and then as many as fit.
// more tells whether any rank still needs names.
func (x *Names) answer(in [][]byte) (back [][]byte, more bool, err error) {
	back = make([][]byte, len(in))
	for rank, data := range in {
		asked, err := words(data, len(data)/8)
		if err != nil || len(asked) == 0 || asked[0] > 1 || len(asked) > fetchLabels+1 {
			return nil, false, invalid(rank, "a request of %d bytes", len(data))
		}
		more = more || asked[0] == 1
		var name []byte
		for _, label := range asked[1:] {
			var ok bool
			if name, ok = x.Append(name[:0], label); !ok {
				return nil, false, invalid(rank, "asked for the name of %d", label)
			}
			if back[rank] = append(binary.AppendUvarint(back[rank], uint64(len(name))),
				name...); len(back[rank]) >= fetchBytes/len(in) {
				break
			}
		}
	}
	return back, more, nil
}

// eachName calls use with the names that another rank has sent. They answer the first n requests in
// asked.
func eachName(data []byte, asked []uint64, use func(label uint64, name []byte)) (n int, err error) {
	for ; len(data) > 0; n++ {
		size, i := binary.Uvarint(data)
		if i <= 0 || size > uint64(len(data)-i) || n == len(asked) {
			return n, fmt.Errorf("%w: no name", collective.ErrMessage)
		}
		use(asked[n], data[i:i+int(size)])
		data = data[i+int(size):]
	}
	if n == 0 && len(asked) > 0 {
		return n, fmt.Errorf("%w: none of %d requested names", collective.ErrMessage, len(asked))
	}
	return n, nil
}
