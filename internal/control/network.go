package control

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/mem"
)

// mostPairs is the maximum number of workers without sites for a line per pair.
const mostPairs = 4

// networkTable prints the workers' measurements of the network: a line per pair of sites or,
// without sites and with few workers, per pair of workers. Of several links it prints the lowest
// bandwidth and the longest delay.
func networkTable(w io.Writer, workers []*Worker) {
	groups, ways := placed(workers), map[[2]string]*Way{}
	for _, from := range workers {
		for _, to := range from.Ways {
			a, b := groups[from.Name], groups[to.Worker]
			if a == "" || b == "" {
				continue // a worker is gone
			}
			key := [2]string{min(a, b), max(a, b)} // both directions together
			old := ways[key]
			if old == nil {
				old = &Way{BytesPerSecond: to.BytesPerSecond}
				ways[key] = old
			}
			old.BytesPerSecond, old.DelaySeconds = min(old.BytesPerSecond, to.BytesPerSecond),
				max(old.DelaySeconds, to.DelaySeconds)
			old.AgeSeconds, old.Traffic = max(old.AgeSeconds, to.AgeSeconds),
				old.Traffic || to.Traffic
		}
	}
	if len(ways) == 0 {
		return
	}
	fmt.Fprintln(w, "\nNETWORK\tBANDWIDTH\tDELAY\tMEASURED\t")
	for _, key := range slices.SortedFunc(maps.Keys(ways),
		func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		x := ways[key]
		name, since := key[0]+" - "+key[1], secondsText(x.AgeSeconds)+" ago"
		if key[0] == key[1] {
			name = "within " + key[0]
		}
		if x.Traffic {
			since += ", and by traffic since"
		}
		escape.Printf(w, "%s\t%s/s\t%.3g ms\t%s\t\n", name, mem.Text(int64(x.BytesPerSecond)),
			1e3*x.DelaySeconds, since)
	}
}

// placed returns the site of each live worker, or a substitute.
func placed(workers []*Worker) map[string]string {
	groups, sites := map[string]string{}, false
	for _, w := range workers {
		if w.State == WorkerState_WORKER_STATE_REGISTERED ||
			w.State == WorkerState_WORKER_STATE_LEAVING {
			groups[w.Name], sites = w.Site, sites || w.Site != ""
		}
	}
	for name, site := range groups {
		switch {
		case site != "":
		case sites:
			groups[name] = "no site"
		case len(groups) > mostPairs:
			groups[name] = "the cluster"
		default:
			groups[name] = name
		}
	}
	return groups
}
