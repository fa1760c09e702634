package build

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
)

const tooManyEdges = "a vertex has more than 4294967295 edges"

// TestDegreesRunOver: all ranks report an overflow of a counter on any rank. With few tuples
// nothing is checked.
func TestDegreesRunOver(t *testing.T) {
	const half = 1 << 31
	keep := graph.Options{}
	drop := graph.Options{DropLoops: true}
	least := graph.Options{Duplicates: graph.LeastDuplicate}
	tuples := graph.Options{Duplicates: graph.LeastDuplicate, TupleDegrees: true}
	for _, test := range []struct {
		what          string
		o             graph.Options
		tuples        int
		out, in, more [2][]uint32 // of each rank's vertices
		loops         [2]int
		wrong         bool
	}{
		{"few tuples", keep, 100, [2][]uint32{{9}, {}}, [2][]uint32{}, [2][]uint32{}, [2]int{}, false},
		{"all fit", keep, 1 << 32, [2][]uint32{{half, half}, {half, half}}, [2][]uint32{}, [2][]uint32{}, [2]int{}, false},
		{"directed", keep, 1 << 32, [2][]uint32{{half}, {half}}, [2][]uint32{{math.MaxUint32}, {1}}, [2][]uint32{}, [2]int{}, false},
		{"degree of 2^32", keep, 1 << 32, [2][]uint32{{0, half}, {half, 0}}, [2][]uint32{}, [2][]uint32{}, [2]int{}, true},
		{"in-degree of 2^32", keep, 1 << 32, [2][]uint32{{half}, {half}}, [2][]uint32{{0}, {0}}, [2][]uint32{}, [2]int{}, true},
		{"loops", keep, 1 << 32, [2][]uint32{{half}, {half}}, [2][]uint32{}, [2][]uint32{}, [2]int{half, half}, false},
		{"directed loops", keep, 1 << 32, [2][]uint32{{half}, {half}}, [2][]uint32{{half}, {half}}, [2][]uint32{}, [2]int{half, half}, false},
		{"dropped loops", drop, 1 << 32, [2][]uint32{{half}, {0}}, [2][]uint32{}, [2][]uint32{}, [2]int{half, 1 << 30}, false},
		{"2^32 dropped loops", drop, 1<<32 + 1<<31, [2][]uint32{{0}, {0}}, [2][]uint32{}, [2][]uint32{}, [2]int{half, 0}, true},
		{"dropped duplicates", least, 1 << 32, [2][]uint32{{1}, {1}}, [2][]uint32{}, [2][]uint32{}, [2]int{}, false},
		{
			"tuples and loops fit", tuples, 1 << 32,
			[2][]uint32{{1, 0}, {1, 0}},
			[2][]uint32{},
			[2][]uint32{{half - 1, half}, {1<<32 - 1, 0}}, // the last is -1
			[2]int{1 << 30, 1 << 30},
			false,
		},
		{"2^32 tuples of a vertex", tuples, 1 << 32, [2][]uint32{{1}, {1}}, [2][]uint32{}, [2][]uint32{{1<<32 - 1}, {1<<32 - 1}}, [2]int{}, true},
	} {
		everywhere(t, 2, func(rank int, group *collective.Group) {
			in := &edges.RankInput{Input: edges.Input{Directed: test.in[0] != nil}}
			b := &builder{group: group, rank: rank, ranks: 2, in: in, o: test.o, loops: test.loops[rank]}
			b.all.tuples = test.tuples
			err := b.checkDegrees(t.Context(),
				&counters{test.out[rank], test.in[rank], test.more[rank]})
			if (err != nil) != test.wrong || err != nil && err.Error() != tooManyEdges {
				t.Errorf("%s: rank %d: error %v", test.what, rank, err)
			}
		})
	}
}

// hollow is a list of n tuples, most of which are not there. To a check that compares the number of
// tuples with degrees, the degrees seem to have overflowed.
type hollow struct {
	edges.List
	n int
}

func (l hollow) Len() int { return l.n }

func (l hollow) Read(i int, b *edges.Block) error {
	if i < edges.Blocks(l.List) {
		return l.List.Read(i, b)
	}
	b.N = 0
	return nil
}

// TestBuildsCheckDegrees: one rank alone checks degrees before it looks for duplicates, and several
// ranks before they number the vertices.
func TestBuildsCheckDegrees(t *testing.T) {
	if testing.Short() {
		t.Skip("the concurrency of TestTwin, with a million empty blocks")
	}
	check := func(rank int, group *collective.Group, owner []int) {
		in := edges.Whole(someInput(t, true), 210)
		in.Vertices, in.Edges = 211, hollow{in.Edges, 1<<32/group.Link().Size() + 1<<10}
		o := graph.Options{Partitions: 2}
		if owner == nil {
			o.Duplicates = graph.LeastDuplicate
		}
		b, err := newBuilder(group, 10, in, owner, o)
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		defer b.kept.Close()
		if err := b.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.collect(t.Context()); err == nil || err.Error() != tooManyEdges {
			t.Errorf("%d ranks: rank %d: error %v", group.Link().Size(), rank, err)
		}
	}
	check(0, collective.Alone(), nil)
	everywhere(t, 2, func(rank int, group *collective.Group) { check(rank, group, []int{0, 1}) })
}
