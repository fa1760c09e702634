package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/netbench"
)

// measure measures the network between the workers that have connected for it. The first emits the report. Their session stays
// until all have ended: they do not at the same time, and it ends with the job.
func (x *executor) measure(ctx context.Context, t task, m *control.Measure, emit func([]byte) error) error {
	x.mu.Lock()
	session := x.peers[m.Meeting]
	x.mu.Unlock()
	if session == nil {
		return fmt.Errorf("worker %s %w to measure", x.options.Name, errUnmet)
	}
	link, at := session.Link(), placesOf(m.Placements)
	layout := at.layout
	if len(layout.Workers) != link.Size() {
		return fmt.Errorf("worker %s is connected to %d workers, and is to measure between %d", x.options.Name, link.Size(), len(layout.Workers))
	}
	names := at.names()
	spec, err := jobspec.Read[jobspec.Netbench](m.SpecJson)
	if err != nil {
		return err
	}
	o := resolve.Netbench(spec)
	if host, _, err := net.SplitHostPort(layout.Workers[link.Size()-1].Addr); err == nil {
		o.Raw = net.JoinHostPort(host, "0")
	}
	report, err := netbench.Measure(ctx, link, sitesOf(at.labels), o, func(name string, done, all int) {
		if link.Rank() == 0 { // the others are as far
			t.progress(name, int64(done), int64(all))
		}
	})
	if err != nil {
		if raw := (*netbench.RawError)(nil); errors.As(err, &raw) {
			err = &lostError{names[raw.Rank], err}
		}
		return cmp.Or(session.Err(), err) // the cause, not what it led to
	}
	if link.Rank() != 0 {
		return nil
	}
	if report.Workers = names; report.Model.Sites != nil {
		report.Sites = at.labels
	}
	var text bytes.Buffer
	if err := report.JSON(&text); err != nil {
		return err
	}
	return emit(text.Bytes())
}

// sitesOf numbers the sites of workers, by their labels; nil when all have the same.
func sitesOf(labels []string) []int {
	var known []string
	sites := make([]int, len(labels))
	for i, label := range labels {
		if sites[i] = slices.Index(known, label); sites[i] < 0 {
			sites[i] = len(known)
			known = append(known, label)
		}
	}
	if len(known) < 2 {
		return nil
	}
	return sites
}
