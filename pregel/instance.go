package pregel

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// instance implements kernel.Instance: a program in one partition.
type instance[V, M any] struct {
	*methods[V, M]
	part
	identity M
	// normalize is the kernel's normalizer (kernel.Normalizing), or nil.
	normalize func(sent uint64, out *[64]M) uint64

	values  kernel.Vec[V]
	first   V          // the value that Fill sets
	sources []VertexID // the vertices that Start returned
	ways    []way[M]
	inbox   kernel.Inbox[M]
	lists   messageLists[M]

	view kernel.Vec[M]
}

// part is the part of an instance that does not depend on V and M.
type part struct {
	single bool // call Compute for each vertex, never ComputeBlock
	self   bool // the only message of a vertex to all neighbours is its own id
	anyOne bool
	claims bool

	ids     *kernel.Slots
	out, in []uint32 // degrees
	slots   int
	arena   *mem.Arena
	store   *mem.Arena
	hub     *atomic.Uint64

	pulls     []kernel.ColumnPull
	takeInbox bool
	tiled     []uint64 // the receivers of sums by tiles; nil if tiles are not used
}

func (i *part) place(p *kernel.Placement, traits kernel.Traits, claims bool) {
	i.self, i.anyOne, i.single = traits.Self, traits.AnyOne, p.Deterministic
	i.claims = claims && !p.Deterministic
	i.ids = p.Sources
	i.out, i.in, i.slots = p.OutDegrees, p.InDegrees, p.Capacity
	i.arena, i.store, i.hub = p.Arena, p.Store, p.Hub
	i.tiled = nil
}

func (i *part) Claims() bool { return i.claims }

func (i *part) SetPulls(pulls []kernel.ColumnPull, inbox bool, tiled []uint64) {
	i.pulls, i.takeInbox, i.tiled = pulls, inbox, tiled
}

// way is a column of messages to all neighbours: to out-neighbours, or to in-neighbours.
type way[M any] struct {
	kernel  kernel.Kernel[M]
	gather  *listKernel[M]    // the kernel of a list program, else nil
	claimer kernel.Claimer[M] // the kernel if it implements Claimer, else nil
	adder   kernel.Adder      // the kernel if it implements Adder, else nil
}

func (i *instance[V, M]) Place(p *kernel.Placement) (err error) {
	i.ways = i.ways[:0]
	for range p.Ways {
		w := way[M]{}
		if i.list != nil {
			w.gather = newListKernel[M](p.Binding)
			w.kernel = w.gather
		} else if w.kernel, err = i.combiner.Kernel(p.Binding); err != nil {
			return err
		}
		w.claimer, _ = w.kernel.(kernel.Claimer[M])
		w.adder, _ = w.kernel.(kernel.Adder)
		i.ways = append(i.ways, w)
	}
	if i.combiner != nil {
		i.identity = i.combiner.Identity()
	}
	first := i.ways[0]
	i.normalize = nil
	if n, ok := first.kernel.(kernel.Normalizing[M]); ok {
		i.normalize = n.Normalizer()
	}
	i.place(p, first.kernel.Traits(), first.claimer != nil)
	i.lists.store = p.Store
	i.values.Data = mem.MakeAny[V](p.Arena, p.Size) // uninitialized: Fill or a copy comes first
	i.inbox = kernel.Inbox[M]{}
	return nil
}

func (i *instance[V, M]) Rebind(m *erasedMethods) {
	other := m.Instance().(*instance[V, M]).methods
	other.combiner = i.combiner // the kernels belong to this combiner
	i.methods = other
}

func (i *instance[V, M]) Values() kernel.Column   { return &i.values }
func (i *instance[V, M]) Messages() kernel.Column { return &kernel.Vec[M]{} }

func (i *instance[V, M]) BeginFill() {
	var zero V
	if i.first, i.sources = zero, nil; i.start != nil {
		i.first, i.sources = i.start.Start()
	}
}

func (i *instance[V, M]) Sources() []VertexID { return i.sources }

func (i *instance[V, M]) Fill(lo, hi int) {
	values := i.values.Data[lo:hi]
	for n := copy(values, []V{i.first}); n < len(values); n *= 2 {
		copy(values[n:], values[:n])
	}
}

func (i *instance[V, M]) Broadcast(way int) kernel.Broadcast { return i.ways[way].kernel }

func (i *instance[V, M]) Combine(
	keys []uint64, from, to kernel.Column, positions []uint32,
) []uint32 {
	in, out := kernel.Elements[M](from), to.(*kernel.Vec[M])
	combine, messages, last := i.combiner.Combine, out.Data, uint32(0)
	for k, key := range keys {
		local, m := uint32(key>>32), in[uint32(key)]
		if k > 0 && local == last {
			messages[len(messages)-1] = combine(messages[len(messages)-1], m)
			continue
		}
		last = local
		positions = append(positions, local)
		messages = append(messages, m)
	}
	out.Data = messages
	return positions
}

func (i *instance[V, M]) Inbox() (kernel.Column, *bitmap.Frontier) {
	if i.inbox.Has == nil {
		i.inbox.Msg = mem.MakeAny[M](i.arena, i.slots) // uninitialized: read only where Has is set
		i.view.Data = i.inbox.Msg
		i.inbox.Has = bitmap.NewFrontier(mem.Make[uint64](i.arena, bitmap.Words(i.slots)))
	}
	return &i.view, i.inbox.Has
}

func (i *instance[V, M]) Take(to []uint32, messages kernel.Column) {
	msg := kernel.Elements[M](messages)
	if i.list != nil || i.combiner == nil {
		i.lists.add(to, msg)
		return
	}
	i.Inbox()
	i.ways[0].kernel.Fold(to, msg, &i.inbox)
}

func (i *instance[V, M]) Sort(owned int)                  { i.lists.build(owned) }
func (i *instance[V, M]) Drop(which func(to uint32) bool) { i.lists.drop(which) }
func (i *instance[V, M]) Forget()                         { i.lists.reset() }

func (i *instance[V, M]) Gather(p *kernel.Pull, way, owned int, finished []uint64) (walked int) {
	var to []uint32
	var messages []M
	for v := range uint32(owned) {
		lo, hi := p.Row(v)
		if lo == hi || finished[v>>6]>>(v&63)&1 != 0 {
			continue
		}
		before := len(messages)
		messages = i.ways[way].gather.gather(p, lo, hi, messages)
		for range len(messages) - before {
			to = append(to, v)
		}
		walked += int(hi - lo)
	}
	i.lists.add(to, messages)
	return walked
}

func (i *instance[V, M]) Tiles() bool { return i.ways[0].adder != nil }

func (i *instance[V, M]) ClearSums(lo, hi int) {
	for w := lo; w < hi; w++ {
		clear(i.sumsOf(w)[:])
	}
}

// sumsOf returns the sums by tiles of word w.
func (i *instance[V, M]) sumsOf(w int) *[64]M { return i.ways[0].kernel.Window(w, nil) }

func (i *instance[V, M]) FoldBins(lanes []erasedLane, k int) {
	for _, one := range lanes {
		if b := one.(*lane[V, M]).bins; b != nil && len(b.To[k]) > 0 {
			i.ways[0].kernel.Fold(b.To[k], b.Msg[k], &i.inbox)
			b.To[k], b.Msg[k] = b.To[k][:0], b.Msg[k][:0]
		}
	}
}

func (i *instance[V, M]) Output(dst []byte, local uint32, label func(dst []byte,
	id VertexID) []byte,
) []byte {
	if i.output != nil {
		return i.output.Output(dst, i.values.Data[local])
	}
	return i.naming.OutputLabels(dst, i.values.Data[local], label)
}

func (i *instance[V, M]) Score(local uint32) float64 { return i.report.Score(i.values.Data[local]) }

func (i *instance[V, M]) Reached(local uint32) bool {
	return i.report.Reached(i.values.Data[local])
}

func (i *instance[V, M]) Group(local uint32) (key uint64, in bool) {
	if i.report.Number != nil {
		return i.report.Number(i.values.Data[local]), true
	}
	id := i.report.Group(i.values.Data[local])
	return uint64(id), id != None
}

func (i *instance[V, M]) Resolve(
	id VertexID, exists, remove bool, value int, add []int, of kernel.Column,
) bool {
	values := of.(*kernel.Vec[V])
	r := Resolution[V]{ID: id, Exists: exists, Remove: remove}
	if exists {
		r.Value = values.Data[value]
	}
	for _, k := range add {
		r.Add = append(r.Add, values.Data[k])
	}
	v, exist := i.resolve.Resolve(r)
	values.Data = append(values.Data, v)
	return exist
}
