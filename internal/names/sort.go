package names

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Numbers maps provisional ids of a table to the numbers of a dictionary.
type Numbers struct {
	arena  mem.Arena
	starts [shards]uint64 // of the shards in of
	of     []uint32
}

// Of returns the number of a provisional id.
func (x *Numbers) Of(id uint64) uint64 { return uint64(x.of[x.starts[id%shards]+id>>shardBits]) }

// Close gives back the memory. Nobody may use the numbers any more.
func (x *Numbers) Close() { x.arena.Close() }

// Sort makes the dictionary of a table's names, of which there are fewer than 2^32, and the numbers
// of their ids. The table is empty then.
//
// Names are dealt, with their bytes, to ranges that a sample tells; a range and what sorting it
// needs fit the cache of a processor.
func (t *Table) Sort(team *parallel.Team) (*Dictionary, *Numbers) {
	x := new(Numbers)
	made := false
	defer func() {
		if !made { // there is no memory for the rest: a panic says so
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
	scratch := make([]sorter, team.Size())
	team.For(len(d.starts)-1, 1, func(worker, from, to int) {
		for r := from; r < to; r++ {
			lo, hi := d.starts[r], d.starts[r+1]
			scratch[worker].sort(d, d.entries[lo:hi])
			for i, e := range d.entries[lo:hi] {
				x.of[x.starts[e.id%shards]+e.id>>shardBits] = uint32(lo + i)
			}
		}
	})
	dictionary := d.encode(team)
	made = true
	return dictionary, x
}

// dealt is names by ranges: those of a range are all less than those of the next.
type dealt struct {
	arena   mem.Arena
	entries []entry
	text    []byte
	starts  []int // of the ranges in entries
}

// entry is a name: its provisional id, and where its bytes are, the beginning above the length.
type entry struct {
	id uint64
	at uint64
}

func (d *dealt) name(e entry) []byte { return d.text[e.at>>lengthBits:][:e.at&maxName] }

// share is names of one shard that are dealt together: those of places from to to-1, their range by
// place, and how many entries and bytes go to each range, then where.
type share struct {
	shard    *shard
	number   uint64
	from, to int
	of       []uint16
	entries  []int
	bytes    []uint64
}

// deal deals the n names of the table.
func (t *Table) deal(team *parallel.Team, n int) *dealt {
	const perRange, mostRanges, step = 1 << 13, 1 << 12, 1 << 15
	c := t.cuts(min(n/perRange+1, mostRanges))
	ranges := len(c.names) + 1
	var all []*share
	for i := range t.shards {
		s := &t.shards[i]
		for from := 0; from < len(s.refs); from += step {
			all = append(all, &share{shard: s, number: uint64(i), from: from, to: min(from+step, len(s.refs))})
		}
	}
	team.For(len(all), 1, func(_, lo, hi int) {
		for _, w := range all[lo:hi] {
			w.of, w.entries, w.bytes = make([]uint16, w.to-w.from), make([]int, ranges), make([]uint64, ranges)
			for i, r := range w.shard.refs[w.from:w.to] {
				to := c.rangeOf(w.shard.name(r))
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
				d.entries[w.entries[to]] = entry{uint64(w.from+i)<<shardBits | w.number, at<<lengthBits | uint64(r.length())}
				copy(d.text[at:], w.shard.name(r))
				w.entries[to]++
				w.bytes[to] += uint64(r.length())
			}
		}
	})
	return d
}

// cuts are names between ranges, rising, each the first of a range.
type cuts struct {
	skip []byte // what all of the sample begin with
	// the prefixes after that, and beyond them the greatest number there is, up to a power of two
	keys  []uint64
	names [][]byte
}

// cuts cuts the names into about n ranges by a sample.
func (t *Table) cuts(n int) *cuts {
	const over = 16 // samples for each range
	if n <= 1 {
		return &cuts{}
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
	c := &cuts{skip: sample[0][:common(sample[0], sample[len(sample)-1])]}
	for i := over; i < len(sample); i += over {
		if k := len(c.names); k == 0 || !bytes.Equal(c.names[k-1], sample[i]) {
			c.names = append(c.names, sample[i])
			c.keys = append(c.keys, prefix(sample[i][len(c.skip):]))
		}
	}
	for len(c.keys)&(len(c.keys)+1) != 0 {
		c.keys = append(c.keys, math.MaxUint64)
	}
	return c
}

// rangeOf returns how many cuts are not greater than a name.
func (c *cuts) rangeOf(name []byte) int {
	if len(c.names) == 0 {
		return 0
	}
	if !bytes.HasPrefix(name, c.skip) {
		return c.slow(name, 0, len(c.names))
	}
	key := prefix(name[len(c.skip):])
	at := 0 // so many keys are less
	for step := (len(c.keys) + 1) / 2; step > 0; step /= 2 {
		if c.keys[at+step-1] < key {
			at += step
		}
	}
	if at >= len(c.names) || c.keys[at] != key {
		return min(at, len(c.names))
	}
	end := at
	for end < len(c.names) && c.keys[end] == key {
		end++
	}
	return c.slow(name, at, end)
}

// slow is rangeOf where it is known that lo to hi cuts are not greater.
func (c *cuts) slow(name []byte, lo, hi int) int {
	at, found := slices.BinarySearchFunc(c.names[lo:hi], name, bytes.Compare)
	if found {
		at++
	}
	return lo + at
}

// sorter sorts names, and has the memory for it.
type sorter struct {
	keys, other []key
	sorted      []entry
}

// key is the bytes of a name that it is sorted by next, and the name's place.
type key struct {
	prefix uint64
	at     uint32
}

// sort sorts the names of a range.
func (s *sorter) sort(d *dealt, all []entry) {
	n := len(all)
	if n < 2 {
		return
	}
	if cap(s.keys) < n {
		s.keys, s.other, s.sorted = make([]key, n+n/4), make([]key, n+n/4), make([]entry, n+n/4)
	}
	keys := s.keys[:n]
	for i := range keys {
		keys[i].at = uint32(i)
	}
	s.by(d, all, keys, s.other[:n])
	sorted := s.sorted[:n]
	for i, k := range keys {
		sorted[i] = all[k.at]
	}
	copy(all, sorted)
}

// few is how many names are sorted by comparing them.
const few = 24

// by sorts keys by the names in all that they stand for. other is as much memory.
func (s *sorter) by(d *dealt, all []entry, keys, other []key) {
	if len(keys) <= few {
		slices.SortFunc(keys, func(a, b key) int { return bytes.Compare(d.name(all[a.at]), d.name(all[b.at])) })
		return
	}
	first := d.name(all[keys[0].at])
	skip := len(first)
	for _, k := range keys[1:] {
		skip = common(first[:skip], d.name(all[k.at]))
	}
	varying := uint64(0)
	for i, k := range keys {
		keys[i].prefix = prefix(d.name(all[k.at])[skip:])
		varying |= keys[i].prefix ^ keys[0].prefix
	}
	radix(keys, other, varying)
	for lo := 0; lo < len(keys); {
		hi := lo + 1
		for hi < len(keys) && keys[hi].prefix == keys[lo].prefix {
			hi++
		}
		if hi-lo > 1 {
			s.ties(d, all, keys[lo:hi], other[lo:hi], skip+8)
		}
		lo = hi
	}
}

// ties sorts names that are alike up to a length, where those that are shorter count as followed by
// zeros: these come first, the shortest before the others.
func (s *sorter) ties(d *dealt, all []entry, keys, other []key, length int) {
	if len(keys) > few {
		length := func(k key) int { return min(int(all[k.at].at&maxName), length+1) }
		slices.SortStableFunc(keys, func(a, b key) int { return cmp.Compare(length(a), length(b)) })
		longer := 0
		for longer < len(keys) && length(keys[longer]) != length(keys[len(keys)-1]) {
			longer++
		}
		keys, other = keys[longer:], other[longer:]
	}
	s.by(d, all, keys, other)
}

// radix sorts keys by their prefixes, byte by byte from the lowest on, of which only some vary.
// other is as much memory.
func radix(keys, other []key, varying uint64) {
	from, to := keys, other
	for shift := 0; shift < 64; shift += 8 {
		if byte(varying>>shift) == 0 {
			continue
		}
		var at [256]uint32
		for _, k := range from {
			at[byte(k.prefix>>shift)]++
		}
		sum := uint32(0)
		for b, n := range at {
			at[b], sum = sum, sum+n
		}
		for _, k := range from {
			b := byte(k.prefix >> shift)
			to[at[b]] = k
			at[b]++
		}
		from, to = to, from
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}

// common returns how many bytes a and b begin with alike.
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

// prefix is the first 8 bytes of a text, with zeros where it ends: of two texts with different
// prefixes the lesser has the lesser one.
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
