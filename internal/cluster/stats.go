package cluster

import "github.com/superstep-go/superstep/internal/transport/mesh"

// Stats returns what the data plane has counted since the executor was made, under all its incarnations.
func (x *Executor) Stats() mesh.Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.past
	if x.mesh != nil {
		all.Add(x.mesh.Stats())
	}
	return all
}

// closeMesh ends the mesh there is. The lock is held.
func (x *Executor) closeMesh() {
	if x.mesh == nil {
		return
	}
	x.mesh.Close()
	x.past.Add(x.mesh.Stats())
	x.mesh = nil
}
