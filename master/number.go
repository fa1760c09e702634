package master

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/statefile"
)

// Files of a master's state.
const (
	lockFile = "lock" // held locked for as long as the master lives
	runsFile = "runs" // how many masters there have been
)

// runs counts the masters of this process that keep no state.
var runs atomic.Uint64

// number returns the number of a run of the master: larger than that of any before it, whatever the clock says. The lock,
// if not nil, is to be closed when the run ends: until then the directory is this run's alone.
func number(o *Config) (run uint64, lock *os.File, err error) {
	switch {
	case o.Data != "":
		if err = os.MkdirAll(o.Data, 0o700); err != nil {
			return 0, nil, fmt.Errorf("data: %w", err)
		}
		lock, err = statefile.Lock(filepath.Join(o.Data, lockFile))
		if errors.Is(err, statefile.ErrLocked) {
			return 0, nil, fmt.Errorf("data: another master uses %s: give this one another --data", o.Data)
		}
		if err == nil {
			run, err = statefile.Next(filepath.Join(o.Data, runsFile))
		}
	case o.State != "":
		run, err = statefile.Next(filepath.Join(o.State, runsFile))
	default:
		run = runs.Add(1)
	}
	if err == nil && run > math.MaxUint32 {
		err = fmt.Errorf("found %d runs of the master, expected fewer than 2^32", run)
	}
	if err != nil {
		if lock != nil {
			_ = lock.Close()
		}
		return 0, nil, fmt.Errorf("the number of this run of the master: %w", err)
	}
	return run, lock, nil
}

// firstNumber is what a run's incarnations, and numbers of loads and meetings, come after: each run has 2^32 of its own, all larger
// than those of the runs before, so that a worker that starts anew is newer than what it was, under whichever master.
func firstNumber(run uint64) uint64 { return run << 32 }

// unlock lets another master have the data.
func (s *Server) unlock() {
	if s.lock != nil {
		_ = s.lock.Close()
	}
}
