package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// places returns the places in the dictionary of the next n values.
func (p *pages) places(n int) ([]uint32, error) {
	if cap(p.scratch) < n {
		p.scratch = make([]uint32, n)
	}
	places := p.scratch[:n]
	if err := p.indices.next(places); err != nil {
		return nil, err
	}
	for _, at := range places {
		if int64(at) >= int64(p.dictionary) {
			return nil, fmt.Errorf("value %d of a dictionary of %d", at, p.dictionary)
		}
	}
	return places, nil
}

// Words fills dst with the bits of the next numbers: integers extended to 64 bits, or the bits of a float64.
func (p *pages) Words(dst []uint64) error {
	for len(dst) > 0 {
		if err := p.next(); err != nil {
			return err
		}
		n := min(p.left, len(dst))
		switch {
		case p.indexed:
			places, err := p.places(n)
			if err != nil {
				return err
			}
			size := p.size()
			for i, at := range places {
				p.words = p.dictWords[int(at)*size:]
				dst[i] = p.word()
			}
		case p.wide != nil:
			for i, x := range p.wide[:n] {
				if dst[i] = uint64(x); p.column.kind == format.Int32 {
					dst[i] = p.narrow(uint32(x))
				}
			}
			p.wide = p.wide[n:]
		case p.size() == 8:
			words := p.words[:8*n]
			for i := range dst[:n] {
				dst[i] = binary.LittleEndian.Uint64(words[8*i:])
			}
			p.words = p.words[8*n:]
		default:
			for i := range dst[:n] {
				dst[i] = p.word()
				p.words = p.words[4:]
			}
		}
		p.left -= n
		dst = dst[n:]
	}
	return nil
}

// word returns the number that words begins with.
func (p *pages) word() uint64 {
	if p.size() == 8 {
		return binary.LittleEndian.Uint64(p.words)
	}
	return p.narrow(binary.LittleEndian.Uint32(p.words))
}

// narrow extends 32 bits.
func (p *pages) narrow(x uint32) uint64 {
	switch {
	case p.column.kind == format.Float:
		return math.Float64bits(float64(math.Float32frombits(x)))
	case p.column.unsigned:
		return uint64(x)
	default:
		return uint64(int64(int32(x)))
	}
}

// Texts calls each with the next n texts.
func (p *pages) Texts(n int, each func(text []byte) error) error {
	for n > 0 {
		if err := p.next(); err != nil {
			return err
		}
		k := min(p.left, n)
		if p.indexed {
			places, err := p.places(k)
			if err != nil {
				return err
			}
			for _, at := range places {
				if err := each(p.dictTexts[at]); err != nil {
					return err
				}
			}
		} else {
			for _, text := range p.texts[:k] {
				if err := each(text); err != nil {
					return err
				}
			}
			p.texts = p.texts[k:]
		}
		p.left -= k
		n -= k
	}
	return nil
}
