package worker

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/netbench"
)

// netbench measures the network between the workers. The first keeps the report.
func (p *part) netbench(ctx context.Context) (*control.DriveReport, error) {
	began, link, names := time.Now(), p.group.Link(), p.places.names()
	if len(names) < 2 {
		return nil, &runError{errors.New("one worker has nobody to measure with: start another with superstep worker --master ADDR")}
	}
	p.enter("netbench")
	if p.leads() {
		p.begins()
	}
	o := resolve.Netbench(p.spec.Netbench)
	if host, _, err := net.SplitHostPort(p.places.layout.Workers[link.Size()-1].Addr); err == nil {
		o.Raw = net.JoinHostPort(host, "0")
	}
	report, err := netbench.Measure(ctx, link, sitesOf(p.places.labels), o,
		func(name string, done, all int) {
			if p.leads() { // the others are as far
				p.task.progress(name, int64(done), int64(all))
			}
		})
	if raw := (*netbench.RawError)(nil); errors.As(err, &raw) {
		err = &lostError{names[raw.Rank], err}
	}
	end := &control.DriveReport{End: &control.RunEnd{Seconds: time.Since(began).Seconds()}}
	if err != nil || !p.leads() {
		return end, err
	}
	if report.Workers = names; report.Model.Sites != nil {
		report.Sites = p.places.labels
	}
	var text bytes.Buffer
	err = report.JSON(&text)
	p.attempt.text = text.Bytes()
	return end, err
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
