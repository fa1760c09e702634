package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBeside measures programs that print what superstep and the peers print.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours := script("ours",
		`for a; do last=$a; case $before in --json) echo '{"bfs_mean_time": 0.002, "superstep_time": [0.5, 0.01, 0.004], "run_time": 0.5}' >"$a";; esac; before=$a; done`)
	script("bfs", `echo "Build Time:           1.5"; echo "Average Time:          0.00600"`)
	script("bfs-relabelled",
		`[ "$GLIBC_TUNABLES" = glibc.malloc.hugetlb=1 ] && echo "Average Time: 3e-3"`)
	script("pr", `echo "Average Time: 0.4"`)
	for only, want := range map[string]string{
		"BFS":      "| BFS, mean of 16 roots | 7 | 2.00 | 6.00 (3.00) |  | 3.00 (1.50) |",
		"PageRank": "| PageRank, an iteration | 7 | 10.0 | 20.0 (2.00) |  |  |",
		"WCC":      "| WCC | 7 | 500 |  |  |  |",
	} {
		var out bytes.Buffer
		if err := run([]string{"--superstep", ours, "--scales", "7", "--rounds", "2", "--only", only, dir}, &out, &out); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 3 ||
			lines[2] != want {
			t.Errorf("%s:\n%s\nexpected %s", only, out.String(), want)
		}
	}
	script("cc", `echo "no time"`)
	for name, args := range map[string][]string{
		`printed no line "Average Time"`: {"--superstep", ours, "--scales", "7", "--only", "WCC", dir},
		"has no sssp_mean_time":          {"--superstep", ours, "--scales", "7", "--only", "SSSP", dir},
		`"x" is no SCALE`:                {"--superstep", ours, "--scales", "x", dir},
		"expected one folder":            {"--superstep", ours},
		"not found":                      {"--superstep", "no-such-program", dir},
	} {
		var out bytes.Buffer
		if err := run(args, &out, &out); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
