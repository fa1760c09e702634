package delivery

import "math"

// This file has the costs of a pull in a 2D grid of C columns. A vertex of degree d has edges in
// C(1-(1-1/C)^d) blocks of its processor row. In each of these blocks it has one row: a list of an
// equal share of the d edges.

// rows returns the number of rows of the unfinished vertices in all blocks, and the probability
// that a row contains no sender.
func (l *Load) rows() (rows, miss float64) {
	c, u := float64(l.Grid.Columns), float64(max(l.Unfinished, 1))
	edges := float64(l.UnfinishedEdges)
	rows = min(u*c*-math.Expm1(edges/u*math.Log1p(-1/c)), edges)
	if rows == 0 {
		return 0, 1
	}
	return rows, math.Pow(1-min(l.senderFraction(), 1), edges/rows)
}

// senderFraction returns the fraction of all edges that lead out of senders.
func (l *Load) senderFraction() float64 { return float64(l.SenderEdges) / float64(max(l.Arcs, 1)) }

// blockPull returns the time of a block pull. Every row of every vertex is searched, even if
// another block also finds a message. Then all messages found are folded.
func (r *Rates) blockPull(l *Load, threads float64) float64 {
	rows, miss := l.rows()
	edges, c := float64(l.UnfinishedEdges), float64(l.Grid.Columns)
	t := rows*r.Row + float64(l.Vertices)*c/64*r.Word
	switch q := l.senderFraction(); {
	case l.AnyOne && q > 0:
		t += rows * (1 - miss) / q * r.probe(q)
	case l.AnyOne:
		t += edges * r.Probe
	case l.SenderEdges == l.Arcs:
		t += edges * r.EdgeAll
	default:
		t += edges * r.edge(q)
	}
	ghosts := float64(l.Ghosts)
	found := min(rows*(1-miss)*(c-1)/c, ghosts)
	finished := 0.0
	// Only newly finished vertices are sent. Their number is unknown here.
	if l.Unfinished < l.Vertices {
		finished = r.columns(l, l.Grid.Columns, 0, ghosts, 0, threads)
	}
	return t/threads + finished + r.columns(l, l.Grid.Columns, found, ghosts, float64(l.FoldBytes),
		threads)
}

// ringPull returns the time of a ring pull. Only one block of a processor row finds a message for a
// vertex. The blocks pass on the vertices without a message, as bits or positions.
func (r *Rates) ringPull(l *Load, threads float64) float64 {
	rows, miss := l.rows()
	c, u := float64(l.Grid.Columns), float64(l.Unfinished)
	if u == 0 || rows == 0 {
		return 0
	}
	// A vertex has a row in rows/(uC) of the blocks. open is the probability that a vertex has no
	// message after a block.
	open, visits := 1-rows/(u*c)*(1-miss), c
	if open < 1 {
		visits = (1 - math.Pow(open, c)) / (1 - open) // blocks that search a vertex
	}
	found := u * (1 - math.Pow(open, c))
	t := visits*u*rows/(u*c)*r.Row + l.probes()*r.probe(l.senderFraction()) +
		float64(l.Vertices)*c/64*r.Word + visits*u*r.Value/2
	p := float64(l.Partitions)
	hops := p * (c - 1)
	moved := min(float64(l.Vertices)*(c-1)/8, 2*u*visits)
	frames := hops*float64(l.SubSteps)*r.Frame/min(threads, p) + (c-1)*r.delay(l)
	fold := r.columns(l, l.Grid.Columns, min(found*(c-1)/c, float64(l.Ghosts)), float64(l.Ghosts),
		float64(l.FoldBytes), threads)
	return t/threads + frames + r.carry(l, hops*float64(l.SubSteps), moved) + fold
}
