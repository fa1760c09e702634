// Package builtin has the built-in vertex programs, which every binary has besides its own.
// table.go lists them.
package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// With returns the built-in programs and a binary's own. An own program replaces a built-in one of
// the same name. problems has an error for each defect of own programs.
func With(own []pregel.Registered) (all engine.Registry, problems []error) {
	all = Programs()
	for _, given := range own {
		p, ok := registered(given)
		if !ok {
			problems = append(problems, errors.New("a program must come from pregel.Register"))
			continue
		}
		refuse := func(err error) {
			problems = append(problems, fmt.Errorf("program %q: %w", p.Name, err))
		}
		at := slices.IndexFunc(all,
			func(other engine.Registered) bool { return other.Name == p.Name })
		p.Own = true
		switch {
		case !programName.MatchString(p.Name):
			refuse(errors.New(
				"a program's name has letters, digits, _ . and -, and begins with none of . and -"))
		case at >= 0 && all[at].Own:
			refuse(errors.New("another program has this name"))
		case at >= 0:
			p.Help += ", in place of the built-in program"
			all = slices.Delete(all, at, at+1)
		}
		for _, err := range p.Check() {
			refuse(err)
		}
		all = append(all, p)
	}
	return all, problems
}

var programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// registered returns the entry of a registered program.
func registered(given pregel.Registered) (engine.Registered, bool) {
	switch p := given.(type) {
	case engine.Registered:
		return p, true
	case engine.Named:
		return engine.Register(p.Name, p.Program), true
	}
	return engine.Registered{}, false
}
