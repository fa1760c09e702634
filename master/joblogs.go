package master

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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

// jobLogs stores the log lines and state changes of jobs on disk, so that the next master with the
// same data can show them:
//
//	DATA/logs/JOB      a line for each event: a JobEvent as JSON, with a checksum (store.Seal)
//	DATA/logs/JOB.old  earlier lines
//
// A log that becomes too long replaces the old one. A goroutine writes while there is something to
// write; callers do not wait for the disk. Nothing is synced. If the master is killed, queued lines
// are lost. If the machine crashes, the end of a log may be lost too, and its last line may be cut
// off or fail its checksum. If a job had not ended and its log is cut at the end of a line, the
// loss cannot be distinguished from a killed master.
type jobLogs struct {
	root *os.Root
	log  *slog.Logger
	work sync.WaitGroup // the writing goroutine, if there is one

	mu      sync.Mutex
	queue   []loggedEvent
	bytes   int             // in queue
	lost    map[string]bool // jobs with events that are missing after the queue
	writing bool            // the writing goroutine runs
	closed  bool

	disk   sync.Mutex // held while reading or changing a log
	failed bool       // the last write failed; only the writing goroutine uses this
}

// loggedEvent is an event to write. If data is nil, the job's log is to be removed.
type loggedEvent struct {
	id   string
	data []byte
}

// Bounds of a job's log on disk and of the queue.
const (
	logsName       = "logs"
	oldLog         = ".old"
	jobLogBytes    = 256 << 10 // of both files
	maxLogged      = 16 << 10  // bytes of a text
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
	return &jobLogs{root: root, log: log, lost: map[string]bool{}}, nil
}

// close closes the directory. Nothing may be written afterwards.
func (l *jobLogs) close() {
	if l != nil {
		_ = l.root.Close()
	}
}

// stop waits until all queued events are written, but not forever if the disk hangs.
func (l *jobLogs) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	if !within(maxLogsStop, l.work.Wait) {
		l.log.Warn("the last lines of jobs' logs may be missing: the disk was too slow",
			"after", maxLogsStop)
	}
}

// add queues an event to write, if superstep logs shows its kind. It does not block.
func (l *jobLogs) add(id string, e *control.JobEvent) {
	if l == nil || e.GetLog() == nil && e.GetJob() == nil {
		return
	}
	data := encodeLogged(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes+len(data) > maxLogsWaiting {
		if l.lost[id] {
			return
		}
		missing := said("lines are missing here: the disk of the master was too slow")
		missing.Sequence, missing.Time = e.Sequence, e.Time
		data, l.lost[id] = encodeLogged(missing), true
	}
	l.push(id, data)
}

// push adds an entry to the queue, unless the log is closed. The caller holds the lock.
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

// remove queues the removal of a job's log.
func (l *jobLogs) remove(id string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(id, nil)
}

// write writes the queue until it is empty.
func (l *jobLogs) write() {
	for {
		l.mu.Lock()
		queue := l.queue
		l.queue, l.bytes, l.lost = nil, 0, map[string]bool{}
		l.writing = len(queue) > 0
		l.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for i, e := range queue {
			next := loggedEvent{}
			if i+1 < len(queue) {
				next = queue[i+1]
			}
			switch {
			case e.data == nil:
				l.removeFiles(e.id)
			case next.id == e.id && next.data != nil && len(e.data)+len(next.data) <= 4*maxLogged:
				queue[i+1].data = append(e.data, next.data...)
			default:
				l.append(e.id, e.data)
			}
		}
	}
}

// append adds lines to the log of a job. If they cannot be written, they are lost; the first such
// error is logged.
func (l *jobLogs) append(id string, lines []byte) {
	err := l.appendTo(id, lines)
	if err != nil && !l.failed {
		l.log.Warn("logs of jobs cannot be written", "job", id, "error", err)
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
	_, err = file.Write(append([]byte("\n"), lines...)) // the last line may have no newline
	return errors.Join(err, file.Close())
}

// removedLines is the first line of a log that replaced another.
const removedLines = "earlier lines were removed: only the end of a job's log is kept"

func (l *jobLogs) removeFiles(id string) {
	l.disk.Lock()
	defer l.disk.Unlock()
	if err := errors.Join(l.root.RemoveAll(id), l.root.RemoveAll(id+oldLog)); err != nil {
		l.log.Warn("the log of a job cannot be removed", "job", id, "error", err)
	}
}

// forget removes files that are not logs of known jobs. It is called before anything is written.
func (l *jobLogs) forget(known func(id string) bool) {
	all, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		l.log.Warn("logs of jobs cannot be listed, and are kept", "error", err)
	}
	for _, e := range all {
		if id := strings.TrimSuffix(e.Name(), oldLog); !e.Type().IsRegular() || !known(id) {
			l.removeFiles(id)
		}
	}
}

// before returns the stored log of a job from earlier masters: events with sequence numbers up to
// border. A line marks missing events, such as the end of a job that has ended. If the job has not
// ended, the last line tells of the master's restart. Each added line gets the number and time of
// the event after it, the last one border and at.
func (l *jobLogs) before(
	id string, ended bool, border uint64, at *timestamppb.Timestamp,
) (events []*control.JobEvent) {
	if l == nil {
		return nil
	}
	damage := fmt.Sprintf("lines are missing here: %s is damaged, cut off or gone",
		path.Join(logsName, id))
	l.disk.Lock()
	old, _ := l.read(id + oldLog) // a file removed meanwhile counts as empty
	newer, _ := l.read(id)
	l.disk.Unlock()
	events = decodeLog(old, damage)
	for _, e := range decodeLog(newer, damage) {
		// the lines before it are present
		if len(events) == 0 || e.GetLog().GetText() != removedLines {
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
		events = slices.Delete(events, last, last+1) // the journal has it too
	case ended && sound:
		events = append(events, said(damage))
	case !ended && len(events) > 0:
		events = append(events,
			said("the master restarted: lines of the time before it may be missing here"))
	}
	for _, e := range slices.Backward(events) {
		if e.Time == nil {
			e.Sequence, e.Time = border, at
		}
		border, at = e.Sequence, e.Time
	}
	// Concurrent calls of add may have queued events out of order.
	slices.SortStableFunc(events,
		func(a, b *control.JobEvent) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return events
}

// read reads a file of a job's log, which is not much longer than its bound.
func (l *jobLogs) read(name string) ([]byte, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2*jobLogBytes))
}

// shortened truncates a long text of an event.
func shortened(text string) string {
	if len(text) <= maxLogged {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged], "") + " ..."
}

// encodeLogged encodes an event as a line. It omits parts of a job's state that logs do not show
// and that may be large.
func encodeLogged(e *control.JobEvent) []byte {
	if j := e.GetJob(); j != nil {
		j = &control.Job{
			Id: j.Id, State: j.State, Reason: shortened(j.Reason), Epoch: j.Epoch,
			Workers: j.Workers, Owner: j.Owner,
		}
		e = &control.JobEvent{
			Sequence: e.Sequence, Time: e.Time, Body: &control.JobEvent_Job{Job: j},
		}
	} else if len(e.GetLog().GetText()) > maxLogged {
		e = proto.CloneOf(e)
		e.GetLog().Text = shortened(e.GetLog().Text)
	}
	data, err := protojson.Marshal(e)
	if err != nil || len(data) > 4*maxLogged { // texts are validated on receipt
		data, _ = protojson.Marshal(said("a line is missing here: it was too long"))
	}
	return append(store.Seal(data), '\n')
}

// decodeLog reads the lines of a log. It replaces consecutive damaged lines with one line of the
// text damage.
func decodeLog(data []byte, damage string) (events []*control.JobEvent) {
	sound := true
	for line := range bytes.Lines(data) {
		if len(line) == 1 {
			continue // separates writes
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
