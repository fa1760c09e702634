package mesh

import (
	"testing"

	"github.com/superstep-go/superstep/internal/transport"
)

// doubt makes a connection doubtful, as if the other side had been silent for long.
func doubt(o *outbound) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late = true
}

func (m *Mesh) outTo(name string) *outbound {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outs[name]
}

// TestConnectionInDoubtIsRenewed: the next session opens a new connection, even to a worker that
// has already opened this session. The other side closes the doubtful connection. While a session
// uses it, the connection stays.
func TestConnectionInDoubtIsRenewed(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	layout := dealt(peers, 4)
	for job := range uint64(60) {
		before := meshes[0].outTo("w1")
		if before != nil {
			doubt(before)
		}
		other, err := meshes[1].Open(t.Context(), job, 0, layout, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, err := meshes[0].Open(t.Context(), job, 0, layout, nil)
		if err != nil {
			t.Fatal(err)
		}
		now := meshes[0].outTo("w1")
		if now == before {
			t.Fatalf("job %d uses the doubtful connection", job)
		}
		if before != nil {
			<-before.done // the other side has closed it
		}
		doubt(now)
		beside := openAll(t, meshes, 1000+job, 0, layout, nil)
		if meshes[0].outTo("w1") != now {
			t.Errorf("job %d: the connection was replaced while a session used it", job)
		}
		for _, sessions := range [][]*Session{{first, other}, beside} {
			play(t, sessions, 2, 1<<10, transport.Expand)
			for _, s := range sessions {
				if err := s.Err(); err != nil {
					t.Fatalf("job %d: %v", job, err)
				}
				s.Close()
			}
		}
	}
	meshes[0].mu.Lock()
	defer meshes[0].mu.Unlock()
	if len(meshes[0].replaced) > 1 || len(meshes[0].outs) != 1 {
		t.Errorf("%d and %d connections are kept", len(meshes[0].replaced), len(meshes[0].outs))
	}
}

// TestDoubtIsHeard: a silence longer than half the limit makes a connection doubtful. The pings of
// an idle connection are frequent enough.
func TestDoubtIsHeard(t *testing.T) {
	inVirtualTime(t, nil, func(int, *Options) {}, func(t *testing.T, a, _ *Port) {
		out := a.session.outs[1]
		if out.doubtful() {
			t.Error("in doubt from the beginning")
		}
		out.mu.Lock()
		out.heard = out.heard.Add(-out.mesh.options.Silence * 2 / 3)
		out.hear()
		out.mu.Unlock()
		if !out.doubtful() {
			t.Error("a long silence is forgotten when it ends")
		}
	})
}
