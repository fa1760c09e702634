package nas

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"

	"github.com/superstep-go/superstep/internal/collective"
)

const (
	diffusion = 1e-6 // alpha of FT's equation
	ftSums    = 1024 // elements in a checksum
	ftTag     = uint32(1)
)

// Transformer is a rank's part of FT: a diffusion equation in three dimensions, solved by the
// Fourier transform (NPB 3.4). A rank has some planes of z. There it transforms along x and y. Then
// all ranks exchange elements by alltoall, so that a rank has some planes of x, and transforms along
// z.
//
//	planes of z: [z][y][x]  --- alltoall --->  planes of x: [x][y][z]
type Transformer struct {
	size  FTSize
	group *collective.Group
	// first plane of each rank, and the end
	ofZ, ofX []int
	roots    [3][]complex128 // of unity, for the lengths X, Y and Z

	spectrum []complex128 // in planes of x, of the last iteration
	planes   []complex128 // in planes of z
	turned   []complex128 // in planes of x
	line     []complex128
	scratch  []complex128
}

// NewTransformer makes a rank's part.
func NewTransformer(size FTSize, group *collective.Group) *Transformer {
	t := &Transformer{size: size, group: group}
	ranks, rank := group.Link().Size(), group.Link().Rank()
	for r := range ranks + 1 {
		t.ofZ, t.ofX = append(t.ofZ, r*size.Z/ranks), append(t.ofX, r*size.X/ranks)
	}
	for d, n := range []int{size.X, size.Y, size.Z} {
		for i := range n / 2 {
			t.roots[d] = append(t.roots[d], cmplx.Rect(1, 2*math.Pi*float64(i)/float64(n)))
		}
	}
	t.planes = make([]complex128, (t.ofZ[rank+1]-t.ofZ[rank])*size.Y*size.X)
	t.turned = make([]complex128, (t.ofX[rank+1]-t.ofX[rank])*size.Y*size.Z)
	t.spectrum = make([]complex128, len(t.turned))
	longest := max(size.X, size.Y, size.Z)
	t.line, t.scratch = make([]complex128, longest), make([]complex128, longest)
	return t
}

// Start makes the initial values and transforms them.
func (t *Transformer) Start(ctx context.Context) error {
	r := seed
	r.Skip(2 * uint64(t.ofZ[t.group.Link().Rank()]*t.size.Y*t.size.X))
	for i := range t.planes {
		re := r.Next()
		t.planes[i] = complex(re, r.Next())
	}
	t.flat(false)
	if err := t.turn(ctx, true); err != nil {
		return err
	}
	t.along(t.turned, t.size.Z, 1, t.roots[2], false)
	copy(t.spectrum, t.turned)
	return nil
}

// Step advances the solution by a unit of time, and returns the checksum of the values.
func (t *Transformer) Step(ctx context.Context) (complex128, error) {
	x0, at := t.ofX[t.group.Link().Rank()], 0
	wave := func(i, n int) float64 { // squared
		i = (i+n/2)%n - n/2
		return float64(i * i)
	}
	for x := x0; at < len(t.spectrum); x++ {
		for y := range t.size.Y {
			plane := wave(x, t.size.X) + wave(y, t.size.Y)
			for z := range t.size.Z {
				decay := math.Exp(-4 * diffusion * math.Pi * math.Pi * (plane + wave(z, t.size.Z)))
				t.spectrum[at] *= complex(decay, 0)
				t.turned[at] = t.spectrum[at]
				at++
			}
		}
	}
	t.along(t.turned, t.size.Z, 1, t.roots[2], true)
	if err := t.turn(ctx, false); err != nil {
		return 0, err
	}
	t.flat(true)
	return t.sum(ctx)
}

// sum returns the checksum of NPB over all ranks.
func (t *Transformer) sum(ctx context.Context) (complex128, error) {
	rank, s := t.group.Link().Rank(), complex(0, 0)
	for j := 1; j <= ftSums; j++ {
		x, y, z := j%t.size.X, 3*j%t.size.Y, 5*j%t.size.Z-t.ofZ[rank]
		if z >= 0 && z < t.ofZ[rank+1]-t.ofZ[rank] {
			s += t.planes[(z*t.size.Y+y)*t.size.X+x]
		}
	}
	all, err := collective.Combine(ctx, t.group, collective.Call{Tag: ftTag},
		collective.SumFloat64, math.Float64bits(real(s)), math.Float64bits(imag(s)))
	if err != nil {
		return 0, err
	}
	n := float64(t.size.X * t.size.Y * t.size.Z)
	return complex(math.Float64frombits(all[0])/n, math.Float64frombits(all[1])/n), nil
}

// flat transforms the planes of z along x and y.
func (t *Transformer) flat(inverse bool) {
	t.along(t.planes, t.size.X, 1, t.roots[0], inverse)
	plane := t.size.X * t.size.Y
	for at := 0; at < len(t.planes); at += plane {
		t.along(t.planes[at:at+plane], t.size.Y, t.size.X, t.roots[1], inverse)
	}
}

// along transforms all lines of n elements with this distance. Lines with a distance above 1 fill
// the data together.
func (t *Transformer) along(data []complex128, n, distance int, roots []complex128, inverse bool) {
	if distance == 1 {
		for ; len(data) > 0; data = data[n:] {
			fourier(data[:n], t.scratch[:n], roots, inverse)
		}
		return
	}
	line := t.line[:n]
	for first := range distance {
		for i := range line {
			line[i] = data[first+i*distance]
		}
		fourier(line, t.scratch[:n], roots, inverse)
		for i, x := range line {
			data[first+i*distance] = x
		}
	}
}

// fourier transforms a line in place, without a factor (Stockham's method; a power of 2). roots has
// the first half of the roots of unity.
func fourier(line, scratch, roots []complex128, inverse bool) {
	from, to := line, scratch
	for half, stride := len(line)/2, 1; half >= 1; half, stride = half/2, stride*2 {
		for p := range half {
			w := roots[p*stride]
			if inverse {
				w = cmplx.Conj(w)
			}
			for q := range stride {
				a, b := from[q+stride*p], from[q+stride*(p+half)]
				to[q+stride*2*p], to[q+stride*(2*p+1)] = a+b, (a-b)*w
			}
		}
		from, to = to, from
	}
	if bits.Len(uint(len(line)))%2 == 0 { // an odd number of stages
		copy(line, scratch)
	}
}

// call returns the alltoall's parameters: the mean size of a block.
func (t *Transformer) call() collective.Call {
	ranks := t.group.Link().Size()
	return collective.Call{Tag: ftTag, Bytes: max(16*t.size.X*t.size.Y*t.size.Z/(ranks*ranks), 1)}
}

// turn exchanges planes of z for planes of x, or the reverse.
func (t *Transformer) turn(ctx context.Context, toX bool) error {
	rank := t.group.Link().Rank()
	own, others := t.ofZ, t.ofX
	if !toX {
		own, others = t.ofX, t.ofZ
	}
	out := make([][]complex128, t.group.Link().Size())
	for q := range out {
		t.block(own[rank], own[rank+1], others[q], others[q+1], toX, func(at int) {
			if toX {
				out[q] = append(out[q], t.planes[at])
			} else {
				out[q] = append(out[q], t.turned[at])
			}
		})
	}
	in, err := collective.AlltoallOf(ctx, t.group, t.call(), out)
	if err != nil {
		return err
	}
	for q, block := range in {
		i := 0
		t.block(others[rank], others[rank+1], own[q], own[q+1], !toX, func(at int) {
			if i < len(block) {
				if toX {
					t.turned[at] = block[i]
				} else {
					t.planes[at] = block[i]
				}
			}
			i++
		})
		if i != len(block) {
			return fmt.Errorf("rank %d has sent %d numbers, expected %d", q, len(block), i)
		}
	}
	return nil
}

// block calls do with the places of a block, in the order (x, y, z). ofZ means planes of z, of which
// own are the rank's planes; otherwise planes of x.
func (t *Transformer) block(ownLo, ownHi, lo, hi int, ofZ bool, do func(at int)) {
	x0, x1, z0, z1 := ownLo, ownHi, lo, hi
	if ofZ {
		x0, x1, z0, z1 = lo, hi, ownLo, ownHi
	}
	for x := x0; x < x1; x++ {
		for y := range t.size.Y {
			for z := z0; z < z1; z++ {
				if ofZ {
					do(((z-ownLo)*t.size.Y+y)*t.size.X + x)
				} else {
					do(((x-ownLo)*t.size.Y+y)*t.size.Z + z)
				}
			}
		}
	}
}

// Operations returns the number of floating-point operations, as NPB counts them.
func (s FTSize) Operations() float64 {
	n := float64(s.X * s.Y * s.Z)
	return n * (14.8157 + 7.19641*math.Log(n) +
		(5.23518+7.21113*math.Log(n))*float64(len(s.Sums)))
}
