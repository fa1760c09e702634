package combiners_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// trial is a combiner whose loops are compared with a simple fold of the messages by Combine.
type trial[M any] struct {
	c      pregel.Combiner[M]
	single bool                                 // weights are float32
	make   func(h uint64, id pregel.VertexID) M // makes a message of vertex id
	// makes a combined message; make if nil
	part  func(h uint64, id pregel.VertexID) M
	cross func(m M, weight float64) M // applies an edge's weight to a message
	any   bool                        // one arbitrary message is enough
}

// bench is a random block with its kernel and the sent messages.
type bench[M any] struct {
	trial[M]
	*testing.T
	rng        *rand.Rand
	b          *block
	k          kernel.Kernel[M]
	sent       sent[M]
	messages   [][]M // by receiver
	pull, push *kernel.Lists
	skip       []uint64
}

func (x trial[M]) run(t *testing.T) {
	t.Run(x.c.String(), func(t *testing.T) {
		if x.part == nil {
			x.part = x.make
		}
		if x.cross == nil {
			x.cross = func(m M, _ float64) M { return m }
		}
		for seed := range uint64(24) {
			for _, deterministic := range []bool{false, true} {
				rng := rand.New(rand.NewPCG(seed, 1))
				b := newBlock(rng, 1+2*int(seed%2), 1+rng.IntN(6))
				y := &bench[M]{trial: x, T: t, rng: rng, b: b, pull: weightedBy(b.pull,
					x.single), push: weightedBy(b.push, x.single)}
				y.any = x.any && !deterministic
				y.skip = make([]uint64, b.owned/64)
				for i := range y.skip {
					y.skip[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
				}
				binding := kernel.Binding{Sources: &b.ids, Capacity: b.slots, Lists: []*kernel.Lists{y.pull, y.push}, Deterministic: deterministic}
				var err error
				if y.k, err = x.c.Kernel(binding); err != nil {
					t.Fatal(err)
				}
				y.k.Reset()
				y.sent = send(rng, b, x.c, y.k, binding, []float64{0, 0.02, 0.5, 1}[seed/2%4],
					func(id pregel.VertexID) M { return x.make(rng.Uint64(), id) })
				y.collect()
				y.traits()
				for w := range b.owned / 64 {
					y.pulls(w)
				}
				y.tiles()
				y.pushes(deterministic)
				y.folds()
			}
		}
	})
}

func (x *bench[M]) traits() {
	x.Helper()
	traits := x.k.Traits()
	if w, ok := x.c.(kernel.Weighing); traits.Weighted != (ok && w.Weights() != reflect.Invalid) ||
		traits.AnyOne && x.c.String() != "Sender" && x.c.String()[:5] != "First" {
		x.Fatalf("%+v", traits)
	}
}

// collect finds the messages to every receiver, in the order of the senders' ids.
func (x *bench[M]) collect() {
	x.messages = make([][]M, x.b.owned)
	for _, a := range x.b.arcs {
		if bitmap.Get(x.sent.present, a.from) {
			x.messages[a.to] = append(x.messages[a.to], x.cross(x.sent.message[a.from], a.weight))
		}
	}
}

// check compares the result at a vertex with its messages. Messages that it had before come first.
func (x *bench[M]) check(where string, to uint32, has bool, got M, messages []M) {
	x.Helper()
	if has != (len(messages) > 0) {
		x.Fatalf("%s: vertex %d has a message: %t, want %t", where, to, has, len(messages) > 0)
	}
	if !has {
		return
	}
	want := messages[0]
	for _, m := range messages[1:] {
		want = x.c.Combine(want, m)
	}
	if reflect.DeepEqual(got, want) {
		return
	}
	if x.any {
		for _, m := range messages {
			if reflect.DeepEqual(got, m) {
				return
			}
		}
	}
	x.Fatalf("%s: vertex %d got %v, want %v of %v", where, to, got, want, messages)
}

// pulls pulls one word, with the bitmap of senders and, if all sent, without it.
func (x *bench[M]) pulls(w int) {
	need, found := x.rng.Uint64(), x.rng.Uint64()&x.rng.Uint64()
	if x.k.Traits().AnyOne {
		need &^= found // the engine needs no more if one message is enough
	}
	p := kernel.Pull{Lists: x.pull, Present: x.sent.present}
	for _, p.All = range []bool{false, true} {
		if p.All && !x.allSent() {
			continue
		}
		var in, before [64]M
		for i := range in {
			in[i] = x.part(x.rng.Uint64(), pregel.VertexID(i))
		}
		before = in
		got, walked := x.k.Pull(&p, w, need, found, &in)
		edges := 0
		for i := range uint32(64) {
			to := uint32(w<<6) + i
			var messages []M
			if found>>i&1 != 0 {
				messages = append(messages, before[i])
			}
			if need>>i&1 != 0 {
				messages = append(messages, x.messages[to]...)
				lo, hi := x.pull.Row(to)
				edges += int(hi - lo)
			}
			x.check(fmt.Sprintf("pull, all %t", p.All), to, got>>i&1 != 0, in[i], messages)
		}
		if walked > edges || !x.k.Traits().Terminal && walked != edges {
			x.Fatalf("pull: %d edges walked of %d", walked, edges)
		}
	}
}

func (x *bench[M]) allSent() bool {
	for _, a := range x.b.arcs {
		if !bitmap.Get(x.sent.present, a.from) {
			return false
		}
	}
	return true
}

// tiles adds the lists of all words from a random one as one tile, into the column being written.
func (x *bench[M]) tiles() {
	adder, ok := x.k.(kernel.Adder)
	if !ok || !x.allSent() {
		return
	}
	first := x.rng.IntN(x.b.owned / 64)
	ofLength := map[int][]uint16{}
	most := 0
	for i := range x.b.owned - first<<6 {
		lo, hi := x.pull.Row(uint32(first<<6 + i))
		ofLength[int(hi-lo)] = append(ofLength[int(hi-lo)], uint16(i))
		most = max(most, int(hi-lo))
	}
	tile := kernel.Tile{}
	for n := most; n > 0; n-- {
		if len(ofLength[n]) == 0 {
			continue
		}
		tile.Rows = append(append(tile.Rows, uint16(n-1), uint16(len(ofLength[n]))), ofLength[n]...)
		for _, i := range ofLength[n] {
			lo, _ := x.pull.Row(uint32(first<<6 + int(i)))
			for _, s := range x.pull.Adj[lo:][:n] {
				tile.Arcs = append(tile.Arcs, uint16(s))
			}
		}
	}
	sums := make([]M, x.b.owned)
	for i := range sums {
		sums[i] = x.part(x.rng.Uint64(), pregel.VertexID(i))
	}
	for w := range x.b.owned / 64 {
		copy(x.k.Window(w, nil)[:], sums[w<<6:])
	}
	adder.AddTile(&tile, first)
	for i, before := range sums {
		messages := []M{before}
		if i >= first<<6 {
			messages = append(messages, x.messages[i]...)
		}
		x.check("tile", uint32(i), true, x.k.Window(i>>6, nil)[i&63], messages)
	}
}

// inbox returns an inbox with some messages, and a map of these.
func (x *bench[M]) inbox() (*kernel.Inbox[M], map[uint32]M) {
	box := &kernel.Inbox[M]{Msg: make([]M, x.b.owned), Has: bitmap.NewFrontier(make([]uint64,
		x.b.owned/64))}
	before := map[uint32]M{}
	for to := range uint32(x.b.owned) {
		if x.rng.IntN(8) == 0 {
			box.Msg[to] = x.part(x.rng.Uint64(), pregel.VertexID(to))
			box.Has.Add(to)
			before[to] = box.Msg[to]
		}
	}
	return box, before
}

func (x *bench[M]) checkInbox(where string, box *kernel.Inbox[M], before map[uint32]M) {
	x.Helper()
	for to := range uint32(x.b.owned) {
		var messages []M
		if m, ok := before[to]; ok {
			messages = append(messages, m)
		}
		if !bitmap.Get(x.skip, to) {
			messages = append(messages, x.messages[to]...)
		}
		x.check(where, to, bitmap.Get(box.Has.Words, to), box.Msg[to], messages)
	}
	for w, word := range box.Has.Words {
		if word != 0 && box.Has.Top[w>>6]>>(w&63)&1 == 0 {
			x.Fatalf("%s: the summary leaves out word %d", where, w)
		}
	}
}

// pushes pushes the messages of all senders by each method: by one thread, to ranges of receivers,
// with claims, and through bins.
func (x *bench[M]) pushes(deterministic bool) {
	edges := 0
	for _, a := range x.b.arcs {
		edges += int(x.sent.present[a.from/64] >> (a.from % 64) & 1)
	}
	each := func(f func(w int) int) {
		walked := 0
		for w := range x.sent.present {
			walked += f(w)
		}
		if walked != edges {
			x.Fatalf("push: %d edges walked, want %d", walked, edges)
		}
	}
	p := kernel.Push{Lists: x.push, Present: x.sent.present, Skip: x.skip}
	if !deterministic || !x.k.Traits().Ordered {
		box, before := x.inbox()
		each(func(w int) int { return x.rows(&p, w, func(rows []kernel.Row) { x.k.Push(&p, rows, box) }) })
		x.checkInbox("push", box, before)

		box, before = x.inbox()
		each(func(w int) (walked int) {
			for from := uint32(0); from < uint32(x.b.owned); from += 64 {
				q := p
				q.Ranged, q.From, q.To = true, from, from+64
				walked += x.rows(&q, w, func(rows []kernel.Row) { x.k.Push(&q, rows, box) })
			}
			return walked
		})
		x.checkInbox("push by ranges", box, before)
	}
	if claimer, ok := x.k.(kernel.Claimer[M]); ok && !deterministic {
		box, before := x.inbox()
		each(func(w int) int { return x.rows(&p, w, func(rows []kernel.Row) { claimer.Claim(&p, rows, box) }) })
		x.checkInbox("push by claims", box, before)
	}
	box, before := x.inbox()
	bins := kernel.NewBins[M](x.b.owned, 6)
	each(func(w int) int { return x.rows(&p, w, func(rows []kernel.Row) { x.k.Emit(&p, rows, bins) }) })
	for i, to := range bins.To {
		x.k.Fold(to, bins.Msg[i], box)
	}
	if !deterministic || !x.k.Traits().Ordered {
		x.checkInbox("emit and fold", box, before)
	}
}

// rows calls f with the rows of a word's senders. It returns the number of their edges.
func (x *bench[M]) rows(p *kernel.Push, w int, f func(rows []kernel.Row)) int {
	rows := p.Senders(nil, w)
	walked := p.Find(rows)
	f(rows)
	return walked
}

// folds folds random pairs of receiver and message.
func (x *bench[M]) folds() {
	if x.rng.IntN(4) > 0 {
		return
	}
	box, before := x.inbox()
	messages := map[uint32][]M{}
	for to, m := range before {
		messages[to] = []M{m}
	}
	var to []uint32
	var list []M
	for range x.rng.IntN(500) {
		to = append(to, uint32(x.rng.IntN(x.b.owned)))
		list = append(list, x.part(x.rng.Uint64(), pregel.VertexID(x.rng.IntN(1000))))
		messages[to[len(to)-1]] = append(messages[to[len(to)-1]], list[len(list)-1])
	}
	x.k.Fold(to, list, box)
	for v := range uint32(x.b.owned) {
		x.check("fold", v, bitmap.Get(box.Has.Words, v), box.Msg[v], messages[v])
	}
}

type arrival = combiners.Arrival[float32]

func TestKernelsAgainstCombine(t *testing.T) {
	numbers(t, func(h uint64) int64 { return int64(h) >> (h % 50) })
	numbers(t, func(h uint64) uint8 { return uint8(h >> (h % 8)) })
	numbers(t, func(h uint64) float64 { return float64(int64(h)>>50) / 8 })
	numbers(t, func(h uint64) float32 { return float32(int64(h)>>50) / 8 })
	truth := func(h uint64, _ pregel.VertexID) bool { return h%5 == 0 }
	trial[bool]{c: combiners.Or(), make: truth}.run(t)
	trial[bool]{c: combiners.And(), make: func(h uint64, _ pregel.VertexID) bool { return h%5 != 0 }}.run(t)
	set := func(h uint64, _ pregel.VertexID) uint16 { return uint16(h & (h >> 16) & (h >> 32)) }
	trial[uint16]{c: combiners.OrBits[uint16](), make: set}.run(t)
	trial[uint16]{c: combiners.AndBits[uint16](), make: func(h uint64, _ pregel.VertexID) uint16 { return ^set(h, 0) }}.run(t)
	trial[string]{c: combiners.First[string](), any: true, make: func(h uint64, _ pregel.VertexID) string { return fmt.Sprint(h % 1000) }}.run(t)
	self := func(_ uint64, id pregel.VertexID) pregel.VertexID { return id }
	trial[pregel.VertexID]{c: combiners.Sender(), any: true, make: self}.run(t)
	trial[int]{c: combiners.Count[int](), make: func(uint64, pregel.VertexID) int { return 1 }, part: func(h uint64, _ pregel.VertexID) int { return int(1 + h%9) }}.run(t)
	longest := combiners.Func("", func(a, b string) string {
		if len(a) > len(b) || len(a) == len(b) && a > b {
			return a
		}
		return b
	})
	trial[string]{c: longest, make: func(h uint64, _ pregel.VertexID) string { return fmt.Sprint(h >> (h % 60)) }}.run(t)
	trial[struct{}]{c: combiners.First[struct{}](), any: true, make: func(uint64, pregel.VertexID) struct{} { return struct{}{} }}.run(t)
	near := func(h uint64, id pregel.VertexID) arrival { return arrival{Dist: float32(h%64) / 8, From: id} }
	further := func(a arrival, w float64) arrival { return arrival{a.Dist + float32(w), a.From} }
	trial[arrival]{c: combiners.MinPlusSender[float32](), single: true, make: near, cross: further}.run(t)
}

func numbers[T pregel.Number](t *testing.T, of func(h uint64) T) {
	message := func(h uint64, _ pregel.VertexID) T { return of(h) }
	trial[T]{c: combiners.Sum[T](), make: message}.run(t)
	trial[T]{c: combiners.Min[T](), make: message}.run(t)
	trial[T]{c: combiners.Max[T](), make: message}.run(t)
	trial[T]{c: combiners.Func(0, func(a, b T) T { return a + b }), make: message}.run(t)
	if f, ok := any(of).(func(uint64) float64); ok {
		semirings(t, f)
	}
	if f, ok := any(of).(func(uint64) float32); ok {
		semirings(t, f)
	}
}

func semirings[W combiners.Weight](t *testing.T, of func(h uint64) W) {
	message := func(h uint64, _ pregel.VertexID) W { return of(h) }
	_, single := any(W(0)).(float32)
	trial[W]{c: combiners.MinPlus[W](), single: single, make: message, cross: func(m W, w float64) W { return m + W(w) }}.run(t)
	trial[W]{c: combiners.MaxMin[W](), single: single, make: message, cross: func(m W, w float64) W { return min(m, W(w)) }}.run(t)
	trial[W]{c: combiners.SumTimes[W](), single: single, make: message, cross: func(m W, w float64) W { return m * W(w) }}.run(t)
}
