package worker

import (
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
)

// budgetOf is how the master is told of a budget of memory; nil without one.
func budgetOf(b *mem.Budget) *control.Budget {
	if b == nil {
		return nil
	}
	use := b.Use()
	all := &control.Budget{
		Limit: uint64(use.Limit), Arrays: uint64(use.Memory), Heap: uint64(use.Heap), Spilled: uint64(use.Spilled), Free: uint64(b.Free()), Room: uint64(b.Room()), Files: uint64(b.Files()),
	}
	for _, k := range use.Kinds {
		all.Kinds = append(all.Kinds, &control.BudgetKind{Kind: k.Kind, Memory: uint64(k.Memory), Spilled: uint64(k.Spilled)})
	}
	return all
}
