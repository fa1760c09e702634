package control

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/mem"
)

// StatusText formats a status as text for Columns. The master's page and the command line show the
// same.
func StatusText(s *StatusResponse) string {
	var b strings.Builder
	escape.Printf(&b, "master %s, superstep %s, up %v; %s, %d refused\n", s.Master, s.Version,
		time.Duration(s.UptimeSeconds*float64(time.Second)).Round(time.Second),
		count(s.JobsEnded, "job", "jobs")+" ended", s.Refused)
	if s.Refusing != "" {
		escape.Printf(&b, "no jobs are accepted: %s\n", s.Refusing)
	}
	if len(s.Workers) == 0 {
		fmt.Fprintln(&b, "\nno workers: start one with superstep worker --master ADDR")
	} else {
		fmt.Fprintln(&b, "\nWORKER\tSTATE\tCORES\tMEMORY\tHELD\tSITE\tDATA\tHEARD\t")
	}
	for _, w := range s.Workers {
		escape.Printf(&b, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%.1f s ago\t%s\n", w.Name, w.StateText(),
			w.Cores, mem.Text(int64(w.Limit())), w.heldText(), cmp.Or(w.Site, "-"),
			cmp.Or(w.DataAddress, "-"), w.HeardSeconds, w.Reason)
	}
	networkTable(&b, s.Workers)
	if len(s.Graphs) > 0 {
		fmt.Fprintln(&b)
		graphsTable(&b, s.Graphs)
	}
	if len(s.Quotas) > 0 {
		quotasTable(&b, s.Quotas)
	}
	if len(s.Jobs) > 0 {
		fmt.Fprintln(&b)
		jobsTable(&b, s.Jobs, s.Now.AsTime())
	}
	moreLine(&b, s.More)
	return b.String()
}

// moreLine notes that entries were omitted, and how to list them.
func moreLine(t io.Writer, n uint32, next ...string) {
	if n > 0 {
		escape.Printf(t, "and %d more, omitted from this list%s\n", n, strings.Join(next, ""))
	}
}

// Limit returns a worker's memory limit in bytes, or without a budget its free memory at the start.
func (w *Worker) Limit() uint64 { return cmp.Or(w.Budget.GetLimit(), w.Memory) }

// heldText formats the memory that a worker's arrays and Go's heap hold, and what is in files.
func (w *Worker) heldText() string {
	b := w.Budget
	if b == nil {
		return "-"
	}
	text := mem.Text(int64(b.Arrays + b.Heap))
	if b.Spilled > 0 {
		text += ", " + mem.Text(int64(b.Spilled)) + " in files"
	}
	return text
}

func quotasTable(t io.Writer, all []*QuotaUse) {
	// the use, of the quota
	of := func(n, quota uint64, text func(n uint64) string) string {
		if quota == 0 {
			return text(n)
		}
		return text(n) + " of " + text(quota)
	}
	number := func(n uint64) string { return fmt.Sprint(n) }
	bytes := func(n uint64) string { return mem.Text(int64(n)) }
	fmt.Fprintln(t, "\nOWNER\tWAIT\tRUN\tRESULTS\tTIME OF A JOB\t")
	for _, u := range all {
		limit := "-"
		if u.TimeQuotaSeconds > 0 {
			limit = secondsText(u.TimeQuotaSeconds)
		}
		escape.Printf(t, "%s\t%s\t%s\t%s\t%s\t\n", u.Owner,
			of(uint64(u.Queued), uint64(u.QueuedQuota), number),
			of(uint64(u.Running), uint64(u.RunningQuota), number),
			of(u.ResultBytes, u.ResultBytesQuota, bytes), limit)
	}
}

// JobsText formats a list of jobs: all, or those that have not ended.
func JobsText(l *ListJobsResponse, all bool) string {
	switch {
	case len(l.Jobs) == 0 && all:
		return "no jobs\n"
	case len(l.Jobs) == 0:
		return "no job is queued or running: superstep jobs --all lists those that have ended\n"
	}
	var b strings.Builder
	jobsTable(&b, l.Jobs, l.Now.AsTime())
	moreLine(&b, l.More, ": --before ", l.Jobs[0].Id)
	return b.String()
}

func jobsTable(t io.Writer, jobs []*Job, now time.Time) {
	owners := slices.ContainsFunc(jobs, func(j *Job) bool { return Named(j.Owner) })
	urgent := slices.ContainsFunc(jobs, func(j *Job) bool { return j.priorityText() != "normal" })
	row := func(cells ...string) {
		if !urgent { // all have the same priority
			cells = slices.Delete(cells, 5, 6)
		}
		if !owners { // there is one
			cells = slices.Delete(cells, 4, 5)
		}
		last := len(cells) - 1
		for _, cell := range cells[:last] {
			escape.Printf(t, "%s\t", cell)
		}
		escape.Printf(t, "%s\n", cells[last])
	}
	row("JOB", "STATE", "PROGRAM", "GRAPH", "OWNER", "PRIORITY", "SUPERSTEPS", "WORKERS",
		"SUBMITTED", "TOOK", "")
	for _, j := range jobs {
		took, until := "-", now
		if j.Ended != nil {
			until = j.Ended.AsTime()
		}
		if j.Started != nil {
			took = timeText(until.Sub(j.Started.AsTime()))
		}
		spec := j.Spec()
		row(j.Id, j.State.Detail(), spec.Program, spec.Origin(), cmp.Or(j.Owner, "-"),
			j.priorityText(), fmt.Sprint(j.Supersteps), fmt.Sprint(len(j.Workers)),
			timeText(now.Sub(j.Submitted.AsTime()))+" ago", took, j.Reason)
	}
}

// priorityText returns a job's priority, and its current one if that differs.
func (j *Job) priorityText() string {
	asked, now := cmp.Or(j.Spec().Priority, Priority_PRIORITY_NORMAL.Word()), j.Priority.Word()
	if j.Priority == Priority_PRIORITY_UNSPECIFIED || now == asked {
		return asked
	}
	return asked + ", now " + now
}

// GraphsText formats a list of graphs.
func GraphsText(l *ListGraphsResponse) string {
	if len(l.Graphs) == 0 {
		return "no graphs\n"
	}
	var b strings.Builder
	graphsTable(&b, l.Graphs)
	moreLine(&b, l.More, ": --after ", l.Graphs[len(l.Graphs)-1].Name)
	return b.String()
}

func graphsTable(t io.Writer, graphs []*Graph) {
	fmt.Fprintln(t, "GRAPH\tSTATE\tVERTICES\tEDGES\tGRID\tMEMORY\tSOURCE\t")
	for _, g := range graphs {
		state := g.State.Word()
		if p := g.Progress; p != nil {
			state += ": " + p.Stage
			if p.Total > 0 {
				state += fmt.Sprintf(" %.0f %%", 100*float64(p.Done)/float64(p.Total))
			}
		}
		memory := "-"
		if g.State != GraphState_GRAPH_STATE_FAILED {
			memory = mem.Text(int64(g.Bytes))
		}
		escape.Printf(t, "%s\t%s\t%d\t%d\t%dx%d\t%s\t%s\t%s\n", g.Name, state, g.Vertices, g.Edges,
			g.Rows, g.Columns, memory,
			g.Source().Origin(), g.Reason)
	}
}

// GraphText formats the description of a graph.
func GraphText(g *Graph) string {
	var b strings.Builder
	state := g.State.Word()
	if g.Reason != "" {
		state += ": " + g.Reason
	}
	escape.Printf(&b, "graph\t%s, %s\n", g.Name, state)
	escape.Printf(&b, "source\t%s\n", g.Source().Origin())
	if g.State == GraphState_GRAPH_STATE_READY {
		kind := map[bool]string{true: "directed", false: "undirected"}[g.Directed]
		weights := map[bool]string{true: "with weights", false: "without weights"}[g.Weighted]
		escape.Printf(&b, "holds\t%s, %s, %s, %s\n", count(g.Vertices, "vertex", "vertices"),
			count(g.Edges, "edge", "edges"), kind, weights)
		escape.Printf(&b, "memory\t%s on all workers\n", mem.Text(int64(g.Bytes)))
		escape.Printf(&b, "loaded in\t%s\n", secondsText(g.LoadSeconds))
	}
	escape.Printf(&b, "grid\t%dx%d\n", g.Rows, g.Columns)
	for _, p := range g.Placements {
		escape.Printf(&b, "partition %d\t%s\n", p.Partition, p.Worker)
	}
	return b.String()
}

func count(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func secondsText(s float64) string { return timeText(time.Duration(s * float64(time.Second))) }

// timeText formats a duration with about two digits.
func timeText(d time.Duration) string {
	d = max(d, 0) // clocks may be adjusted
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
