package edges

import (
	"context"
	"fmt"
)

// Naming is the meaning of the endpoints of a rank's tuples.
type Naming uint8

const (
	// Numbers: endpoints are vertices. There are Vertices vertices; 0 means the largest endpoint
	// plus 1. Labels are the identity or consecutive.
	Numbers Naming = iota
	// Named: endpoints are input ids. The vertices are all endpoints and the ids that the ranks
	// list, in ascending order.
	Named
	// Listed: endpoints are input ids. The vertices are the ids that the ranks list, in ascending
	// order.
	Listed
	// Texts: endpoints and listed ids are numbers in the rank's own dictionary, Names. The vertices
	// are the names of all ranks, in ascending order.
	Texts
)

// RankInput is one rank's part of an input that several ranks read. The tuples of all ranks, rank
// by rank, are the whole list in order. Vertices, Labels and Directed are those of the whole input.
type RankInput struct {
	Input
	Naming Naming
	// Largest is the largest endpoint of the rank's tuples, if Naming is Named or Listed.
	// Otherwise, if Vertices is 0, it may be 0, and the tuples must be searched.
	Largest uint64
	// IDs is the rank's part of the list of vertices, if there is one: ids in any order, without
	// duplicates.
	IDs []uint64
	// Added, if not nil, is called with the number of vertices that are endpoints and not in the
	// whole list, if there are any.
	Added func(vertices int)
	// Spans are the rank's parts of the files.
	Spans []Span
	// Check, if not nil, is called by every rank after all have read, with the number of tuples of
	// all ranks and the largest endpoint. The errors of Check, Unbalanced, Undeclared and Repeated
	// name the file.
	Check func(tuples int, largest uint64) error
	// CountSkipped makes the number of tuples for Check include the skipped malformed lines.
	CountSkipped bool
	// SkipBad is the number of malformed lines that all ranks together may skip. A rank with more
	// records one more than that.
	SkipBad int
	// Balance, summed over all ranks, is 0 if redundant data about edges in the input agree.
	// Otherwise Unbalanced returns the error. Every rank calls it, and it may read the input again.
	// It is nil if nothing is redundant.
	Balance    [2]uint64
	Unbalanced func(ctx context.Context) error
	// Undeclared returns the error for a tuple of the rank, by index, with an endpoint that is not
	// listed. Repeated returns the error for a listed id that occurred before. Both are set if
	// Naming is Listed; Repeated is set whenever there is a list.
	Undeclared func(ctx context.Context, tuple int, id uint64) error
	Repeated   func(ctx context.Context, place int, id uint64) error
}

// Span is a part of a file's content, in bytes. It begins where that of the previous rank ends.
// Size is the size of the whole file.
type Span struct {
	From, To, Size int64
}

// Whole returns an input as that of a single rank.
func Whole(in *Input, largest uint64) *RankInput {
	return &RankInput{Input: *in, Largest: largest, SkipBad: len(in.Skipped)}
}

// Part returns the range [from, to) of a rank's part of n elements. The parts are in the order of
// ranks. Each has n/ranks elements; the first n%ranks have one more.
func Part(n, rank, ranks int) (from, to int) {
	q, r := n/ranks, n%ranks
	at := func(i int) int { return q*i + min(i, r) }
	return at(rank), at(rank + 1)
}

// TooManySkipped returns the error text for one malformed line too many.
func TooManySkipped(most int) string {
	return fmt.Sprintf("(malformed line %d, and %d may be left out)", most+1, most)
}
