// Package validate checks the trees of Graph500 searches by the rules of the specification. It uses
// only the edge list, so an error in the graph's data structures cannot hide an error in a result.
// Read validator.go first, then bfs.go.
package validate

import "fmt"

// Unreached is the parent of an unreached vertex.
const Unreached = ^uint32(0)

// Result describes a valid search.
type Result struct {
	// Edges is nedge as the reference code counts: tuples between two reached vertices, with
	// duplicates and without loops.
	Edges int64
	// Levels is the number of levels of the tree, including the root's.
	Levels int
	// Reached is the number of vertices in the tree.
	Reached int64
}

// Violation is the error for a result that breaks a rule.
type Violation struct {
	// Rule is the specification's number, 1 to 5, or 0 for a precondition of its rules.
	Rule int
	// Name is the rule in a word: cycle, tree edge, edge, component, no edge; or range, root,
	// reached.
	Name string
	// Text describes the violation with the vertices or the edge.
	Text string
}

// Error returns the rule and the violation.
func (v *Violation) Error() string {
	if v.Rule == 0 {
		return fmt.Sprintf("invalid %s: %s", v.Name, v.Text)
	}
	return fmt.Sprintf("rule %d (%s) violated: %s", v.Rule, v.Name, v.Text)
}

func violation(rule int, format string, args ...any) *Violation {
	name := [...]string{1: "cycle", 2: "tree edge", 3: "edge", 4: "component", 5: "no edge"}[rule]
	return &Violation{rule, name, fmt.Sprintf(format, args...)}
}

func unfit(name, format string, args ...any) *Violation {
	return &Violation{0, name, fmt.Sprintf(format, args...)}
}
