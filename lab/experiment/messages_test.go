package experiment

import (
	"fmt"
	"math"
	"testing"
)

// TestMessagesAreWhatTheTuplesSay compares the traffic of naive delivery and bitmaps with counts
// from the list of tuples.
func TestMessagesAreWhatTheTuplesSay(t *testing.T) {
	alone(t)
	const scale, header, value, position = 9, 24, 8, 4
	r := small(t, "messages", scale)
	n, list := tuples(t, fmt.Sprintf("rmat:scale=%d,a=0.45,b=0.15,c=0.15", scale))
	rank := ranks(n, list)
	source := 0
	for v, at := range rank {
		if at == 0 {
			source = v
		}
	}
	level := levels(n, list, source)
	// Arcs, and distinct pairs (sender, partition), that cross partitions: of all vertices, and of
	// the vertices that a search reaches.
	var arcs, reachedArcs, reachedPairs int
	pairs, columns := map[[2]int]bool{}, map[[2]int]int{}
	last := 0
	for _, e := range list {
		from, to := rank[e[0]]%tablePartitions, rank[e[1]]%tablePartitions
		last = max(last, level[e[0]])
		if from == to {
			continue
		}
		arcs++
		reached := level[e[0]] >= 0
		if reached {
			reachedArcs++
		}
		if key := [2]int{e[0], to}; !pairs[key] {
			pairs[key] = true
			columns[[2]int{from, to}]++
			if reached {
				reachedPairs++
			}
		}
	}
	bitmaps := 0 // total size of a bitmap over every column
	for _, n := range columns {
		bitmaps += (n + 63) / 64 * 8
	}
	const frames = tablePartitions * (tablePartitions - 1) * tableIterations
	table := r.Tables[0]
	naive, bitmap := table.one(t, "pagerank", "naive"), table.one(t, "pagerank", "bitmap")
	if got := naive.int("values"); got != tableIterations*arcs {
		t.Errorf("PageRank sends %d values one by one, %d arcs cross partitions", got, arcs)
	}
	if naive.int("frames") != frames || naive.int("bytes") != header*frames+
		(position+value)*naive.int("values") {
		t.Errorf("PageRank, one by one: %v, want %d frames, and %d bytes a value and %d a frame",
			naive, frames, position+value, header)
	}
	if got := bitmap.int("values"); got != tableIterations*len(pairs) {
		t.Errorf("PageRank sends %d values with bitmaps, there are %d pairs of sender and partition", got, len(pairs))
	}
	if want := header*frames + value*bitmap.int("values") +
		tableIterations*bitmaps; bitmap.int("bytes") != want {
		t.Errorf("PageRank: bitmaps take %d bytes, want %d", bitmap.int("bytes"), want)
	}
	naive, bitmap = table.one(t, "bfs", "naive"), table.one(t, "bfs", "bitmap")
	if naive.int("values") != reachedArcs || bitmap.int("values") != reachedPairs {
		t.Errorf("BFS sends %d and %d values, want %d and %d", naive.int("values"),
			bitmap.int("values"), reachedArcs, reachedPairs)
	}
	if naive.int("bytes") != header*naive.int("frames")+(position+value)*reachedArcs {
		t.Errorf("BFS, one by one: %v", naive)
	}
	// in BFS a sender's bit is the whole message
	supersteps := bitmap.int("frames") / (tablePartitions * (tablePartitions - 1))
	if want := header*bitmap.int("frames") + supersteps*bitmaps; bitmap.int("bytes") != want ||
		supersteps < last {
		t.Errorf("BFS: bitmaps take %d bytes in %d supersteps, want %d; the last level is %d",
			bitmap.int("bytes"), supersteps, want, last)
	}
	// The supersteps together sent the total.
	for _, program := range []string{"pagerank", "bfs"} {
		for _, m := range manners {
			all, sum := table.one(t, program, m.name), 0
			for _, s := range r.Tables[1].rows(program, m.name) {
				sum += s.int("bytes")
			}
			if sum != all.int("bytes") {
				t.Errorf("%s, %s: supersteps sent %d bytes, all %d", program, m.name, sum,
					all.int("bytes"))
			}
		}
	}
}

// levels returns the levels of a search along arcs, -1 if unreached.
func levels(n int, list [][2]int, source int) []int {
	level := make([]int, n)
	for v := range level {
		level[v] = -1
	}
	level[source] = 0
	for changed := true; changed; {
		changed = false
		for _, e := range list {
			if from := level[e[0]]; from >= 0 && (level[e[1]] < 0 || level[e[1]] > from+1) {
				level[e[1]], changed = from+1, true
			}
		}
	}
	return level
}

// TestCopiesAreTable1: shares agree with the formula and with the table, up to deviations for the
// graph's size.
func TestCopiesAreTable1(t *testing.T) {
	alone(t)
	r := small(t, "messages", 14)
	copies := r.Tables[2]
	if len(copies.Rows) != len(shares) {
		t.Fatalf("%d rows", len(copies.Rows))
	}
	for _, c := range shares {
		x := copies.one(t, c.partitions)
		if x.float("share") != float64(x.int("once"))/float64(x.int("one_by_one")) {
			t.Errorf("%v", x)
		}
		if math.Abs(x.float("share")/x.float("formula")-1) > 0.02 ||
			math.Abs(x.float("share")/c.published-1) > 0.02 || x.float("published") != c.published {
			t.Errorf("%v: want %v", x, c.published)
		}
	}
}
