package delivery

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/record"
)

// Exchange sends and receives a partition's frames in a run. One goroutine calls its methods.
type Exchange struct {
	part   *graph.Partition
	end    transport.Endpoint
	gate   chan struct{}
	force  Encoding
	probe  func(kind Work, n int)
	serial bool
	// partBytes is the least size of a part of a column. It is equal in all partitions.
	partBytes   int
	distant     []bool                    // partitions to which columns are sent ahead; nil if none
	emptyColumn kernel.Column             // an empty column of the message type
	encoded     func(m reflect.Value) int // estimates the encoded size of a message with pointers
	line        *int                      // first element of the line that inLine describes
	inLine      []bool                    // by partition
	// Buffers by place (see place), made at first use: of expand and fold, each also for reversed
	// arcs.
	peers    [2][]peer
	finished [2][]peer
	sends    []peer
	columns  [4][]column // of expand: of all senders, the second for reversed arcs; of hubs
	words    []uint64    // the presence of a column of fold
	spans    []bitmap.Span
	to       []uint32
	packed   kernel.Packed // the content of a received frame
	view     kernel.Column // a view of its messages
	column   kernel.Column // a view of messages to all neighbours, in the kernel's type
	keys     []uint64
	joins    []join           // of SendInOrder
	messages [2]kernel.Column // of SendInOrder: as received, and sorted
	tokens   []*tokenBuffer   // send buffers of tokens; the first passing of them are in use
	passing  int
	// round counts the calls of All in this superstep. early has received frames of later rounds.
	superstep int
	round     uint8
	early     []*transport.Frame

	// Store, if not nil, is the arena for large buffers of single messages.
	Store *mem.Arena
	// Peers, Sent and Bytes describe the messages sent in this superstep; Peers is only filled if
	// Tracing.
	Tracing bool
	Peers   []record.Peer
	Sent    int
	Bytes   int
	// Waited is the time the partition waited for frames and for the gate, in all supersteps so
	// far.
	Waited time.Duration
}

// peer has the send buffers for one other partition.
type peer struct {
	frame     transport.Frame
	list      bitmap.List
	presence  Presence
	packed    kernel.Packed
	positions []uint32
	messages  kernel.Column // made at first use, like combined
	combined  kernel.Column
	joins     []join
	picked    []uint32 // indices of messages that take will append
}

// NewExchange makes the exchange of partition p. messages has the type of the messages. If there
// are several partitions, Connect must be called before the exchange is used.
func NewExchange(p *graph.Partition, messages kernel.Column, e Experiment) *Exchange {
	x := &Exchange{
		part: p, force: e.Encoding, serial: e.Serial,
		partBytes:   cmp.Or(e.Sizes.PartBytes, partBytes),
		emptyColumn: messages, view: messages.New(nil),
	}
	if x.probe = e.Probe; x.probe == nil {
		x.probe = func(Work, int) {}
	}
	if !messages.Raw() {
		x.encoded = pack.Sizer(messages.Type())
	}
	return x
}

// place returns the index of partition q's buffers. In a 2D grid only partitions of the same row
// and column have buffers: with thousands of partitions, buffers for all would exhaust the memory.
func (x *Exchange) place(q int) int {
	switch g := x.part.Grid; {
	case g.Flat():
		return q
	case g.Column(q) == g.Column(x.part.Index):
		return g.Row(q)
	default:
		return g.Rows + g.Column(q)
	}
}

// Connect sets the transport of a run, and the gate: a semaphore that the partition holds while it
// computes and releases while it waits. It forgets which parts the previous run sent ahead.
func (x *Exchange) Connect(end transport.Endpoint, gate chan struct{}) {
	x.end, x.gate, x.distant = end, gate, nil
	for _, columns := range x.columns {
		for i := range columns {
			columns[i].next, columns[i].superstep = 0, 0
		}
	}
	for q := 0; q < x.part.Of && !x.serial; q++ {
		if q != x.part.Index && end.Distant(q) {
			if x.distant == nil {
				x.distant = make([]bool, x.part.Of)
			}
			x.distant[q] = true
		}
	}
}

func (x *Exchange) Begin(superstep int) {
	x.Peers, x.Sent, x.Bytes, x.passing = x.Peers[:0], 0, 0, 0
	x.superstep, x.round, x.early = superstep, 0, nil
}

// End ends the superstep's exchanges and returns their account; nil if there is only one partition.
func (x *Exchange) End(ctx context.Context) (*transport.Account, error) {
	if x.part.Of == 1 {
		return nil, nil
	}
	start := time.Now()
	<-x.gate
	account, err := x.end.End(ctx, x.superstep)
	x.gate <- struct{}{}
	x.Waited += time.Since(start)
	return account, err
}

func (x *Exchange) send(f *transport.Frame) error {
	f.From, f.Superstep = x.part.Index, x.superstep
	x.count(f)
	return x.end.Send(f)
}

// count adds a frame to the counters of this superstep.
func (x *Exchange) count(f *transport.Frame) {
	if f.Kind.Carries() {
		x.Sent += f.Count
	}
	if f.Ref != nil {
		f.RefBytes = 0
		messages := reflect.ValueOf(f.Ref)
		for i := range messages.Len() {
			f.RefBytes += x.encoded(messages.Index(i))
		}
	}
	x.Bytes += f.Size()
	if x.Tracing {
		encoding := "bytes"
		// Frames of All have the round in Encoding.
		if f.Kind != transport.Changes {
			encoding = Encoding(f.Encoding & encodingBits).String()
		}
		x.Peers = append(x.Peers, record.Peer{
			Partition: f.To, Exchange: f.Kind.String(), Encoding: encoding, Messages: f.Count,
			Bytes: f.Size(),
		})
	}
}

// buffers returns the buffers of one kind, by place. They are made at first use, because a run
// needs only a few kinds.
func (x *Exchange) buffers(peers *[]peer) []peer {
	if *peers == nil {
		*peers = make([]peer, x.places())
	}
	return *peers
}

// places returns the number of places.
func (x *Exchange) places() int {
	if g := x.part.Grid; !g.Flat() {
		return g.Rows + g.Columns
	}
	return x.part.Of
}

// Inbox has combined messages by destination slot, and which slots have one.
type Inbox struct {
	Messages kernel.Column
	Has      *bitmap.Frontier
}

// Fold sends the partial results for ghosts from the inbox to the ghosts' owners. The sink combines
// the received ones with those of the owned vertices. s is the receivers' side. meanwhile, if not
// nil, computes while the partial results are transferred; see trade.
func (x *Exchange) Fold(
	ctx context.Context, s *graph.Side, inbox Inbox, sink Sink, block int, meanwhile func() error,
) error {
	kind, _ := x.folding(block)
	return x.trade(ctx, s.Line, kind, len(s.Line), func(q int) error {
		return x.foldOut(s, q, inbox, block)
	}, meanwhile, func(in *transport.Frame) error { return x.foldIn(s, sink, in) })
}

func (x *Exchange) foldOut(s *graph.Side, q int, inbox Inbox, block int) error {
	kind, peers := x.folding(block)
	to, group := &peers[x.place(q)], s.Groups[q]
	lo, hi := group.Words()
	words := inbox.Has.Words[lo:hi]
	x.spans = inbox.Has.Spans(lo, hi, x.spans[:0])
	e, count, presence := to.presence.EncodeRun(words, x.spans, int(group.Count), x.force)
	x.clear(to)
	to.messages.Room(count)
	for _, s := range x.spans {
		some := words[s.From:s.To]
		x.probe(PassedWords, len(some))
		to.messages.AppendBits(inbox.Messages, group.Start+uint32(s.From)<<6, some)
		clear(some)
	}
	to.frame = transport.Frame{
		To: q, Kind: kind, Encoding: uint8(e), Count: count, Presence: presence,
	}
	to.values()
	return x.send(&to.frame)
}

func (x *Exchange) foldIn(s *graph.Side, sink Sink, in *transport.Frame) error {
	messages, err := x.messagesOf(in, x.view)
	if err != nil {
		return err
	}
	to, err := x.receivers(in, s.Peers.Of(in.From))
	if err != nil {
		return fmt.Errorf("from partition %d: %w", in.From, err)
	}
	sink(to, messages)
	return nil
}

// folding returns the frame kind and the buffers of a fold.
func (x *Exchange) folding(block int) (transport.Kind, []peer) {
	return transport.Fold + transport.Kind(block), x.buffers(&x.peers[block])
}

func (to *peer) values() {
	to.messages.Pack(&to.packed)
	to.frame.Raw, to.frame.Ref = to.packed.Raw, to.packed.Ref
}

// messagesOf returns the messages of a frame, as a view of its memory. They are valid until the
// next call with the same view. It returns an error if their number differs from the frame's count.
func (x *Exchange) messagesOf(in *transport.Frame, view kernel.Column) (kernel.Column, error) {
	x.packed = kernel.Packed{Raw: in.Raw, Ref: in.Ref, N: in.Count}
	if err := view.View(&x.packed); err != nil {
		return nil, fmt.Errorf("from partition %d: %w", in.From, err)
	}
	return view, nil
}

// placeWords is the number of words that List.Members looks at in the time in which List.Replace
// finds one member.
const placeWords = 2

// receivers returns the local indices of the vertices that have a message in a column of a fold.
func (x *Exchange) receivers(in *transport.Frame, list bitmap.List) ([]uint32, error) {
	n := list.Count()
	if Encoding(in.Encoding) == Sparse && in.Count < bitmap.Words(n)/placeWords {
		x.to = x.to[:0]
		if err := decodeSparse(in.Count, n, in.Presence, func(first uint32, low []byte) {
			for ; len(low) > 1; low = low[2:] {
				x.to = append(x.to, first|uint32(binary.LittleEndian.Uint16(low)))
			}
		}); err != nil {
			return nil, err
		}
		list.Replace(x.to)
		x.probe(PassedWords, placeWords*len(x.to))
		return x.to, nil
	}
	x.probe(PassedWords, bitmap.Words(n))
	x.scratch(bitmap.Words(n) + 1)
	if err := Decode(Encoding(in.Encoding), in.Count, n, in.Presence, x.words); err != nil {
		return nil, err
	}
	x.to = list.Members(x.words, x.to[:0])
	return x.to, nil
}
