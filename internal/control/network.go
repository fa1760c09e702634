package control

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/mem"
)

// mostPairs is between how many workers of no site each pair has a line.
const mostPairs = 4

// networkTable words what workers have measured of the network: a line for two sites, or for two
// workers if they are few and no sites are given; of several ways that with the least bandwidth and
// that with the most delay.
func networkTable(w io.Writer, workers []*Worker) {
	groups, ways := placed(workers), map[[2]string]*Way{}
	for _, from := range workers {
		for _, to := range from.Ways {
			a, b := groups[from.Name], groups[to.Worker]
			if a == "" || b == "" {
				continue // one is gone
			}
			key := [2]string{min(a, b), max(a, b)} // they are measured there and back
			old := ways[key]
			if old == nil {
				ways[key] = &Way{BytesPerSecond: to.BytesPerSecond, DelaySeconds: to.DelaySeconds, AgeSeconds: to.AgeSeconds, Traffic: to.Traffic}
				continue
			}
			old.BytesPerSecond, old.DelaySeconds = min(old.BytesPerSecond, to.BytesPerSecond), max(old.DelaySeconds, to.DelaySeconds)
			old.AgeSeconds, old.Traffic = max(old.AgeSeconds, to.AgeSeconds), old.Traffic || to.Traffic
		}
	}
	if len(ways) == 0 {
		return
	}
	fmt.Fprintln(w, "\nNETWORK\tBANDWIDTH\tDELAY\tMEASURED\t")
	for _, key := range slices.SortedFunc(maps.Keys(ways), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		x := ways[key]
		name, since := key[0]+" - "+key[1], secondsText(x.AgeSeconds)+" ago"
		if key[0] == key[1] {
			name = "within " + key[0]
		}
		if x.Traffic {
			since += ", and by traffic since"
		}
		escape.Printf(w, "%s\t%s/s\t%.3g ms\t%s\t\n", name, mem.Text(int64(x.BytesPerSecond)), 1e3*x.DelaySeconds, since)
	}
}

// placed returns the site of each worker that is there, or what stands for it.
func placed(workers []*Worker) map[string]string {
	groups, sites := map[string]string{}, false
	for _, w := range workers {
		if w.State == WorkerState_WORKER_STATE_REGISTERED || w.State == WorkerState_WORKER_STATE_LEAVING {
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
