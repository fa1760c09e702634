// Package ranks runs a netbench on this machine, each rank a process of its own that has nothing of the others but TCP
// connections over loopback, as the workers of a cluster have.
//
//	Launch                                     Serve, in each process
//	  start the processes
//	                             <- Ready      a mesh listens
//	  Setup: who all are         ->
//	                             <- Ready      a session is open
//	  Setup: begin               ->
//	                             <- Done, ...  calibrate and measure; rank 0 says how far it is
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
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Setup is a message to a rank: first its configuration, then that it may begin.
type Setup struct {
	Token    string           `json:",omitempty"`
	Rank     int              `json:",omitempty"`
	Peers    []mesh.Peer      `json:",omitempty"`
	Sites    []int            `json:",omitempty"`
	Measures netbench.Options `json:",omitzero"`
	Begin    bool             `json:",omitempty"`
}

// message is a message from a rank.
type message struct {
	Ready  *mesh.Peer       `json:",omitempty"`
	Stage  string           `json:",omitempty"`
	Done   int              `json:",omitempty"`
	All    int              `json:",omitempty"`
	Report *netbench.Report `json:",omitempty"`
	Error  string           `json:",omitempty"`
}

// What a rank does before and while it measures.
const (
	Calibrating = "calibrating"
	Measuring   = "measuring"
)

const tag = 1

// Measure calibrates a link and measures on it. All ranks call it alike and get the same report. stage, if not nil, is
// told how far it is.
func Measure(ctx context.Context, link collective.Link, sites []int, o netbench.Options, stage func(name string, done, all int)) (*netbench.Report, error) {
	if stage == nil {
		stage = func(string, int, int) {}
	}
	stage(Calibrating, 0, 0)
	model, err := collective.Calibrate(ctx, link, collective.Calibration{Tag: tag, Sites: sites})
	if err != nil {
		return nil, err
	}
	o.Tag = tag
	o.Progress = func(done, all int) { stage(Measuring, done, all) }
	return netbench.Run(ctx, link, model, o)
}

// Serve is a rank: it does what the process that started it says, until that closes in. An error of the measurement is
// told to that process; what Serve returns is that there is nobody to be told.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan Setup)
	go read(in, lines, cancel)
	to := json.NewEncoder(out)
	return serve(ctx, lines, to)
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

func serve(ctx context.Context, lines <-chan Setup, to *json.Encoder) error {
	start, err := next(ctx, lines)
	if err != nil {
		return to.Encode(message{Error: err.Error()})
	}
	m, err := mesh.New(mesh.Options{Name: name(start.Rank), Incarnation: 1, Token: start.Token})
	if err != nil {
		return to.Encode(message{Error: err.Error()})
	}
	defer m.Close()
	if err := take(ctx, start.Rank, m, lines, to); err != nil {
		if err := to.Encode(message{Error: err.Error()}); err != nil {
			return err
		}
	}
	<-ctx.Done() // a connection that goes away would fail the others, and what they say of it is not what happened
	return nil
}

// take takes part in the measurement.
func take(ctx context.Context, rank int, m *mesh.Mesh, lines <-chan Setup, to *json.Encoder) error {
	self := m.Self()
	if err := to.Encode(message{Ready: &self}); err != nil {
		return err
	}
	all, err := next(ctx, lines)
	if err != nil {
		return err
	}
	s, err := m.Open(ctx, 1, 1, mesh.Layout{Workers: all.Peers}, nil)
	if err != nil {
		return err
	}
	if err := to.Encode(message{Ready: &self}); err != nil {
		return err
	}
	if _, err := next(ctx, lines); err != nil {
		return err
	}
	first := rank == 0
	last := time.Time{}
	r, err := Measure(ctx, s.Link(), all.Sites, all.Measures, func(name string, done, all int) {
		if first && (done == all || time.Since(last) > 50*time.Millisecond) {
			last = time.Now()
			_ = to.Encode(message{Stage: name, Done: done, All: all}) // the report will fail too
		}
	})
	if err == nil && first {
		err = to.Encode(message{Report: r})
	}
	return err
}

func name(rank int) string { return fmt.Sprintf("rank %d", rank) }
