package cli

import (
	"cmp"
	"log/slog"
	"os"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/mem"
)

// memoryFlags bound the memory of this process.
type memoryFlags struct {
	Memory job.Size `flag:"memory" group:"limits,more" range:"32MiB.." help:"use at most {SIZE} of memory, such as 4GiB (default: the least of the control group's limit, GOMEMLIMIT and the machine's memory)"`
	Spill  string   `flag:"spill" group:"limits,more" help:"near the limit of memory, move columns and messages to files below {DIR}; off disables this (default: the directory for temporary files, if it is on a disk)"`
}

// leastMemory is the memory of an almost idle process: Go's heap, stacks, the program.
const leastMemory = 32 << 20

// budget makes the memory budget of the flags. It returns nil if the available memory is unknown.
func (f *memoryFlags) budget() (*mem.Budget, error) {
	limit := cmp.Or(int64(f.Memory), mem.DefaultLimit())
	dir := f.Spill
	switch dir {
	case "off":
		dir = ""
	case "":
		if dir = os.TempDir(); mem.SpillDir(dir) != nil {
			dir = ""
		}
	default:
		if err := mem.SpillDir(dir); err != nil {
			return nil, usagef("--spill: %w", err)
		}
	}
	if limit == 0 {
		return nil, nil
	}
	return mem.NewBudget(max(limit, leastMemory), dir), nil
}

// bound makes the budget that of this process, until end is called.
func (f *memoryFlags) bound(a *app) (end func(), err error) {
	b, err := f.budget()
	if err != nil {
		return nil, err
	}
	if b != nil {
		b.Last = func(err error) {
			a.notices().say(slog.LevelError, oneLine(err))
			a.monitor.Load().starved(err)
			os.Exit(exitFailed)
		}
	}
	mem.SetProcess(b)
	return func() { mem.SetProcess(nil) }, nil
}
