// Package cluster runs programs on a cluster, from Go. [Connect] returns a connection.
// superstep.Run accepts the graphs of a connection, as it accepts graphs in this process.
//
//	your process                               the cluster
//	superstep.Run --> Connection --a job-->  master --> workers, which hold the graph
//	Result        <------------- values of all vertices
//
// This process keeps the input ids of a graph's vertices, not its edges. The cluster runs its own
// code: its binary must register the same programs, under the same names ([Options].Programs).
//
// Read connect.go first; run.go turns a call of superstep.Run into a job. The example starts a
// cluster in one process and runs PageRank on it.
package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/backend"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Options select how to reach a cluster. The zero value is for a cluster with the built-in
// programs, started by the same user on this machine.
type Options struct {
	// TokenFile is the file with the cluster's token. The default is the token file of the user's
	// own master at the address.
	TokenFile string
	// TLSCA is the file with the CA of the master's certificate, if the cluster uses TLS. TLSCert
	// and TLSKey are the files with this program's own certificate and key. The token is enough
	// instead of these two.
	TLSCert, TLSKey, TLSCA string
	// RetryFor is the time during which to retry a master that cannot be reached, at first or after
	// the connection was lost; 0 means a minute.
	RetryFor time.Duration
	// Programs are the cluster's programs besides the built-in ones, registered under the same
	// names. The cluster runs its own code. A program with other fields, registered values or
	// message type there is an error. Other differences are not detected.
	Programs []pregel.Registered
	// Log, if not nil, gets a line when the connection is lost or restored. Several goroutines may
	// call it.
	Log func(line string)
}

// Connection is a connection to a cluster. It is safe for use by several goroutines.
type Connection struct {
	client   *client.Client
	programs engine.Registry
	refs     *mem.Refs // counts the calls that use the connection
	idle     chan struct{}
	closed   context.Context
	end      context.CancelCauseFunc

	mu     sync.Mutex
	graphs map[*remote]*superstep.Graph
}

var (
	errConnectionClosed = errors.New("cluster: the connection is closed")
	errOptions          = errors.New("cluster: at most one options struct")
)

// Connect connects to a cluster. address is the address of its master, HOST:PORT.
func Connect(ctx context.Context, address string, options ...Options) (*Connection, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	switch {
	case len(options) > 1:
		return nil, errOptions
	case o.RetryFor < 0:
		return nil,
			fmt.Errorf("cluster: Options.RetryFor: found %v, expected 0, for a minute, or more",
				o.RetryFor)
	}
	token, err := control.ReadToken(o.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("cluster: Options.TokenFile: %w", err)
	}
	files, err := control.LoadTLS(nil, certs.Names{Cert: o.TLSCert, Key: o.TLSKey, CA: o.TLSCA},
		nil)
	if err != nil {
		return nil, fmt.Errorf("cluster: Options: %w", err)
	}
	programs, problems := builtin.With(o.Programs)
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("cluster: Options.Programs: %w", err)
	}
	who := control.Credentials{Token: token, TLS: files}
	c, err := client.New(
		client.Options{Address: address, Credentials: who, Patience: o.RetryFor, Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := c.Reach(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	conn := &Connection{
		client: c, programs: programs, idle: make(chan struct{}),
		graphs: map[*remote]*superstep.Graph{},
	}
	conn.refs = mem.NewRefs(func() { close(conn.idle) })
	conn.closed, conn.end = context.WithCancelCause(context.Background())
	return conn, nil
}

// closeWait bounds the time that Close waits for running calls. Run itself waits up to half a
// minute for the end of a job that it has cancelled.
const closeWait = 40 * time.Second

// Close cancels the connection's runs, waits at most 40 s until their calls have returned, and
// drops the graphs that Load has loaded. It is idempotent. A function that Run calls, such as
// Options.Progress, must not call Close: Close would wait for it.
func (c *Connection) Close() {
	c.end(errConnectionClosed)
	c.refs.Close()
	select {
	case <-c.idle:
	case <-time.After(closeWait):
		c.client.Log(fmt.Sprintf("closing the connection: its calls have not returned within %v",
			closeWait))
	}
	c.mu.Lock()
	graphs := c.graphs
	c.graphs = nil
	c.mu.Unlock()
	for _, g := range graphs {
		g.Close()
	}
	c.client.Close()
}

// use returns a context that also ends with the connection. The caller must call release.
func (c *Connection) use(ctx context.Context) (_ context.Context, release func(), err error) {
	if !c.refs.Acquire() {
		return nil, nil, errConnectionClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.closed, func() { cancel(errConnectionClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.refs.Release()
	}, nil
}

// Load loads a graph onto the cluster, distributed over its workers, until the graph is closed. The
// workers read the file, so they must have it under the same name. With neither Partitions nor Grid
// each worker has one partition.
func (c *Connection) Load(
	ctx context.Context, name string, options ...superstep.LoadOptions,
) (*superstep.Graph, error) {
	if len(options) > 1 {
		return nil, errOptions
	}
	o := append(options, superstep.LoadOptions{})[0]
	if err := o.Validate(); err != nil {
		return nil, err
	}
	request, err := requestOf(o, name)
	if err != nil {
		return nil, err
	}
	ctx, release, err := c.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	about, err := c.client.LoadGraph(ctx, request, progressOf(o))
	if err == nil {
		var g *superstep.Graph
		if g, err = c.graph(ctx, about, o, true); err == nil {
			return g, nil
		}
	}
	c.drop(request.Name)
	return nil, err
}

// drop drops a graph from the cluster, if it exists.
func (c *Connection) drop(name string) {
	if err := c.client.DropGraph(context.Background(), name); err != nil {
		c.client.Log(fmt.Sprintf("graph %s could not be dropped: %v", name, err))
	}
}

// Graph returns a graph that the cluster has already; "superstep graphs list" lists them. Closing
// it does not drop it from the cluster.
func (c *Connection) Graph(ctx context.Context, name string) (*superstep.Graph, error) {
	ctx, release, err := c.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	about, err := c.client.Graph(ctx, strings.TrimPrefix(name, control.CatalogPrefix))
	if err != nil {
		return nil, err
	}
	return c.graph(ctx, about, superstep.LoadOptions{}, false)
}

// graph makes a Graph for a graph of the cluster. This process keeps the input ids of its vertices.
func (c *Connection) graph(
	ctx context.Context, about *control.Graph, o superstep.LoadOptions, own bool,
) (*superstep.Graph, error) {
	if about.State != control.GraphState_GRAPH_STATE_READY {
		return nil, fmt.Errorf("cluster: graph %s is not there: it is %s: %s", about.Name,
			about.State.Word(), about.Reason)
	}
	labels, err := c.client.Vertices(ctx, about, progressOf(o))
	if err != nil {
		return nil, err
	}
	grid := graph.Grid{Rows: int(about.Rows), Columns: int(about.Columns)}
	deal, err := kernel.ParseDeal(grid.Partitions(), about.Deal)
	if err != nil {
		return nil, fmt.Errorf("cluster: graph %s: %w", about.Name, err)
	}
	far := &remote{conn: c, g: graph.Elsewhere(about.Name, labels, about.Arcs, about.Directed,
		grid, deal), load: about.Load, named: about.Named}
	if about.Fingerprint != 0 {
		far.g.Numbered(about.Fingerprint)
	}
	free := func() {
		far.g.Close()
		if own {
			c.drop(about.Name)
		}
	}
	account := append([]string{fmt.Sprintf("%s on the cluster, as graph %s",
		about.Source().Origin(), about.Name)}, about.Notes...)
	g := backend.New(far.g, far, free, account, about.Skipped).(*superstep.Graph)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.graphs[far] = g
	return g, nil
}

// requestOf returns the request to load a graph.
func requestOf(o superstep.LoadOptions, name string) (*control.LoadGraphRequest, error) {
	switch {
	case o.Vertices != nil:
		return nil, errors.New("cluster: LoadOptions.Vertices are only for superstep.FromEdges")
	case o.Threads != 0:
		return nil, errors.New("cluster: LoadOptions.Threads are only for graphs in this process")
	}
	source := backend.Source(o, name)
	if err := resolve.Absolute(source); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	grid := graph.Grid(o.Grid)
	if grid == (graph.Grid{}) && o.Partitions > 0 {
		grid = graph.Of(o.Partitions)
	}
	if n := grid.Partitions(); grid.Rows < 0 || grid.Columns < 0 || grid.Rows > math.MaxUint32 ||
		grid.Columns > math.MaxUint32 || o.Partitions > 0 && n != o.Partitions {
		return nil, fmt.Errorf("cluster: found a grid of %v for %d partitions", grid, o.Partitions)
	}
	return &control.LoadGraphRequest{
		Name: "go-" + strings.ToLower(rand.Text()), SourceJson: job.Text(source),
		Rows: uint32(grid.Rows), Columns: uint32(grid.Columns),
	}, nil
}

func progressOf(o superstep.LoadOptions) func(stage string, done, total int64) {
	if o.Progress == nil {
		return func(string, int64, int64) {}
	}
	return o.Progress
}
