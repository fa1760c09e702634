package control

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// StatusText words a status for people: the master's page and the command line show the same.
func StatusText(s *StatusResponse) string {
	var b strings.Builder
	fmt.Fprintf(&b, "master %s, superstep %s, up %v; %s, %d refused\n", s.Master, s.Version,
		time.Duration(s.UptimeSeconds*float64(time.Second)).Round(time.Second), plural(int(s.JobsEnded), "job")+" ended", s.Refused)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(s.Workers) == 0 {
		fmt.Fprintln(t, "\nno workers: start one with superstep worker --master ADDR")
	} else {
		fmt.Fprintln(t, "\nWORKER\tSTATE\tCORES\tMEMORY\tSITE\tDATA\tHEARD\tINCARNATION\t")
	}
	for _, w := range s.Workers {
		state := w.State.Word()
		switch {
		case w.Suspected:
			state += ", suspected"
		case !w.Attached && w.State == WorkerState_WORKER_STATE_REGISTERED:
			state += ", no session"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%.1f s ago\t%d\t%s\n", w.Name, state, w.Cores, bytesText(w.Memory), dash(w.Site), dash(w.DataAddress),
			w.HeardSeconds, w.Incarnation, w.Reason)
	}
	if len(s.Graphs) > 0 {
		fmt.Fprintln(t, "\nGRAPH\tSTATE\tVERTICES\tEDGES\tGRID\tMEMORY\t")
	}
	for _, g := range s.Graphs {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%dx%d\t%s\t%s\n", g.Name, g.State.Word(), g.Vertices, g.Edges, g.Rows, g.Columns, bytesText(g.Bytes), g.Reason)
	}
	if len(s.Jobs) > 0 {
		fmt.Fprintln(t)
		jobsTable(t, s.Jobs)
	}
	_ = t.Flush()
	return trimLines(b.String())
}

// JobsText words a list of jobs.
func JobsText(jobs []*Job) string {
	if len(jobs) == 0 {
		return "no jobs\n"
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	jobsTable(t, jobs)
	_ = t.Flush()
	return trimLines(b.String())
}

func jobsTable(t *tabwriter.Writer, jobs []*Job) {
	fmt.Fprintln(t, "JOB\tSTATE\tPROGRAM\tGRAPH\tSUPERSTEPS\tWORKERS\tSUBMITTED\t")
	for _, j := range jobs {
		graph := j.Spec.GetGraph()
		if graph == "" {
			graph = j.Spec.GetSource().GetInput()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", j.Id, j.State.Word(), j.Spec.GetProgram(), graph, j.Supersteps, len(j.Workers),
			j.Submitted.AsTime().Format(time.RFC3339), j.Reason)
	}
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func bytesText(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", x, units[i])
}
