package web

import (
	"runtime"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/mem"
)

// Local is the Source of one process, or of saved traces: a Store, and what the process says of
// itself.
type Local struct {
	*history.Store
	about   About
	threads int // 0 of saved traces, which have no worker

	mu      sync.Mutex
	graphs  []Graph
	offered *offer // or nil
}

// NewLocal makes a Local that has no runs yet. threads is how many the process works with.
func NewLocal(about About, threads int) *Local {
	l := &Local{Store: history.NewStore(), about: about, threads: threads}
	if threads == 0 {
		l.Past()
	}
	return l
}

// About says what is shown.
func (l *Local) About() About { return l.about }

func (l *Local) recorded() *history.Store { return l.Store }

// Graphs lists the graphs in memory.
func (l *Local) Graphs() []Graph {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.graphs)
}

// AddGraph lists a graph.
func (l *Local) AddGraph(g Graph) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.graphs = append(l.graphs, g)
}

// Workers lists the process.
func (l *Local) Workers() []Worker {
	if l.threads == 0 {
		return nil
	}
	used := mem.RSS()
	return []Worker{{Name: "this process", State: runtime.GOOS + "/" + runtime.GOARCH, Threads: l.threads, Memory: used + mem.Available(), Used: used}}
}
