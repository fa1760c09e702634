package names

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Numbers maps the provisional ids of a table to the numbers of a dictionary.
type Numbers struct {
	arena  mem.Arena
	starts [shards]uint64 // beginnings of the shards in of
	of     []uint32
}

// Of returns the number of a provisional id.
func (x *Numbers) Of(id uint64) uint64 { return uint64(x.of[x.starts[id%shards]+id>>shardBits]) }

// Close frees the memory. The numbers must not be used afterwards.
func (x *Numbers) Close() { x.arena.Close() }

// Sort makes the dictionary of a table's names, which must be fewer than 2^32, and the numbers of
// their ids. It empties the table.
//
// It distributes the names, with their bytes, over ranges chosen by a sample (sample sort). A
// range, with the memory to sort it, fits into a processor's cache.
func (t *Table) Sort(team *parallel.Team) (*Dictionary, *Numbers) {
	x, made := new(Numbers), false
	defer func() {
		if !made { // memory is exhausted: a panic reports it
			x.Close()
		}
	}()
	n := uint64(0)
	for i := range t.shards {
		s := &t.shards[i]
		s.arena.Close()
		s.slots, x.starts[i] = nil, n
		n += uint64(len(s.refs))
	}
	d := t.deal(team, int(n))
	defer d.arena.Close()
	t.Close()
	x.arena.Kind = "numbers of names"
	x.of = mem.Make[uint32](&x.arena, int(n))
	scratch := make([][]key, team.Size())
	team.For(len(d.starts)-1, 1, func(worker, from, to int) {
		for r := from; r < to; r++ {
			lo, hi := d.starts[r], d.starts[r+1]
			scratch[worker] = d.sort(d.entries[lo:hi], scratch[worker])
			for i, e := range d.entries[lo:hi] {
				x.of[x.starts[e.id%shards]+e.id>>shardBits] = uint32(lo + i)
			}
		}
	})
	dictionary := d.encode(team)
	made = true
	return dictionary, x
}

// dealt has names by ranges. All names of a range are less than those of the next.
type dealt struct {
	arena   mem.Arena
	entries []entry
	text    []byte
	starts  []int // beginnings of the ranges in entries
}

// entry is a name: its provisional id, and the position of its bytes, above the length.
type entry struct {
	id uint64
	at uint64
}

func (d *dealt) name(e entry) []byte { return d.text[e.at>>lengthBits:][:e.at&maxName] }

// share is a part of a shard, the names [from, to), that one worker distributes. It has the range
// of each name, and the number of entries and bytes for each range, which become positions.
type share struct {
	shard    *shard
	number   uint64
	from, to int
	of       []uint16
	entries  []int
	bytes    []uint64
}

// deal distributes the n names of the table over ranges.
func (t *Table) deal(team *parallel.Team, n int) *dealt {
	const perRange, mostRanges, step = 1 << 13, 1 << 12, 1 << 15
	cuts := t.cuts(min(n/perRange+1, mostRanges))
	ranges := len(cuts) + 1
	var all []*share
	for i := range t.shards {
		s := &t.shards[i]
		for from := 0; from < len(s.refs); from += step {
			all = append(all,
				&share{shard: s, number: uint64(i), from: from, to: min(from+step, len(s.refs))})
		}
	}
	team.For(len(all), 1, func(_, lo, hi int) {
		for _, w := range all[lo:hi] {
			w.of, w.entries, w.bytes = make([]uint16, w.to-w.from), make([]int, ranges),
				make([]uint64, ranges)
			for i, r := range w.shard.refs[w.from:w.to] {
				to := rangeOf(cuts, w.shard.name(r))
				w.of[i] = uint16(to)
				w.entries[to]++
				w.bytes[to] += uint64(r.length())
			}
		}
	})
	d := &dealt{starts: make([]int, ranges+1)}
	at, bytes := 0, uint64(0)
	for r := range ranges {
		d.starts[r] = at
		for _, w := range all {
			w.entries[r], at = at, at+w.entries[r]
			w.bytes[r], bytes = bytes, bytes+w.bytes[r]
		}
	}
	d.starts[ranges] = at
	d.arena.Kind = "sorting names"
	d.entries, d.text = mem.Make[entry](&d.arena, n), mem.Make[byte](&d.arena, int(bytes))
	team.For(len(all), 1, func(_, lo, hi int) {
		for _, w := range all[lo:hi] {
			for i, r := range w.shard.refs[w.from:w.to] {
				to := w.of[i]
				at := w.bytes[to]
				id := uint64(w.from+i)<<shardBits | w.number
				d.entries[w.entries[to]] = entry{id, at<<lengthBits | uint64(r.length())}
				copy(d.text[at:], w.shard.name(r))
				w.entries[to]++
				w.bytes[to] += uint64(r.length())
			}
		}
	})
	return d
}

// cuts returns names that cut all names into about n ranges, from a sample: in ascending order,
// each the first of a range.
func (t *Table) cuts(n int) [][]byte {
	const over = 16 // samples for each range
	if n <= 1 {
		return nil
	}
	sample := make([][]byte, 0, n*over)
	for i := range n * over {
		s := &t.shards[i%shards]
		if len(s.refs) > 0 {
			place := uint64(i/shards) * uint64(len(s.refs)) / uint64((n*over+shards-1)/shards)
			sample = append(sample, s.name(s.refs[place]))
		}
	}
	slices.SortFunc(sample, bytes.Compare)
	var cuts [][]byte
	for i := over; i < len(sample); i += over {
		cuts = append(cuts, sample[i])
	}
	return slices.CompactFunc(cuts, bytes.Equal)
}

// rangeOf returns the number of cuts that are at most a name.
func rangeOf(cuts [][]byte, name []byte) int {
	at, found := slices.BinarySearchFunc(cuts, name, bytes.Compare)
	if found {
		at++
	}
	return at
}

// key is a name for sorting: the first bytes after the prefix that all names share, and the name.
type key struct {
	prefix uint64
	entry  entry
}

// sort sorts the names of a range. keys is memory for it.
func (d *dealt) sort(all []entry, keys []key) []key {
	if len(all) < 2 {
		return keys
	}
	first := d.name(all[0])
	skip := len(first)
	for _, e := range all[1:] {
		skip = common(first[:skip], d.name(e))
	}
	keys = keys[:0]
	for _, e := range all {
		keys = append(keys, key{prefix(d.name(e)[skip:]), e})
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(d.name(a.entry)[skip:], d.name(b.entry)[skip:])
	})
	for i, k := range keys {
		all[i] = k.entry
	}
	return keys
}

// common returns the length of the common prefix of a and b.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

// prefix returns the first 8 bytes of a text, padded with zeros. If two texts have different
// prefixes, these are in the same order as the texts.
func prefix(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64(text)
	}
	x := uint64(0)
	for i, b := range text {
		x |= uint64(b) << (56 - 8*i)
	}
	return x
}
