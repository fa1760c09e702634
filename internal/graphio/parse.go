package graphio

import (
	"bytes"

	"github.com/superstep-go/superstep/internal/names"
)

// grammar describes a line of data: one id, two, or two and a weight, separated by blanks.
type grammar struct {
	columns   int    // columns that are read: 1, 2 or 3
	before    int    // ignored columns between the ids and the weight
	after     int    // ignored columns after those that are read
	marks     string // bytes that begin a comment line
	letter    byte   // of DIMACS: the first column of a line of data; comments begin with c
	low, high uint64 // range of ids
	single    bool   // weights are rounded to single precision
	lower     bool   // of a symmetric matrix: column <= row
	more      bool   // any number of ignored columns may follow
	// of lists: an edge is in the lists of both ends, and the copy in the list of the larger end is
	// dropped
	twice  bool
	layout string      // description of the columns for errors
	csv    *csvGrammar // of a table; otherwise nil
	// of formats that are neither columns separated by blanks nor tables; otherwise nil
	own   lineFormat
	named *names.Table // for own, of ids that are text; nil if ids are numbers
}

// parser reads lines into columns. ids holds the endpoints of all lines, weights one weight for
// each line of data.
type parser struct {
	grammar
	ids             []uint64
	weights         []float64
	listed          []uint64    // of lists: the vertex of each line
	balance         balance     // of lists: the balance of their edges
	names           names.Batch // of formats with names
	lines, comments int
	// of formats whose line numbers matter: the lines of data before this piece, and the lines that
	// were read
	first, rows int
	limit       int // of malformed lines that may be skipped
	// the skipped lines and, if there are more than limit, one more. Their numbers are counted from
	// the beginning of the data
	bad []*fault
	cut cutter // for a table
}

// reset empties the columns and counters, and keeps their memory.
func (p *parser) reset() {
	p.ids, p.weights, p.lines, p.comments = p.ids[:0], p.weights[:0], 0, 0
	p.first, p.rows = 0, 0
	p.listed, p.balance, p.bad = p.listed[:0], balance{}, nil
}

// parse reads data, which is whole lines. It stops after more malformed lines than limit, or at one
// that cannot be skipped. This line is then the last in p.bad.
func (p *parser) parse(data []byte) {
	if p.csv != nil {
		p.parseCSV(data)
		return
	}
	if p.own != nil {
		p.parseOwn(data)
		return
	}
	for at := 0; at < len(data); {
		if p.columns > 1 && p.before == 0 {
			if at = p.fast(data, at); at == len(data) {
				break
			}
		}
		end := at + bytes.IndexByte(data[at:], '\n')
		p.lines++
		if f := p.whole(data[at:end]); f != nil && !p.leave(f) {
			return
		}
		at = end + 1
	}
}

// whole reads one line. A malformed line adds nothing.
func (p *parser) whole(line []byte) *fault {
	ids, weights, names, listed, balance := len(p.ids), len(p.weights), p.names.Len(), len(p.listed), p.balance
	var f *fault
	if p.own != nil {
		f = p.ownLine(line)
	} else {
		f = p.line(line)
	}
	if f != nil {
		p.ids, p.weights, p.listed, p.balance = p.ids[:ids], p.weights[:weights], p.listed[:listed], balance
		p.names.Cut(names)
		f.line, f.column = p.lines, max(f.column, 1)
	}
	return f
}

// leave records a fault, and reports whether its line is skipped.
func (p *parser) leave(f *fault) bool {
	p.bad = append(p.bad, f)
	return len(p.bad) <= p.limit && !f.fatal
}

// fast reads plain lines from data[at:], and returns the beginning of the first line that is not
// plain. A plain line has only ids of up to 19 digits, a short weight, blanks and ignored columns.
// For every line it accepts, line gives the same result.
func (p *parser) fast(data []byte, at int) int {
	ids, weights, lines, letter := p.ids, p.weights, 0, p.letter
	for at < len(data) {
		i, from := at, at
		u, v, w, ok := uint64(0), uint64(0), 0.0, true
		if letter != 0 {
			if data[i] != letter || !isBlank(data[i+1]) {
				break
			}
			for i++; isBlank(data[i]); i++ {
			}
			from = i
		}
		if u, i = digits(data, i); uint(i-from-1) > 18 {
			break
		}
		if from = i; !isBlank(data[i]) {
			break
		}
		for i++; isBlank(data[i]); i++ {
		}
		from = i
		if v, i = digits(data, i); uint(i-from-1) > 18 {
			break
		}
		if p.columns == 3 {
			if !isBlank(data[i]) {
				break
			}
			for i++; isBlank(data[i]); i++ {
			}
			if w, i, ok = decimal(data, i, p.single); !ok {
				break
			}
		}
		if p.after > 0 {
			if i, ok = skipColumns(data, i, p.after); !ok {
				break
			}
		}
		for isBlank(data[i]) {
			i++
		}
		if data[i] == '\r' {
			i++
		}
		if data[i] != '\n' || i-at > maxLine || min(u, v) < p.low || max(u, v) > p.high || (p.lower && u < v) {
			break
		}
		ids = append(ids, u, v)
		if p.columns == 3 {
			weights = append(weights, w)
		}
		lines++
		at = i + 1
	}
	p.ids, p.weights = ids, weights
	p.lines += lines
	return at
}

// digits reads decimal digits from data[i:], which must contain a byte after them. It returns the
// value, which is correct for up to 19 digits, and the end of the digits.
func digits(data []byte, i int) (uint64, int) {
	x := uint64(0)
	for ; i < len(data); i++ {
		d := data[i] - '0'
		if d > 9 {
			break
		}
		x = x*10 + uint64(d)
	}
	return x, i
}

// skipColumns skips n columns, each after blanks. It returns their end, and false if there are
// fewer.
func skipColumns(data []byte, i, n int) (int, bool) {
	for ; n > 0; n-- {
		from := i
		for isBlank(data[i]) {
			i++
		}
		if i == from || data[i] <= ' ' {
			return i, false
		}
		for data[i] > ' ' {
			i++
		}
	}
	return i, true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// trimLine removes the carriage return at the end of a line, and the blanks around the rest.
func trimLine(line []byte) []byte {
	return bytes.Trim(bytes.TrimSuffix(line, []byte{'\r'}), " \t")
}

// cutField returns the first column of a line that does not begin with a blank, and the rest.
func cutField(line []byte) (field, rest []byte) {
	end := bytes.IndexAny(line, " \t")
	if end < 0 {
		return line, nil
	}
	return line[:end], bytes.TrimLeft(line[end:], " \t")
}
