package worker

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// probeTimeout bounds the wait for an answer to a probe.
const probeTimeout = 2 * time.Second

// probe tells which of the workers cannot be connected to.
func (x *executor) probe(ctx context.Context, p *control.Probe) (*control.ProbeReport, error) {
	m, err := x.registeredMesh()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, cmp.Or(x.options.Silence, probeTimeout)))
	defer cancel()
	var group sync.WaitGroup
	unreachable := make([]bool, len(p.Peers))
	for i, peer := range p.Peers {
		if peer.Worker == x.options.Name {
			continue
		}
		group.Go(func() {
			err := m.Probe(ctx, mesh.Peer{Name: peer.Worker, Addr: peer.Address, Incarnation: peer.Incarnation})
			unreachable[i] = errors.As(err, new(*mesh.UnreachableError))
		})
	}
	group.Wait()
	r := &control.ProbeReport{}
	for i, peer := range p.Peers {
		if unreachable[i] {
			r.Unreachable = append(r.Unreachable, peer.Worker)
		}
	}
	return r, nil
}
