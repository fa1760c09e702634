package vertexset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/pregel"
)

// longestLine is the greatest length of a line in a list.
const longestLine = 1 << 20

// LineError is an error in a line of a list, counted from 1.
type LineError struct {
	Line            int
	Found, Expected string
}

// Error formats the error with its line.
func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: found %s, expected %s", e.Line, e.Found, e.Expected)
}

// ReadList makes a set of the vertices in a list. Each line has a vertex's input id. With named it
// has the vertex's name. The text after the id and a blank, or after the name and a tab, is
// ignored, so a result of superstep run is a list. Empty lines are skipped.
func ReadList(r io.Reader, g Graph, named bool) (Set, error) {
	var wrong error
	s, err := Of(g, vertices(r, g, named, &wrong))
	if wrong != nil {
		return Set{}, wrong
	}
	return s, err
}

func vertices(r io.Reader, g Graph, named bool, wrong *error) iter.Seq[pregel.VertexID] {
	return func(yield func(pregel.VertexID) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, longestLine)
		n := 0
		for lines.Scan() {
			n++
			v, ok, fault := vertex(bytes.TrimSuffix(lines.Bytes(), []byte{'\r'}), g, named)
			if fault != nil {
				fault.Line = n
				*wrong = fault
				return
			}
			if ok && !yield(v) {
				return
			}
		}
		if *wrong = lines.Err(); errors.Is(*wrong, bufio.ErrTooLong) {
			*wrong = &LineError{n + 1, fmt.Sprintf("more than %d bytes", longestLine), "a vertex"}
		}
	}
}

// vertex returns the vertex of a line, and false if the line is empty.
func vertex(line []byte, g Graph, named bool) (v pregel.VertexID, ok bool, fault *LineError) {
	if len(line) == 0 {
		return 0, false, nil
	}
	if named {
		name, _, _ := bytes.Cut(line, []byte{'\t'})
		if v, ok = g.Named(resultlines.Unquoted(string(name))); !ok {
			return 0, false, &LineError{
				Found: fmt.Sprintf("%.80q", name), Expected: "the name of a vertex of the graph",
			}
		}
		return v, true, nil
	}
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return 0, false, nil
	}
	id, err := strconv.ParseUint(string(fields[0]), 10, 64)
	if err == nil {
		v, ok = g.Vertex(id)
	}
	if !ok {
		return 0, false, &LineError{
			Found: fmt.Sprintf("%.80q", fields[0]), Expected: "the id of a vertex of the graph",
		}
	}
	return v, true, nil
}
