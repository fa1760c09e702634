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

// askEvery is how often a load is asked about.
const askEvery = 250 * time.Millisecond

// LoadGraph loads a graph and returns when it is there; progress is told how far the load is. When
// ctx ends the load does too, and the graph is dropped.
func (c *Client) LoadGraph(ctx context.Context, r *control.LoadGraphRequest, progress func(stage string, done, total int64)) (*control.Graph, error) {
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

// SaveGraph has the workers store a graph as a snapshot, and returns its manifest.
func (c *Client) SaveGraph(ctx context.Context, r *control.SaveGraphRequest) (*control.SaveGraphResponse, error) {
	answer, err := c.conn().Cluster.SaveGraph(ctx, r)
	return answer, c.Explain(ctx, err)
}

// askProgress tells how far a load is, until ctx ends.
func (c *Client) askProgress(ctx context.Context, name string, progress func(stage string, done, total int64)) {
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

// Graph says what is known of a graph.
func (c *Client) Graph(ctx context.Context, name string) (*control.Graph, error) {
	return ask(ctx, c, control.ClusterClient.InspectGraph, &control.InspectGraphRequest{Name: name})
}

// DropGraph frees a graph. One that is not there is freed already; a job that has been told to end
// is waited for.
func (c *Client) DropGraph(ctx context.Context, name string) error {
	for began := time.Now(); ; {
		_, err := ask(ctx, c, control.ClusterClient.DropGraph, &control.DropGraphRequest{Name: name})
		switch code := connect.CodeOf(err); {
		case code == connect.CodeNotFound:
			return nil
		case code != connect.CodeAborted, time.Since(began) >= callTimeout, parallel.Sleep(ctx, firstWait) != nil:
			return err
		}
	}
}

// listed is how many vertices are asked for at once.
const listed = 1 << 16

// Vertices returns the input ids of a graph's vertices, by number.
func (c *Client) Vertices(ctx context.Context, g *control.Graph, progress func(stage string, done, total int64)) ([]uint64, error) {
	labels := make([]uint64, 0, g.Vertices)
	for uint64(len(labels)) < g.Vertices {
		r, err := ask(ctx, c, control.ClusterClient.ListVertices, &control.ListVerticesRequest{Graph: g.Name, First: uint64(len(labels)), Count: listed})
		if err != nil {
			return nil, err
		}
		if n := uint64(len(r.Labels)); n == 0 || n > g.Vertices-uint64(len(labels)) {
			return nil, errors.New("the master listed no vertices, or too many")
		}
		labels = append(labels, r.Labels...)
		progress("listing vertices", int64(len(labels)), int64(g.Vertices))
	}
	return labels, nil
}

// Names returns the input ids of names, and the names of input ids, of a graph's vertices, as far
// as it has them: at most some hundred at once.
func (c *Client) Names(ctx context.Context, graph string, names []string, labels []uint64) ([]*control.Name, error) {
	r, err := ask(ctx, c, control.ClusterClient.ListVertices, &control.ListVerticesRequest{Graph: graph, Names: names, NamesOf: labels})
	if err != nil {
		return nil, err
	}
	return r.Names, nil
}

// ask makes a call that is answered at once. Its error is worded for people.
func ask[Q, A any](ctx context.Context, c *Client, call method[Q, A], question *Q) (*A, error) {
	answer, err := once(ctx, c, call, question)
	return answer, c.Explain(ctx, err)
}
