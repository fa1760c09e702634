// Package builtin has the vertex programs that come with superstep, which every binary knows beside its own.
package builtin

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// With returns the built-in programs and a binary's own. What is wrong with these is an error each.
func With(own []pregel.Registered) (all engine.Registry, problems []error) {
	all = Programs()
	taken := map[string]string{}
	for _, p := range all {
		taken[p.Name] = "a built-in program has this name"
	}
	for _, given := range own {
		p, ok := registered(given)
		if !ok {
			problems = append(problems, errors.New("a program must come from pregel.Register"))
			continue
		}
		refuse := func(err error) { problems = append(problems, fmt.Errorf("program %q: %w", p.Name, err)) }
		switch {
		case !regexp.MustCompile(programName).MatchString(p.Name):
			refuse(errors.New("a program's name has letters, digits, _ . and -, and begins with none of . and -"))
		case taken[p.Name] != "":
			refuse(errors.New(taken[p.Name]))
		default:
			taken[p.Name] = "another program has this name"
		}
		if wrong, ok := p.Check().(interface{ Unwrap() []error }); ok {
			for _, err := range wrong.Unwrap() {
				refuse(err)
			}
		}
		all = append(all, p)
	}
	return all, problems
}

const programName = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`

// registered returns the entry of a program that was registered.
func registered(given pregel.Registered) (engine.Registered, bool) {
	if p, ok := given.(engine.Registered); ok {
		return p, true
	}
	p, ok := pregel.Engine{}.Registered(given)
	if !ok {
		return engine.Registered{}, false
	}
	return engine.Register(given.ProgramName(), p), true
}
