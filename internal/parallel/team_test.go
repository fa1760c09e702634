package parallel

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func TestForCoversEveryIndexOnce(t *testing.T) {
	for _, size := range []int{1, 2, 3, 8} {
		team := NewTeam(size, size%2 == 0)
		for _, n := range []int{0, 1, 7, 64, 1000} {
			for _, grain := range []int{0, 1, 3, 64, 5000} {
				seen := make([]int32, n)
				team.For(n, grain, func(_, lo, hi int) {
					for i := lo; i < hi; i++ {
						atomic.AddInt32(&seen[i], 1)
					}
				})
				for i, c := range seen {
					if c != 1 {
						t.Fatalf("team %d, n %d, grain %d: index %d visited %d times", size, n,
							grain, i, c)
					}
				}
			}
		}
		team.Close()
		team.Close()
	}
}

// TestTakePart: every index is taken by exactly one worker, and ranges become shorter, down to one
// index.
func TestTakePart(t *testing.T) {
	for _, n := range []int{0, 1, 5, 1000} {
		for _, parts := range []int{1, 4, 2000} {
			team, seen, runs := NewTeam(3, false), make([]int32, n), atomic.Int32{}
			var c Counter
			c.Reset(0)
			team.Run(func(int) {
				last := n
				for from, to := c.TakePart(n, parts); from < to; from, to = c.TakePart(n, parts) {
					if to-from > last {
						t.Errorf("%d indices in %d parts: a run of %d after one of %d", n, parts,
							to-from, last)
					}
					last = to - from
					runs.Add(1)
					for i := from; i < to; i++ {
						atomic.AddInt32(&seen[i], 1)
					}
				}
			})
			team.Close()
			for i, times := range seen {
				if times != 1 {
					t.Errorf("%d indices in %d parts: %d was taken %d times", n, parts, i, times)
				}
			}
			if most := int(runs.Load()); parts == 1 && most > 1 || parts > n && most != n {
				t.Errorf("%d indices in %d parts: %d runs", n, parts, most)
			}
		}
	}
}

func TestRunManyTimes(t *testing.T) {
	for _, spin := range []bool{true, false} {
		team := NewTeam(3, spin)
		var calls atomic.Int64
		task := func(int) { calls.Add(1) }
		for range 5000 {
			team.Run(task)
		}
		team.Close()
		if got := calls.Load(); got != 15000 {
			t.Errorf("spin %t: %d calls, want 15000", spin, got)
		}
	}
}

func TestPanicReachesCaller(t *testing.T) {
	team := NewTeam(4, false)
	defer team.Close()
	for worker := range 4 {
		func() {
			defer func() {
				p, ok := recover().(*Panic)
				if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "team_test.go") {
					t.Errorf("worker %d: recovered %v", worker, p)
				}
			}()
			team.Run(func(w int) {
				if w == worker {
					panic("boom")
				}
			})
		}()
	}
	team.Run(func(int) {}) // the team still works
}

// TestGoexit: a task that calls runtime.Goexit is reported to the caller like a panic. If the
// caller's own part does, this happens after all other workers are done.
func TestGoexit(t *testing.T) {
	team := NewTeam(4, false)
	defer team.Close()
	for exits := range 4 {
		var done atomic.Int32
		ended := Contain(func() {
			team.Run(func(worker int) {
				if worker == exits {
					runtime.Goexit()
				}
				done.Add(1)
			})
		})
		if ended == nil || ended.Value != ErrExited ||
			!strings.Contains(string(ended.Stack), "team_test.go") || done.Load() != 3 {
			t.Errorf("worker %d: found %v, and %d others done", exits, ended, done.Load())
		}
	}
	var workers atomic.Int32
	team.Run(func(int) { workers.Add(1) })
	if workers.Load() != 4 {
		t.Errorf("afterwards the team has %d workers", workers.Load())
	}
	if ended := Contain(func() {}); ended != nil {
		t.Error(ended)
	}
}

func BenchmarkRun(b *testing.B) {
	team := NewTeam(2, true)
	defer team.Close()
	task := func(int) {}
	for b.Loop() {
		team.Run(task)
	}
}
