package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/store"
)

// TestTwoRunsInAnEmptyPlace: two runs found a place empty. Only one gets it, whatever supersteps
// they store; the other changes nothing there.
func TestTwoRunsInAnEmptyPlace(t *testing.T) {
	for name, done := range map[string]bool{"the second is done first": true, "the second fails": false} {
		t.Run(name, func(t *testing.T) {
			s, dir := openDir(t)
			var told []string
			warn := func(text string) { told = append(told, text) }
			first := NewKeeper(s, Policy{Every: 1}, 0,
				func(text string) { t.Error(text) }, func(Event) {})
			second := NewKeeper(s, Policy{Every: 1, Strict: true}, 0, warn, func(Event) {})
			first.Own("A", false)
			second.Own("B", false)
			first.Begin(0)
			second.Begin(0)
			keep(t, s, first, 2)
			before := names(t, dir)
			m := &Manifest{Superstep: 3, Program: Program{Name: "other"}}
			w := NewWriter(s, "another")
			defer w.Close()
			second.Expect(m, 1)
			w.Write(part(3, 0, 1, 100))
			w.Flush()
			if err := second.Stored(w.Stored()); err != nil {
				t.Fatal(err)
			}
			if err := second.Settle(); err != nil {
				t.Fatal(err)
			}
			if len(told) != 1 || !strings.Contains(told[0],
				"has the checkpoints of another run, of ") || !strings.Contains(told[0],
				"name another place") {
				t.Errorf("the second run logs %q", told)
			}
			second.Close(done)
			if got := names(t, dir); got != before {
				t.Errorf("after the second run there is\n%s, expected\n%s", got, before)
			}
			keep(t, s, first, 3)
			first.Close(true)
			if got := names(t, dir); got != "" {
				t.Errorf("after the first run there is %s", got)
			}
		})
	}
}

// TestOwnerGoesOn: a run that resumes from its checkpoint in the same place remains the owner. If
// it cannot start, it removes nothing. A run that stored no checkpoint leaves no files.
func TestOwnerGoesOn(t *testing.T) {
	s, dir := openDir(t)
	k := NewKeeper(s, Policy{Every: 1}, 0, func(text string) { t.Error(text) }, func(Event) {})
	k.Own("A", false)
	k.Begin(0)
	keep(t, s, k, 2)
	k.Close(false)
	run, err := Owner(t.Context(), s, nil, nil)
	if err != nil || run != "A" {
		t.Fatalf("owner %q, %v", run, err)
	}
	there := names(t, dir)
	failed := NewKeeper(s, Policy{Every: 1}, 0, func(text string) { t.Error(text) }, func(Event) {})
	failed.Own(run, true)
	failed.Close(false) // before it starts: the checkpoint is of another program
	if got := names(t, dir); got != there {
		t.Fatalf("found %s, expected %s", got, there)
	}
	next := NewKeeper(s, Policy{Every: 1}, 0, func(text string) { t.Error(text) }, func(Event) {})
	next.Own(run, true)
	next.Begin(2)
	next.Close(false)
	if run, err := Owner(t.Context(), s, nil, nil); err != nil || run != "A" {
		t.Fatalf("owner %q, %v", run, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ownerName))
	if err != nil {
		t.Fatal(err)
	}
	next.Close(true)
	if got := names(t, dir); got != "" {
		t.Errorf("found %s", got)
	}
	damaged := strings.Replace(string(text), `"run":"A"`, `"run":"B"`, 1)
	if err := os.WriteFile(filepath.Join(dir, ownerName), []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if run, err := Owner(t.Context(), s, nil, nil); !errors.Is(err, store.ErrDamaged) ||
		!strings.Contains(err.Error(), ownerName) {
		t.Errorf("an owner with another letter: found %q, %v", run, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ownerName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Owner(t.Context(), s, nil, nil); err == nil ||
		strings.Contains(err.Error(), "checkpoints remove") {
		t.Errorf("a broken owner: %v", err)
	}
	told := ""
	run, err = Owner(t.Context(), s, &Manifest{}, func(text string) { told += text })
	if err != nil || run == "" || run == "A" || !strings.Contains(told, ownerName) {
		t.Errorf("a resumed run: owner %q, %v, log %q", run, err, told)
	}
	if now, err := Owner(t.Context(), s, nil, nil); err != nil || now != run {
		t.Errorf("after that: owner %q, %v, expected %q", now, err, run)
	}
	if err := Prune(t.Context(), s, 0, 0, false); err != nil || names(t, dir) != "" {
		t.Errorf("%v: found %s", err, names(t, dir))
	}
}

func FuzzOwner(f *testing.F) {
	f.Add([]byte(`{"run":"A","program":"p","graph":"g","created":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"run":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := parseOwner(data); err == nil && o.Run == "" {
			t.Errorf("%q has no run, and is taken", data)
		}
	})
}
