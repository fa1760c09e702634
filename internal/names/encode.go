package names

import (
	"encoding/binary"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// encode makes the dictionary of sorted names: first the size of each run of blocks, then the runs.
// The ids of the entries are not needed any more, and give way to how much a name shares with the
// one before.
func (d *dealt) encode(team *parallel.Team) *Dictionary {
	const run = 256 * blockNames
	all := d.entries
	made := &Dictionary{n: len(all), blocks: make([]uint64, (len(all)+blockNames-1)/blockNames)}
	runs := (len(all) + run - 1) / run
	sizes := make([]uint64, runs+1)
	team.For(runs, 1, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			size := 0
			var before []byte
			for i := r * run; i < min((r+1)*run, len(all)); i++ {
				name, shared := d.name(all[i]), 0
				if i%blockNames > 0 {
					shared = common(before, name)
					size += uvarintLen(shared)
				}
				size += uvarintLen(len(name)-shared) + len(name) - shared
				all[i].id, before = uint64(shared), name
			}
			sizes[r+1] = uint64(size)
		}
	})
	for r := range runs {
		sizes[r+1] += sizes[r]
	}
	mem.Ask(mem.Names, int64(sizes[runs]))
	made.data = make([]byte, sizes[runs])
	team.For(runs, 1, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			dst := made.data[sizes[r]:sizes[r]:sizes[r+1]]
			for i := r * run; i < min((r+1)*run, len(all)); i++ {
				shared := all[i].id
				if i%blockNames == 0 {
					made.blocks[i/blockNames] = sizes[r] + uint64(len(dst))
				} else {
					dst = binary.AppendUvarint(dst, shared)
				}
				rest := d.name(all[i])[shared:]
				dst = append(binary.AppendUvarint(dst, uint64(len(rest))), rest...)
			}
		}
	})
	return made
}

func uvarintLen(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
