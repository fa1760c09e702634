package master

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
)

// dataDir is what a master watches of Data: that it is the directory with which the master began,
// and that something can be written there.
type dataDir struct {
	dir   string
	files map[string]os.FileInfo // of what the master keeps there, by path, when it began
}

// dataNames are what is looked for, the directory itself first.
var dataNames = [...]string{"", resultsName, databaseFile, logsName}

const (
	dataPeriod = time.Second
	dataProbe  = "probe" // a file that is written and removed again
	probeBytes = 64 << 10
)

// watchedData notes what there is in Data when a master begins.
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

// trouble is why nothing can be kept in Data, or nil.
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

// watchData says, as long as the master serves, when nothing can be kept in Data, and when it can
// again.
func (s *Server) watchData() {
	defer s.work.Done()
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

func (s *Server) lookAtData() {
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
		s.log.Error("no job is taken until the data can be written: those that run go on", "reason", why)
	case why == "" && was != "":
		s.log.Info("the data can be written again: jobs are taken")
	}
}

// takesJobs refuses a job while nothing can be kept of it. The lock is held.
func (s *Server) takesJobs() error {
	if s.refusing == "" {
		return nil
	}
	return connect.NewError(connect.CodeFailedPrecondition,
		fmt.Errorf("the master takes no job: %s", s.refusing))
}
