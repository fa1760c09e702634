package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/master"
)

// askedQuotas returns the quotas of a command line with --quota. If text is not empty, it is the
// content of a file of quotas.
func askedQuotas(t *testing.T, text string, args ...string) (map[string]master.Quota, error) {
	t.Helper()
	var f masterFlags
	cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
	flagsOf(cmd, &f)
	configFlag(cmd)
	if text != "" {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", file)
	}
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		return nil, err
	}
	return quotasOf(f.Quota)
}

// TestQuotas: valid and invalid quotas on the command line and in a file. Errors name their place.
func TestQuotas(t *testing.T) {
	want := map[string]master.Quota{
		"":      {Queued: 20, Running: 2, Time: 90 * time.Minute, ResultBytes: 5e9},
		"alice": {Queued: 100}, "a:b=c": {ResultBytes: 1 << 20},
	}
	flags := []string{"--quota", "queued=20,running=2,time=1h30m,result-bytes=5GB", "--quota", "alice:queued=100", "--quota", "a:b=c:result-bytes=1MiB"}
	file := "quota:\n  - time=1h30m,result-bytes=5GB,running=2,queued=20\n  - alice:queued=100\n  - \"a:b=c:result-bytes=1MiB\"\n"
	if got, err := askedQuotas(t, "", flags...); err != nil || !maps.Equal(got, want) {
		t.Errorf("flags: found %v, %v", got, err)
	}
	if got, err := askedQuotas(t, file); err != nil || !maps.Equal(got, want) {
		t.Errorf("file: found %v, %v", got, err)
	}
	if got, err := askedQuotas(t, "quota: queued=7\n", flags...); err != nil ||
		!maps.Equal(got, want) {
		t.Errorf("flags before a file: found %v, %v", got, err)
	}
	for text, why := range map[string]string{
		"queued":                       "expected [OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these",
		"queued=1,":                    "expected [OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these",
		"alice":                        "expected [OWNER:]queued=N",
		"alice:":                       "expected [OWNER:]queued=N",
		":queued=1":                    "expected the name of an owner before the colon",
		" alice:queued=1":              "expected the name of an owner before the colon",
		"a\nb:queued=1":                "expected the name of an owner before the colon",
		"queued=0":                     "expected 1 to 1048576",
		"running=-1":                   "expected 1 to 1048576",
		"queued=99999999999":           "expected 1 to 1048576",
		"queued=1.5":                   "expected a whole number",
		"queued=1,queued=1":            "expected queued once",
		"memory=1GB":                   `expected [OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these, and not "memory"`,
		"time=5":                       "expected a time, such as 30s",
		"time=-5s":                     "expected a time, such as 30s",
		"result-bytes=":                "expected a number of bytes, such as 500MB",
		"result-bytes=lots":            "expected a number of bytes, such as 500MB",
		strings.Repeat("x", 257) + ":": "expected the name of an owner",
	} {
		if _, err := askedQuotas(t, "", "--quota", text); err == nil ||
			!strings.HasPrefix(err.Error(), "--quota: found ") ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%q: found %v, expected %s", text, err, why)
		}
	}
	for args, why := range map[string]string{
		"queued=1 running=2":         `--quota: found "running=2", expected one quota for all others, and there is one already`,
		"bob:queued=1 bob:running=2": `--quota: found "bob:running=2", expected one quota for bob, and there is one already`,
	} {
		a, b, _ := strings.Cut(args, " ")
		if _, err := askedQuotas(t, "", "--quota", a, "--quota", b); err == nil ||
			err.Error() != why {
			t.Errorf("%s: found %v, expected %s", args, err, why)
		}
	}
	for text, why := range map[string]string{
		"quota: queued=0\n":                         `quota: found "queued=0", expected 1 to 1048576`,
		"quota:\n  - queued=1\n  - a:queued=x\n":    `quota: found "a:queued=x", expected a whole number`,
		"quota:\n  - queued=1\n  - running=1\n":     `quota: found "running=1", expected one quota for all others`,
		"quota: {alice: 5}\n":                       `f.yaml:1: quota: found "map[alice:5]", expected a text`,
		"quota: [queued=1]\nquota: [a:running=1]\n": `f.yaml:2:1: mapping key "quota" already defined`,
	} {
		if _, err := askedQuotas(t, text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: found %v, expected %s", text, err, why)
		}
	}
}

// FuzzQuota: a text is a quota, whose text form parses to the same quota, or an error of one line.
func FuzzQuota(f *testing.F) {
	f.Add("queued=20,running=2,time=1h30m,result-bytes=5GB")
	f.Add("alice:queued=1")
	f.Add("a:b=c,d:time=1ns,,=")
	f.Add(":result-bytes=9223372036854775807KiB")
	f.Fuzz(func(t *testing.T, text string) {
		owner, q, err := parseQuota(text)
		if err != nil {
			if q != (master.Quota{}) || owner != "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("found %q, %+v with %v", owner, q, err)
			}
			return
		}
		if min(q.Queued, q.Running) < 0 || min(int64(q.Time), q.ResultBytes) < 0 ||
			q == (master.Quota{}) {
			t.Errorf("found %+v", q)
		}
		var all []string
		if q.Queued > 0 {
			all = append(all, fmt.Sprint("queued=", q.Queued))
		}
		if q.Running > 0 {
			all = append(all, fmt.Sprint("running=", q.Running))
		}
		if q.Time > 0 {
			all = append(all, fmt.Sprint("time=", q.Time))
		}
		if q.ResultBytes > 0 {
			all = append(all, fmt.Sprint("result-bytes=", q.ResultBytes))
		}
		again := strings.Join(all, ",")
		if owner != "" {
			again = owner + ":" + again
		}
		if o, p, err := parseQuota(again); err != nil || o != owner || p != q {
			t.Errorf("%q was read as %q, which is %q, %+v, %v; expected %+v", text, again, o, p,
				err, q)
		}
	})
}
