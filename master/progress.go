package master

import "github.com/superstep-go/superstep/internal/control"

// progress is how far the workers of a job are with what they do now. They go through the same stages, not in step: a
// stage is shown until all have left it.
type progress struct {
	version uint64 // rises with every change
	stage   string
	in      map[string]*control.Progress // the workers in the stage
	left    uint64                       // what those had to do who have left it
	ahead   map[string]*control.Progress // these, where they are now
}

// take notes how far a worker is.
func (p *progress) take(worker string, far *control.Progress) {
	p.version++
	if len(p.in) == 0 {
		p.enter(far.Stage)
	}
	if far.Stage == p.stage {
		p.in[worker] = far
		delete(p.ahead, worker)
		return
	}
	if was := p.in[worker]; was != nil {
		p.left += was.Total
		delete(p.in, worker)
	}
	p.ahead[worker] = far
	if len(p.in) == 0 {
		p.enter(far.Stage)
	}
}

// enter begins a stage with those who are there.
func (p *progress) enter(stage string) {
	ahead := p.ahead
	p.stage, p.left = stage, 0
	p.in, p.ahead = map[string]*control.Progress{}, map[string]*control.Progress{}
	for worker, far := range ahead {
		if far.Stage == stage {
			p.in[worker] = far
		} else {
			p.ahead[worker] = far
		}
	}
}

func (p *progress) clear() { *p = progress{version: p.version} }

// sum is how far the stage is, over all workers.
func (p *progress) sum() *control.Progress {
	if p.stage == "" {
		return nil
	}
	all := &control.Progress{Stage: p.stage, Done: p.left, Total: p.left}
	for _, w := range p.in {
		all.Job = w.Job
		all.Done += w.Done
		all.Total += w.Total
	}
	return all
}

// advanced notes how far a worker is, with a job or with a graph of the catalog.
func (s *Server) advanced(worker string, far *control.Progress) {
	s.mu.Lock()
	j := s.journals[far.Job]
	if g := s.cluster.graphs[far.Graph]; g != nil && g.state == control.GraphState_GRAPH_STATE_LOADING {
		g.far.take(worker, far)
	}
	s.mu.Unlock()
	if j == nil {
		return
	}
	if sum := j.tell(worker, far); sum != nil {
		s.watched(far.Job, &control.JobEvent{Body: &control.JobEvent_Progress{Progress: sum}})
	}
}

// tell notes how far a worker is, for those who watch, and returns how far all are; nil if the job has ended.
func (j *journal) tell(worker string, far *control.Progress) *control.Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return nil
	}
	j.far.take(worker, far)
	j.wake()
	return j.far.sum()
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
