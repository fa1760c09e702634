package graphio

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// arrayFields are the kinds of numbers of an array that is read.
var arrayFields = []string{"real", "integer", "unsigned-integer"}

// isMatrixMarket reports whether a text begins with the banner of Matrix Market.
func isMatrixMarket(head []byte) bool {
	return len(head) >= len(mtxBanner) && strings.EqualFold(string(head[:len(mtxBanner)]), mtxBanner)
}

// eachElement calls each with the elements of a vector, a Matrix Market array of one column, by row from 1:
//
//	%%MatrixMarket matrix array real general
//	% comments
//	ROWS 1
//	VALUE, a line for each row
func eachElement(lines *lineReader, each func(line []byte, row uint64, value []byte) *fault) error {
	banner, err := lines.next()
	if err != nil {
		return err
	}
	if f := parseArrayBanner(banner); f != nil {
		return lines.at(f)
	}
	var rows, row uint64
	sizeLine := 0
	for {
		line, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		text := trimLine(line)
		if len(text) == 0 || text[0] == '%' {
			continue
		}
		if sizeLine == 0 {
			var f *fault
			if rows, f = parseArraySize(text); f != nil {
				return lines.at(f)
			}
			sizeLine = lines.line
			continue
		}
		value, rest := cutField(text)
		switch row++; {
		case len(rest) > 0:
			return lines.at((&fault{found: "more than one number: " + quote(text), expected: "one a line"}).at(line, rest))
		case row > rows:
			return lines.at(&fault{found: "a value of row " + thousands(row), expected: counted(rows, "row", "rows") + ", as line " + fmt.Sprint(sizeLine) + " says"})
		}
		if f := each(line, row, value); f != nil {
			return lines.at(f.at(line, value))
		}
	}
	switch {
	case sizeLine == 0:
		return &fault{line: lines.line + 1, column: 1, found: "the end of the file", expected: "a line of rows and columns"}
	case row < rows:
		return &fault{line: sizeLine, column: 1, found: counted(row, "value", "values") + " in the file", expected: thousands(rows) + ", as this line says"}
	}
	return nil
}

// parseArrayBanner reads the first line.
func parseArrayBanner(line []byte) *fault {
	words := strings.Fields(strings.ToLower(string(line[:min(len(line), 1024)])))
	if len(words) != 5 {
		return &fault{found: quote(line), expected: mtxBanner + " matrix array FIELD general"}
	}
	for i, allowed := range [][]string{{"matrix"}, {"array"}, arrayFields, {"general"}} {
		if word := words[i+1]; !slices.Contains(allowed, word) {
			f := &fault{found: quote([]byte(word)), expected: strings.Join(allowed, " or ") + " for a column of values"}
			return f.at(line, fieldAt(line, i+1))
		}
	}
	return nil
}

// parseArraySize reads the line of rows and columns.
func parseArraySize(text []byte) (rows uint64, f *fault) {
	const expected = "ROWS 1: a column of values"
	first, rest := cutField(text)
	second, rest := cutField(rest)
	if rows, f = wholeNumber(first); f != nil {
		f.expected = expected
		return 0, f
	}
	if string(second) != "1" || len(rest) > 0 {
		return 0, &fault{found: quote(text), expected: expected}
	}
	return rows, nil
}
