package master

import (
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
)

// TestWorkersGoneLast: connected workers are listed first. Workers that left disappear soon. A lost
// worker has the time when it was last heard.
func TestWorkersGoneLast(t *testing.T) {
	s, err := New(Config{Options: Options{Data: t.TempDir()}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.results.close()
	c := s.cluster
	for _, name := range []string{"a", "b", "c", "d"} {
		n, err := c.register(0,
			&control.RegisterRequest{Name: name, Instance: name, Protocol: control.Protocol})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.attach(0, name, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	c.leave(0, "a", c.workers["a"].incarnation, "stopped")
	c.detach(0, "a", c.workers["a"].incarnation)
	c.lose(time.Minute, c.workers["c"], "silent")
	for _, w := range s.workers() {
		if w.Name == "c" && w.HeardSeconds < 0 {
			t.Errorf("a lost worker was heard of when it was lost, in %g s", -w.HeardSeconds)
		}
	}
	names := func() string {
		var all []string
		for _, w := range s.workers() {
			all = append(all, w.Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(); got != "b d a c" {
		t.Errorf("found %s", got)
	}
	for _, name := range []string{"b", "d"} { // they send heartbeats
		c.heard(keepLeft+time.Second, name, c.workers[name].incarnation)
	}
	c.tick(keepLeft + time.Second)
	if got := names(); got != "b d c" {
		t.Errorf("after a minute found %s", got)
	}
}
