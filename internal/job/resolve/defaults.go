package resolve

import "github.com/superstep-go/superstep/internal/engine"

// Defaults returns a function that returns the values of a program's parameters that are not given.
func Defaults(
	programs engine.Registry,
) func(program string, given map[string]string) map[string]string {
	return func(program string, given map[string]string) map[string]string {
		p, _ := programs.Find(program)
		all := map[string]string{}
		for _, x := range p.Parameters {
			if x.Default != "" && given[x.Name] == "" && given[x.Unless] == "" {
				all[x.Name] = x.Default
			}
		}
		return all
	}
}
