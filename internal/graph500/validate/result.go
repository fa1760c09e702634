// Package validate judges the trees that searches found, by the rules of Graph500's specification,
// against the edge list and nothing else: no structure that a search went by can hide an error.
package validate

import "fmt"

// Unreached is the parent of a vertex that the search did not reach.
const Unreached = ^uint32(0)

// Result is what a valid search amounts to.
type Result struct {
	// Edges is nedge by the reference's rule: tuples that join two reached vertices, duplicates
	// counted, loops not.
	Edges int64
	// Levels is the number of levels of the tree, the root's included.
	Levels int
	// Reached is the number of vertices in the tree.
	Reached int64
}

// Violation is the error of a search whose result breaks a rule.
type Violation struct {
	// Rule is the specification's number, 1 to 5, or 0 for what must hold before its rules make
	// sense.
	Rule int
	// Name is the rule in a word: cycle, tree edge, edge, component, no edge; or range, root,
	// reached.
	Name string
	// Text names the vertices or the edge at fault.
	Text string
}

// Error names the rule and what breaks it.
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
