package names

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/superstep-go/superstep/internal/parallel"
)

// Dictionary is distinct names in rising order of their bytes, which for UTF-8 is that of their characters. A name's number is its place.
// Names lie in blocks, where each after the first is what it shares with the one before and the rest (front coding: I. Witten, A. Moffat
// and T. Bell, Managing Gigabytes, 4.1).
//
//	block: length, name | shared, length, rest | shared, length, rest ...       lengths are varints
type Dictionary struct {
	n      int
	data   []byte
	blocks []uint64 // where each begins in data
}

// blockNames is how many names a block has: what a name is found in is read from its beginning.
const blockNames = 16

// Len returns the number of names.
func (d *Dictionary) Len() int { return d.n }

// Bytes returns the memory that the dictionary takes.
func (d *Dictionary) Bytes() int64 { return int64(cap(d.data)) + 8*int64(cap(d.blocks)) }

// Append appends name i, which is one of Len.
func (d *Dictionary) Append(dst []byte, i uint64) []byte {
	start := len(dst)
	rest := d.data[d.blocks[i/blockNames]:]
	for k := range i%blockNames + 1 {
		shared := 0
		if k > 0 {
			shared, rest = length(rest)
		}
		size, text := length(rest)
		dst = append(dst[:start+shared], text[:size]...)
		rest = text[size:]
	}
	return dst
}

// Name returns name i, which is one of Len.
func (d *Dictionary) Name(i uint64) string { return string(d.Append(nil, i)) }

// Find returns the number of a name, and whether there is one.
func (d *Dictionary) Find(name string) (uint64, bool) {
	text := []byte(name)
	block, found := slices.BinarySearchFunc(d.blocks, text, func(at uint64, text []byte) int {
		size, first := length(d.data[at:])
		return bytes.Compare(first[:size], text)
	})
	if found {
		return uint64(block) * blockNames, true
	}
	if block == 0 {
		return 0, false
	}
	first := uint64(block-1) * blockNames
	var buffer []byte
	for i := first; i < min(first+blockNames, uint64(d.n)); i++ {
		buffer = d.Append(buffer[:0], i)
		if c := bytes.Compare(buffer, text); c >= 0 {
			return i, c == 0
		}
	}
	return 0, false
}

func length(data []byte) (int, []byte) {
	n, size := binary.Uvarint(data)
	return int(n), data[size:]
}

// Numbers maps provisional ids of a table to the numbers of a dictionary.
type Numbers [shards][]uint32

// Of returns the number of a provisional id.
func (x *Numbers) Of(id uint64) uint64 { return uint64(x[id%shards][id>>shardBits]) }

// entry is a name to be sorted, by the first bytes after those that all names share.
type entry struct {
	prefix uint64
	id     uint64
}

// Sort makes the dictionary of a table's names, of which there are fewer than 2^32, and the numbers of their ids. The table is empty then.
func (t *Table) Sort(team *parallel.Team) (*Dictionary, *Numbers) {
	all := t.entries(team)
	all = t.sorted(team, all)
	numbers := new(Numbers)
	for i := range t.shards {
		numbers[i] = make([]uint32, len(t.shards[i].refs))
	}
	team.For(len(all), 1<<13, func(_, lo, hi int) {
		for i, e := range all[lo:hi] {
			numbers[e.id%shards][e.id>>shardBits] = uint32(lo + i)
		}
	})
	d := t.encode(team, all)
	*t = Table{seed: t.seed}
	return d, numbers
}

// Len returns the number of names in the table. No name may be on its way into it.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		n += len(t.shards[i].refs)
	}
	return n
}

func (t *Table) name(id uint64) []byte {
	s := &t.shards[id%shards]
	return s.name(s.refs[id>>shardBits])
}

// entries lists all names, in no order.
func (t *Table) entries(team *parallel.Team) []entry {
	starts := make([]int, shards+1)
	for i := range t.shards {
		s := &t.shards[i]
		s.slots = nil
		starts[i+1] = starts[i] + len(s.refs)
	}
	skip := t.shared()
	all := make([]entry, starts[shards])
	team.For(shards, 1, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			s := &t.shards[i]
			for place, r := range s.refs {
				all[starts[i]+place] = entry{prefix(s.name(r)[skip:]), uint64(place)<<shardBits | uint64(i)}
			}
		}
	})
	return all
}

// shared returns how many bytes all names begin with alike.
func (t *Table) shared() int {
	var first []byte
	n := -1
	for i := range t.shards {
		s := &t.shards[i]
		for _, r := range s.refs {
			name := s.name(r)
			if n < 0 {
				first, n = name, len(name)
			}
			if n = common(first[:n], name); n == 0 {
				return 0
			}
		}
	}
	return max(n, 0)
}

// common returns how many bytes a and b begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// prefix is the first 8 bytes of a text, with zeros where it ends: of two texts with different prefixes the lesser has the lesser one.
func prefix(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64(text)
	}
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}

func (t *Table) compare(a, b entry) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return bytes.Compare(t.name(a.id), t.name(b.id))
}

// sorted sorts entries: they are dealt into ranges that a sample tells, and each range is sorted by one worker.
func (t *Table) sorted(team *parallel.Team, all []entry) []entry {
	const perRange = 1 << 14
	ranges := min(len(all)/perRange+1, 1<<12)
	if ranges == 1 {
		slices.SortFunc(all, t.compare)
		return all
	}
	const over = 8 // samples for each range
	sample := make([]entry, 0, over*ranges)
	for i := range over * ranges {
		sample = append(sample, all[i*(len(all)/(over*ranges))])
	}
	slices.SortFunc(sample, t.compare)
	cuts := make([]entry, ranges-1)
	for i := range cuts {
		cuts[i] = sample[(i+1)*over]
	}
	of := make([]uint16, len(all))
	const step = 1 << 15
	counts := make([][]int, (len(all)+step-1)/step)
	team.For(len(counts), 1, func(_, lo, hi int) {
		for c := lo; c < hi; c++ {
			counts[c] = make([]int, ranges)
			for i := c * step; i < min((c+1)*step, len(all)); i++ {
				r, found := slices.BinarySearchFunc(cuts, all[i], t.compare)
				if found {
					r++
				}
				of[i] = uint16(r)
				counts[c][r]++
			}
		}
	})
	starts, at := make([]int, ranges+1), 0
	for r := range ranges {
		starts[r] = at
		for c := range counts {
			counts[c][r], at = at, at+counts[c][r]
		}
	}
	starts[ranges] = at
	dealt := make([]entry, len(all))
	team.For(len(counts), 1, func(_, lo, hi int) {
		for c := lo; c < hi; c++ {
			for i := c * step; i < min((c+1)*step, len(all)); i++ {
				to := &counts[c][of[i]]
				dealt[*to] = all[i]
				*to++
			}
		}
	})
	team.For(ranges, 1, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			slices.SortFunc(dealt[starts[r]:starts[r+1]], t.compare)
		}
	})
	return dealt
}

// encode makes the dictionary of sorted names: first the size of each run of blocks, then the runs.
func (t *Table) encode(team *parallel.Team, all []entry) *Dictionary {
	const run = 256 * blockNames
	d := &Dictionary{n: len(all), blocks: make([]uint64, (len(all)+blockNames-1)/blockNames)}
	runs := (len(all) + run - 1) / run
	sizes := make([]uint64, runs+1)
	team.For(runs, 1, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			size := 0
			t.eachCoded(all, r*run, min((r+1)*run, len(all)), func(_, shared int, rest []byte, first bool) {
				size += uvarintLen(len(rest)) + len(rest)
				if !first {
					size += uvarintLen(shared)
				}
			})
			sizes[r+1] = uint64(size)
		}
	})
	for r := range runs {
		sizes[r+1] += sizes[r]
	}
	d.data = make([]byte, sizes[runs])
	team.For(runs, 1, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			dst := d.data[sizes[r]:sizes[r]:sizes[r+1]]
			t.eachCoded(all, r*run, min((r+1)*run, len(all)), func(i, shared int, rest []byte, first bool) {
				if first {
					d.blocks[i/blockNames] = sizes[r] + uint64(len(dst))
				} else {
					dst = binary.AppendUvarint(dst, uint64(shared))
				}
				dst = append(binary.AppendUvarint(dst, uint64(len(rest))), rest...)
			})
		}
	})
	return d
}

// eachCoded calls f with what a dictionary has of the names lo to hi-1 of a sorted list.
func (t *Table) eachCoded(all []entry, lo, hi int, f func(i, shared int, rest []byte, first bool)) {
	var before []byte
	for i := lo; i < hi; i++ {
		name, shared := t.name(all[i].id), 0
		if i%blockNames > 0 {
			shared = common(before, name)
		}
		f(i, shared, name[shared:], i%blockNames == 0)
		before = name
	}
}

func uvarintLen(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
