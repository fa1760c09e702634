package checkpoint

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlaceOfTwoRuns: two runs store checkpoints in one place. A run of the same job may continue
// there; a run of another job gets an error.
func TestPlaceOfTwoRuns(t *testing.T) {
	for name, c := range map[string]struct {
		other func(m *Manifest)
		want  string
	}{
		"the same": {func(m *Manifest) {
			m.Job = json.RawMessage(`{"options":{"threads":2}, "parameters": {"damping":"0.85"}}`)
		}, ""},
		"other parameters": {func(m *Manifest) { m.Decides = map[string]string{"seed": "5"} }, "seed is 5, and was 0"},
		"another graph":    {func(m *Manifest) { m.Graph.Arcs++ }, "it is on another graph"},
		"another program":  {func(m *Manifest) { m.Program.Name = "q" }, "it is of p"},
		"another type":     {func(m *Manifest) { m.Program.Types = []string{"values of type int8"} }, "int8"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openDir(t)
			manifest := func() *Manifest {
				return &Manifest{
					Superstep: 3,
					Program:   Program{Name: "p", Types: []string{"values of type int64"}},
					Graph:     Graph{Vertices: 4, Arcs: 5, Print: 6},
					Decides:   map[string]string{"seed": "0"},
					Job:       json.RawMessage(`{"parameters":{"damping":"0.85"}}`),
					Parts:     []Stored{},
				}
			}
			w := NewWriter(s, "run")
			defer w.Close()
			w.Write(part(3, 0, 1, 100))
			w.Flush()
			first, second := manifest(), manifest()
			first.Parts = w.Stored()
			second.Parts = first.Parts
			c.other(second)
			if err := commit(t.Context(), s, first); err != nil {
				t.Fatal(err)
			}
			err := commit(t.Context(), s, second)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), "another run has one there: ") ||
					!strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestCheckpointInThePlaceOfABrokenOne: an earlier attempt left a checkpoint, maybe with a missing
// or truncated part. When a run reaches the same superstep again, it replaces a broken checkpoint.
// An intact one stays.
func TestCheckpointInThePlaceOfABrokenOne(t *testing.T) {
	for what, breaks := range map[string]func(file string) error{
		"a part is gone": os.Remove,
		"a part is cut":  func(file string) error { return os.Truncate(file, 9) },
		"nothing":        func(string) error { return nil },
	} {
		s, dir := openDir(t)
		stored := func(attempt string) string {
			w := NewWriter(s, attempt)
			defer w.Close()
			w.Write(part(3, 0, 1, 100))
			w.Flush()
			m := &Manifest{Superstep: 3, Program: Program{Name: "p"}, Parts: w.Stored()}
			if err := commit(t.Context(), s, m); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return m.Parts[0].Name
		}
		want := stored("first")
		if err := breaks(filepath.Join(dir, want)); err != nil {
			t.Fatal(err)
		}
		if second := stored("second"); what != "nothing" {
			want = second
		}
		m, err := Find(t.Context(), s, "", func(text string) { t.Error(text) })
		if err != nil || m.Parts[0].Name != want {
			t.Errorf("%s: found %v, %v, expected the part %s", what, m, err, want)
		}
	}
}

// TestPruneCountsThoseInOrder: the newer of two checkpoints is damaged. It is removed, and the
// older one stays.
func TestPruneCountsThoseInOrder(t *testing.T) {
	for _, reads := range []bool{false, true} {
		s, dir := openDir(t)
		k := NewKeeper(s, Policy{Every: 1}, 0, func(text string) { t.Error(text) }, func(Event) {})
		keep(t, s, k, 1)
		keep(t, s, k, 2)
		k.Close(false)
		broken := filepath.Join(dir, "part-000000002-run-00000-of-00002")
		data, err := os.ReadFile(broken)
		if err != nil {
			t.Fatal(err)
		}
		if reads {
			data[len(data)/2]++
		} else {
			data = data[1:]
		}
		if err := os.WriteFile(broken, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := Prune(t.Context(), s, 1, math.MaxInt, reads); err != nil {
			t.Fatal(err)
		}
		if m, err := Find(t.Context(), s, "", func(text string) { t.Error(text) }); err != nil ||
			m.Superstep != 1 {
			t.Errorf("reads %t: found %v, %v", reads, m, err)
		}
	}
}
