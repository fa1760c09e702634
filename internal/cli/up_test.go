package cli

import (
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/builtin"
)

// TestUpPassesFlagsOn: flags of up for the master and the workers are passed to them.
func TestUpPassesFlagsOn(t *testing.T) {
	a := &app{name: "superstep", programs: builtin.Programs()}
	up := a.up()
	err := up.ParseFlags([]string{
		"--listen", "127.0.0.1:0", "--workers", "3", "--threads", "2", "--lease", "5s", "--hold",
		"2m", "--quota", "queued=1", "--quota", "a:queued=2",
		"--checkpoint-every", "10", "--checkpoint-strict", "--memory", "1GiB", "--data-root",
		"/a,b", "--tls-ca", "ca.pem", "--compress", "off",
	})
	if err != nil {
		t.Fatal(err)
	}
	master := []string{
		"--tls-ca=ca.pem", "--lease=5s", "--hold=2m0s", "--checkpoint-every=10",
		"--checkpoint-strict", "--quota=queued=1", "--quota=a:queued=2",
	}
	if found := passedOn(up.Flags(), a.master()); !slices.Equal(found, master) {
		t.Errorf("master: found %q, expected %q", found, master)
	}
	worker := []string{"--tls-ca=ca.pem", "--hold=2m0s", "--data-root=/a,b", "--compress=off", "--memory=1073741824"}
	if found := passedOn(up.Flags(), a.worker(), "threads"); !slices.Equal(found, worker) {
		t.Errorf("worker: found %q, expected %q", found, worker)
	}
}

// TestRanges: a number outside a flag's range is refused when flags are parsed.
func TestRanges(t *testing.T) {
	a := &app{name: "superstep", programs: builtin.Programs()}
	for _, c := range []struct{ flag, text, why string }{
		{"lease", "499ms", "expected 500ms to 1h"},
		{"lease", "1h1s", "expected 500ms to 1h"},
		{"lease", "500ms", ""},
		{"lease", "1h", ""},
		{"retries", "-1", "expected 0 to 100"},
		{"retries", "0", ""},
		{"running", "65", "expected 1 to 64"},
		{"memory", "31MiB", "expected 32MiB or more"},
		{"window", "64KiB", ""},
		{"window", "2GiB", "expected 64KiB to 1GiB"},
		{"window", "auto", "expected a number of bytes, such as 500MB"},
		{"hold", "0", "expected 1ms or more"},
		{"workers", "64", ""},
	} {
		err := a.up().Flags().Lookup(c.flag).Value.Set(c.text)
		if (err == nil) != (c.why == "") || err != nil && err.Error() != c.why {
			t.Errorf("--%s %s: found %v, expected %q", c.flag, c.text, err, c.why)
		}
	}
}
