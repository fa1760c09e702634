package master

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/backup"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/store"
)

// A backup contains the state, complete results, and columns sent for waiting jobs. It excludes
// checkpoints, which have their own place, edges of graphs, which workers reload from the sources,
// and the audit log.

// resultsName is the directory of results in Data.
const resultsName = "results"

// restoringFile marks a directory whose restore has not finished.
const restoringFile = "restoring"

// backedUp matches the names of the files in a backup.
var backedUp = regexp.MustCompile(`^(state/snapshots/[0-9]{20}|` +
	`results/([0-9a-f]{4}-[0-9]+/([0-9_]+/)?part-[0-9]+|columns/[A-Z2-7]{26}))$`)

// archive writes a backup of a state and of the directory of results. It leaves out damaged results
// and columns, and lists them in the header.
func archive(w io.Writer, h *backup.Header, l *standby.Log, r *results) error {
	var saved saved
	records, file, data, err := l.Snapshot()
	if err == nil {
		err = saved.take(records)
	}
	if err != nil {
		return err
	}
	h.Jobs, h.Graphs = len(saved.jobs), len(saved.graphs)
	sent, ctx := map[string]*store.Sum{}, context.Background()
	var all []store.Object
	for _, j := range saved.jobs {
		for _, data := range j.Job.Spec().Sent() {
			if !j.Job.State.Ended() && data.Sum != nil {
				sent[data.ID] = data.Sum
			}
		}
		switch whole, err := r.whole(ctx, j.Job); {
		case err != nil:
			h.Damaged = append(h.Damaged, fmt.Sprintf("the result of job %s: %v", j.Job.Id, err))
		case whole != nil:
			h.Results++
			all = append(all, whole...)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		f, err := r.local.column(ctx, id)
		var from io.Reader
		if err == nil {
			from, err = f.open(ctx, id, *sent[id], mostPiece)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, from)
		}
		if err != nil {
			h.Damaged = append(h.Damaged, err.Error())
			continue
		}
		h.Columns++
		all = append(all, f.objects[id])
	}
	to, err := backup.NewWriter(w, *h)
	if err != nil {
		return err
	}
	if err := to.Add(path.Join(stateName, file), int64(len(data)),
		bytes.NewReader(data)); err != nil {
		return err
	}
	for _, o := range all {
		name := path.Join(resultsName, o.Name)
		if !backedUp.MatchString(name) { // Restore would reject it
			return fmt.Errorf("%.100q is no file of a backup", name)
		}
		if err := to.Add(name, o.Size, store.Reader(ctx, r.local, o, mostPiece)); err != nil {
			return err
		}
	}
	return to.Close()
}

// whole returns the files of a job's result after checking their checksums. It returns none if
// there is no result.
func (r *results) whole(ctx context.Context, j *control.Job) (all []store.Object, err error) {
	f, err := r.local.result(ctx, j.Id)
	if err != nil || j.State != control.JobState_JOB_STATE_DONE || len(f.objects) == 0 {
		return nil, err
	}
	for i := range j.ResultParts {
		all = append(all, f.objects[partFile(i)])
	}
	return all, f.check(ctx, j.ResultParts)
}

// Backup streams a backup of the current data on disk.
func (s *server) Backup(
	ctx context.Context, _ *control.BackupRequest, to *connect.ServerStream[control.BackupChunk],
) (err error) {
	defer s.audit.add(ctx, entry{What: "backup"}, &err)
	send := func(data []byte) error { return to.Send(&control.BackupChunk{Data: data}) }
	w := bufio.NewWriterSize(&rest{each: send}, control.ChunkSize)
	if err = s.backup(ctx, w); err == nil {
		err = w.Flush()
	}
	if err != nil && !errors.As(err, new(*connect.Error)) {
		err = failed(connect.CodeInternal, "backup: %w", err)
	}
	return err
}

func (s *server) backup(ctx context.Context, w io.Writer) error {
	if s.shared != nil {
		return unready(
			"the state of this master is not in a directory of its own, but at %s", s.shared.Store)
	}
	if s.state == nil {
		return unready(
			"this master keeps nothing that could be backed up: superstep master --data DIR does")
	}
	busy := false
	s.event(func() { busy, s.backingUp = s.backingUp, true })
	if busy {
		return unready("another backup is under way")
	}
	defer s.event(func() {
		s.backingUp = false
		s.expireResults()
		s.spawn(s.sweepColumns)
	})
	h := &backup.Header{Created: s.options.Now().UTC(), Version: s.options.Version, Run: s.run}
	return archive(w, h, s.state, s.results)
}

// Backup writes a backup of Data. It fails if a master uses Data.
func (o Config) Backup(w io.Writer) (*backup.Header, error) {
	if _, err := os.Stat(filepath.Join(o.Data, stateName)); err != nil {
		return nil, fmt.Errorf("data: %s has no state of a master: %v", o.Data, err)
	}
	lock, err := statefile.Lock(filepath.Join(o.Data, lockFile))
	if errors.Is(err, statefile.ErrLocked) {
		return nil,
			fmt.Errorf("data: a master uses %s: --master ADDR makes a backup of one that runs",
				o.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer lock.Close()
	if err := whole(o.Data); err != nil {
		return nil, err
	}
	l, err := openState(&o, &saved{})
	if err != nil {
		return nil, err
	}
	defer store.Close(l.Store)
	r, err := newResults(o.Data, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer r.close()
	h := &backup.Header{Created: time.Now().UTC(), Version: o.Version}
	h.Run, err = statefile.ReadNumber(filepath.Join(o.Data, runsFile))
	if err == nil {
		err = archive(w, h, l, r)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", o.Data, err)
	}
	return h, nil
}

// whole rejects a directory whose restore has not finished. It also rejects a state without the
// file of the run number, which is always written first. A directory with neither is new.
func whole(data string) error {
	if _, err := os.Stat(filepath.Join(data, restoringFile)); err == nil {
		return fmt.Errorf("data: %s was not restored to the end: remove it and restore again", data)
	}
	runs := filepath.Join(data, runsFile)
	_, err := os.Stat(runs)
	if _, state := os.Stat(filepath.Join(data, stateName)); state == nil &&
		errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data: %s is missing beside %s: "+statefile.Renew, runs, stateName)
	}
	return nil
}

// Restore restores Data from a backup. It reads the backup twice: the first pass verifies checksums
// before the second writes files. Data must be empty.
func (o Config) Restore(open func() (io.ReadCloser, error)) (*backup.Header, error) {
	pass := func(read func(io.Reader) (*backup.Header, error)) (*backup.Header, error) {
		from, err := open()
		if err != nil {
			return nil, err
		}
		defer from.Close()
		return read(from)
	}
	if entries, err := os.ReadDir(o.Data); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("data: %s is not empty: found %.100q", o.Data, entries[0].Name())
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data: %w", err)
	}
	h, err := pass(backup.Verify)
	if err != nil {
		return nil, err
	}
	if _, err := store.MakeDir(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	lock, err := statefile.Lock(filepath.Join(o.Data, lockFile))
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer lock.Close()
	root, err := os.OpenRoot(o.Data)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer root.Close()
	err = root.WriteFile(restoringFile, nil, 0o600)
	if err == nil {
		_, err = pass(func(from io.Reader) (*backup.Header, error) {
			return backup.Extract(from, root, backedUp.MatchString)
		})
	}
	if err == nil {
		var l *standby.Log
		if l, err = openState(&o, &saved{}); err == nil {
			store.Close(l.Store)
		}
	}
	if err == nil {
		// Run numbers must exceed those of runs that followed the backup. The estimate allows one
		// run per second.
		run := h.Run + uint64(max(time.Since(h.Created)/time.Second, 0))
		err = errors.Join(statefile.WriteNumber(filepath.Join(o.Data, runsFile), run),
			root.Remove(restoringFile))
	}
	if err != nil {
		// the directory was empty
		for _, name := range []string{stateName, resultsName, runsFile, restoringFile, lockFile} {
			_ = root.RemoveAll(name)
		}
		return nil, err
	}
	return h, nil
}
