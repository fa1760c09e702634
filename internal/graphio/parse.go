package graphio

import (
	"bytes"
	"unicode/utf8"

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
	named *names.Table // of ids that are text; nil of numbers
	zeros bool         // numbers of a table or in JSON may begin with zeros
}

// lineFormat reads the lines of a format that is neither columns separated by blanks nor a table:
// objects and lists. It reads a line, without its newline and carriage return, into the columns of
// p. It must not change the bytes of the line. A call per line costs little in comparison with
// reading the line.
type lineFormat func(p *parser, line []byte) *fault

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
	first           int // lines of data before this piece, if their numbers matter
	limit           int // of malformed lines that may be skipped
	// the skipped lines and, if there are more than limit, one more. Their numbers are counted from
	// the beginning of the data
	bad  []*fault
	cut  cutter // for a table
	utf8 bool   // the data of a table are known to be UTF-8
}

// reset empties the columns and counters, and keeps their memory.
func (p *parser) reset() {
	p.ids, p.weights, p.lines, p.comments = p.ids[:0], p.weights[:0], 0, 0
	p.first = 0
	p.listed, p.balance, p.bad = p.listed[:0], balance{}, nil
	p.names.Reset()
	p.cut.scratch = nil // it has names of the previous batch
}

// parse reads data, which has whole lines or records. It records malformed lines in p.bad, and ends
// after the first that cannot be skipped, which is the last one in p.bad.
func (p *parser) parse(data []byte) {
	// if not, each record is checked, to find the one at fault
	p.utf8 = p.csv != nil && p.named != nil && utf8.Valid(data)
	for len(data) > 0 {
		if data = data[p.fast(data):]; len(data) == 0 {
			break
		}
		var bad *fault
		if _, data, bad = p.record(data); bad != nil && !p.leave(bad) {
			return
		}
	}
	if p.named != nil {
		p.ids = p.named.Take(&p.names, p.ids)
	}
}

// record reads the first line of data, or the first record of a table. It returns the record and
// the rest of data.
func (p *parser) record(data []byte) (record, rest []byte, bad *fault) {
	end := bytes.IndexByte(data, '\n')
	p.lines++
	first := p.lines
	record = bytes.TrimSuffix(data[:end], carriage)
	bad = p.read(record)
	if bad != nil && bad.found == openQuotes { // the record may continue in more lines
		switch all := p.csv.recordEnd(data, 0); {
		case all > end:
			p.lines += bytes.Count(data[end:all], newline)
			end = all
			record = bytes.TrimSuffix(data[:end], carriage)
			bad = p.read(record)
		case all < 0 && len(data) > maxLine:
			bad = wrong("a record of more than 1 MiB: "+quote(data), "quotes that end, and shorter ones")
			bad.column, bad.fatal = 1, true
		// The whole text shows which quotes do not end. Only its first line is skipped.
		case all < 0:
			record = data[:len(data)-1]
			bad = p.read(record)
		}
	}
	if bad != nil {
		place(bad, record, first)
	}
	return record, data[end+1:], bad
}

// read reads a line or a record. If it is at fault, read adds nothing to the columns.
func (p *parser) read(record []byte) (bad *fault) {
	ids, weights, names, listed, balance := len(p.ids), len(p.weights), p.names.Len(),
		len(p.listed), p.balance
	switch {
	case p.csv != nil:
		bad = p.row(record)
	case p.own == nil:
		bad = p.line(record)
	default:
		if bad = checkLine(record); bad == nil {
			bad = p.own(p, record)
		}
	}
	if bad != nil {
		p.ids, p.weights, p.listed, p.balance = p.ids[:ids], p.weights[:weights],
			p.listed[:listed], balance
		p.names.Cut(names)
	}
	return bad
}

// place sets the line and column of a fault whose column counts from the beginning of a record. The
// record begins in line.
func place(bad *fault, record []byte, line int) {
	bad.line, bad.column = placeOf(bad.column-1, record, line)
}

// placeOf returns the line and column of the byte at index at of a record that begins in line.
func placeOf(at int, record []byte, line int) (int, int) {
	before := record[:min(max(at, 0), len(record))]
	return line + bytes.Count(before, newline), len(before) - bytes.LastIndexByte(before, '\n')
}

// leave records a fault, and reports whether its line is skipped.
func (p *parser) leave(f *fault) bool {
	p.bad = append(p.bad, f)
	return len(p.bad) <= p.limit && !f.fatal
}

// fast reads the lines or records at the beginning of data that have a simple form, and returns
// their number of bytes. What it accepts, record accepts too, with the same result.
func (p *parser) fast(data []byte) int {
	switch {
	case p.csv != nil:
		return p.fastRecords(data)
	case p.own == nil && p.columns > 1 && p.before == 0:
		return p.fastLines(data)
	}
	return 0
}

// fastLines is fast for lines. It reads lines with only ids of up to 19 digits, a short weight,
// blanks and ignored columns.
func (p *parser) fastLines(data []byte) int {
	at, ids, weights, lines, letter := 0, p.ids, p.weights, 0, p.letter
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
		if data[i] != '\n' || i-at > maxLine || min(u, v) < p.low || max(u, v) > p.high ||
			(p.lower && u < v) {
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

// digits reads the decimal digits at the beginning of data[i:]. It returns the value, which is
// correct for up to 19 digits, and the end of the digits.
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
func trimLine(line []byte) []byte { return bytes.Trim(bytes.TrimSuffix(line, []byte{'\r'}), " \t") }

// cutField returns the first column of a line that does not begin with a blank, and the rest.
func cutField(line []byte) (field, rest []byte) {
	end := bytes.IndexAny(line, " \t")
	if end < 0 {
		return line, nil
	}
	return line[:end], bytes.TrimLeft(line[end:], " \t")
}
