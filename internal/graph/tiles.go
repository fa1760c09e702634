package graph

import (
	"context"
	"math"
	"math/bits"
	"sort"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Tiles has the arcs of lists by receiver, divided by ranges of senders and windows of receivers. A
// pull in which all vertices sent processes one range after another, whose messages fit into a
// cache, and in each range adds to the sums of one window after another. A receiver's arcs stay in
// the order of its list.
//
//	          senders 0..65535   65536..131071 ...
//	window 0  tile               tile
//	window 1  tile               tile
//
// An arc takes 2 bytes. Each part, which has a receiver's arcs in one range, takes 2 more. In
// degree order the first range has most of the arcs.
type Tiles struct {
	// Windows has the borders, in words, of the windows of receivers.
	Windows []uint32
	size    TileSize
	ranges  []tileRange
}

// TileSize has the sizes of tiles.
type TileSize struct {
	// Senders and Receivers are the largest numbers of both in a tile. They are powers of two:
	// Senders at most 2^16, Receivers from 64 to 2^15.
	Senders, Receivers uint32
	// Arcs is the approximate largest number of arcs in a window of several words, so that there is
	// work for many threads.
	Arcs uint32
	// Least is the least mean number of arcs per tile. With fewer no tiles are made, because ranges
	// would not be worth their cost.
	Least int
	// Spread, if not 0: at least one in Spread tiles must have arcs. Otherwise no tiles are made:
	// neighbours are close to each other, as in a mesh, and their messages are in a cache anyway.
	Spread int
}

// tileRange has the tiles of a range of senders, by window.
type tileRange struct {
	rows, arcs []uint16
	starts     []tileStart // by window; the last element is the end
}

// tileStart is where a tile begins in the rows and arcs of its range.
type tileStart struct{ rows, arcs uint32 }

// Ranges returns the number of ranges of senders.
func (t *Tiles) Ranges() int { return len(t.ranges) }

// Tile returns the tile of a range and a window.
func (t *Tiles) Tile(k, window int) kernel.Tile {
	r := &t.ranges[k]
	from, to := r.starts[window], r.starts[window+1]
	rows, arcs := r.rows[from.rows:to.rows], r.arcs[from.arcs:to.arcs]
	return kernel.Tile{First: uint32(k) * t.size.Senders, Rows: rows, Arcs: arcs}
}

const (
	// longPart is the length from which on a part is a group of its own. Shorter parts are in one
	// group for each length.
	longPart = 64
	// longestPart is the largest number of arcs in a part. If parallel edges make it longer, it is
	// divided.
	longestPart = 1 << 16
)

// Tiles divides lists, which must be in ascending order of slots, into tiles in arena. It calls
// accept before it allocates memory. It returns nil if accept returns false, or if the tiles would
// have too few arcs (TileSize). An error means that ctx ended.
func (a *Adjacency) Tiles(
	ctx context.Context, size TileSize, team *parallel.Team, arena *mem.Arena,
	accept func(bytes int64) bool,
) (*Tiles, error) {
	t := &Tiles{Windows: a.windows(size), size: size}
	c := &tiler{a: a, team: team, t: t, scratch: make([]tileScratch, team.Size())}
	windows, last := len(c.t.Windows)-1, uint32(0)
	for r := range len(a.Starts) - 1 {
		last = max(last, a.Adj[a.Starts[r+1]-1]) // no row is empty, and lists are ascending
	}
	c.t.ranges = make([]tileRange, last/size.Senders+1)
	if len(c.t.ranges) > 1<<16 || len(a.Adj) < size.Least*windows*len(c.t.ranges) {
		return nil, nil
	}
	if !accept(int64(len(c.t.ranges)) * int64(windows+1) * int64(mem.SizeOf[tileStart]())) {
		return nil, nil
	}
	for k := range c.t.ranges {
		c.t.ranges[k].starts = mem.Make[tileStart](arena, windows+1)
	}
	if err := c.each(ctx, sampledWindow/2, sampledWindow, c.measure); err != nil || c.sparse() {
		return nil, err
	}
	if err := c.each(ctx, 0, 1, c.measure); err != nil {
		return nil, err
	}
	bytes, ends, pays := c.place()
	if !pays || !accept(bytes) {
		return nil, nil
	}
	for k := range c.t.ranges {
		r := &c.t.ranges[k]
		r.rows, r.arcs = mem.Make[uint16](arena, int(ends[k].rows)),
			mem.Make[uint16](arena, int(ends[k].arcs))
	}
	most := 0
	for i := range c.scratch {
		most = max(most, c.scratch[i].most)
	}
	for i := range c.scratch {
		c.scratch[i].parts = make([]part, 0, most)
	}
	if err := c.each(ctx, 0, 1, c.fill); err != nil {
		return nil, err
	}
	return c.t, nil
}

// windows divides the words of rows into windows.
func (a *Adjacency) windows(size TileSize) []uint32 {
	borders, first := []uint32{0}, 0
	for w := range a.Bits {
		lo, _ := a.Words(first)
		_, hi := a.Words(w)
		if w > first && (w-first == int(size.Receivers/64) || hi-lo > size.Arcs) {
			borders, first = append(borders, uint32(w)), w
		}
	}
	return append(borders, uint32(len(a.Bits)))
}

// tiler makes tiles.
type tiler struct {
	a       *Adjacency
	team    *parallel.Team
	t       *Tiles
	scratch []tileScratch // by worker
}

// each calls f for every step-th window from first on, on the workers of the team.
func (c *tiler) each(
	ctx context.Context, first, step int, f func(s *tileScratch, window int),
) error {
	c.team.For((len(c.t.Windows)-2-first+step)/step, 1, func(worker, i, _ int) {
		if ctx.Err() == nil {
			f(&c.scratch[worker], first+i*step)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// part is the part of a receiver's list whose senders are in one range.
type part struct {
	at                  uint32 // its index in the lists
	k, receiver, length uint16 // k is the range; length is the length less 1
}

// tileScratch has the parts of a window, and their positions in the window's tiles.
type tileScratch struct {
	parts []part
	most  int         // largest number of parts in a window so far
	tiles []tileParts // by range
}

// tileParts counts a tile's parts.
type tileParts struct {
	long     tileStart           // size of the long parts, in rows and in arcs
	lengths  uint64              // set of the lengths of the other parts
	of       [longPart]uint32    // number of parts by length
	at       [longPart]tileStart // position of the next part of a length
	longNext tileStart
}

// collect counts the parts of a window's lists by tile and length. If keep is set, it also stores
// them.
func (c *tiler) collect(s *tileScratch, window int, keep bool) {
	if s.tiles == nil {
		s.tiles = make([]tileParts, len(c.t.ranges))
	}
	a, from, shift := c.a, c.t.Windows[window], bits.TrailingZeros32(c.t.size.Senders)&31
	parts, found := s.parts[:0], 0
	for w := from; w < c.t.Windows[window+1]; w++ {
		r := a.Rank[w]
		for rows := a.Bits[w]; rows != 0; rows &= rows - 1 {
			receiver := uint16((w-from)<<6) + uint16(bits.TrailingZeros64(rows))
			at, end := a.Starts[r], a.Starts[r+1]
			r++
			for at < end {
				list := a.Adj[at:end]
				k, n := list[0]>>shift, len(list)
				if list[n-1]>>shift != k {
					n = below(list, (k+1)<<shift)
				}
				n = min(n, longestPart)
				if keep {
					parts = append(parts,
						part{at: at, k: uint16(k), receiver: receiver, length: uint16(n - 1)})
				}
				at, found = at+uint32(n), found+1
				t := &s.tiles[k]
				if n >= longPart {
					t.long.rows += 3
					t.long.arcs += uint32(n)
				} else {
					t.lengths |= 1 << n
					t.of[n]++
				}
			}
		}
	}
	s.parts, s.most = parts, max(s.most, found)
}

// measure computes the size of each tile of a window.
func (c *tiler) measure(s *tileScratch, window int) {
	c.collect(s, window, false)
	for k := range s.tiles {
		t := &s.tiles[k]
		size := t.long
		for l := t.lengths; l != 0; l &= l - 1 {
			n := bits.TrailingZeros64(l)
			size.rows += 2 + t.of[n]
			size.arcs += uint32(n) * t.of[n]
			t.of[n] = 0
		}
		t.long, t.lengths = tileStart{}, 0
		c.t.ranges[k].starts[window] = size
	}
}

// sampledWindow is the distance between the windows that sparse looks at.
const sampledWindow = 64

// sparse reports whether, in a sample of windows that were measured, less than half as many tiles
// have arcs as TileSize.Spread demands. Measuring all windows takes as long as a pull.
func (c *tiler) sparse() bool {
	some, all := 0, 0
	for _, r := range c.t.ranges {
		for i := sampledWindow / 2; i < len(r.starts)-1; i += sampledWindow {
			if all++; r.starts[i].arcs > 0 {
				some++
			}
		}
	}
	return 2*some*c.t.size.Spread < all && c.t.size.Spread > 0
}

// place computes the beginnings of tiles from their sizes, and the bytes of all tiles. pays is
// false if positions need more than 32 bits, or if too few tiles have arcs (TileSize.Spread).
func (c *tiler) place() (bytes int64, ends []tileStart, pays bool) {
	some := 0
	for k := range c.t.ranges {
		starts := c.t.ranges[k].starts
		var rows, arcs uint64
		for i, size := range starts {
			if size.arcs > 0 {
				some++
			}
			starts[i] = tileStart{uint32(rows), uint32(arcs)}
			rows, arcs = rows+uint64(size.rows), arcs+uint64(size.arcs)
		}
		if rows > math.MaxUint32 || arcs > math.MaxUint32 {
			return 0, nil, false
		}
		bytes += 2 * int64(rows+arcs)
		ends = append(ends, tileStart{uint32(rows), uint32(arcs)})
	}
	return bytes, ends, some*c.t.size.Spread >= len(c.t.ranges)*(len(c.t.Windows)-1) ||
		c.t.size.Spread == 0
}

// fill copies the arcs of a window to its tiles: first the long parts, then the others in
// descending order of length.
func (c *tiler) fill(s *tileScratch, window int) {
	c.collect(s, window, true)
	for k := range s.tiles {
		t, to := &s.tiles[k], &c.t.ranges[k]
		at := to.starts[window]
		t.longNext = at
		at.rows, at.arcs = at.rows+t.long.rows, at.arcs+t.long.arcs
		for l := t.lengths; l != 0; {
			n := bits.Len64(l) - 1
			l &^= 1 << n
			to.rows[at.rows], to.rows[at.rows+1] = uint16(n-1), uint16(t.of[n])
			at.rows += 2
			t.at[n] = at
			at.rows, at.arcs = at.rows+t.of[n], at.arcs+uint32(n)*t.of[n]
			t.of[n] = 0
		}
		t.long, t.lengths = tileStart{}, 0
	}
	for _, p := range s.parts {
		n, first, to := int(p.length)+1, uint32(p.k)*c.t.size.Senders, &c.t.ranges[p.k]
		next := &s.tiles[p.k].longNext
		if n < longPart {
			next = &s.tiles[p.k].at[n]
		} else {
			to.rows[next.rows], to.rows[next.rows+1] = uint16(n-1), 1
			next.rows += 2
		}
		to.rows[next.rows] = p.receiver
		arcs := to.arcs[next.arcs:][:n]
		for j, sender := range c.a.Adj[p.at:][:n] {
			arcs[j] = uint16(sender - first)
		}
		next.rows, next.arcs = next.rows+1, next.arcs+uint32(n)
	}
}

// below returns the number of slots in an ascending list that are below cut. Most lists are short,
// so it counts without an unpredictable branch.
func below(list []uint32, cut uint32) (n int) {
	if len(list) > 64 {
		return sort.Search(len(list), func(j int) bool { return list[j] >= cut })
	}
	for _, s := range list {
		n += int((uint64(s) - uint64(cut)) >> 63)
	}
	return n
}
