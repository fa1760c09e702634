package bsp

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/record"
)

// Aggregates are the aggregators of a program.
type Aggregates struct {
	All   []kernel.Aggregate
	Exact bool // sums of floats do not depend on their order
}

// Cells makes a cell for each aggregator, indexed by its number.
func (a Aggregates) Cells() []kernel.Cell {
	var cells []kernel.Cell
	for _, one := range a.All {
		for len(cells) <= one.Number {
			cells = append(cells, nil)
		}
		cells[one.Number] = one.New(a.Exact)
	}
	return cells
}

// Encode appends the values of cells, in the order of the program's Aggregators, for another
// process. Each value is its length (4 bytes, little-endian) and its encoding.
func (a Aggregates) Encode(out []byte, cells []kernel.Cell) ([]byte, error) {
	for _, one := range a.All {
		data, err := cells[one.Number].Encode(pack.Value)
		if err != nil {
			return nil, fmt.Errorf("aggregator %s: %w", one.Name, err)
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, data...)
	}
	return out, nil
}

// Decode sets cells to the values that Encode encoded in another process.
func (a Aggregates) Decode(data []byte, into []kernel.Cell) error {
	for _, one := range a.All {
		if len(data) < 4 {
			return fmt.Errorf("aggregator %s: no value received", one.Name)
		}
		n := int(binary.LittleEndian.Uint32(data))
		if data = data[4:]; n > len(data) {
			return fmt.Errorf("aggregator %s: received %d bytes of %d", one.Name, len(data), n)
		}
		if err := into[one.Number].Decode(data[:n], pack.IntoValue); err != nil {
			return fmt.Errorf("aggregator %s: %w", one.Name, err)
		}
		data = data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes after the last aggregator of the program", len(data))
	}
	return nil
}

// Values returns the values of cells by name.
func (a Aggregates) Values(cells []kernel.Cell) map[string]any {
	values := map[string]any{}
	for _, one := range a.All {
		if one.Number < len(cells) && cells[one.Number] != nil {
			values[one.Name] = cells[one.Number].Any()
		}
	}
	return values
}

// Record appends the values of cells for the record of a superstep. It allocates nothing else.
func (a Aggregates) Record(to []record.Aggregator, cells []kernel.Cell) []record.Aggregator {
	most := len(to) + record.MaxAggregators
	for _, one := range a.All {
		x := math.NaN()
		switch p := cells[one.Number].Pointer().(type) {
		case *float64:
			x = *p
		case *int64:
			x = float64(*p)
		case *int:
			x = float64(*p)
		case *int32:
			x = float64(*p)
		}
		if !one.Unreported && math.Abs(x) <= math.MaxFloat64 && len(to) < most &&
			len(one.Name) <= record.MaxAggregatorName && utf8.ValidString(one.Name) {
			to = append(to, record.Aggregator{Name: one.Name, Value: x})
		}
	}
	return to
}

// Reset sets cells to their identities.
func (a Aggregates) Reset(cells []kernel.Cell) {
	for _, one := range a.All {
		cells[one.Number].Reset()
	}
}
