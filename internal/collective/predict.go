package collective

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
)

// Predict returns the time in seconds of a collective with an algorithm, from the start of all
// ranks to the end of the last. bytes is the contribution of one rank. broadcast: the root's data;
// gather, allgather: one rank's data; reduce, allreduce: one rank's elements; alltoall: one block.
// It ignores headers of a few bytes and copying.
func (m *Model) Predict(c Collective, a Algorithm, bytes, root int) (float64, error) {
	if err := m.validate(); err != nil {
		return 0, err
	}
	if root < 0 || root >= m.Ranks || bytes < 0 {
		return 0,
			fmt.Errorf("no prediction for %d bytes and root %d of %d ranks", bytes, root, m.Ranks)
	}
	s := &simulation{model: m, trunks: map[[2]int]float64{}, arrived: map[[2]int][]float64{}}
	unit := float64(bytes)
	for rank := range m.Ranks {
		p, err := planOf(c, a, shape{m.Ranks, rank, root, m.segments(c, a, bytes), m.Sites})
		if err != nil {
			return 0, err
		}
		if c == Broadcast || c == Allreduce && a != Dissemination {
			unit = float64(bytes) / float64(max(p.slots, 1))
		}
		s.actors = append(s.actors, actor{rank: rank, rounds: p.rounds})
	}
	end := s.run(unit)
	if c == Allreduce && a == Dissemination {
		end += m.Gamma * unit * float64(m.Ranks-1)
	}
	return end, nil
}

// Choose returns the algorithm with the shortest predicted time, and that time. If times are equal
// it takes the first of Algorithms. Ranks with the same model make the same choice.
func (m *Model) Choose(c Collective, bytes, root int) (Algorithm, float64, error) {
	best, least := Auto, math.Inf(1)
	if catalogue[c] == nil {
		return best, 0, unknown(c, Auto)
	}
	for _, a := range Algorithms(c) {
		t, err := m.Predict(c, a, bytes, root)
		if err != nil {
			return Auto, 0, err
		}
		if t < least*(1-1e-9) {
			best, least = a, t
		}
	}
	return best, least, nil
}

// simulation runs the plans of all ranks as a discrete event simulation, with the rules of package
// memlink.
type simulation struct {
	model  *Model
	unit   float64 // bytes of a slot
	actors []actor
	events events
	trunks map[[2]int]float64 // time when the link from one site to another is free
	// arrived has, by sender and receiver, the arrival times of complete messages that were not
	// received yet.
	arrived map[[2]int][]float64
}

// actor is a rank in its current round. Sending and receiving have separate clocks. The round ends
// when both are done.
type actor struct {
	rank           int
	rounds         []round
	round          int
	sent, received int // number of finished transfers of the round
	sending        float64
	receiving      float64
	waits          bool // waiting for its next message
	done           bool
	taking         float64 // time when it can take the next message
}

// event is the next send or receive of an actor, or the arrival of a message.
type event struct {
	time float64
	rank int
	what happening
	from int     // the message's sender
	body float64 // the message's transfer time
	gap  float64 // before the receiver takes another one
}

type happening uint8

const (
	comes happening = iota
	sends
	receives
)

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	a, b := e[i], e[j]
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.what, b.what),
		cmp.Compare(a.rank, b.rank), cmp.Compare(a.from, b.from)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// run returns the time when the last rank is done. A plan that waits for ever takes infinite time.
func (s *simulation) run(unit float64) float64 {
	s.unit = unit
	for i := range s.actors {
		s.begin(&s.actors[i])
	}
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		switch a := &s.actors[e.rank]; e.what {
		case comes:
			s.come(a, e)
		case sends:
			s.send(a)
		case receives:
			s.receive(a)
		}
	}
	end := 0.0
	for i := range s.actors {
		if !s.actors[i].done {
			return math.Inf(1)
		}
		end = max(end, s.actors[i].sending)
	}
	return end
}

// begin starts a round of an actor, whose clocks are equal.
func (s *simulation) begin(a *actor) {
	for a.round < len(a.rounds) &&
		len(a.rounds[a.round].sends)+len(a.rounds[a.round].receives) == 0 {
		a.round++
	}
	if a.round == len(a.rounds) {
		a.done = true
		return
	}
	a.sent, a.received = 0, 0
	if len(a.rounds[a.round].sends) > 0 {
		heap.Push(&s.events, event{time: a.sending, rank: a.rank, what: sends})
	}
	if len(a.rounds[a.round].receives) > 0 {
		heap.Push(&s.events, event{time: a.receiving, rank: a.rank, what: receives})
	}
}

// next ends the round if all its transfers are done.
func (s *simulation) next(a *actor) {
	r := a.rounds[a.round]
	if a.sent < len(r.sends) || a.received < len(r.receives) {
		return
	}
	now := max(a.sending, a.receiving)
	for _, t := range r.receives {
		if t.combine {
			now += s.model.Gamma * s.unit * float64(len(t.slots))
		}
	}
	a.sending, a.receiving = now, now
	a.round++
	s.begin(a)
}

func (s *simulation) send(a *actor) {
	list := a.rounds[a.round].sends
	t := list[a.sent]
	n := s.unit * float64(len(t.slots))
	c := s.model.Pair(a.rank, t.peer)
	start := a.sending
	if x, y := s.model.site(a.rank), s.model.site(t.peer); x != y && s.model.Trunk > 0 {
		start = max(start, s.trunks[[2]int{x, y}])
		s.trunks[[2]int{x, y}] = start + s.model.Trunk*n
	}
	latency, body := c.Parts(n)
	heap.Push(&s.events, event{start + latency, t.peer, comes, a.rank, body, c.Gap})
	a.sending = start + c.Gap + body
	a.sent++
	if a.sent < len(list) {
		heap.Push(&s.events, event{time: a.sending, rank: a.rank, what: sends})
		return
	}
	s.next(a)
}

// come queues an arriving message behind earlier ones, and wakes the receiver. A receiver is busy
// for as long as a sender.
func (s *simulation) come(a *actor, e event) {
	whole := max(e.time, a.taking) + e.body
	a.taking = whole + e.gap
	way := [2]int{e.from, a.rank}
	s.arrived[way] = append(s.arrived[way], whole)
	if a.waits && a.rounds[a.round].receives[a.received].peer == e.from {
		a.waits = false
		s.receive(a)
	}
}

func (s *simulation) receive(a *actor) {
	list := a.rounds[a.round].receives
	way := [2]int{list[a.received].peer, a.rank}
	queue := s.arrived[way]
	if len(queue) == 0 {
		a.waits = true
		return
	}
	s.arrived[way] = queue[1:]
	a.receiving = max(a.receiving, queue[0])
	a.received++
	if a.received < len(list) {
		heap.Push(&s.events, event{time: a.receiving, rank: a.rank, what: receives})
		return
	}
	s.next(a)
}

// Noise returns n bytes of test data that no link can compress.
func Noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	return data
}
