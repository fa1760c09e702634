package kernel

// A Tile is the arcs from a range of senders to a window of receivers, for pulls of all messages:
// those of the range fit in a cache, and the window's sums in a smaller one. Senders and receivers
// are counted from the first of the tile, in 16 bits. Parts of lists that are equally long lie
// together, so that the end of a part is not a branch that is mispredicted (SELL-C-sigma,
// Kreutzer14, sorts rows by length for the same reason).
//
//	receiver 0: 7 9 31    1: 2    2: 4 5 9    3: 8         Rows  3-1 2 [0 2]  1-1 2 [1 3]
//	                                                      Arcs  7 9 31  4 5 9  2  8
type Tile struct {
	// First is the slot that sender 0 stands for.
	First uint32
	// Rows has groups of receivers whose parts are equally long: that length less 1, how many they
	// are, and the receivers.
	Rows []uint16
	// Arcs are the senders, part by part in the order of Rows, each part in the order of its list.
	Arcs []uint16
}

// Adder is a kernel whose messages are added up: where all in-neighbours sent, a pull may go tile
// by tile.
type Adder[M any] interface {
	// AddTile adds the messages that cross the tile's arcs to the sums of its receivers, which
	// begin at word w: those in sums, by receiver, or, where sums is nil, those in the column that
	// is being written.
	AddTile(t *Tile, w int, sums []M)
}
