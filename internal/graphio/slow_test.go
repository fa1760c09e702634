package graphio

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// graph is the content of a file in the simplest form: sorted ids of vertices, and tuples of ids.
type graph struct {
	vertices []uint64
	tuples   [][2]uint64
	weights  []float64 // nil if there are none
}

// badLine is the line at which a slow parser stopped. 0 means none, -1 the file as a whole.
type badLine int

// slowLines is a simple text parser. It returns all lines of data, split into columns.
func slowLines(data, marks string) (lines [][]string, numbers []int, bad badLine) {
	if strings.HasPrefix(data, "\xff\xfe") || strings.HasPrefix(data, "\xfe\xff") {
		return nil, nil, 1
	}
	data = strings.TrimPrefix(data, "\xef\xbb\xbf")
	for i, line := range strings.Split(strings.TrimSuffix(data, "\n"), "\n") {
		if len(line) > 1<<20 || strings.Contains(line, "\x00") {
			return lines, numbers, badLine(i + 1)
		}
		line = strings.Trim(strings.TrimSuffix(line, "\r"), " \t")
		if line == "" || strings.Contains(marks, line[:1]) {
			continue
		}
		lines = append(lines,
			strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' }))
		numbers = append(numbers, i+1)
	}
	return lines, numbers, 0
}

// slowList is the simple counterpart of the edge list parser. Lines have the given number of
// columns; at most three are used.
func slowList(
	data, marks string, columns int, low, high uint64, size int,
) (ids []uint64, weights []float64, bad badLine) {
	lines, numbers, bad := slowLines(data, marks)
	for i, fields := range lines {
		if len(fields) != columns {
			return nil, nil, badLine(numbers[i])
		}
		for j, field := range fields[:min(columns, 3)] {
			if j == 2 {
				w, err := parseFloat([]byte(field), size)
				digits, _, _ := strings.Cut(strings.ToLower(field), "p")
				if !strings.Contains(digits, "0x") {
					digits, _, _ = strings.Cut(digits, "e")
				}
				underflow := w == 0 && strings.ContainsAny(digits, "123456789abcdef")
				if err != nil || math.IsNaN(w) || math.IsInf(w, 0) || underflow {
					return nil, nil, badLine(numbers[i])
				}
				weights = append(weights, w)
				continue
			}
			id, err := strconv.ParseUint(field, 10, 64)
			if err != nil || id < low || id > high {
				return nil, nil, badLine(numbers[i])
			}
			ids = append(ids, id)
		}
	}
	return ids, weights, bad
}

// slowGraph returns the graph of an edge list. Its vertices are the ids that occur.
func slowGraph(ids []uint64, weights []float64) graph {
	g := graph{weights: weights}
	for i := 0; i < len(ids); i += 2 {
		g.tuples = append(g.tuples, [2]uint64{ids[i], ids[i+1]})
	}
	slices.Sort(ids)
	g.vertices = slices.Compact(ids)
	return g
}

// slowLDBC is the simple counterpart of readLDBC without properties.
func slowLDBC(v, e string, columns int) (graph, badLine) {
	lines, _, bad := slowLines(v, "#%")
	if bad != 0 {
		return graph{}, -1
	}
	var firsts []string // the reader ignores further columns
	for _, fields := range lines {
		firsts = append(firsts, fields[0])
	}
	vertices, _, bad := slowList(strings.Join(firsts, "\n"), "#%", 1, 0, math.MaxUint64-1, 64)
	if bad != 0 || len(vertices) == 0 {
		return graph{}, -1
	}
	slices.Sort(vertices)
	if len(slices.Compact(slices.Clone(vertices))) < len(vertices) {
		return graph{}, -1
	}
	ids, weights, bad := slowList(e, "#%", columns, 0, math.MaxUint64-1, 64)
	if bad != 0 {
		return graph{}, -1
	}
	for _, id := range ids {
		if !slices.Contains(vertices, id) {
			return graph{}, -1
		}
	}
	g := slowGraph(ids, weights)
	g.vertices = vertices
	return g, 0
}

// slowMTX is the simple counterpart of readMatrixMarket.
func slowMTX(data string) (g graph, symmetric bool, bad badLine) {
	head, _, _ := strings.Cut(strings.TrimPrefix(data, "\xef\xbb\xbf"), "\n")
	banner := strings.Fields(strings.ToLower(head))
	lines, _, bad := slowLines(data, "%")
	if bad != 0 || len(head) > 1<<20 || len(banner) != 5 || banner[0] != "%%matrixmarket" ||
		banner[1] != "matrix" || banner[2] != "coordinate" ||
		!slices.Contains(mtxGraph.banner[2], banner[3]) ||
		(banner[4] != "general" && banner[4] != "symmetric") ||
		len(lines) == 0 || len(lines[0]) != 3 {
		return g, false, -1
	}
	columns := 3
	if banner[3] == "pattern" {
		columns = 2
	}
	rows, err := strconv.ParseUint(lines[0][0], 10, 64)
	entries, err2 := strconv.ParseUint(lines[0][2], 10, 64)
	if err != nil || err2 != nil || lines[0][0] != lines[0][1] || entries != uint64(len(lines)-1) ||
		rows > max(1<<20, 1024*entries) {
		return g, false, -1
	}
	text := ""
	for _, fields := range lines[1:] {
		text += strings.Join(fields, " ") + "\n"
	}
	ids, weights, bad := slowList(text, "", columns, 1, rows, 64)
	for i := 0; i+1 < len(ids) && banner[4] == "symmetric"; i += 2 {
		if ids[i] < ids[i+1] {
			bad = -1
		}
	}
	if bad != 0 {
		return g, false, -1
	}
	g = slowGraph(ids, weights)
	g.vertices = nil
	for id := uint64(1); id <= rows; id++ {
		g.vertices = append(g.vertices, id)
	}
	return g, banner[4] == "symmetric", 0
}

// slowGraph500 is the simple counterpart of readGraph500.
func slowGraph500(data []byte) (g graph, bad badLine) {
	if len(data)%12 != 0 || len(data) == 0 {
		return g, -1
	}
	last := uint64(0)
	for i := 0; i < len(data); i += 12 {
		var words [3]uint64
		for j := range words {
			words[j] = uint64(binary.LittleEndian.Uint32(data[i+4*j:]))
		}
		u, v := words[0]+words[2]%65536<<32, words[1]+words[2]/65536<<32
		g.tuples = append(g.tuples, [2]uint64{u, v})
		last = max(last, u, v)
	}
	if last > math.MaxUint32 || last >= mostVertices(len(g.tuples)) {
		return g, -1
	}
	if len(data) > 0 && last < 1<<20 { // for larger graphs only the number of vertices is compared
		for id := uint64(0); id <= last; id++ {
			g.vertices = append(g.vertices, id)
		}
	}
	return g, 0
}
