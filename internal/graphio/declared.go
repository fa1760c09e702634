package graphio

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// declaration is what the comments at the beginning of an edge list tell about the direction of
// edges.
type declaration struct {
	directed *bool  // nil if unknown or contradictory
	by       string // the comment
	warning  string // for the user; empty if there is none
}

// networkKinds are the first words of a comment of KONECT and Network Repository. networkWeights
// are the second words.
var (
	networkKinds   = []string{"sym", "asym", "bip"}
	networkWeights = []string{
		"unweighted", "weighted", "positive", "posweighted", "signed", "multisigned",
		"multiweighted", "multiposweighted", "dynamic",
	}
)

// declared reads the comments at the beginning of an edge list. It knows those of SNAP ("#
// Undirected graph"), KONECT and Network Repository ("% sym unweighted"). It warns about other
// comments that mention undirected edges.
func declared(head []byte) (d declaration) {
	told, doubtful := map[string]string{}, ""
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, newline)
		if head, line = rest, trimLine(line); len(line) == 0 {
			continue
		}
		if strings.IndexByte(listMarks, line[0]) < 0 {
			break
		}
		text := strings.TrimSpace(strings.TrimLeft(strings.ToLower(string(line)), listMarks))
		words := strings.Fields(text)
		undirected := strings.Contains(text, "undirected") ||
			strings.Contains(text, "unordered pair")
		switch kind := kindOf(words); {
		case kind == "directed" && undirected: // as some files of SNAP
			doubtful = string(line)
		case kind != "":
			told[kind] = string(line)
		case undirected && doubtful == "" && !strings.HasPrefix(text, "each unordered pair"):
			doubtful = string(line)
		}
	}
	d.by = told["bip"]
	if d.by == "" && len(told) == 1 && (doubtful == "" || told["undirected"] != "") {
		directed := told["directed"] != ""
		d.directed, d.by = &directed, told["directed"]+told["undirected"]
	} else if d.by == "" && (doubtful != "" || len(told) > 1) {
		doubtful = cmp.Or(doubtful, told["undirected"])
		d.warning = fmt.Sprintf("the comment %s may mean that edges are undirected: --undirected reads them as undirected, --directed as directed", quote([]byte(doubtful)))
	}
	return d
}

// kindOf returns the kind of graph that a comment declares: "directed", "undirected", "bip" if
// sources and targets are numbered separately, or "".
func kindOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	first, second := strings.TrimRight(words[0], ":,."), ""
	if len(words) > 1 {
		second = strings.TrimRight(words[1], ":,.")
	}
	switch {
	case slices.Contains(networkKinds, first) && slices.Contains(networkWeights, second):
		return map[string]string{"sym": "undirected", "asym": "directed", "bip": "bip"}[first]
	case (first == "undirected" || first == "directed") &&
		(second == "" || second == "graph" || second == "network"):
		return first
	}
	return ""
}

// bipartite is the fault of an edge list whose sources and targets are numbered separately: one
// number may mean two vertices.
func bipartite(f *file, by string) *fault {
	name := quoteName(filepath.Base(f.path))
	return f.fault("a bipartite graph: "+by, fmt.Sprintf(
		`ids that tell its two sides apart: awk 'BEGIN {print "source\ttarget"} !/^%%/ {print "a" $1 "\tb" $2}' %s > FILE.tsv makes them (--undirected or --directed takes a number for one vertex on both sides)`, name))
}
