package store_test

import (
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCheckpoints: a run in one process and a job on a cluster store checkpoints in S3, although
// the server sometimes fails. They resume with the same result.
func TestCheckpoints(t *testing.T) {
	t.Run("faulty", func(t *testing.T) {
		f := &faulty{random: rand.New(rand.NewPCG(7, 3)), of: 8}
		serve(t, func(h http.Handler) http.Handler { f.next = h; return f })
		goOn(t)
		if f.faults == 0 {
			t.Error("the server did not fail")
		}
	})
	t.Run("versitygw", func(t *testing.T) {
		versitygw(t)
		goOn(t)
	})
}

// goOn stops runs early and resumes them from their checkpoints in S3.
func goOn(t *testing.T) {
	program, dir := built(t), t.TempDir()
	job := strings.Fields(
		"run pagerank --graph kronecker:scale=15 -p iterations=400 --deterministic -q")
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	program.run(t, append(job, "--output", dir+"/whole")...)
	want := read("whole")

	short := append(job, "--max-supersteps", "200")
	program.run(t, append(short, "--checkpoint", "s3://bucket/one/run", "--checkpoint-every",
		"20")...)
	if out := program.run(t, "checkpoints", "verify", "s3://bucket/one/run"); !strings.Contains(out,
		"checkpoint-") {
		t.Errorf("checkpoints verify: %s", out)
	}
	program.run(t, "resume", "s3://bucket/one/run", "--max-supersteps", "0", "--partitions", "3",
		"-q", "--output", dir+"/after")
	if read("after") != want {
		t.Error("a run that went on has another result")
	}
	if out := program.run(t, "checkpoints", "remove", "s3://bucket/one/run"); !strings.Contains(out,
		"0 checkpoints removed, 0 left") {
		t.Errorf("checkpoints of a run that is done: %s", out)
	}

	on := []string{"--master", program.up(t, "--checkpoints", "s3://bucket/jobs",
		"--checkpoint-every", "20"), "--workers", "2"}
	program.run(t, append(short, on...)...)
	found := regexp.MustCompile(`(?m)^[0-9a-f]+-[0-9]+`).FindString(program.run(t, "jobs", "--all",
		on[0], on[1]))
	said := program.run(t,
		append([]string{"resume", found, "--max-supersteps", "0", "--output", dir + "/job"},
			on[:2]...)...)
	if read("job") != want || !strings.Contains(said, "goes on from checkpoint-") {
		t.Errorf("the resumed job has another result, or did not resume: %s", said)
	}
}
