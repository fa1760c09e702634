package master

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.etcd.io/bbolt"

	"github.com/superstep-go/superstep/internal/backup"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/statefile"
)

// A backup has the database, whole results and the columns that jobs wait with. Not in it: checkpoints, which are at a place of their own, the
// edges of graphs, which workers load again from their sources, and the audit log.

// resultsName is the directory of results in Data.
const resultsName = "results"

// copyFile is the copy of the database that a backup is made of: it takes as long as its reader, which no transaction may.
const copyFile = databaseFile + ".copy"

// restoringFile says that a directory is being restored: it has not all yet.
const restoringFile = "restoring"

// backedUp are the files of an archive.
var backedUp = regexp.MustCompile(`^(state\.db|results/([0-9a-f]{4}-[0-9]+/(job\.json|part-[0-9]+)|columns/[A-Z2-7]{26}))$`)

// archive writes a backup of a database's copy and of what is in the directory of results.
func archive(w io.Writer, h backup.Header, state string, results *os.Root, jobs, columns []string) error {
	var names []string
	for _, id := range jobs {
		entries, err := fs.ReadDir(results.FS(), id)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if name := path.Join(id, e.Name()); e.Type().IsRegular() && backedUp.MatchString(path.Join(resultsName, name)) {
				names = append(names, name)
			}
		}
	}
	for _, id := range columns {
		names = append(names, path.Join(columnsName, id))
	}
	h.Results, h.Columns = len(jobs), len(columns)
	to, err := backup.NewWriter(w, h)
	if err != nil {
		return err
	}
	db, err := os.Open(state)
	if err != nil {
		return err
	}
	if err := addFile(to, databaseFile, db); err != nil {
		return err
	}
	for _, name := range names {
		f, err := results.Open(name)
		if err != nil {
			return err
		}
		if err := addFile(to, path.Join(resultsName, name), f); err != nil {
			return err
		}
	}
	return to.Close()
}

func addFile(to *backup.Writer, name string, f *os.File) error {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return to.Add(name, info.Size(), f)
}

// copyTo copies the database as it is now, and returns how many records it has.
func (d *database) copyTo(file string) (jobs, graphs int, err error) {
	err = d.db.View(func(tx *bbolt.Tx) error {
		jobs, graphs = tx.Bucket(jobBucket).Stats().KeyN, tx.Bucket(graphBucket).Stats().KeyN
		return tx.CopyFile(file, 0o600)
	})
	return jobs, graphs, err
}

// Backup streams what is on the disk, as it is now.
func (s *Server) Backup(ctx context.Context, _ *connect.Request[control.BackupRequest], stream *connect.ServerStream[control.BackupChunk]) error {
	w := bufio.NewWriterSize(sending(func(data []byte) error { return stream.Send(&control.BackupChunk{Data: data}) }), control.ChunkSize)
	err := s.backup(ctx, w)
	if err == nil {
		err = w.Flush()
	}
	var e *connect.Error
	if err != nil && !errors.As(err, &e) {
		err = connect.NewError(connect.CodeInternal, fmt.Errorf("backup: %w", err))
	}
	return err
}

// sending is a writer.
type sending func(data []byte) error

func (f sending) Write(data []byte) (int, error) { return len(data), f(data) }

func (s *Server) backup(ctx context.Context, w io.Writer) error {
	if s.shared != nil {
		return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("the state of this master is not in a directory of its own, but at %s", s.shared.Store))
	}
	if s.database == nil {
		return connect.NewError(connect.CodeFailedPrecondition, errors.New("this master keeps nothing that could be backed up: superstep master --data DIR does"))
	}
	if !s.backups.TryLock() {
		return connect.NewError(connect.CodeFailedPrecondition, errors.New("another backup is under way"))
	}
	defer s.backups.Unlock()
	columns, release := s.columns.holdAll() // before the database: a job in it has its columns
	defer release()
	file := filepath.Join(s.options.Data, copyFile)
	defer os.Remove(file)
	h := backup.Header{Created: s.options.Now().UTC(), Version: s.options.Version, Run: s.run}
	var err error
	if h.Jobs, h.Graphs, err = s.database.copyTo(file); err != nil {
		return err
	}
	jobs, done := s.results.retention.readAll() // after it: a job that is done there has its result
	defer done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return archive(w, h, file, s.results.root, jobs, columns)
}

// Backup writes a backup of Data, which no master may use.
func (o Config) Backup(w io.Writer) (*backup.Header, error) {
	if _, err := os.Stat(filepath.Join(o.Data, databaseFile)); err != nil {
		return nil, fmt.Errorf("data: %s has no state of a master: %v", o.Data, err)
	}
	lock, err := statefile.Lock(filepath.Join(o.Data, lockFile))
	if errors.Is(err, statefile.ErrLocked) {
		return nil, fmt.Errorf("data: a master uses %s: --master ADDR makes a backup of one that runs", o.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer lock.Close()
	if err := whole(o.Data); err != nil {
		return nil, err
	}
	state := filepath.Join(o.Data, databaseFile)
	all, err := readAll(state)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", state, err)
	}
	text, err := statefile.ReadSmall(filepath.Join(o.Data, runsFile))
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	h := backup.Header{Created: time.Now().UTC(), Version: o.Version}
	if h.Run, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
		return nil, fmt.Errorf("data: %s: found %.40q, expected a number", runsFile, text)
	}
	for _, r := range all {
		if string(r.bucket) == string(jobBucket) {
			h.Jobs++
		} else {
			h.Graphs++
		}
	}
	dir := filepath.Join(o.Data, resultsName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer root.Close()
	jobs, err := namesIn(root, ".", jobName)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	columns, err := namesIn(root, columnsName, columnID)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	h.Results, h.Columns = len(jobs), len(columns)
	return &h, archive(w, h, state, root, jobs, columns)
}

// namesIn lists what is in a directory; one that is not there has nothing.
func namesIn(root *os.Root, dir string, wanted *regexp.Regexp) (names []string, err error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if wanted.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// whole refuses a directory that was not restored to the end.
func whole(data string) error {
	if _, err := os.Stat(filepath.Join(data, restoringFile)); err == nil {
		return fmt.Errorf("data: %s was not restored to the end: remove it, and restore it again", data)
	}
	return nil
}

// Restore makes Data of a backup, which is read twice: its checksums are compared before anything is written. Data has to be empty.
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
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
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
		_, err = pass(func(from io.Reader) (*backup.Header, error) { return backup.Extract(from, root, backedUp.MatchString) })
	}
	if err == nil {
		_, err = readAll(filepath.Join(o.Data, databaseFile))
	}
	if err == nil {
		// Workers may have met later runs of the master that was backed up: one more in each second at most.
		run := h.Run + uint64(max(time.Since(h.Created)/time.Second, 0))
		err = errors.Join(root.WriteFile(runsFile, []byte(strconv.FormatUint(run, 10)+"\n"), 0o600), root.Remove(restoringFile))
	}
	if err != nil {
		for _, name := range []string{databaseFile, resultsName, runsFile, restoringFile, lockFile} { // the directory was empty
			_ = root.RemoveAll(name)
		}
		return nil, err
	}
	return h, nil
}
