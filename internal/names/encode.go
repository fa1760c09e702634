package names

import (
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// encode makes the dictionary of sorted names. It first computes the size of each run of blocks,
// and then writes the runs.
func (d *dealt) encode(team *parallel.Team) *Dictionary {
	const run = 256 * blockNames
	all := d.entries
	made := &Dictionary{n: len(all), blocks: make([]uint64, (len(all)+blockNames-1)/blockNames)}
	runs := (len(all) + run - 1) / run
	sizes := make([]uint64, runs+1)
	code := func(dst []byte, r int, at uint64) []byte {
		var before []byte
		for i := r * run; i < min((r+1)*run, len(all)); i++ {
			if i%blockNames == 0 {
				made.blocks[i/blockNames] = at + uint64(len(dst))
			}
			name := d.name(all[i])
			dst, before = appendCoded(dst, i, before, name), name
		}
		return dst
	}
	scratch := make([][]byte, team.Size())
	team.For(runs, 1, func(worker, lo, hi int) {
		for r := lo; r < hi; r++ {
			scratch[worker] = code(scratch[worker][:0], r, 0)
			sizes[r+1] = uint64(len(scratch[worker]))
		}
	})
	for r := range runs {
		sizes[r+1] += sizes[r]
	}
	mem.Ask(mem.Names, int64(sizes[runs]))
	made.data = make([]byte, sizes[runs])
	team.For(runs, 1, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			code(made.data[sizes[r]:sizes[r]:sizes[r+1]], r, sizes[r])
		}
	})
	return made
}
