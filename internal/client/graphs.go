package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/parallel"
)

// askEvery is the interval of progress requests.
const askEvery = 250 * time.Millisecond

// Progress receives the progress of a stage of the work.
type Progress = func(stage string, done, total int64)

// LoadGraph loads a graph and returns when it is loaded. It passes the progress of the load to
// progress. When ctx ends, it drops the graph, which also stops the load.
func (c *Client) LoadGraph(
	ctx context.Context, r *control.LoadGraphRequest, progress Progress,
) (*control.Graph, error) {
	asking, stop := context.WithCancel(ctx)
	var asked sync.WaitGroup
	asked.Go(func() { c.askProgress(asking, r.Name, progress) })
	answer, err := c.conn().Cluster.LoadGraph(ctx, r)
	stop()
	asked.Wait()
	if ctx.Err() != nil {
		if err := c.DropGraph(context.WithoutCancel(ctx), r.Name); err != nil {
			return nil, fmt.Errorf("graph %s could not be dropped: %w", r.Name, err)
		}
		return nil, context.Cause(ctx)
	}
	return answer, c.Explain(ctx, err)
}

// SaveGraph makes the workers store a graph as a snapshot, and returns the manifest.
func (c *Client) SaveGraph(
	ctx context.Context, r *control.SaveGraphRequest,
) (*control.SaveGraphResponse, error) {
	answer, err := c.conn().Cluster.SaveGraph(ctx, r)
	return answer, c.Explain(ctx, err)
}

// askProgress reports the progress of a load until ctx ends.
func (c *Client) askProgress(ctx context.Context, name string, progress Progress) {
	t := time.NewTicker(askEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		g, err := c.Graph(ctx, name)
		if err != nil || ctx.Err() != nil {
			continue
		}
		if p := g.Progress; p != nil {
			progress(p.Stage, int64(p.Done), int64(p.Total))
		}
	}
}

// Graph returns the description of a graph.
func (c *Client) Graph(ctx context.Context, name string) (*control.Graph, error) {
	return ask(ctx, c, control.ClusterClient.InspectGraph, &control.InspectGraphRequest{Name: name})
}

// DropGraph drops a graph. It ignores a missing graph, and waits for a job on it that is being
// cancelled.
func (c *Client) DropGraph(ctx context.Context, name string) error {
	for began := time.Now(); ; {
		_, err := ask(ctx, c, control.ClusterClient.DropGraph,
			&control.DropGraphRequest{Name: name})
		switch code := connect.CodeOf(err); {
		case code == connect.CodeNotFound:
			return nil
		case code != connect.CodeAborted, time.Since(began) >= callTimeout,
			parallel.Sleep(ctx, firstWait) != nil:
			return err
		}
	}
}

// listed is the number of vertices in a request.
const listed = 1 << 16

// Vertices returns the input ids of a graph's vertices, by number.
func (c *Client) Vertices(
	ctx context.Context, g *control.Graph, progress Progress,
) ([]uint64, error) {
	labels := make([]uint64, 0, g.Vertices)
	for uint64(len(labels)) < g.Vertices {
		r, err := ask(ctx, c, control.ClusterClient.ListVertices,
			&control.ListVerticesRequest{Graph: g.Name, First: uint64(len(labels)), Count: listed})
		if err != nil {
			return nil, err
		}
		if n := uint64(len(r.Labels)); n == 0 || n > g.Vertices-uint64(len(labels)) {
			return nil, errors.New("the master sent a wrong number of vertices")
		}
		labels = append(labels, r.Labels...)
		progress("listing vertices", int64(len(labels)), int64(g.Vertices))
	}
	return labels, nil
}

// Names returns the input ids of names, and the names of input ids, of vertices of a graph. It
// omits unknown ones. A call should have at most a few hundred.
func (c *Client) Names(
	ctx context.Context, graph string, names []string, labels []uint64,
) ([]*control.Name, error) {
	r, err := ask(ctx, c, control.ClusterClient.ListVertices,
		&control.ListVerticesRequest{Graph: graph, Names: names, NamesOf: labels})
	return r.GetNames(), err
}

// ask makes a call that is answered at once, and explains its error.
func ask[Q, A any](ctx context.Context, c *Client, call method[Q, A], question *Q) (*A, error) {
	answer, err := once(ctx, c, call, question)
	return answer, c.Explain(ctx, err)
}
