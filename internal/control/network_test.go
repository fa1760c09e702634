package control

import (
	"strings"
	"testing"
	"text/tabwriter"
)

// TestNetworkTable: the table has pairs of sites, or of workers if these are few, with the least
// bandwidth and the greatest delay. Lost workers are left out.
func TestNetworkTable(t *testing.T) {
	there, gone := WorkerState_WORKER_STATE_REGISTERED, WorkerState_WORKER_STATE_LOST
	near, far := func(to string) *Way { return &Way{Worker: to, BytesPerSecond: 2e9, DelaySeconds: 40e-6, AgeSeconds: 5} }, func(to string) *Way {
		return &Way{Worker: to, BytesPerSecond: 1e8, DelaySeconds: .0101, AgeSeconds: 65, Traffic: true}
	}
	for _, x := range []struct {
		name    string
		workers []*Worker
		want    []string
	}{
		{"nothing measured", []*Worker{{Name: "a", State: there}, {Name: "b", State: there}}, nil},
		{"workers", []*Worker{{Name: "a", State: there, Ways: []*Way{near("b"), near("c")}}, {Name: "b", State: there, Ways: []*Way{far("a")}}, {Name: "c", State: gone}}, []string{
			"NETWORK BANDWIDTH DELAY MEASURED",
			"a - b 95.4 MiB/s 10.1 ms 1 min 05 s ago, and by traffic since",
		}},
		{"sites", []*Worker{
			{Name: "a", State: there, Site: "x", Ways: []*Way{near("b"), far("c")}},
			{Name: "b", State: there, Site: "x"},
			{Name: "c", State: there, Ways: []*Way{far("a"), far("b")}},
		}, []string{
			"NETWORK BANDWIDTH DELAY MEASURED",
			"no site - x 95.4 MiB/s 10.1 ms 1 min 05 s ago, and by traffic since",
			"within x 1.9 GiB/s 0.04 ms 5.0 s ago",
		}},
		{
			"many workers",
			[]*Worker{
				{Name: "a", State: there, Ways: []*Way{near("b"), far("c")}},
				{Name: "b", State: there},
				{Name: "c", State: there},
				{Name: "d", State: there},
				{Name: "e", State: there},
			},
			[]string{"NETWORK BANDWIDTH DELAY MEASURED", "within the cluster 95.4 MiB/s 10.1 ms 1 min 05 s ago, and by traffic since"},
		},
	} {
		var b strings.Builder
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		networkTable(w, x.workers)
		w.Flush()
		var got []string
		for line := range strings.Lines(b.String()) {
			if words := strings.Fields(line); len(words) > 0 {
				got = append(got, strings.Join(words, " "))
			}
		}
		if strings.Join(got, "\n") != strings.Join(x.want, "\n") {
			t.Errorf("%s: found\n%s", x.name, b.String())
		}
	}
}
