package state

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

// Owner is partition Index of a graph, which takes the data of its vertices from the parts of a
// checkpoint.
type Owner struct {
	Index int
	Deal  kernel.Deal
}

// Wants reports whether part number part, of parts in all, may have vertices of the partition.
func (o Owner) Wants(parts, part int) bool {
	return parts != o.Deal.Partitions() || part == o.Index
}

// Same reports whether a part has exactly the vertices of the partition.
func (o Owner) Same(p *checkpoint.Part) bool {
	return p.Of == o.Deal.Partitions() && p.Partition == o.Index
}

// Each calls f for every vertex of a part that the partition owns: k is its index in the part,
// local its index in the partition.
func (o Owner) Each(p *checkpoint.Part, f func(k int, local uint32)) {
	from, _ := kernel.ParseDeal(p.Of, p.Deal) // checked by Check
	for k := range p.Vertices {
		if o.Same(p) {
			f(k, uint32(k))
			continue
		}
		id := from.ID(p.Partition, uint32(k))
		if q, local := o.Deal.Of(uint32(id)); q == o.Index {
			f(k, local)
		}
	}
}

// Vertices copies values of a part's vertices, from a section's data, to the partition's column.
func (o Owner) Vertices(p *checkpoint.Part, data []byte, to kernel.Column) error {
	from, err := Unpack(to, data, p.Vertices)
	if err != nil {
		return err
	}
	if o.Same(p) {
		to.Copy(0, from, 0, p.Vertices)
		return nil
	}
	o.Each(p, func(k int, local uint32) { to.Copy(int(local), from, k, 1) })
	return nil
}

// Some is Vertices for a section that has values only for the vertices in section bits. If the
// values are missing, it copies none and returns true.
func (o Owner) Some(
	p *checkpoint.Part, bits, section string, to kernel.Column,
) (missing bool, err error) {
	set, err := bitsOf(p, bits)
	if err != nil {
		return false, err
	}
	ranks := bitmap.Rank(set, nil)
	data, ok := p.Section(section)
	if !ok && ranks.Count() > 0 {
		return true, nil
	}
	from, err := Unpack(to, data, ranks.Count())
	if err != nil {
		return false, err
	}
	o.Each(p, func(k int, local uint32) {
		if bitmap.Get(set, uint32(k)) {
			to.Copy(int(local), from, int(ranks.Of(uint32(k))), 1)
		}
	})
	return false, nil
}

// Bits sets the bits of the partition's vertices that are set in a section of a part.
func (o Owner) Bits(p *checkpoint.Part, section string, to []uint64) error {
	set, err := bitsOf(p, section)
	if err != nil {
		return err
	}
	o.Each(p, func(k int, local uint32) {
		if bitmap.Get(set, uint32(k)) {
			bitmap.Set(to, local)
		}
	})
	return nil
}

func bitsOf(p *checkpoint.Part, section string) ([]uint64, error) {
	data, ok := p.Section(section)
	if n := 8 * bitmap.Words(p.Vertices); !ok || len(data) != n {
		return nil, fmt.Errorf("%w: section %s of %d bytes, expected %d", Err, section, len(data),
			n)
	}
	set := wire.Slice[uint64](data)
	if last := p.Vertices & 63; last != 0 && set[len(set)-1]&^bitmap.Low(last) != 0 {
		return nil, fmt.Errorf("%w: section %s has bits beyond its vertices", Err, section)
	}
	return set, nil
}

// Check returns an error if a part does not have the number of vertices that its partition owns of
// ids vertices, or has not the vertices of any partition of the graph.
func (o Owner) Check(p *checkpoint.Part, ids uint64) error {
	from, err := kernel.ParseDeal(p.Of, p.Deal)
	if err != nil {
		return fmt.Errorf("%w: %w", Err, err)
	}
	if p.Of == o.Deal.Partitions() && from.String() != o.Deal.String() {
		return fmt.Errorf("%w: vertices dealt by %.80q, expected %.80q", Err, from, o.Deal)
	}
	if n := from.Owned(int(ids), p.Partition); p.Vertices != n {
		const text = "%w: %d vertices of partition %d of %d, expected %d"
		return fmt.Errorf(text, Err, p.Vertices, p.Partition, p.Of, n)
	}
	return nil
}
