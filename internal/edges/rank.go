package edges

import (
	"context"
	"fmt"
)

// Naming says what the endpoints of a rank's tuples are.
type Naming uint8

const (
	// Numbers: endpoints are vertices, those below Vertices, or, if that is 0, as many as the
	// largest endpoint asks for. Labels are the identity or consecutive.
	Numbers Naming = iota
	// Named: endpoints are input ids, and the vertices those that occur or that the ranks list,
	// numbered by rising id.
	Named
	// Listed: endpoints are input ids, and the vertices those that the ranks list, numbered by
	// rising id.
	Listed
	// Texts: endpoints, and ids that are listed, are places in the rank's own dictionary, Names,
	// and the vertices the names of all ranks, numbered in rising order.
	Texts
)

// RankInput is one rank's part of an input that several read: the tuples of all ranks, rank by
// rank, are those of the whole, in its order. Its Vertices, Labels and Directed are those of the
// whole.
type RankInput struct {
	Input
	Naming Naming
	// Largest is the largest endpoint of the rank's tuples, if Naming is Named or Listed. Else,
	// where Vertices is 0, it may be 0: who needs it looks at the tuples.
	Largest uint64
	// IDs is the rank's part of the list of vertices, if there is one: ids in any order, each once.
	IDs []uint64
	// Added, if not nil, takes the number of vertices that edges name and the whole list does not,
	// if there are any.
	Added func(vertices int)
	// Spans are the parts that the rank has of the files that it was read from.
	Spans []Span
	// Check, if not nil, judges what is known when all have read: how many tuples they have
	// together, and the largest endpoint. Every rank calls it. What it, Unbalanced, Undeclared and
	// Repeated return names the file.
	Check func(tuples int, largest uint64) error
	// CountSkipped has Check count the malformed lines that all have left out among the tuples.
	CountSkipped bool
	// SkipBad is how many malformed lines all ranks together may leave out. A rank that has more of
	// them has noted one too many.
	SkipBad int
	// Balance, added up over all ranks, is 0 if what the input says of edges twice agrees.
	// Unbalanced returns what is to be said if not; every rank calls it, and it may read the input
	// anew. It is nil if nothing is said twice.
	Balance    [2]uint64
	Unbalanced func(ctx context.Context) error
	// Undeclared returns what is to be said of a tuple of the rank, by its place, of which an
	// endpoint is not listed, and Repeated of an id of the list that has come before. They are not
	// nil if Naming is Listed, nor is Repeated where there is a list.
	Undeclared func(ctx context.Context, tuple int, id uint64) error
	Repeated   func(ctx context.Context, place int, id uint64) error
}

// Span is a part of a file's content, in bytes: each begins where that of the rank before ends.
// Size is the file's, in bytes, the same everywhere.
type Span struct {
	From, To, Size int64
}

// Whole returns an input as that of the only rank.
func Whole(in *Input, largest uint64) *RankInput {
	return &RankInput{Input: *in, Largest: largest, SkipBad: len(in.Skipped)}
}

// Part returns the tuples [n*rank/ranks, n*(rank+1)/ranks) of n: an equal part, in order.
func Part(n, rank, ranks int) (from, to int) {
	q, r := n/ranks, n%ranks
	at := func(i int) int { return q*i + min(i, r) }
	return at(rank), at(rank + 1)
}

// TooManySkipped says what is wrong with one more malformed line than may be left out.
func TooManySkipped(most int) string {
	return fmt.Sprintf("(malformed line %d, and %d may be left out)", most+1, most)
}
