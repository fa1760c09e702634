package kernel

// A Tile has the arcs from a range of senders to a range of receivers, for pulls in which all
// vertices sent. The messages of the senders fit in a cache, and the sums of the receivers in a
// smaller cache. Senders and receivers are numbered from the tile's first one, in 16 bits. Parts of
// lists with equal lengths are adjacent, so the branch at the end of a part is predicted.
// (SELL-C-sigma, Kreutzer14, sorts rows by length for the same reason.)
//
//	receiver 0: 7 9 31    1: 2    2: 4 5 9    3: 8         Rows  3-1 2 [0 2]  1-1 2 [1 3]
//	                                                      Arcs  7 9 31  4 5 9  2  8
type Tile struct {
	// First is the slot of sender 0.
	First uint32
	// Rows has groups of receivers whose parts have the same length: the length less 1, the number
	// of receivers, and the receivers.
	Rows []uint16
	// Arcs has the senders, part by part in the order of Rows. Each part is in the order of its
	// list.
	Arcs []uint16
}

// Adder is a kernel that adds messages up. If all in-neighbours sent, its pulls may go tile by
// tile.
type Adder interface {
	// AddTile adds the messages that cross the tile's arcs to the sums of the tile's receivers,
	// which begin at word w of the column being written.
	AddTile(t *Tile, w int)
}
