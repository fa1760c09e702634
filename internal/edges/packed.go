package edges

import (
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/mem"
)

// Packed is a list in memory. Its endpoints take as many bits as the largest one: 2 x SCALE bits
// per tuple for a Graph500 graph, 5.5 bytes at SCALE 22. Several goroutines may write different
// blocks at once.
type Packed struct {
	bits uint
	n    int
	// tuple i begins at bit i*2*bits: u, then v, low bits first; the last word is padding
	words   []uint64
	float32 []float32
	float64 []float64
	arena   *mem.Arena
}

// Weights is the type of the weights of a list or a graph.
type Weights uint8

const (
	Unweighted Weights = iota
	Float32            // half the memory; Graph500's validation is exact in single precision
	Float64            // the usual type: Graphalytics forbids single precision
)

func (w Weights) String() string { return [...]string{"unweighted", "float32", "float64"}[w] }

// PackedBytes returns the memory that NewPacked allocates.
func PackedBytes(vertices uint64, n int, weights Weights) int64 {
	blocks := (n + BlockSize - 1) / BlockSize
	return 8*int64(blocks*int(2*bitsOf(vertices))*(BlockSize/64)+1) +
		[...]int64{0, 4, 8}[weights]*int64(n)
}

// bitsOf returns the number of bits of an endpoint.
func bitsOf(vertices uint64) uint { return uint(max(bits.Len64(max(vertices, 1)-1), 1)) }

// NewPacked makes a list of n zero tuples with endpoints below vertices.
func NewPacked(vertices uint64, n int, weights Weights) *Packed {
	p := &Packed{bits: bitsOf(vertices), n: n, arena: &mem.Arena{Kind: mem.Loading}}
	blocks := (n + BlockSize - 1) / BlockSize
	p.words = mem.Make[uint64](p.arena, blocks*int(2*p.bits)*(BlockSize/64)+1)
	switch weights {
	case Float32:
		p.float32 = mem.Make[float32](p.arena, n)
	case Float64:
		p.float64 = mem.Make[float64](p.arena, n)
	}
	return p
}

// Pack makes a list of the given tuples, with endpoints below vertices. weights is nil or as long
// as tuples.
func Pack(vertices uint64, tuples [][2]uint64, weights []float64) *Packed {
	kind := Unweighted
	if weights != nil {
		kind = Float64
	}
	p := NewPacked(vertices, len(tuples), kind)
	var b Block
	for i := 0; i < len(tuples); i += BlockSize {
		b.N = min(BlockSize, len(tuples)-i)
		for j := range b.N {
			b.U[j], b.V[j] = tuples[i+j][0], tuples[i+j][1]
		}
		if weights != nil {
			copy(b.W[:b.N], weights[i:])
		}
		p.Write(i/BlockSize, &b)
	}
	return p
}

// Len returns the number of tuples.
func (p *Packed) Len() int { return p.n }

// Weighted reports whether tuples have weights.
func (p *Packed) Weighted() bool { return p.float32 != nil || p.float64 != nil }

// Bits returns the number of bits of an endpoint.
func (p *Packed) Bits() int { return int(p.bits) }

// Bytes returns the memory of the list.
func (p *Packed) Bytes() int64 {
	return 8*int64(len(p.words)) + 4*int64(len(p.float32)) + 8*int64(len(p.float64))
}

// Close frees the list, which must not be used afterwards.
func (p *Packed) Close() { p.arena.Close() }

// Write stores block i. It panics if an endpoint does not fit, or if the block has the wrong
// length.
func (p *Packed) Write(i int, b *Block) {
	if want := min(BlockSize, p.n-i*BlockSize); b.N != want {
		panic(fmt.Sprintf("edges: block %d has %d tuples, want %d", i, b.N, want))
	}
	words := p.words[i*int(2*p.bits)*(BlockSize/64):]
	var acc uint64
	var fill, w uint
	over := uint64(0)
	put := func(x uint64) {
		over |= x >> p.bits
		acc |= x << fill
		if fill += p.bits; fill >= 64 {
			words[w] = acc
			w++
			fill -= 64
			acc = x >> (p.bits - fill)
		}
	}
	for j := range b.N {
		put(b.U[j])
		put(b.V[j])
	}
	if fill > 0 {
		words[w] = acc
	}
	if over != 0 {
		panic(fmt.Sprintf("edges: an endpoint of block %d needs more than %d bits", i, p.bits))
	}
	switch {
	case p.float32 != nil:
		for j, x := range b.W[:b.N] {
			p.float32[i*BlockSize+j] = float32(x)
		}
	case p.float64 != nil:
		copy(p.float64[i*BlockSize:], b.W[:b.N])
	}
}

// Read decodes block i into b. It never fails.
func (p *Packed) Read(i int, b *Block) error {
	b.N = min(BlockSize, p.n-i*BlockSize)
	words := p.words[i*int(2*p.bits)*(BlockSize/64):]
	if p.bits <= 32 {
		unpackNarrow(words, p.bits, b)
	} else {
		unpackWide(words, p.bits, b)
	}
	switch {
	case p.float32 != nil:
		for j, x := range p.float32[i*BlockSize:][:b.N] {
			b.W[j] = float64(x)
		}
	case p.float64 != nil:
		copy(b.W[:b.N], p.float64[i*BlockSize:])
	}
	return nil
}

// unpackNarrow decodes tuples of at most 64 bits: two loads each.
func unpackNarrow(words []uint64, width uint, b *Block) {
	mask := uint64(1)<<width - 1
	width &= 63
	at := uint(0)
	us, vs := b.U[:b.N], b.V[:b.N]
	for j := range us {
		w, shift := at>>6, at&63
		x := words[w]>>shift | words[w+1]<<1<<(63-shift)
		us[j] = x & mask
		vs[j] = x >> width & mask
		at += 2 * width
	}
}

// unpackWide decodes tuples of more than 64 bits, one endpoint at a time.
func unpackWide(words []uint64, width uint, b *Block) {
	mask, at := ^uint64(0)>>(64-width), uint(0)
	next := func() uint64 {
		w, shift := at>>6, at&63
		at += width
		return (words[w]>>shift | words[w+1]<<1<<(63-shift)) & mask
	}
	for j := range b.N {
		b.U[j], b.V[j] = next(), next()
	}
}
