package cli

import (
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
)

// program finds a program by name.
func (a *app) program(name string) (engine.Registered, error) {
	p, err := a.programs.Find(name)
	if err != nil {
		return p, usageError{err}
	}
	return p, nil
}

// program finds the program of a run in this process, and checks its parameters as far as that needs no graph.
func (r *runCommand) program(name string, values map[string]string) (engine.Registered, error) {
	e, err := r.app.program(name)
	if err != nil {
		return e, err
	}
	if err = engine.Check(e.Parameters, values); err == nil {
		_, err = e.New(values, nil)
	}
	if err != nil {
		return e, usagef("%s: %w", name, err)
	}
	return e, r.verifies(name, values)
}

// splitParameters reads -p key=value flags.
func splitParameters(flags []string) (map[string]string, error) {
	values := map[string]string{}
	for _, f := range flags {
		name, text, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usagef("-p %s: expected key=value", f)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("-p %s: given twice", name)
		}
		values[name] = text
	}
	return values, nil
}
