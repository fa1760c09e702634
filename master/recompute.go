package master

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/jobspec"
)

// Confined recovery: when a worker is lost, the others hold what they have logged of the run (worker/runlog.go). The next attempt has as many partitions,
// which are where they were, but for those that are lost: these are all at one worker, which alone computes again what they had computed since the newest
// checkpoint. What does not allow for that goes on from the checkpoint with all partitions, as without a log. docs/design/confined-recovery.md.

// keepsLogs notes, when an attempt has ended by err, that its workers hold what they have logged, if another attempt may want it, and reports whether they do.
// logged says that the workers were told to log the run.
func (c *cluster) keepsLogs(id string, epoch uint32, err error, logged bool) bool {
	j := c.jobs[id]
	if j == nil || j.epoch != epoch || !logged || j.cancelled || !j.lost && !lossOf(err) || len(j.losses) >= c.retries {
		return false
	}
	j.logged = j.placements
	return true
}

// dropLogs has the workers that hold logs of a job's last attempt forget them, but for those of a team that has taken them over.
func (c *cluster) dropLogs(j *job, but []*control.Placement) {
	var workers []string
	for _, name := range workersOf(j.logged) {
		if !uses(but, name) {
			workers = append(workers, name)
		}
	}
	if j.logged = nil; len(workers) > 0 {
		c.emit(dropShare{jobspec.RunLog(j.id), workers})
	}
}

// siteOfLost returns where a job runs whose last attempt has lost workers that held some of its partitions: these go to a worker without any, or else to the one
// with the fewest. If it cannot be so, it says why.
func (c *cluster) siteOfLost(j *job) (at site, why string) {
	at = site{rows: j.rows, columns: j.columns}
	var to *worker
	left := map[string]int{} // partitions of those who are there
	for _, p := range j.logged {
		if w := c.current(p.Worker, p.Incarnation); w != nil && w.free() {
			left[p.Worker]++
		} else {
			at.lost = append(at.lost, p.Partition)
		}
	}
	switch driver := j.logged[0].Worker; {
	case len(at.lost) == 0:
		return site{}, "all workers of the attempt before are still there"
	case left[driver] == 0:
		return site{}, fmt.Sprintf("worker %s, which drove the run, was lost", driver)
	}
	for _, w := range c.workers {
		if !w.free() {
			continue
		}
		if to == nil || left[w.name] < left[to.name] || left[w.name] == left[to.name] && w.name < to.name {
			to = w
		}
	}
	for _, p := range j.logged {
		if slices.Contains(at.lost, p.Partition) {
			p = &control.Placement{Partition: p.Partition, Worker: to.name, Address: to.about.DataAddress, Incarnation: to.incarnation, Site: to.about.Site}
		}
		at.placements = append(at.placements, p)
	}
	return at, ""
}

// recomputeError is that lost partitions could not be computed again by themselves: the job goes on from the checkpoint with all partitions.
type recomputeError struct{ error }

func (e *recomputeError) Unwrap() error { return e.error }

// recomputes adds to what workers go on from that the lost partitions alone are computed again, if it can be so, and says in the job's log which way is taken
// and why. reports are what the workers have said of what they hold.
func (r *run) recomputes(reports []*control.Report, goOn *control.GoOn, from *checkpoint.Manifest) {
	why := r.job.unconfined
	var superstep int
	if why == "" && len(r.job.lostPartitions) == 0 {
		return // no worker was lost, or nothing was logged
	}
	if why == "" && goOn == nil {
		why = "there is no checkpoint yet"
	}
	if why == "" {
		superstep, why = r.border(reports, from)
	}
	if why != "" {
		r.say("all partitions are computed again: " + why)
		return
	}
	goOn.Recompute = &control.Recompute{Superstep: uint32(superstep), Lost: r.job.lostPartitions}
	at := r.job.placements[r.job.lostPartitions[0]].Worker
	r.say(fmt.Sprintf("%s alone %s computed again, by worker %s, from superstep %d to %d; the others go on from there",
		partitionsInWords(r.job.lostPartitions), map[bool]string{true: "is", false: "are"}[len(r.job.lostPartitions) == 1], at, from.Superstep, superstep))
}

func partitionsInWords(all []uint32) string {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
	if len(all) == 1 {
		return "partition " + text
	}
	return "partitions " + text
}

// border finds the superstep before which all workers of the attempt before hold the states of their partitions, or says why there is none.
func (r *run) border(reports []*control.Report, from *checkpoint.Manifest) (superstep int, why string) {
	counts, workers := map[uint32]int{}, 0
	for i, report := range reports {
		l, name := report.GetPrepare().GetLog(), r.team[i].Worker
		if !r.survived(i) {
			continue // it has only partitions that were lost
		}
		workers++
		switch {
		case l.GetEpoch()+1 != r.epoch:
			return 0, fmt.Sprintf("worker %s holds nothing of the attempt before", name)
		case l.Missing != "" && l.From > uint32(from.Superstep):
			return 0, fmt.Sprintf("worker %s has no log since superstep %d: %s", name, from.Superstep, l.Missing)
		case len(l.Supersteps) == 0 && l.Missing != "":
			return 0, l.Missing
		case l.From > uint32(from.Superstep):
			return 0, fmt.Sprintf("worker %s has a log since superstep %d, and the newest checkpoint is before superstep %d", name, l.From, from.Superstep)
		}
		for _, s := range l.Supersteps {
			counts[s]++
		}
	}
	for s, n := range counts {
		if n == workers && int(s) > superstep {
			superstep = int(s)
		}
	}
	if superstep < from.Superstep || superstep == 0 {
		return 0, fmt.Sprintf("the workers hold no states that are of one superstep, and not before the checkpoint's, %d", from.Superstep)
	}
	return superstep, ""
}

// survived reports whether a worker of the team has partitions that were not lost.
func (r *run) survived(i int) bool {
	return slices.ContainsFunc(r.job.placements, func(p *control.Placement) bool {
		return p.Worker == r.team[i].Worker && !slices.Contains(r.job.lostPartitions, p.Partition)
	})
}

// unrecomputed is the error of going on, as the job's next attempt takes it: if no worker was lost meanwhile, that attempt goes another way.
func unrecomputed(goOn *control.GoOn, err error) error {
	if err == nil || goOn.GetRecompute() == nil || lossOf(err) {
		return err
	}
	var failed *workerError
	if !errors.As(err, &failed) {
		return err
	}
	return &recomputeError{fmt.Errorf("%w; the job goes on from the checkpoint", err)}
}
