package graphio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestWeightsOfWholeBlocks has files with too few or too many weights that end at a block boundary
// of the list. They are read as a whole and in parts. Only their number is wrong.
func TestWeightsOfWholeBlocks(t *testing.T) {
	const b = edges.BlockSize
	for _, test := range []struct {
		tuples, weights int
		want            string
	}{
		{2 * b, b, "4,096 bytes, expected 8,192: 4 for each tuple of a.bin"},
		{2 * b, 0, "0 bytes, expected 8,192: 4 for each tuple of a.bin"},
		{b, 2 * b, "8,192 bytes, expected 4,096: 4 for each tuple of a.bin"},
		{b + 1, b, "4,096 bytes, expected 4,100: 4 for each tuple of a.bin"},
	} {
		tuples, weights := strings.Repeat(string(appendEdge(nil, 1, 2)), test.tuples),
			strings.Repeat("\x00\x00\x80\x3f", test.weights)
		dir := t.TempDir()
		path := putIn(t, dir, "a.bin", tuples)
		putIn(t, dir, "a.bin.weights", weights)
		want := "a.bin.weights: found " + test.want
		for _, piece := range []int{1, pieceSize} {
			o := ReadOptions{Weights: edges.Float64, Team: team(t, 2)}
			_, err := read(path, piece, o)
			wantError(t, err, path, want)
			for rank := range 2 {
				r := newReader(o, piece)
				r.rank, r.ranks = rank, 2
				_, err = r.readRank(t.Context(), path)
				wantError(t, err, path, want)
			}
		}
	}
}

// TestChangedBetweenPasses changes a file after it, or the file before it, was read once. Then the
// results of the first pass are no longer valid.
func TestChangedBetweenPasses(t *testing.T) {
	const n = 3 * edges.BlockSize
	tuples := strings.Repeat(string(appendEdge(nil, 1, 2)), n)
	larger := strings.Repeat(string(appendEdge(nil, 1, 1<<20)), n)
	weights := strings.Repeat("\x00\x00\x80\x3f", n)
	later := "a new time of change while it was read, expected the "
	rewrite := func(text string, keepTime bool) func(path string) error {
		return func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
			when := info.ModTime()
			if !keepTime {
				when = when.Add(time.Second)
			}
			return os.Chtimes(path, time.Time{}, when)
		}
	}
	for name, test := range map[string]struct {
		files  map[string]string // a.* is read first
		at     int64             // the number of bytes read before the change
		change func(path string) error
		want   string
	}{
		"other tuples, seen by their ids": {map[string]string{"a.bin": tuples}, 12 * n, rewrite(larger, true), "a.bin: found other tuples while it was read, expected the 36,864 bytes it had when it was opened"},
		"other tuples, seen by the time":  {map[string]string{"a.bin": tuples}, 12 * n, rewrite(tuples, false), "a.bin: found " + later + "36,864 bytes it had when it was opened"},
		"shorter":                         {map[string]string{"a.bin": tuples}, 12 * n, rewrite(tuples[:12*n/2], true), "a.bin: found 18,432 bytes while it was read, expected the 36,864 bytes it had when it was opened"},
		"gone":                            {map[string]string{"a.bin": tuples}, 12 * n, os.Remove, "a.bin: found no file any more while it was read, expected the 36,864 bytes it had when it was opened"},
		"while the weights are read":      {map[string]string{"a.bin": tuples, "a.bin.weights": weights}, 24*n + 1, rewrite(tuples, false), "a.bin: found " + later + "36,864 bytes it had when it was opened"},
		"vertices while edges are read":   {map[string]string{"a.v": "1\n2\n", "a.e": strings.Repeat("1 2\n", 100_000)}, 2 * headSize, rewrite("1\n2\n", false), "a.v: found " + later + "4 bytes it had when it was opened"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range test.files {
				putIn(t, dir, file, text)
			}
			path := filepath.Join(dir, "a.bin")
			if _, ok := test.files["a.v"]; ok {
				path = filepath.Join(dir, "a.v")
			}
			changed := false
			r := newReader(ReadOptions{Weights: edges.Float64, Progress: func(done, total int64) {
				if done >= test.at && !changed {
					changed = true
					if err := test.change(path); err != nil {
						t.Error(err)
					}
				}
			}}, 4096)
			_, err := r.read(t.Context(), path)
			wantError(t, err, path, test.want)
			if !changed {
				t.Error(fmt.Sprint("nothing was changed at ", test.at))
			}
		})
	}
}
