// Package ranks has the ranks of a collective.Link do a task on this machine, each a process of its
// own that has nothing of the others but connections over loopback, as the workers of a cluster
// have.
//
//	Launch                                     Serve, in each process
//	  start the processes
//	                             <- Ready      a mesh listens
//	  Setup: who all are         ->
//	                             <- Ready      a session is open
//	  Setup: begin               ->
//	                             <- Done, ...  do the task; rank 0 says how far it is
//	                             <- Report     of rank 0
//	  standard input closed      ->            end
//
// What they say to each other are lines of JSON on the processes' standard input and output.
package ranks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Setup is a message to a rank: first its configuration, then that it may begin.
type Setup struct {
	Token string      `json:",omitempty"`
	Rank  int         `json:",omitempty"`
	Peers []mesh.Peer `json:",omitempty"`
	Task  Task        `json:",omitzero"`
	Begin bool        `json:",omitempty"`
}

// message is a message from a rank.
type message struct {
	Ready  *mesh.Peer      `json:",omitempty"`
	Stage  string          `json:",omitempty"`
	Done   int             `json:",omitempty"`
	All    int             `json:",omitempty"`
	Report json.RawMessage `json:",omitempty"`
	Error  string          `json:",omitempty"`
}

// Task is what all ranks do.
type Task struct {
	// Sites is the site of each rank; nil when all are at one.
	Sites []int `json:",omitempty"`
	// Work says what to do, as Rank.Do reads it.
	Work json.RawMessage `json:",omitempty"`
}

// Rank is how a process takes part.
type Rank struct {
	// Do does the task. All ranks call it; what it returns on rank 0 is the report. stage says how
	// far it is.
	Do func(ctx context.Context, link collective.Link, task Task,
		stage func(name string, done, all int)) (report any, err error)
	// Slow, if not nil, returns a connection that this rank has made to another made slower, or as
	// it is.
	Slow func(c net.Conn, task Task, from, to int) net.Conn
}

// Dialer returns what dials other workers for the mesh of one. peers returns who they are, by their
// numbers, when it dials; slow may put something before a connection.
func Dialer(from int, peers func() []mesh.Peer, slow func(c net.Conn, from,
	to int) net.Conn,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if to := slices.IndexFunc(peers(), func(p mesh.Peer) bool { return p.Addr == address }); to >= 0 {
			c = slow(c, from, to)
		}
		return c, nil
	}
}

// Serve is a rank: it does what the process that started it says, until that closes in. An error of
// the task is told to that process; what Serve returns is that there is nobody to be told.
func (r Rank) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan Setup)
	go read(in, lines, cancel)
	to := json.NewEncoder(out)
	return r.serve(ctx, lines, to)
}

// read passes on what the parent says, and ends the rank when that is gone.
func read(in io.Reader, lines chan<- Setup, gone func()) {
	defer gone()
	defer close(lines)
	d := json.NewDecoder(bufio.NewReader(in))
	for {
		var s Setup
		if err := d.Decode(&s); err != nil {
			return
		}
		lines <- s
	}
}

var errAlone = errors.New("the process that started this one is gone")

func next(ctx context.Context, lines <-chan Setup) (Setup, error) {
	select {
	case s, ok := <-lines:
		if ok {
			return s, nil
		}
	case <-ctx.Done():
	}
	return Setup{}, errAlone
}

func (r Rank) serve(ctx context.Context, lines <-chan Setup, to *json.Encoder) error {
	start, err := next(ctx, lines)
	if err != nil {
		return to.Encode(message{Error: err.Error()})
	}
	p := &part{Rank: r, number: start.Rank, lines: lines, to: to}
	o := mesh.Options{Name: fmt.Sprintf("rank %d", start.Rank), Incarnation: 1, Token: start.Token}
	if r.Slow != nil {
		o.Dial = Dialer(start.Rank, func() []mesh.Peer { return p.all.Peers }, func(c net.Conn, from, to int) net.Conn {
			return r.Slow(c, p.all.Task, from, to)
		})
	}
	m, err := mesh.New(o)
	if err != nil {
		return to.Encode(message{Error: err.Error()})
	}
	defer m.Close()
	if err := p.take(ctx, m); err != nil {
		if err := to.Encode(message{Error: err.Error()}); err != nil {
			return err
		}
	}
	// A connection that goes away would fail the others, and what they say of it is not what
	// happened.
	<-ctx.Done()
	return nil
}

// part is a rank's part in a task.
type part struct {
	Rank
	number int
	lines  <-chan Setup
	to     *json.Encoder
	all    Setup // the one that says who takes part; the mesh dials after it has come
}

// take takes part in the task.
func (p *part) take(ctx context.Context, m *mesh.Mesh) error {
	self := m.Self()
	if err := p.to.Encode(message{Ready: &self}); err != nil {
		return err
	}
	var err error
	if p.all, err = next(ctx, p.lines); err != nil {
		return err
	}
	s, err := m.Open(ctx, 1, 1, mesh.Layout{Workers: p.all.Peers}, nil)
	if err != nil {
		return err
	}
	if err := p.to.Encode(message{Ready: &self}); err != nil {
		return err
	}
	if _, err := next(ctx, p.lines); err != nil {
		return err
	}
	first := p.number == 0
	last := time.Time{}
	report, err := p.Do(ctx, s.Link(), p.all.Task, func(name string, done, all int) {
		if first && (done == all || time.Since(last) > 50*time.Millisecond) {
			last = time.Now()
			_ = p.to.Encode(message{Stage: name, Done: done, All: all}) // the report will fail too
		}
	})
	if err != nil || !first {
		return err
	}
	data, err := json.Marshal(report)
	if err == nil {
		err = p.to.Encode(message{Report: data})
	}
	return err
}
