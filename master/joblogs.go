package master

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
)

// jobLogs keeps on the disk what jobs have logged, and how their states changed, so that the next master with the same data shows it:
//
//	DATA/logs/JOB/N  a segment of the log of a job (joblogform.go); N counts from 1, and the newest segments stay
//
// One goroutine writes; who logs waits for no disk. Nothing is synced: a master that is killed loses what waits to be written, and a machine that
// crashes also the end of the newest segments, where a record is then cut off or has another checksum.
type jobLogs struct {
	root  *os.Root
	log   *slog.Logger
	wake  chan struct{}
	ended chan struct{}
	// The number of the newest segment that earlier masters have left of a job.
	earlier map[string]int

	mu     sync.Mutex
	queue  []loggedEvent
	bytes  int            // of the queue
	lost   map[string]int // jobs of which so many events were not written
	closed bool

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
	segments []segment // oldest first
	open     bool      // the newest was begun by this master
}

type segment struct{ number, bytes int }

// Bounds of the log of a job on the disk, and of what waits to be written.
const (
	logsName       = "logs"
	jobLogBytes    = 256 << 10
	segmentBytes   = jobLogBytes / 4
	maxSegments    = 16
	maxLogsWaiting = 4 << 20
	maxLogsStop    = 10 * time.Second
)

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
		root: root, log: log, wake: make(chan struct{}, 1), ended: make(chan struct{}), earlier: map[string]int{}, lost: map[string]int{}, files: map[string]*jobLog{},
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
		l.log.Warn("the last lines of the logs of jobs may be missing: the disk did not take them", "after", maxLogsStop)
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
			if batch := batches[e.id]; len(batch)+len(e.data) > segmentBytes/2 {
				l.append(e.id, batch)
				batches[e.id] = nil
			}
			batches[e.id] = append(batches[e.id], e.data...)
		}
		for id, n := range lost {
			batches[id] = append(batches[id], encodeLogged(said(fmt.Sprintf("%d lines are missing here: they came faster than the disk of the master took them", n)))...)
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
		f = &jobLog{}
		l.files[id] = f
	}
	newest := len(f.segments) - 1
	if !f.open || f.segments[newest].bytes+len(records) > segmentBytes {
		next, before := segment{number: 1}, 0
		if newest >= 0 {
			next.number, before = f.segments[newest].number+1, f.segments[newest].bytes
		}
		f.segments, f.open = append(f.segments, next), true
		records = append(fmt.Appendf(nil, logHeader, before), records...)
		l.prune(id, f)
	}
	now := &f.segments[len(f.segments)-1]
	if err := l.root.MkdirAll(id, 0o700); err != nil {
		return err
	}
	file, err := l.root.OpenFile(filepath.Join(id, strconv.Itoa(now.number)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	n, err := file.Write(records)
	now.bytes += n
	if err = errors.Join(err, file.Close()); err != nil {
		f.open = false // what follows a record that is cut off could not be read
	}
	return err
}

// prune removes the oldest segments, so that with a new one the log is within its bounds.
func (l *jobLogs) prune(id string, f *jobLog) {
	bytes := segmentBytes
	for _, s := range f.segments {
		bytes += s.bytes
	}
	for len(f.segments) > 1 && (bytes > jobLogBytes || len(f.segments) > maxSegments) {
		_ = l.root.Remove(filepath.Join(id, strconv.Itoa(f.segments[0].number)))
		bytes -= f.segments[0].bytes
		f.segments = f.segments[1:]
	}
}

func (l *jobLogs) removeFiles(id string) {
	delete(l.files, id)
	if err := l.root.RemoveAll(id); err != nil {
		l.log.Warn("the log of a job cannot be removed", "job", id, "error", err)
	}
}

// find notes what earlier masters have left.
func (l *jobLogs) find() error {
	jobs, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range jobs {
		if !e.IsDir() || !jobName.MatchString(e.Name()) {
			continue
		}
		f := &jobLog{}
		if f.segments, err = l.segments(e.Name()); err != nil {
			return err
		}
		l.files[e.Name()] = f
		if n := len(f.segments); n > 0 {
			l.earlier[e.Name()] = f.segments[n-1].number
		}
	}
	return nil
}

// segments lists what there is of the log of a job, oldest first.
func (l *jobLogs) segments(id string) (all []segment, err error) {
	entries, err := fs.ReadDir(l.root.FS(), id)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n <= 0 || strconv.Itoa(n) != e.Name() {
			continue
		}
		if info, err := e.Info(); err == nil {
			all = append(all, segment{n, int(min(info.Size(), jobLogBytes))})
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return a.number - b.number })
	return all, nil
}

// forget removes the logs of jobs that are none of those of this master. It is called before anything is written.
func (l *jobLogs) forget(known func(id string) bool) {
	for id := range l.files {
		if !known(id) {
			l.removeFiles(id)
		}
	}
}

// read returns what earlier masters have kept of the log of a job, with a line where something is missing; of a job that had not ended the last
// line says that another master goes on. Lines of the master's own have number and time of a neighbour, the last one those that are given.
func (l *jobLogs) read(id string, border uint64, at *timestamppb.Timestamp) (events []*control.JobEvent) {
	if l == nil || l.earlier[id] == 0 {
		return nil
	}
	all, _ := l.segments(id) // it may be removed just now: then there is none
	missing := func(number int) {
		name := path.Join(logsName, id, strconv.Itoa(number))
		events = append(events, said(fmt.Sprintf("lines are missing here: %s is damaged or cut off", name)))
	}
	for i, s := range all {
		if s.number > l.earlier[id] {
			break
		}
		data, err := l.segment(filepath.Join(id, strconv.Itoa(s.number)))
		part, before, whole := decodeLog(data)
		if i == 0 && s.number > 1 {
			events = append(events, said(fmt.Sprintf("lines before this one were removed: about %d KiB of the log of a job are kept over a restart of the master", jobLogBytes>>10)))
		} else if i > 0 && whole && (all[i-1].number != s.number-1 || all[i-1].bytes != before) {
			missing(s.number - 1)
		}
		events = append(events, part...)
		if err != nil || !whole {
			missing(s.number)
		}
	}
	if n := len(events); n > 0 && events[n-1].GetJob().GetState().Ended() {
		events = events[:n-1] // the journal has it
	} else if n > 0 {
		events = append(events, said("the master was started anew: lines of just before, and of the time without a master, may be missing here"))
	}
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Time == nil {
			e.Sequence, e.Time = border, at
		}
		border, at = events[i].Sequence, events[i].Time
	}
	slices.SortStableFunc(events, func(a, b *control.JobEvent) int { return cmp.Compare(a.Sequence, b.Sequence) }) // those who logged at once were not in order
	return events
}

func (l *jobLogs) segment(name string) ([]byte, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2*segmentBytes))
}
