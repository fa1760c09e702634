package cli

import (
	"io"
	"os"
	"reflect"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// RunSpoiled is Run with programs whose result is wrong at one vertex.
func RunSpoiled(args []string) int {
	entries := builtin.Programs()
	for _, entry := range entries {
		for i, v := range entry.Variants {
			entry.Variants[i].Program = spoil(v.Program)
		}
	}
	return (&app{name: "spoiled", programs: entries, out: os.Stdout, err: os.Stderr}).main(args)
}

// RunReplaced is Run with a program that replaces the built-in one of the same name. Run itself
// refuses this.
func RunReplaced(args []string, other engine.Registered) int {
	entries := builtin.Programs()
	for i := range entries {
		if entries[i].Name == other.Name {
			entries[i] = other
		}
	}
	return (&app{name: "replaced", programs: entries, out: os.Stdout, err: os.Stderr, in: os.Stdin}).main(args)
}

// spoil returns a program whose result is wrong at the last vertex.
func spoil(sound engine.Erased) engine.Erased {
	p := sound
	p.Wrap = func(program any) engine.Erased { return spoil(sound.Wrap(program)) }
	p.Inspect = func() *engine.Methods {
		m := sound.Inspect()
		instance := m.Instance
		m.Instance = func() engine.Instance { return &spoiled{Instance: instance()} }
		return m
	}
	return p
}

// spoiled changes the value of the last vertex in the output.
type spoiled struct {
	engine.Instance
	state *kernel.State // nil before there is a lane
	slots *kernel.Slots
}

func (s *spoiled) Place(p *kernel.Placement) error {
	s.slots = p.Sources
	return s.Instance.Place(p)
}

func (s *spoiled) NewLane(
	label func(pregel.VertexID) uint64, state kernel.State, changes *kernel.Requests,
) engine.Lane {
	l := s.Instance.NewLane(label, state, changes)
	s.state = l.State()
	return l
}

func (s *spoiled) Rebind(m *engine.Methods) {
	sound := *m
	sound.Instance = func() engine.Instance { return m.Instance().(*spoiled).Instance }
	s.Instance.Rebind(&sound)
}

func (s *spoiled) Values() kernel.Column { return spoiledColumn{s.Instance.Values(), s} }

func (s *spoiled) Output(
	dst []byte, local uint32, label func(dst []byte, id pregel.VertexID) []byte,
) []byte {
	if dst = s.Instance.Output(dst, local, label); s.last(int(local)) {
		dst = append(dst, '1')
	}
	return dst
}

func (s *spoiled) last(local int) bool {
	return s.state != nil && s.slots.ID(uint32(local)) == s.state.IDs-1
}

type spoiledColumn struct {
	kernel.Column
	of *spoiled
}

func (c spoiledColumn) Any(i int) any {
	value := c.Column.Any(i)
	if c.of.last(i) {
		v := reflect.New(reflect.TypeOf(value)).Elem()
		v.Set(reflect.ValueOf(value))
		c.of.spoil(v)
		return v.Interface()
	}
	return value
}

// spoil changes the last number of a value, and reports whether there is one.
func (s *spoiled) spoil(v reflect.Value) bool {
	switch {
	case v.Type() == reflect.TypeFor[pregel.VertexID]():
		v.SetUint((v.Uint() + 1) % s.state.IDs)
	case v.CanFloat():
		v.SetFloat(v.Float()/2 + 1e-3)
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.Kind() == reflect.Struct:
		for i := v.NumField() - 1; i >= 0; i-- {
			if v.Field(i).CanSet() && s.spoil(v.Field(i)) {
				return true
			}
		}
		return false
	case v.Kind() == reflect.Slice && v.Len() == 0:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)) // a copy
		return s.spoil(v.Index(v.Len() - 1))
	case v.Kind() == reflect.Array:
		return v.Len() > 0 && s.spoil(v.Index(v.Len()-1))
	default:
		return false
	}
	return true
}

// Asynchronous returns the standard error of a command that serves others. Its output goes to w;
// flush writes the rest.
func Asynchronous(w io.Writer) (stderr io.Writer, flush func()) {
	a := &app{err: w}
	a.writeAsync()
	return a.err, a.flush
}
