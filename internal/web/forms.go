package web

import (
	"errors"
	"reflect"
	"strings"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
)

// Forms describe the parameters of jobs and graphs, like the help of the command line.
type Forms struct {
	Programs   []Program              `json:"programs"`
	Generators []generate.Description `json:"generators"`
	Formats    []string               `json:"formats"`
	Duplicates []string               `json:"duplicates"`
	SelfLoops  []string               `json:"self_loops"`
	Weights    []string               `json:"weights"`
	IDs        []string               `json:"ids"`
	Deliveries []string               `json:"deliveries"`
	Priorities []string               `json:"priorities"`
	Graph500   job.Graph500           `json:"graph500"` // the defaults
}

// Program is a program that jobs can run.
type Program struct {
	Name       string      `json:"name"`
	Help       string      `json:"help"`
	Parameters []Parameter `json:"parameters"`
}

// Parameter is a parameter of a program.
type Parameter struct {
	engine.Parameter
	// Value is the placeholder in the command line's help: VERTEX, NUMBER, N, TEXT, true|false.
	Value string `json:"value"`
	Kind  string `json:"kind"` // vertex, number, integer, switch, time, word, text
}

// Forms returns the parameters of jobs and graphs.
func (c *Cluster) Forms() Forms {
	words := map[string][]string{}
	for _, field := range job.Fields(new(job.Spec)) {
		words[field.Key] = field.Words()
	}
	f := Forms{
		Programs: []Program{}, Generators: generate.Known(), Formats: graphio.Formats,
		Duplicates: words["duplicates"], SelfLoops: words["self_loops"], Weights: words["weights"],
		IDs: words["ids"][1:], Deliveries: words["delivery"], Priorities: words["priority"],
	}
	job.Complete(&f.Graph500)
	for _, p := range c.programs {
		shown := Program{Name: p.Name, Help: p.Help, Parameters: []Parameter{}}
		for _, x := range p.Parameters {
			shown.Parameters = append(shown.Parameters, Parameter{x, x.ValueName(), kindOf(x)})
		}
		f.Programs = append(f.Programs, shown)
	}
	return f
}

// kindOf returns the kind of form field for a parameter, or for an element of its list.
func kindOf(p engine.Parameter) string {
	switch strings.TrimPrefix(p.Type, "[]") {
	case "vertex":
		return "vertex"
	case "duration":
		return "time"
	}
	switch {
	case p.Words != nil:
		return "word"
	case p.Kind == reflect.Bool:
		return "switch"
	case p.Kind == reflect.Float32 || p.Kind == reflect.Float64:
		return "number"
	case p.Kind == reflect.String || p.Kind == reflect.Invalid:
		return "text"
	default:
		return "integer"
	}
}

// fieldOf returns the key of a request that an error is about: parameters.NAME for a parameter, or
// "". Errors about a key begin with the key.
func fieldOf(err error) string {
	if p := new(engine.ParameterError); errors.As(err, &p) {
		return "parameters." + p.Name
	}
	call := new(connect.Error)
	if !errors.As(err, &call) || call.Code() != connect.CodeInvalidArgument {
		return ""
	}
	key, _, _ := strings.Cut(call.Message(), ": ")
	return keys[key]
}

// keys maps the keys that errors begin with to their paths in a request.
var keys = func() map[string]string {
	all := map[string]string{}
	for _, f := range append(job.Fields(new(Submission)), job.Fields(new(Loading))...) {
		all[f.Key] = f.Key
	}
	for _, f := range job.Fields(new(job.Graph500)) {
		all[f.Key] = "graph500." + f.Key
	}
	return all
}()
