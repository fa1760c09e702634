package graphio

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Usual names of columns, in lower case. The names of sources, targets, vertices and weights
// determine the meaning of a column.
var (
	sourceNames = []string{"source", "src", "from", "source_id", "from_id", "sourceid", "fromid", "src_id", "from_node", "u", "start", "node1", "node_1", "id1", ":start_id"}
	targetNames = []string{"target", "dst", "to", "target_id", "to_id", "targetid", "toid", "dst_id", "to_node", "v", "end", "node2", "node_2", "id2", "dest", "destination", ":end_id"}
	vertexNames = []string{"id", "vertex", "node", "name", "vertex_id", "node_id", "vertexid", "nodeid", "key", "label", ":id"}
	weightNames = []string{"weight", "w", "cost", "distance", "length"}
	// factNames are names of attributes of an edge. Such a column has no vertices, unless a flag
	// names it.
	factNames = []string{"amount", "date", "time", "timestamp", "datetime", "type", "value", "count", "currency", "since", "year", "rating", "score", "price", "quantity"}
	// endNames only show that a line has the names of columns. They do not distinguish the source
	// from the target.
	endNames = []string{
		"follower", "followed", "followee", "customer", "product", "payer", "payee", "name_a",
		"name_b", "buyer", "seller", "sender", "receiver", "recipient", "person", "friend",
		"user", "item", "author", "paper", "citing", "cited", "parent", "child", "a_id", "b_id",
		"id_a", "id_b", "user_id", "item_id", "product_id", "customer_id",
	}
)

// headerLines is the number of lines that are searched to distinguish names of columns from an
// edge.
const headerLines = 10_000

// hasHeader reports whether the first line has the names of columns. If the option Header is set,
// it decides. Otherwise the line has names if an option contains one of its fields as a column
// name, if two fields are usual names, or if a field is a word above a column of numbers. In a
// table of vertices one usual name is enough. So is a first field that is not a number, if there
// are more fields.
func (o *Columns) hasHeader(first []string, rest [][]string) bool {
	if o.Header != nil {
		return *o.Header
	}
	if o.ofVertices && (len(first) > 1 && countDigits([]byte(first[0])) < len(first[0]) ||
		usual(first, vertexNames) >= 0) {
		return true
	}
	if o.named(first) {
		return true
	}
	known := 0
	for _, field := range first {
		if usual([]string{field}, sourceNames, targetNames, vertexNames, weightNames,
			factNames, endNames) == 0 {
			known++
		}
	}
	if known >= 2 {
		return true
	}
	for i, field := range first {
		if isNumber(field) || len(rest) == 0 {
			continue
		}
		if !slices.ContainsFunc(rest,
			func(row []string) bool { return i >= len(row) || !isNumber(row[i]) }) {
			return true
		}
	}
	return false
}

// named reports whether an option contains the name of a column. A number is not a name but the
// position of a column.
func (o *Columns) named(titles []string) bool {
	return slices.ContainsFunc([]string{o.Source, o.Target, o.Weight}, func(name string) bool {
		return name != "" && !isNumber(name) && slices.Contains(titles, name)
	})
}

// unclear is the fault of a first line that may be either names of columns or an edge.
func unclear(first []string, found string) *fault {
	return firstLineFault(quote([]byte(strings.Join(first, ", ")))+found,
		"--header yes if these are the names of columns, --header no if they are an edge")
}

// headed refuses a table whose first line may be either names of columns or an edge.
func (o *Columns) headed(c *csvGrammar) error {
	first := c.head[0]
	if o.Header != nil || o.named(first) || slices.ContainsFunc(first, isNumber) {
		return nil
	}
	ends := first
	if c.header { // usual column names, which may also be names of vertices
		ends = []string{first[c.at[0]], first[c.at[1]]}
	}
	for _, row := range c.head[1:] {
		for at, field := range row {
			switch again := field != "" && slices.Contains(ends, field); {
			case again && !c.header:
				return nil
			case again && (at == c.at[0] || at == c.at[1]):
				return unclear(first, fmt.Sprintf(", and %q again below", field))
			}
		}
	}
	if c.header {
		return nil
	}
	return unclear(first, ", of which nothing occurs again in the first 64 KiB")
}

// isMatrix reports whether a table looks like a matrix: its rows have the same names as its
// columns, or its first column has no name and no column has a usual name.
func isMatrix(first []string, rest [][]string) bool {
	if len(first) < 3 || usual(first, sourceNames, targetNames) >= 0 ||
		slices.ContainsFunc(first, isNumber) {
		return false
	}
	for i, row := range rest {
		if first[0] == "" || i >= len(first)-1 {
			break
		}
		if row[0] != first[i+1] || slices.ContainsFunc(row[1:],
			func(cell string) bool { return !isNumber(strings.ReplaceAll(cell, ",", ".")) }) {
			return false
		}
	}
	return first[0] == "" || len(rest) >= 2
}

func isNumber(text string) bool {
	_, err := parseFloat([]byte(text), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// usual returns the index of the column with the first usual name that occurs, or -1.
func usual(titles []string, lists ...[]string) int {
	for _, names := range lists {
		for _, name := range names {
			is := func(title string) bool { return strings.ToLower(title) == name }
			if at := slices.IndexFunc(titles, is); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// choose finds the columns of the source, the target and the weight: the columns given by options,
// columns with usual names, or the first columns of a table with at most three. Without names of
// columns, a third column of numbers is the weight.
func (o *Columns) choose(c *csvGrammar) error {
	if o.ofVertices {
		at, err := c.column(o.Source)
		if at < 0 && c.header {
			at = usual(c.titles, vertexNames)
		}
		c.at[0] = max(at, 0)
		return err
	}
	for i, given := range []string{o.Source, o.Target, o.Weight} {
		switch at, err := c.column(given); {
		case err != nil:
			return err
		case given != "":
			c.at[i] = at
		case c.header:
			c.at[i] = usual(c.titles, [][]string{sourceNames, targetNames, weightNames}[i])
			if at := c.at[i]; at >= 0 && slices.Contains(c.titles[at+1:], c.titles[at]) {
				return firstLineFault(fmt.Sprintf("two columns with the name %q", c.titles[at]),
					"one, or columns by number: --source-column 1 --target-column 2 (--header no: an edge)")
			}
		}
	}
	if err := o.byPlace(c); err != nil {
		return err
	}
	if !c.header && o.Weight == "" && c.columns == 3 && o.Source == "" && o.Target == "" &&
		!slices.ContainsFunc(c.head,
			func(row []string) bool { return len(row) < 3 || !isNumber(row[2]) }) {
		c.at[2] = 2
	}
	if c.at[0] == c.at[1] || c.at[2] == c.at[0] || c.at[2] == c.at[1] {
		return firstLineFault("one column for two of source, target and weight",
			"three different ones: --source-column, --target-column and --weight-column name them")
	}
	return nil
}

// titled derives the meaning of the columns of what, which have names alone.
func (o *Columns) titled(what string, titles []string) (*csvGrammar, error) {
	if o.Header != nil || o.Delimiter != "" {
		return nil, wrong("--header or --delimiter",
			"neither: "+what+" have names and no delimiter")
	}
	c := &csvGrammar{at: [3]int{-1, -1, -1}, columns: len(titles), titles: titles, header: true}
	return c, o.choose(c)
}

// byPlace uses the first two columns for ends that no name identifies, if the table has at most
// three columns.
func (o *Columns) byPlace(c *csvGrammar) error {
	if c.at[0] >= 0 && c.at[1] >= 0 {
		return nil
	}
	unnamed := c.columns > 3
	for i := range 2 {
		if c.at[i] < 0 && c.at[1-i] != i {
			c.at[i] = i
		} else if c.at[i] < 0 {
			c.at[i] = 1 - i
		}
		given := []string{o.Source, o.Target}[i] != ""
		unnamed = unnamed ||
			!given && c.header && usual(c.titles[c.at[i]:c.at[i]+1], weightNames, factNames) == 0
	}
	if !unnamed {
		return nil
	}
	titles := c.titles
	if !c.header {
		titles = c.head[0]
	}
	return firstLineFault(fmt.Sprintf("%s, whose names do not tell the source and the target: %s",
		Counted(len(titles), "column"), strings.Join(titles, ", ")),
		cmp.Or(o.naming, "--source-column and --target-column, by name or by number from 1"))
}

// idKinds derives from the first lines whether ids are names. If different texts could be the same
// number, the ids are names, or the table is refused.
func (o *Columns) idKinds(c *csvGrammar) error {
	if c.named = o.IDs == "name"; o.IDs != "" {
		return nil
	}
	words, zeros, fraction := false, false, ""
	for _, row := range c.data() {
		for _, at := range c.at[:2] {
			if at < 0 || at >= len(row) {
				continue
			}
			switch id := row[at]; {
			case id != "" && countDigits([]byte(id)) == len(id):
				zeros = zeros || leadingZero([]byte(id))
			case isNumber(id) &&
				countDigits([]byte(strings.TrimPrefix(id, "-"))) < len(strings.TrimPrefix(id, "-")):
				fraction = cmp.Or(fraction, id)
			default:
				words = true
			}
		}
	}
	switch {
	case fraction != "" && !words:
		return wrong(fmt.Sprintf("the number %q for a vertex", fraction),
			"whole numbers without a point (--ids name takes 1.0 and 1 for two vertices)")
	case zeros && !words:
		c.remark = ", ids with leading zeros are names"
	}
	c.named = words || zeros
	return nil
}

// zeroed is the fault of a number with leading zeros: it may mean another vertex than the number
// without them.
func zeroed(digits []byte) *fault {
	if !leadingZero(digits) {
		return nil
	}
	plain := bytes.TrimLeft(digits[:len(digits)-1], "0")
	return wrong("the number "+quote(digits), fmt.Sprintf(
		"no zeros before it (--ids number takes %.30s and %.30s%c for one vertex, --ids name for two)",
		digits, plain, digits[len(digits)-1]))
}

// leadingZero reports whether a number has a leading zero.
func leadingZero(digits []byte) bool { return len(digits) > 1 && digits[0] == '0' }
