package graphalytics

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// Rule selects how a value is compared with the expected one.
type Rule uint8

const (
	Exact       Rule = iota // the same number
	Epsilon                 // within a relative error of 1e-4; infinity only with infinity
	Equivalence             // labels that partition the vertices in the same way
)

const epsilon = 1e-4

// Match is a writer that compares lines "id value" with a file of such lines. Finish returns the
// difference.
type Match struct {
	rule        Rule
	file        string
	want        map[uint64]string
	there, back map[string]string // labels by the expected ones, and the inverse
	lines       resultlines.Cutter
	seen        map[uint64]bool
	wrong       error // the first difference
}

// Mismatch is the error of a result that differs from the expected one.
type Mismatch struct{ Text string }

// Error describes the difference.
func (m *Mismatch) Error() string { return m.Text }

// NewMatch reads the expected values.
func NewMatch(rule Rule, file string) (*Match, error) {
	m := &Match{
		rule: rule, file: file, want: map[uint64]string{}, there: map[string]string{},
		back: map[string]string{}, seen: map[uint64]bool{},
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		id, value, err := split(lines.Text())
		if err == nil && rule == Epsilon {
			_, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: found %.80q, expected the id of a vertex and its value",
				file, n, lines.Text())
		}
		if _, twice := m.want[id]; twice {
			return nil,
				fmt.Errorf("%s:%d: found vertex %d again, expected every vertex once", file, n, id)
		}
		m.want[id] = value
	}
	return m, lines.Err()
}

// split splits a line "id value".
func split(line string) (id uint64, value string, err error) {
	fields := strings.Fields(line)
	if len(fields) != 2 {
		return 0, "", fmt.Errorf("%d fields", len(fields))
	}
	id, err = strconv.ParseUint(fields[0], 10, 64)
	return id, fields[1], err
}

// Write takes a part of the result.
func (m *Match) Write(p []byte) (int, error) {
	return m.lines.Each(p, func(line []byte) error {
		if m.wrong == nil {
			m.wrong = m.line(strings.TrimSuffix(string(line), "\n"))
		}
		return nil
	})
}

// line compares a line of the result.
func (m *Match) line(line string) error {
	id, got, err := split(line)
	want, known := m.want[id]
	switch {
	case err != nil:
		return mismatch("found %.80q, expected the id of a vertex and its value", line)
	case !known:
		return mismatch("vertex %d is not in %s", id, m.file)
	case m.seen[id]:
		return mismatch("vertex %d comes twice", id)
	}
	m.seen[id] = true
	if !m.same(want, got) {
		return mismatch("vertex %d has %s, expected %s (%s)", id, got, want, m.file)
	}
	return nil
}

func mismatch(format string, args ...any) error { return &Mismatch{fmt.Sprintf(format, args...)} }

func (m *Match) same(want, got string) bool {
	switch m.rule {
	case Epsilon:
		w, _ := strconv.ParseFloat(want, 64)
		g, err := strconv.ParseFloat(got, 64)
		return err == nil && (w == g || !math.IsInf(w, 0) && math.Abs(w-g) <= epsilon*math.Abs(w))
	case Equivalence:
		t, known := m.there[want]
		b, used := m.back[got]
		if known || used {
			return known && used && t == got && b == want
		}
		m.there[want], m.back[got] = got, want
		return true
	default:
		return want == got
	}
}

// Finish returns the first difference from the expected result, or nil.
func (m *Match) Finish() error {
	if m.wrong == nil && len(m.seen) != len(m.want) {
		m.wrong = mismatch("%d vertices, expected the %d of %s", len(m.seen), len(m.want), m.file)
	}
	return m.wrong
}
