package master

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
)

// given starts and stops a master. It returns the incarnation of a new worker.
func given(t *testing.T, o Config) uint64 {
	t.Helper()
	o.Registry = engine.Registry{}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.unlock()
	defer s.results.close()
	incarnation, err := s.cluster.register(0,
		&control.RegisterRequest{Name: "w", Instance: "i", Protocol: control.Protocol})
	if err != nil {
		t.Fatal(err)
	}
	return incarnation
}

// TestIncarnationsRiseWhateverTheClockSays: masters start one after the other, at the same time or
// with a clock set back by an hour or ten years. Each one assigns higher incarnations than its
// predecessor.
func TestIncarnationsRiseWhateverTheClockSays(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, o := range map[string]Config{"data": {Options: Options{Data: t.TempDir()}}, "state": {Master: daemon.Master{State: t.TempDir()}}, "neither": {}} {
		last := uint64(0)
		for _, at := range []time.Time{now, now, now.Add(-time.Hour), now.AddDate(-10, 0,
			0), now.AddDate(10, 0, 0), now} {
			o.Now = func() time.Time { return at }
			incarnation := given(t, o)
			if incarnation <= last || last != 0 && incarnation-last < 1<<31 {
				t.Errorf("%s, at %v: incarnation %d after %d", name, at, incarnation, last)
			}
			last = incarnation
		}
	}
}

// TestOneMasterForItsData: a running master locks its directory.
func TestOneMasterForItsData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := New(Config{Options: Options{Data: dir}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Options: Options{Data: dir}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}}); err == nil || !strings.Contains(err.Error(), "another master uses "+dir) {
		t.Errorf("the second: %v", err)
	}
	first.results.close()
	first.unlock()
	given(t, Config{Options: Options{Data: dir}})
}

// register is registerBy without a certificate.
func (c *cluster) register(now time.Duration, r *control.RegisterRequest) (uint64, error) {
	return c.registerBy(now, "", r)
}
