package master

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestResultsByQuota: each owner keeps the newest results that fit into the quota. A simple
// function that handles each owner separately gets the same results.
func TestResultsByQuota(t *testing.T) {
	files, err := newResults("", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.close()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		bounds := quotas{"": {ResultBytes: 1 + rng.Int64N(100)}, "alice": {ResultBytes: 1 + rng.Int64N(200)}, "olga": {}}
		s := &server{
			options: &Config{Options: Options{KeepResults: time.Hour, KeepResultBytes: 1 << 40}, Master: daemon.Master{Process: daemon.Process{Now: func() time.Time { return noon }}}},
			log:     slog.New(slog.DiscardHandler), start: noon, reading: map[string]int{},
			cluster: newCluster(rules{quotas: bounds}), results: files,
		}
		byOwner := map[string][]*job{}
		for i := range 1 + rng.IntN(30) {
			owner := []string{"", "alice", "bob", "olga"}[rng.IntN(4)]
			at := noon.Add(time.Duration(i-60) * time.Second)
			k := s.done(fmt.Sprintf("aaaa-%02d", i), at, &control.Sum{Bytes: rng.Uint64N(60)})
			if k.owner = owner; rng.IntN(10) == 0 {
				s.reading[k.id] = 1
			}
			byOwner[owner] = append(byOwner[owner], k)
		}
		last := s.cluster.order[len(s.cluster.order)-1].id
		var want []string
		for owner, all := range byOwner {
			for from := range all { // remove as many of the oldest as necessary
				room := bounds.of(owner).ResultBytes
				gone := func(i int) bool { return i < from && s.reading[all[i].id] == 0 && all[i].id != last }
				total := int64(0)
				for i, k := range all {
					if !gone(i) {
						total += k.storedBytes()
					}
				}
				if total > room && room > 0 && from < len(all)-1 {
					continue
				} else if total > room && room > 0 {
					from++ // all of them
				}
				for i, k := range all {
					if !gone(i) {
						want = append(want, k.id)
					}
				}
				break
			}
		}
		s.expireResults()
		var got []string
		kept, _, _ := s.withResults()
		for _, k := range kept {
			got = append(got, k.id)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: found %v, expected %v", seed, got, want)
		}
	}
}

// TestQuotasOfAMaster: an owner over quota is refused at once, with the numbers. Others are not
// refused. The next master continues the counts.
func TestQuotasOfAMaster(t *testing.T) {
	dir := t.TempDir()
	bounded := func() (*server, func()) {
		return servedBy(t,
			Options{Data: dir, Quotas: map[string]Quota{"": {Queued: 2, Time: time.Hour}, "bob": {Queued: 1, ResultBytes: 1000}}})
	}
	s, end := bounded()
	submit := func(owner string) error {
		ctx := control.As(t.Context(), control.Caller{Name: owner, Roles: control.Using})
		_, _, err := s.Submit(ctx,
			&control.SubmitJobRequest{SpecJson: jobspec.Text(&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}})})
		return err
	}
	refused := func(owner, why string) {
		t.Helper()
		if err := submit(owner); connect.CodeOf(err) != connect.CodeResourceExhausted ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("found %v, expected that %s", err, why)
		}
	}
	for _, owner := range []string{"alice", "alice", "bob"} {
		if err := submit(owner); err != nil {
			t.Fatal(err)
		}
	}
	refused("alice", "alice has 2 of at most 2 waiting jobs (--quota)")
	refused("bob", "bob has 1 of at most 1 waiting jobs (--quota)")
	id := s.cluster.order[0].id
	s.event(func() {
		s.cluster.jobs[id].used = 40 * time.Minute
		s.cluster.changed = append(s.cluster.changed, change{job: id})
	})
	end()
	s, end = bounded()
	defer end()
	refused("alice", "alice has 2 of at most 2 waiting jobs")
	if got := s.cluster.jobs[id].used; got != 40*time.Minute {
		t.Errorf("the next master has %v as the used time of a job", got)
	}
	var got strings.Builder
	for _, u := range s.status().Quotas {
		fmt.Fprintf(&got, "%s %d/%d %d/%d %d/%d %v\n", u.Owner, u.Queued, u.QueuedQuota, u.Running,
			u.RunningQuota, u.ResultBytes, u.ResultBytesQuota, u.TimeQuotaSeconds)
	}
	if want := "alice 2/2 0/0 0/0 3600\nbob 1/1 0/0 0/1000 0\n"; got.String() != want {
		t.Errorf("found %s, expected %s", got.String(), want)
	}
}

// TestQuotasThatMakeNoSense: invalid quotas are refused when the master is created.
func TestQuotasThatMakeNoSense(t *testing.T) {
	for _, q := range []Quota{{Queued: -1}, {Running: -1}, {Time: -1}, {ResultBytes: -1}} {
		if _, err := New(Config{Options: Options{Quotas: map[string]Quota{"alice": q}}}); err == nil || !strings.Contains(err.Error(), `the quota of "alice" is negative`) {
			t.Errorf("%+v: found %v", q, err)
		}
	}
}
