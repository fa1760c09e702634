//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRestartsKeepTheHistory: the page of a master that is started again shows the jobs as before,
// but for one whose record is damaged.
func TestRestartsKeepTheHistory(t *testing.T) {
	t.Parallel()
	token, _ := secrets(t)
	data := t.TempDir()
	var m *process
	var at string
	start := func() {
		m, at = startMaster(t, "--token-file", token, "--data", data)
	}
	stop := func(how syscall.Signal, status int) {
		must(t, m.Process.Signal(how))
		m.ended(status)
	}
	get := func(path string) string {
		_, text := page(t, "http://"+at+"/api/v1/jobs"+path, clusterToken)
		return text
	}
	var jobs struct {
		Items []struct{ ID, Program, State string }
	}
	shown := func() string {
		all := get("")
		must(t, json.Unmarshal([]byte(all), &jobs))
		for _, j := range jobs.Items {
			for _, of := range []string{"", "/steps", "/partitions", "/report"} {
				all += "\n" + get("/"+j.ID+of)
			}
		}
		return all
	}
	start()
	w := launch(t, "worker", "--master", at, "--token-file", token, "--gossip-listen", "off",
		"--threads", "1")
	for _, args := range [][]string{
		{"run", "wcc", "--graph", "kronecker:scale=8"},
		{"graph500", "--scale", "7", "--roots", "3"},
	} {
		launch(t, append(args, "--master", at, "--workers", "1", "--retry-for", "30s", "--token-file",
			token)...).ended(0)
	}
	before := shown()
	n := len(jobs.Items)
	if all := jobs.Items; len(all) < 5 || all[0].Program != "wcc" || all[0].State != "done" {
		t.Fatalf("found %+v", jobs)
	}
	must(t, w.Process.Signal(syscall.SIGTERM))
	w.ended(0)
	runs := filepath.Join(data, "state", "runs")
	until(t, "the records to be written", func() bool { all, _ := os.ReadDir(runs); return len(all) == 2 })
	stop(syscall.SIGKILL, -1)
	start()
	until(t, "the page to have all", func() bool { return shown() == before })
	stop(syscall.SIGTERM, 0)

	record := filepath.Join(runs, jobs.Items[0].ID)
	text, err := os.ReadFile(record)
	must(t, err)
	text[len(text)-1] ^= 1
	must(t, os.WriteFile(record, text, 0o600))
	must(t, os.WriteFile(filepath.Join(runs, "0000-1"), nil, 0o600)) // of nobody
	start()
	until(t, "the other job", func() bool { shown(); return len(jobs.Items) == n-1 && jobs.Items[0].Program != "wcc" })
	until(t, "the record of no job to go", func() bool {
		_, err := os.Stat(filepath.Join(runs, "0000-1"))
		return os.IsNotExist(err)
	})
	stop(syscall.SIGTERM, 0)
	if log := m.stderr.String(); !strings.Contains(log, "does not show a job of before") {
		t.Errorf("found %s", log)
	}
}
