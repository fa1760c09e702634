package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/store"
)

// Files of a master's state.
const (
	lockFile = "lock" // locked while the master lives
	runsFile = "runs" // number of runs of the master

	newestFile = "newest" // in the directory of the state: the number of its newest record
)

// runs counts the masters of this process without stored state.
var runs atomic.Uint64

// stateName is the directory of Data with the state: the records of jobs and graphs.
const stateName = "state"

// openState reads the state in Data, which the caller has locked. If the state is damaged, it fails
// and changes nothing.
func openState(o *Config, into *saved) (*standby.Log, error) {
	old := filepath.Join(o.Data, "state.db")
	if _, err := os.Stat(old); err == nil {
		return nil, fmt.Errorf("data: %s is the state of an earlier version: use that version, or "+
			"move the file away to begin without its jobs and graphs", old)
	}
	dir := filepath.Join(o.Data, stateName)
	at, err := store.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	l := standby.Open(standby.Options{
		Store: at, Alone: true, Lease: time.Minute, Now: time.Now,
		Newest:  filepath.Join(dir, newestFile),
		Trouble: func(err error) { o.Log.Warn("the master's state", "trouble", err) },
	})
	if err = l.Lead(context.Background(), nil); err == nil {
		err = into.take(l.State())
	}
	if err != nil {
		store.Close(at)
		return nil, fmt.Errorf("data: %s cannot be used, and stays as it is: %w (superstep "+
			"restore makes another; with it moved away a master begins anew)", dir, err)
	}
	return l, nil
}

// number returns the number of this run of the master, which is larger than that of any earlier run
// and independent of the clock. The lock on Data, if not nil, must be closed at the end of the run.
func number(o *Config) (run uint64, lock *os.File, err error) {
	switch {
	case o.Data != "":
		if _, err = store.MakeDir(o.Data, 0o700); err != nil {
			return 0, nil, fmt.Errorf("data: %w", err)
		}
		if err = whole(o.Data); err != nil {
			return 0, nil, err
		}
		lock, err = statefile.Lock(filepath.Join(o.Data, lockFile))
		if errors.Is(err, statefile.ErrLocked) {
			return 0, nil, fmt.Errorf("data: another master uses %s: give this one another --data",
				o.Data)
		}
		switch {
		case err != nil:
		case o.shared != nil:
			run, err = o.shared.Term(), notAlone(o.Data)
		default:
			run, err = statefile.Next(filepath.Join(o.Data, runsFile))
		}
	case o.shared != nil:
		run = o.shared.Term()
	case o.State != "":
		run, err = statefile.Next(filepath.Join(o.State, runsFile))
	default:
		run = runs.Add(1)
	}
	if err == nil && run > math.MaxUint32 {
		err = fmt.Errorf("found %d runs of the master, expected fewer than 2^32", run)
	}
	if err != nil {
		_ = lock.Close() // or there is none
		return 0, nil, fmt.Errorf("the number of this run of the master: %w", err)
	}
	return run, lock, nil
}

// firstNumber returns the number after which a run's incarnations, loads and meetings are numbered.
// Each run has 2^32 numbers, all larger than those of earlier runs. So a restarted worker has a
// larger incarnation than before, under any master.
func firstNumber(run uint64) uint64 { return run << 32 }

// unlock allows another master to use the data.
func (s *server) unlock() {
	s.logs.close()
	if s.state != nil {
		s.state.Close()
		if s.shared == nil {
			store.Close(s.state.Store)
		}
	}
	_ = s.lock.Close() // or there is none
}

// temporaryName is the prefix of temporary directories of results.
const temporaryName = "superstep-results-"

// lockName is a file in such a directory that its master holds locked. The lock ends with the
// process.
const lockName = ".lock"

// own marks a directory as used by this process until the file is closed. It returns nil where file
// locks are not supported; then stale directories are not removed. The file is locked before it is
// renamed to lockName, so an unlocked lockName has no owner.
func own(dir string) *os.File {
	f, err := os.OpenFile(filepath.Join(dir, lockName+"-new"), os.O_RDWR|os.O_CREATE|os.O_TRUNC,
		0o600)
	if err != nil {
		return nil
	}
	if statefile.TryLock(f) != nil || os.Rename(f.Name(), filepath.Join(dir, lockName)) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// clearStale removes the temporary directories of killed masters, as far as possible.
func clearStale(in string) {
	dirs, _ := filepath.Glob(filepath.Join(in, temporaryName+"*")) // the pattern is valid
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		f, err := statefile.Open(filepath.Join(dir, lockName))
		if err != nil {
			continue // owned by another user, or just being made
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() &&
			statefile.TryLock(f) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}

// dataDir checks that Data is still the directory with which the master began, and can be written.
type dataDir struct {
	dir   string
	files map[string]os.FileInfo // the files checked, by path, when the master began
}

// dataNames are the files to check, the directory itself first.
var dataNames = [...]string{"", resultsName, stateName, logsName}

const (
	dataPeriod = time.Second
	dataProbe  = "probe" // a file that is written and removed
	probeBytes = 64 << 10
)

// watchedData stats the files in Data when a master begins.
func watchedData(dir string) *dataDir {
	d := &dataDir{dir: dir, files: map[string]os.FileInfo{}}
	for _, name := range dataNames {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil {
			d.files[path] = info
		}
	}
	return d
}

// trouble returns why Data cannot be used, or nil.
func (d *dataDir) trouble() error {
	for _, name := range dataNames {
		path := filepath.Join(d.dir, name)
		now, err := os.Stat(path)
		if was := d.files[path]; was != nil && (err != nil || !os.SameFile(was, now)) {
			return fmt.Errorf("%s was removed or replaced under the running master: "+
				"bring it back, or start the master again", path)
		}
	}
	path := filepath.Join(d.dir, dataProbe)
	err := os.WriteFile(path, make([]byte, probeBytes), 0o600)
	return cmp.Or(err, os.Remove(path))
}

// watchData checks Data periodically while the master serves.
func (s *server) watchData() {
	t := time.NewTicker(dataPeriod)
	defer t.Stop()
	for {
		s.lookAtData()
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *server) lookAtData() {
	why := ""
	if err := s.data.trouble(); err != nil {
		why = "data: " + reasonOf(err)
	}
	s.mu.Lock()
	was := s.refusing
	s.refusing = why
	s.mu.Unlock()
	switch {
	case why != "" && was == "":
		s.log.Error("no jobs are accepted until the data can be written", "reason", why)
	case why == "" && was != "":
		s.log.Info("the data can be written again: jobs are accepted")
	}
}

// takes rejects a call while Data cannot be used. The caller holds the lock.
func (s *server) takes(refused string) error {
	if s.refusing == "" {
		return nil
	}
	return unready("the master %s: %s", refused, s.refusing)
}
