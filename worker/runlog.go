package worker

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
)

// runLog is what a worker logs of a run, so that partitions that another worker loses can be computed again by themselves (engine.Recompute): what its own
// partitions send, since the newest checkpoint; their states before the two newest supersteps; and, where the run is driven, how these supersteps were commanded
// and what was reported of them. docs/design/confined-recovery.md.
type runLog struct {
	epoch   uint32
	frames  *transport.Log
	borders *checkpoint.Borders
	refused error // why nothing is logged, or nil

	// Of the first worker, where the run is driven.
	mu        sync.Mutex
	sealed    bool
	steps     map[int]*control.LoggedStep
	manifests map[int]*checkpoint.Manifest // of the states before the two newest supersteps
}

// A log of frames may take this part of the memory that is available when it begins, and leastLog in any case.
const (
	shareOfLog = 8
	leastLog   = 64 << 20
)

// newRunLog makes the log of an attempt, of which the worker has so many partitions.
func newRunLog(epoch uint32, partitions int) *runLog {
	return &runLog{
		epoch: epoch, frames: transport.NewLog(max(mem.Available()/shareOfLog, leastLog)), borders: checkpoint.NewBorders(partitions),
		steps: map[int]*control.LoggedStep{}, manifests: map[int]*checkpoint.Manifest{},
	}
}

// refuse has nothing be logged.
func (l *runLog) refuse(why error) {
	l.refused = why
	l.seal()
}

// seal ends the log: it stays as it is.
func (l *runLog) seal() {
	l.frames.Seal()
	l.borders.Seal()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed = true
}

// begin says that the run goes on before a superstep.
func (l *runLog) begin(superstep int) {
	if l != nil {
		l.frames.Begin(superstep)
	}
}

// forget drops what is of supersteps before the newest checkpoint.
func (l *runLog) forget(kept int) {
	if l == nil || kept == 0 {
		return
	}
	l.frames.Forget(kept)
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.steps {
		if s < kept && !l.sealed {
			delete(l.steps, s)
		}
	}
}

// border takes the manifest of the state before a superstep.
func (l *runLog) border(m *checkpoint.Manifest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed {
		return
	}
	l.manifests[m.Superstep] = m
	delete(l.manifests, m.Superstep-2)
}

// command takes how a superstep is commanded, and reported what was reported of it.
func (l *runLog) command(s *control.Superstep) {
	if l == nil || s.Summarize {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sealed {
		l.steps[int(s.Superstep)] = &control.LoggedStep{Superstep: s}
	}
}

func (l *runLog) reported(superstep int, reports []*bsp.Report) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	step := l.steps[superstep]
	if l.sealed || step == nil {
		return
	}
	for _, r := range reports {
		m := bsp.MarkOf(r)
		step.Marks = append(step.Marks, &control.Mark{
			Partition: uint32(r.Partition.Partition), Computed: uint64(m.Computed), Senders: uint64(m.Senders), SenderEdges: uint64(m.SenderEdges),
			Sends: uint64(m.Sends), Active: uint64(m.Active), Unfinished: uint64(m.Unfinished),
		})
	}
}

// manifest returns that of the state before a superstep, of so many partitions, on the graph of an earlier checkpoint.
func (l *runLog) manifest(superstep, partitions int, from *checkpoint.Manifest) (*checkpoint.Manifest, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.manifests[superstep]
	if m == nil {
		return nil, fmt.Errorf("there is no manifest of the state before superstep %d", superstep)
	}
	copied := *m
	copied.Graph.Print, copied.Parts = from.Graph.Print, make([]checkpoint.Stored, partitions)
	return &copied, nil
}

// step returns how a superstep was commanded, and reported.
func (l *runLog) step(superstep int) (*control.LoggedStep, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.steps[superstep]
	if s == nil || len(s.Marks) == 0 {
		return nil, fmt.Errorf("superstep %d is not in the log of the run", superstep)
	}
	return s, nil
}

// told is what the master is told of the log of an attempt before, which may be nil, and of that of what was prepared.
func (l *runLog) told(before *runLog) *control.RunLog {
	if l == nil {
		return nil
	}
	r := &control.RunLog{}
	if l.refused != nil {
		r.Unlogged = bounded(l.refused.Error())
	}
	if before != nil {
		from, cause := before.frames.From()
		r.Epoch, r.From = before.epoch, uint32(from)
		if cause == nil {
			cause = before.refused
		}
		if cause != nil {
			r.Missing = bounded(cause.Error())
		}
		for _, s := range before.borders.Supersteps() {
			r.Supersteps = append(r.Supersteps, uint32(s))
		}
	}
	return r
}

// partitionsOf returns how many of a job's partitions a worker has.
func partitionsOf(placements []*control.Placement, worker string) (n int) {
	for _, p := range placements {
		if p.Worker == worker {
			n++
		}
	}
	return n
}

// logFor returns the log that an attempt keeps, or nil.
func (x *executor) logFor(t task, p *control.Prepare, planned bool) *runLog {
	if !p.Keep.GetLog() {
		return nil
	}
	l := newRunLog(t.epoch, partitionsOf(p.Placements, x.options.Name))
	switch {
	case planned:
		l.refuse(errors.New("it has a plan of phases"))
	case len(layoutOf(p.Placements).Workers) == 1:
		l.refuse(errors.New("one worker had all partitions"))
	}
	return l
}

// takeLog takes what was logged of the attempt before, if the worker has it and another one is to be logged.
func (x *executor) takeLog(t task, p *control.Prepare) *runLog {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.logs[t.job]
	if j := x.jobs[t.job]; j != nil && j.log != nil && j.epoch != t.epoch {
		l = j.log
	}
	delete(x.logs, t.job)
	if l == nil || !p.Keep.GetLog() {
		return nil
	}
	l.seal()
	return l
}

// keepLog has the log of a job stay when the job is dropped.
func (x *executor) keepLog(job string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if j := x.jobs[job]; j != nil && j.log != nil {
		j.log.seal()
		x.logs[job] = j.log
	}
}

// dropLogs forgets all logs but those of some jobs. The lock is held.
func (x *executor) dropLogs(but []string) {
	for job := range x.logs {
		if !slices.Contains(but, job) {
			delete(x.logs, job)
		}
	}
}
