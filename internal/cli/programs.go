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

// splitParameters reads -p key=value flags.
func splitParameters(flags []string) (map[string]string, error) {
	values := map[string]string{}
	for _, f := range flags {
		name, text, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usagef("-p %s: expected key=value", f)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("-p %s: given twice: the values of a list are separated with commas, %[1]s=1,5", name)
		}
		values[name] = text
	}
	return values, nil
}
