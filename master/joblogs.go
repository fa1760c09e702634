package master

import (
	"bytes"
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
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// jobLogs keeps on the disk what jobs have logged, and how their states changed, so that the next
// master with the same data shows it:
//
//	DATA/logs/JOB      a line for each event: a control.JobEvent as JSON, with its checksum (store.Seal)
//	DATA/logs/JOB.old  the lines before those
//
// A log that is too long takes the place of the old one. While there is something to be written a
// goroutine does; who logs waits for no disk. Nothing is synced: a master that is killed loses what
// waits to be written, and a machine that crashes also the end of logs, where a line is then cut
// off or has another checksum. Of a job that had not ended, a log that somebody cuts after a line
// reads as that of a master that was killed.
type jobLogs struct {
	root *os.Root
	log  *slog.Logger
	work sync.WaitGroup // the goroutine that writes, if there is one

	mu    sync.Mutex
	queue []loggedEvent
	bytes int // of the queue
	// lost has, of each job of which events were not written, a line that says so.
	lost    map[string]*control.JobEvent
	writing bool // there is that goroutine
	closed  bool

	disk   sync.Mutex // of who reads a log, adds to it, or puts another in its place
	failed bool       // the last write has; of the goroutine that writes
}

// loggedEvent is an event to be written; without data the job's log is to be removed.
type loggedEvent struct {
	id   string
	data []byte
}

// Bounds of the log of a job on the disk, and of what waits to be written.
const (
	logsName       = "logs"
	oldLog         = ".old"
	jobLogBytes    = 256 << 10 // of both files
	batchBytes     = 32 << 10
	maxLogged      = 16 << 10 // bytes of a text
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
	return &jobLogs{root: root, log: log, lost: map[string]*control.JobEvent{}}, nil
}

// close frees what openJobLogs has opened. Nothing is written any more.
func (l *jobLogs) close() {
	if l != nil {
		_ = l.root.Close()
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
	if !within(maxLogsStop, l.work.Wait) {
		l.log.Warn("the last lines of the logs of jobs may be missing: the disk did not take them",
			"after", maxLogsStop)
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
	if l.bytes+len(data) <= maxLogsWaiting {
		l.push(id, data)
	} else if l.lost[id] == nil {
		missing := said("lines are missing here: they came faster than the disk of the master took them")
		missing.Sequence, missing.Time = e.Sequence, e.Time
		l.lost[id] = missing
	}
}

// push has something be written, unless nothing is any more. The lock is held.
func (l *jobLogs) push(id string, data []byte) {
	if l.closed {
		return
	}
	l.queue, l.bytes = append(l.queue, loggedEvent{id, data}), l.bytes+len(data)
	if !l.writing {
		l.writing = true
		l.work.Go(l.write)
	}
}

// remove has the log of a job be removed.
func (l *jobLogs) remove(id string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(id, nil)
}

// write writes what waits, until nothing does.
func (l *jobLogs) write() {
	for {
		l.mu.Lock()
		queue, lost := l.queue, l.lost
		l.queue, l.bytes, l.lost = nil, 0, map[string]*control.JobEvent{}
		l.writing = len(queue) > 0
		l.mu.Unlock()
		if len(queue) == 0 {
			return
		}
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
		for id, missing := range lost {
			batches[id] = append(batches[id], encodeLogged(missing)...)
		}
		for _, id := range slices.Sorted(maps.Keys(batches)) {
			l.append(id, batches[id])
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

func (l *jobLogs) appendTo(id string, lines []byte) error {
	if !jobName.MatchString(id) {
		return fmt.Errorf("%.40q is no name of a job", id)
	}
	l.disk.Lock()
	defer l.disk.Unlock()
	info, err := l.root.Stat(id)
	if err == nil && info.Size()+int64(len(lines)) > jobLogBytes/2 {
		err = l.root.Rename(id, id+oldLog)
		lines = append(encodeLogged(said(removedLines)), lines...)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := l.root.OpenFile(id, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append([]byte("\n"), lines...)) // the last line may have no end
	return errors.Join(err, file.Close())
}

// removedLines begins a log that has taken the place of another.
const removedLines = "lines before this one were removed: a part of the log of a job is kept"

func (l *jobLogs) removeFiles(id string) {
	l.disk.Lock()
	defer l.disk.Unlock()
	if err := errors.Join(l.root.RemoveAll(id), l.root.RemoveAll(id+oldLog)); err != nil {
		l.log.Warn("the log of a job cannot be removed", "job", id, "error", err)
	}
}

// forget removes what is no log of a job of this master. It is called before anything is written.
func (l *jobLogs) forget(known func(id string) bool) {
	all, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		l.log.Warn("logs of jobs cannot be listed: those that nobody wants stay", "error", err)
	}
	for _, e := range all {
		if id := strings.TrimSuffix(e.Name(), oldLog); !e.Type().IsRegular() || !known(id) {
			l.removeFiles(id)
		}
	}
}

// before returns what earlier masters have kept of the log of a job, whose events have numbers up to
// border, with a line where something is missing, such as the end of a job that they have ended; of
// another the last line says that a new master goes on. Lines of the master's own have number and
// time of a neighbour, the last one those that are given.
func (l *jobLogs) before(id string, ended bool, border uint64, at *timestamppb.Timestamp) (events []*control.JobEvent) {
	if l == nil {
		return nil
	}
	damage := fmt.Sprintf("lines are missing here: %s is damaged, cut off or gone",
		path.Join(logsName, id))
	l.disk.Lock()
	old, _ := l.read(id + oldLog) // it may be removed just now: then there is none
	newer, _ := l.read(id)
	l.disk.Unlock()
	events = decodeLog(old, damage)
	for _, e := range decodeLog(newer, damage) {
		if len(events) == 0 || e.GetLog().GetText() != removedLines { // what it followed is there
			events = append(events, e)
		}
	}
	number := uint64(0)
	events = slices.DeleteFunc(events, func(e *control.JobEvent) bool {
		if e.Time != nil {
			number = e.Sequence
		}
		return number > border
	})
	last, sound := -1, true
	for i, e := range events {
		sound = e.GetLog().GetText() != damage
		if e.GetJob().GetState().Ended() {
			last = i
		}
	}
	switch {
	case last >= 0:
		events = slices.Delete(events, last, last+1) // the journal has it
	case ended && sound:
		events = append(events, said(damage))
	case !ended && len(events) > 0:
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

// read reads a file of the log of a job, which is hardly longer than its bound.
func (l *jobLogs) read(name string) ([]byte, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2*jobLogBytes))
}

// shortened bounds a text of an event.
func shortened(text string) string {
	if len(text) <= maxLogged {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged], "") + " ..."
}

// encodeLogged makes the line of an event. What a job's state has beside what is shown of it may be
// large, and is left out.
func encodeLogged(e *control.JobEvent) []byte {
	if j := e.GetJob(); j != nil {
		e = &control.JobEvent{Sequence: e.Sequence, Time: e.Time, Body: &control.JobEvent_Job{Job: &control.Job{
			Id: j.Id, State: j.State, Reason: shortened(j.Reason), Epoch: j.Epoch,
			Workers: j.Workers, Owner: j.Owner,
		}}}
	} else if len(e.GetLog().GetText()) > maxLogged {
		e = proto.CloneOf(e)
		e.GetLog().Text = shortened(e.GetLog().Text)
	}
	data, err := protojson.Marshal(e)
	if err != nil || len(data) > 4*maxLogged { // its texts were checked where they came from
		data, _ = protojson.Marshal(said("a line is missing here: it was too long"))
	}
	return append(store.Seal(data), '\n')
}

// decodeLog reads the lines of a log; in place of those that are damaged or cut off is one that says
// so.
func decodeLog(data []byte, damage string) (events []*control.JobEvent) {
	sound := true
	for line := range bytes.Lines(data) {
		if len(line) == 1 {
			continue // which parts what was written at once
		}
		e, object := &control.JobEvent{}, bytes.TrimSuffix(line, []byte("\n"))
		before := sound
		sound = len(object) < len(line) && store.Unseal(object) == nil &&
			(protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(object, e) == nil &&
			(e.GetLog() != nil || e.GetJob() != nil)
		switch {
		case sound:
			events = append(events, e)
		case before:
			events = append(events, said(damage))
		}
	}
	return events
}
