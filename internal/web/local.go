package web

import (
	"runtime"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/mem"
)

// Local is the Source of one process or of saved traces: a Store and the data of the process.
type Local struct {
	*history.Store
	about   About
	threads int // 0 for saved traces

	mu     sync.Mutex
	graphs []Graph
	offers offers
}

// NewLocal returns a Local without runs. threads is the number of the process's threads, or 0 for
// saved traces.
func NewLocal(about About, threads int) *Local {
	l := &Local{Store: history.NewStore(), about: about, threads: threads}
	if threads == 0 {
		l.Past()
	}
	return l
}

// About describes the process or the traces.
func (l *Local) About() About { return l.about }

func (l *Local) recorded() *history.Store { return l.Store }

// Graphs returns the graphs in memory.
func (l *Local) Graphs() []Graph {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.graphs)
}

// AddGraph adds a graph.
func (l *Local) AddGraph(g Graph) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.graphs = append(l.graphs, g)
}

// Workers returns the process as the only worker. Saved traces have none.
func (l *Local) Workers() []Worker {
	if l.threads == 0 {
		return nil
	}
	used := mem.RSS()
	return []Worker{{Name: "this process", State: runtime.GOOS + "/" + runtime.GOARCH, Threads: l.threads, Memory: used + mem.Available(), Used: used}}
}
