package cli

import (
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/mem"
)

// memoryFlags bound the memory of this process.
type memoryFlags struct{ size, spill string }

// ofMemory are the flags.
var ofMemory = []string{"memory", "spill"}

// leastMemory is what a process needs for nearly nothing: Go's heap, stacks, the program.
const leastMemory = 32 << 20

func (f *memoryFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.size, "memory", "", "use at most `SIZE` of memory, such as 4GiB (default: the least of the control group's limit, GOMEMLIMIT and the machine's memory)")
	flags.StringVar(&f.spill, "spill", "", "near the limit of memory, move columns and messages to files below `DIR`; off disables this (default: the directory for temporary files, if it is on a disk)")
	inGroup(cmd, "limits", ofMemory...)
	rare(cmd, ofMemory...)
}

// words returns the flags as the command line of one of so many workers of this machine has them: they share what there is.
func (f *memoryFlags) words(workers int) []string {
	var all []string
	if f.size != "" {
		all = append(all, "--memory", f.size)
	} else if limit, _ := mem.DefaultLimit(); limit > 0 {
		share := max((limit-limit/16)/int64(max(workers, 1)), leastMemory)
		all = append(all, "--memory", strconv.FormatInt(share, 10))
	}
	if f.spill != "" {
		all = append(all, "--spill", f.spill)
	}
	return all
}

// budget makes the budget that the flags say, or nil where nobody knows how much memory there is.
func (f *memoryFlags) budget() (*mem.Budget, error) {
	limit, _ := mem.DefaultLimit()
	if f.size != "" {
		n, err := parseBytes(f.size)
		if err != nil {
			return nil, usagef("--memory: %w", err)
		}
		if n < leastMemory {
			return nil, usagef("--memory: found %s, expected %s or more", f.size, mem.Text(leastMemory))
		}
		limit = n
	}
	dir := f.spill
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

// begin makes the budget that of this process, until end is called.
func (f *memoryFlags) begin(a *app) (end func(), err error) {
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
