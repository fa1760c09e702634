package graphio

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// line reads one line, without its newline, by the full grammar. It handles the lines that fast
// does not accept, and all errors.
func (p *parser) line(line []byte) *fault {
	if f := checkLine(line); f != nil {
		return f
	}
	text := bytes.Trim(line, " \t")
	if len(text) == 0 {
		return nil
	}
	if strings.IndexByte(p.marks, text[0]) >= 0 {
		p.comments++
		return nil
	}
	whole := text
	if p.letter != 0 {
		var word []byte
		switch word, text = cutField(text); {
		case string(word) == "c":
			p.comments++
			return nil
		case string(word) == "n" && p.letter == 'e': // a vertex's color
			return nil
		case len(word) != 1 || word[0] != p.letter:
			return wrong(quote(whole), p.layout).at(line, whole)
		}
	}
	var fields [3][]byte
	n, want := 0, p.columns+p.before+p.after
	beyond := whole[len(whole):] // the first column too many, or where one is missing
	for rest := text; len(rest) > 0; n++ {
		var field []byte
		field, rest = cutField(rest)
		switch {
		case n < 2:
			fields[n] = field
		case n == 2+p.before:
			fields[2] = field
		}
		if n == want {
			beyond = field
		}
	}
	if n != want && !(p.more && n > want) {
		found := Counted(n, "column") + ": " + quote(whole)
		if p.letter != 0 {
			found = quote(whole)
		}
		return wrong(found, p.layout).at(line, beyond)
	}
	for _, field := range fields[:min(p.columns, 2)] {
		id, f := p.id(field)
		if f != nil {
			return f.at(line, field)
		}
		p.ids = append(p.ids, id)
	}
	if ids := p.ids[len(p.ids)-min(p.columns, 2):]; p.lower && ids[0] < ids[1] {
		return wrong(fmt.Sprintf("the entry %d %d above the diagonal", ids[0], ids[1]),
			lowerTriangle).at(line, fields[0])
	}
	if p.columns == 3 {
		w, f := weight(fields[2], p.single)
		if f != nil {
			return f.at(line, fields[2])
		}
		p.weights = append(p.weights, w)
	}
	return nil
}

// checkLine refuses lines that no text file contains.
func checkLine(line []byte) *fault {
	if len(line) > maxLine {
		bad := wrong("a line of more than 1 MiB: "+quote(line), "shorter lines")
		bad.fatal = true
		return bad.inColumn(maxLine + 1)
	}
	if i := bytes.IndexByte(line, 0); i >= 0 {
		return wrong("a NUL byte", "text in UTF-8 or ASCII").inColumn(i + 1)
	}
	return nil
}

// id reads an id in the range of the grammar.
func (g *grammar) id(text []byte) (uint64, *fault) {
	x, end := digits(text, 0)
	if end == len(text) && uint(end-1) < 18 && x >= g.low && x <= g.high {
		return x, nil
	}
	x, f := wholeNumber(text)
	if f == nil && (x < g.low || x > g.high) {
		if x == math.MaxUint64 {
			f = &fault{found: "the reserved id " + quote(text)}
		} else {
			f = &fault{found: "the id " + quote(text)}
		}
	}
	if f != nil {
		f.expected = fmt.Sprintf("a whole number from %d to %d", g.low, g.high)
	}
	return x, f
}

// wholeNumber reads digits. In the fault that it returns, the caller fills in what was expected.
func wholeNumber(text []byte) (uint64, *fault) {
	if len(text) > 0 && countDigits(text) == len(text) {
		x, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return 0, &fault{found: "the number " + quote(text) + ", too large for 64 bits"}
		}
		return x, nil
	}
	body, negative := bytes.CutPrefix(text, []byte{'-'})
	whole, part, fractional := bytes.Cut(body, []byte{'.'})
	if len(whole)+len(part) == 0 || countDigits(whole)+countDigits(part) != len(whole)+len(part) {
		return 0, &fault{found: quote(text) + ", which is not a number"}
	}
	switch {
	case negative:
		return 0, &fault{found: "the negative number " + quote(text)}
	case fractional:
		return 0, &fault{found: "the fractional number " + quote(text)}
	default:
		return 0, &fault{found: quote(text) + ", which is not a number"}
	}
}

func countDigits(text []byte) int {
	n := 0
	for _, c := range text {
		if c-'0' <= 9 {
			n++
		}
	}
	return n
}

// weight reads a finite number. The result equals strconv's.
func weight(text []byte, single bool) (float64, *fault) {
	size := 64
	if single {
		size = 32
	}
	w, err := parseFloat(text, size)
	switch {
	case err != nil && !math.IsInf(w, 0):
		return 0, wrong("the weight "+quote(text), "a number")
	case err != nil:
		return 0, wrong("the weight "+quote(text), fmt.Sprintf("a number that fits %d bits", size))
	case w == 0 && !isZero(text):
		return 0, wrong("the weight "+quote(text)+", which would be 0",
			fmt.Sprintf("a number that fits %d bits", size))
	case math.IsNaN(w) || math.IsInf(w, 0):
		return 0, wrong("the weight "+quote(text), "a finite number")
	}
	return w, nil
}

// parseFloat is strconv.ParseFloat without Go's underscores in numbers, which other programs do not
// accept.
func parseFloat(text []byte, size int) (float64, error) {
	if bytes.IndexByte(text, '_') >= 0 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(string(text), size)
}

// isZero reports whether a decimal or hexadecimal number has only zeros before its exponent.
func isZero(text []byte) bool {
	text = bytes.ToLower(text)
	mark := []byte{'e'}
	if bytes.IndexByte(text, 'x') >= 0 {
		mark[0] = 'p'
	}
	mantissa, _, _ := bytes.Cut(text, mark)
	return len(bytes.Trim(mantissa, "+-0x.")) == 0
}
