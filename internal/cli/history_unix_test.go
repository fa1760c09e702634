//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/test/scripts"
)

// pageJob has the fields of a job in the API that the tests read.
type pageJob struct {
	ID, Program, State, Submitted, Finished string
	Supersteps, Messages                    int
}

// noSteps is the API's answer for a job whose supersteps are not kept.
const noSteps = `{"items":[]}`

// history returns the jobs on a master's page, and everything that the API returns about them, by
// id.
func history(t *testing.T, master string) (jobs []pageJob, all map[string]string) {
	t.Helper()
	get := func(path string) string {
		_, text := page(t, "http://"+master+"/api/v1/jobs"+path, clusterToken)
		return text
	}
	var list struct{ Items []pageJob }
	_ = json.Unmarshal([]byte(get("")), &list) // a standby master has none
	all = map[string]string{}
	for _, j := range list.Items {
		for _, of := range []string{"", "/steps", "/partitions", "/report"} {
			all[j.ID] += get("/"+j.ID+of) + "\n"
		}
	}
	return list.Items, all
}

// TestRestartsKeepTheHistory: after restarts of the master, the page, the API and superstep jobs
// show the same jobs, including one that ran while the master was killed. If a job's record is
// damaged or belongs to another job, only its supersteps are missing.
func TestRestartsKeepTheHistory(t *testing.T) {
	t.Parallel()
	token, _ := secrets(t)
	data := t.TempDir()
	var m *process
	var at string
	start := func(address string) {
		m, at = startMaster(t, "--token-file", token, "--data", data, "--listen", address)
	}
	stop := func(how syscall.Signal, status int) {
		must(t, m.Process.Signal(how))
		m.ended(status)
	}
	var jobs []pageJob
	shown := func() (all map[string]string) {
		jobs, all = history(t, at)
		return all
	}
	newest := func() pageJob {
		shown()
		return jobs[len(jobs)-1]
	}
	own := func(status int, args ...string) *process {
		p := launch(t, append(args, "--master", at, "--token-file", token)...)
		p.ended(status)
		return p
	}
	// listed returns the jobs as superstep jobs prints them, and as the API lists them without
	// searches.
	listed := func() (terminal, api []string) {
		p := launch(t, "jobs", "--all", "--json", "--master", at, "--token-file", token)
		var all struct {
			Jobs []struct{ ID, State string }
		}
		must(t, json.NewDecoder(p.stdout).Decode(&all))
		p.ended(0)
		for _, j := range all.Jobs {
			terminal = append(terminal, j.ID)
		}
		shown()
		for _, j := range jobs {
			if strings.Count(j.ID, "-") == 1 {
				api = append(api, j.ID)
			}
		}
		return terminal, api
	}
	start("127.0.0.1:0")
	w := launch(t, "worker", "--master", at, "--token-file", token, "--gossip-listen", "off",
		"--threads", "1", "--hold", "1m")
	for _, args := range [][]string{
		{"run", "wcc", "--graph", "kronecker:scale=8"},
		{"graph500", "--scale", "7", "--roots", "3"},
		{"run", "scc", "--graph", "uniform:vertices=100,degree=3"}, // a plan of phases
	} {
		own(0, append(args, "--workers", "1", "--retry-for", "30s")...)
	}
	own(1, "run", "bfs", "--graph", "path:vertices=9", "-p", "source=10")
	before := shown()
	if all := jobs; len(all) < 7 || all[0].Program != "wcc" || all[0].State != "done" ||
		all[len(all)-1].State != "failed" {
		t.Fatalf("found %+v", jobs)
	}
	first := jobs[0]
	runs := filepath.Join(data, "state", "runs")
	until(t, "the records to be written",
		func() bool { all, _ := os.ReadDir(runs); return len(all) == 4 })
	own(0, "run", "forever", "--graph", "path:vertices=9", "--detach")
	until(t, "the long job to run",
		func() bool { j := newest(); return j.State == "running" && j.Supersteps > 3 })
	stop(syscall.SIGKILL, -1)
	start(at)
	same := func() bool {
		now := shown()
		for id, text := range before {
			if now[id] != text {
				return false
			}
		}
		return true
	}
	// A job that is cancelled before its worker is back has no supersteps.
	until(t, "the page to have all that ended before, and the worker to be back", func() bool {
		return same() && !strings.Contains(shown()[newest().ID], noSteps)
	})
	own(0, "cancel", newest().ID)
	until(t, "the long job to end", func() bool { return newest().State == "cancelled" })
	long := newest()
	must(t, w.Process.Signal(syscall.SIGTERM))
	w.ended(0)
	until(t, "its record to be written",
		func() bool { all, _ := os.ReadDir(runs); return len(all) == 5 })
	stop(syscall.SIGTERM, 0)
	start(at)
	until(t, "the page to have all", func() bool { // the newest supersteps of the long job
		return same() && newest() == long && !strings.Contains(shown()[long.ID], noSteps)
	})
	if terminal, api := listed(); len(api) != 5 || !slices.Equal(terminal, api) {
		t.Errorf("superstep jobs lists %q, the page %q", terminal, api)
	}
	stop(syscall.SIGTERM, 0)

	n := len(jobs)
	record := func(number int) string { return filepath.Join(runs, fmt.Sprintf("%04d", number)) }
	text, err := os.ReadFile(record(1))
	must(t, err)
	must(t, os.WriteFile(record(3), text, 0o600)) // the record of another job
	text[len(text)-1] ^= 1
	must(t, os.WriteFile(record(1), text, 0o600))
	start(at)
	until(t, "the other jobs", func() bool {
		shown()
		return len(jobs) == n && strings.Contains(shown()[jobs[1].ID], "TEPS")
	})
	if jobs[0] != first || first.Supersteps == 0 || first.Messages == 0 || first.Submitted == "" ||
		!strings.Contains(shown()[jobs[0].ID], noSteps) {
		t.Errorf("found %+v, expected %+v", jobs[0], first)
	}
	stop(syscall.SIGTERM, 0)
	if log := m.stderr.String(); strings.Count(log, "does not show the supersteps of a job") != 2 {
		t.Errorf("found %s", log)
	}
}

// TestStandbysShowTheHistory: after a takeover, the new master shows the old master's job, which
// ended just after the takeover.
func TestStandbysShowTheHistory(t *testing.T) {
	token, _ := secrets(t)
	t.Setenv("SUPERSTEP_TOKEN_FILE", token)
	c := scripts.NewCluster(t, "own", 0, "--token-file", token, "--standby", "--checkpoints",
		filepath.Join(t.TempDir(), "kept"), "--lease", "2s")
	first := c.Address
	must(t, c.StartStandby("second"))
	must(t, c.StartWorker("w1"))
	must(t, c.Await(1))
	out, err := exec.Command("own", "run", "wcc", "-g", "kronecker:scale=8", "--master",
		c.Address).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, c.Signal("master", syscall.SIGTERM))
	_, second, _ := strings.Cut(c.Address, ",")
	jobs, all := []pageJob(nil), map[string]string(nil)
	until(t, "the second to show the supersteps", func() bool {
		jobs, all = history(t, second)
		return len(jobs) == 1 && !strings.Contains(all[jobs[0].ID], noSteps)
	})
	if jobs[0].State != "done" || jobs[0].Program != "wcc" || first == second {
		t.Errorf("found %+v", jobs)
	}
}
