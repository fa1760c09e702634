package master

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
)

// jobLogs keeps on the disk what jobs have logged, and how their states changed, so that the next
// master with the same data shows it:
//
//	DATA/logs/JOB
//	  "joblog 3\n"  what it is, and the version of the form
//	  records       length (uvarint), CRC-32C (4 bytes, big-endian), and an event (control.JobEvent) of so many bytes
//
// A log that is too long is written again without its older half. One goroutine writes; who logs
// waits for no disk. Nothing is synced: a master that is killed loses what waits to be written, and
// a machine that crashes also the end of logs, where a record is then cut off or has another
// checksum. Of a job that had not ended, a log that somebody cuts after a record reads as that of a
// master that was killed.
type jobLogs struct {
	root  *os.Root
	log   *slog.Logger
	wake  chan struct{}
	ended chan struct{}

	mu     sync.Mutex
	queue  []loggedEvent
	bytes  int            // of the queue
	lost   map[string]int // jobs of which so many events were not written
	closed bool

	disk    sync.Mutex     // of who reads a log, or puts another in its place
	earlier map[string]int // how many bytes of a job's log are of earlier masters

	// Of the goroutine that writes, from start on.
	files  map[string]*jobLog
	failed bool // the last write has
}

// loggedEvent is an event to be written; without data the job's log is to be removed.
type loggedEvent struct {
	id   string
	data []byte
}

// jobLog is the log of a job as it lies on the disk.
type jobLog struct {
	bytes int
	whole bool // all of its records can be read
}

// Bounds of the log of a job on the disk, and of what waits to be written.
const (
	logsName       = "logs"
	logHeader      = "joblog 3\n"
	jobLogBytes    = 256 << 10
	batchBytes     = 32 << 10
	maxLogged      = 32 << 10 // bytes of an event
	maxLogsWaiting = 4 << 20
	maxLogsStop    = 10 * time.Second
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func openJobLogs(data string, log *slog.Logger) (*jobLogs, error) {
	dir := filepath.Join(data, logsName)
	err := os.MkdirAll(dir, 0o700)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("logs of jobs: %w", err)
	}
	l := &jobLogs{
		root: root, log: log, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		earlier: map[string]int{}, lost: map[string]int{}, files: map[string]*jobLog{},
	}
	if err := l.find(); err != nil {
		l.close()
		return nil, fmt.Errorf("logs of jobs: %w", err)
	}
	return l, nil
}

// close frees what openJobLogs has opened. Nothing is written any more.
func (l *jobLogs) close() {
	if l != nil {
		_ = l.root.Close()
	}
}

// start begins to write, until stop is called.
func (l *jobLogs) start() {
	if l != nil {
		go l.write()
	}
}

// stop waits until all is written that was added before, but not for ever for a disk that hangs.
func (l *jobLogs) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
	select {
	case <-l.ended:
	case <-time.After(maxLogsStop):
		l.log.Warn("the last lines of the logs of jobs may be missing: the disk did not take them",
			"after", maxLogsStop)
	}
}

func (l *jobLogs) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// add has an event of a job be written, if it is one that superstep logs shows. It does not wait.
func (l *jobLogs) add(id string, e *control.JobEvent) {
	if l == nil || e.GetLog() == nil && e.GetJob() == nil {
		return
	}
	data := encodeLogged(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
	case l.bytes+len(data) > maxLogsWaiting:
		l.lost[id]++
	default:
		l.queue, l.bytes = append(l.queue, loggedEvent{id, data}), l.bytes+len(data)
		l.signal()
	}
}

// remove has the log of a job be removed.
func (l *jobLogs) remove(id string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, loggedEvent{id: id})
	l.signal()
}

// write writes what waits, until the end.
func (l *jobLogs) write() {
	defer close(l.ended)
	for range l.wake {
		l.mu.Lock()
		queue, lost, closed := l.queue, l.lost, l.closed
		l.queue, l.bytes, l.lost = nil, 0, map[string]int{}
		l.mu.Unlock()
		batches := map[string][]byte{}
		for _, e := range queue {
			if e.data == nil {
				delete(batches, e.id)
				l.removeFiles(e.id)
				continue
			}
			if batch := batches[e.id]; len(batch)+len(e.data) > batchBytes {
				l.append(e.id, batch)
				batches[e.id] = nil
			}
			batches[e.id] = append(batches[e.id], e.data...)
		}
		for id, n := range lost {
			batches[id] = append(batches[id],
				encodeLogged(said(fmt.Sprintf("%d lines are missing here: they came faster than the disk of the master took them", n)))...)
		}
		for _, id := range slices.Sorted(maps.Keys(batches)) {
			l.append(id, batches[id])
		}
		if closed {
			return
		}
	}
}

// append adds records to the log of a job. What cannot be written is said once, and is missing.
func (l *jobLogs) append(id string, records []byte) {
	if len(records) == 0 {
		return
	}
	err := l.appendTo(id, records)
	if err != nil && !l.failed {
		l.log.Warn("logs of jobs cannot be written: after a restart of the master lines are missing", "job", id, "error", err)
	}
	l.failed = err != nil
}

func (l *jobLogs) appendTo(id string, records []byte) error {
	if !jobName.MatchString(id) {
		return fmt.Errorf("%.40q is no name of a job", id)
	}
	f := l.files[id]
	if f == nil {
		f = &jobLog{whole: true}
		l.files[id] = f
	}
	if !f.whole || f.bytes+len(records) > jobLogBytes {
		if err := l.rewrite(id, f); err != nil {
			return err
		}
	}
	if f.bytes == 0 {
		records = append([]byte(logHeader), records...)
	}
	file, err := l.root.OpenFile(id, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	n, err := file.Write(records)
	f.bytes += n
	err = errors.Join(err, file.Close())
	f.whole = err == nil // else what follows a record that is cut off could not be read
	return err
}

// rewrite writes a log again: without its older half if it is long, and with a line where something
// is missing. If the disk is full or the machine crashes the log stays as it was.
func (l *jobLogs) rewrite(id string, f *jobLog) error {
	l.disk.Lock()
	defer l.disk.Unlock()
	data, err := l.read(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, sound := decodeLog(data[:min(l.earlier[id], len(data))])
	events, whole := decodeLog(data)
	earlier := len(before) // of the events, with the line of what is missing there
	if !whole && len(data) > 0 {
		events = append(events, said(damagedLog(id)))
		if !sound && l.earlier[id] > 0 {
			earlier++
		}
	}
	most := jobLogBytes - 2*batchBytes
	if f.whole { // it is long
		most = jobLogBytes / 2
	}
	records, size, first := make([][]byte, len(events)), 0, len(events)
	for i, e := range slices.Backward(events) {
		records[i] = encodeLogged(e)
		if size += len(records[i]); size > most {
			break
		}
		first = i
	}
	out := []byte(logHeader)
	if first > 0 {
		out = append(out,
			encodeLogged(said(fmt.Sprintf("lines before this one were removed: about %d KiB of the log of a job are kept", jobLogBytes>>10)))...)
	}
	border := 0
	if earlier > 0 {
		border = len(out)
	}
	for i := first; i < len(events); i++ {
		if out = append(out, records[i]...); i < earlier {
			border = len(out)
		}
	}
	defer func() { _ = l.root.Remove(id + ".new") }() // if it still has that name
	file, err := l.root.OpenFile(id+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(out)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = l.root.Rename(id+".new", id)
	}
	if err == nil {
		f.bytes, f.whole, l.earlier[id] = len(out), true, border
	}
	return err
}

func damagedLog(id string) string {
	return fmt.Sprintf("lines are missing here: %s is damaged, cut off or gone",
		path.Join(logsName, id))
}

func (l *jobLogs) removeFiles(id string) {
	delete(l.files, id)
	l.disk.Lock()
	defer l.disk.Unlock()
	delete(l.earlier, id)
	if err := l.root.RemoveAll(id); err != nil {
		l.log.Warn("the log of a job cannot be removed", "job", id, "error", err)
	}
}

// find notes what earlier masters have left. What is no log is removed.
func (l *jobLogs) find() error {
	all, err := fs.ReadDir(l.root.FS(), ".")
	for _, e := range all {
		if e.Type().IsRegular() && jobName.MatchString(e.Name()) {
			if info, err := e.Info(); err == nil {
				l.files[e.Name()], l.earlier[e.Name()] = &jobLog{bytes: int(info.Size())},
					int(info.Size())
			}
		} else if err := l.root.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return err
}

// forget removes the logs of jobs that are none of those of this master. It is called before
// anything is written.
func (l *jobLogs) forget(known func(id string) bool) {
	for id := range l.files {
		if !known(id) {
			l.removeFiles(id)
		}
	}
}

// before returns what earlier masters have kept of the log of a job, with a line where something is
// missing, such as the end of a job that they have ended; of another the last line says that a new
// master goes on. Lines of the master's own have number and time of a neighbour, the last one those
// that are given.
func (l *jobLogs) before(id string, ended bool, border uint64, at *timestamppb.Timestamp) (events []*control.JobEvent) {
	if l == nil {
		return nil
	}
	l.disk.Lock()
	earlier := l.earlier[id]
	data, _ := l.read(id) // it may be removed just now: then there is none
	l.disk.Unlock()
	if earlier == 0 && !ended {
		return nil
	}
	events, whole := decodeLog(data[:min(earlier, len(data))])
	last := -1
	for i, e := range events {
		if e.GetJob().GetState().Ended() {
			last = i
		}
	}
	if !whole || ended && last < 0 {
		events = append(events, said(damagedLog(id)))
	}
	if last >= 0 {
		events = slices.Delete(events, last, last+1) // the journal has it
	} else if len(events) > 0 && !ended {
		events = append(events,
			said("the master was started anew: lines of just before, and of the time without a master, may be missing here"))
	}
	for _, e := range slices.Backward(events) {
		if e.Time == nil {
			e.Sequence, e.Time = border, at
		}
		border, at = e.Sequence, e.Time
	}
	// Those who logged at once were not in order.
	slices.SortStableFunc(events, func(a, b *control.JobEvent) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return events
}

// read reads the log of a job, which is hardly longer than its bound.
func (l *jobLogs) read(id string) ([]byte, error) {
	f, err := l.root.Open(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2*jobLogBytes))
}
