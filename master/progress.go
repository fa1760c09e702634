package master

import "github.com/superstep-go/superstep/internal/control"

// progress is how far the workers of a job are with what they do now.
type progress struct {
	version uint64 // rises with every change
	stage   string // that was told last
	workers map[string]*control.Progress
}

// take notes how far a worker is.
func (p *progress) take(worker string, far *control.Progress) {
	if p.workers == nil {
		p.workers = map[string]*control.Progress{}
	}
	p.workers[worker], p.stage = far, far.Stage
	p.version++
}

func (p *progress) clear() { p.workers, p.stage = nil, "" }

// sum is how far those are that are in the latest stage, together.
func (p *progress) sum() *control.Progress {
	if p.stage == "" {
		return nil
	}
	all := &control.Progress{Stage: p.stage}
	for _, w := range p.workers {
		if w.Stage == p.stage {
			all.Job = w.Job
			all.Done += w.Done
			all.Total += w.Total
		}
	}
	return all
}

// tell notes how far a worker is, for those who watch.
func (j *journal) tell(worker string, far *control.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended {
		j.far.take(worker, far)
		j.wake()
	}
}

// progress returns how far the job is if that has changed since a version, and the version.
func (j *journal) progress(since uint64) (*control.Progress, uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.far.version == since {
		return nil, since
	}
	return j.far.sum(), j.far.version
}
