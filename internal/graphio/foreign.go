package graphio

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// asText is the advice for a file of another program.
const asText = `text: write its edges as lines "u v"`

const zipMagic = "PK\x03\x04"

// magics are the first bytes of file formats that are not read, with an advice. No text of a graph
// begins with them.
var magics = []struct{ bytes, found, expected string }{
	{"PAR1", "Parquet data", "text (--format parquet reads it)"},
	{"\x04\x22\x4d\x18", "lz4 data", "text, plain or compressed by gzip, zstd, bzip2 or xz: unpack it with unlz4"},
	{"\x5d\x00\x00", "lzma data", "text, plain or compressed by gzip, zstd, bzip2 or xz: unpack it with unlzma"},
	{"\x1f\x9d", "data of compress", "text, plain or compressed by gzip, zstd, bzip2 or xz: unpack it with uncompress"},
	{zipMagic, "a zip archive", "a file of a graph: unpack it with unzip"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "a file of a graph: unpack it with 7z x"},
	{"\x89HDF\r\n\x1a\n", "HDF5 data", asText},
	{"\x93NUMPY", "a NumPy array", asText},
	{"ARROW1", "Arrow data", asText},
	{"ORC", "ORC data", asText},
	{"SQLite format 3\x00", "an SQLite database", asText},
	{"version https://git-lfs", "a pointer of Git LFS", "the file itself: git lfs pull fetches it"},
}

// columnar are the formats of columns separated by blanks. Texts in other formats are often given
// as one of these.
var columnar = map[Format]bool{
	SNAP: true, EL: true, WEL: true, MatrixMarket: true, LDBC: true, Adjacency: true,
}

// foreign returns a fault if the content of f is in a known format that is not read as text. head
// is the beginning of the content. For a readable text it returns nil.
func (f *file) foreign(head []byte, format Format) error {
	if format == Parquet || format == Serialized || format == SerializedW {
		return nil
	}
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			if m.bytes == zipMagic && strings.EqualFold(filepath.Ext(f.path), ".xlsx") {
				return f.fault("an Excel workbook", "CSV: save the sheet of the edges as CSV UTF-8")
			}
			return f.fault(m.found, m.expected)
		}
	}
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar" && bytes.IndexByte(head[:257], 0) >= 0:
		return f.fault("a tar archive", "a file of a graph: unpack it with tar xf")
	case f.mayBePacked(head):
		return f.fault("binary data that can be packed edges",
			"text (--format graph500 reads packed edges)")
	}
	if format != "" && !columnar[format] && isBinary(head) {
		return f.fault("binary data", "text in UTF-8")
	}
	// these formats report errors themselves: a name of a column or a vertex may be any word
	if !columnar[format] {
		return nil
	}
	line, number, _ := firstLine(head)
	found, expected := foreignLine(line, head, filepath.Base(f.path))
	if found == "" {
		found, expected = separated(line)
	}
	if found != "" {
		return &fault{file: f.path, line: number, column: 1, found: found, expected: expected}
	}
	return nil
}

// isBinary reports whether the beginning of a file is not text of an encoding that contains ASCII.
// Such a file has invalid UTF-8, and more than one of 32 bytes is a control character other than
// white space. In random bytes it is three of 32. A text may have some in malformed lines.
func isBinary(head []byte) bool {
	n := 0
	for _, b := range head {
		if b < ' ' && !unicode.IsSpace(rune(b)) && b != 0x1b {
			n++
		}
	}
	return 32*n > len(head) && !utf8.Valid(head)
}

// mayBePacked reports whether a file that is not text may contain packed tuples of ids below 2^32.
func (f *file) mayBePacked(head []byte) bool {
	if bytes.IndexByte(head, 0) < 0 || len(head) < packedSize ||
		(f.codec == plain && f.size()%packedSize != 0) {
		return false
	}
	for ; len(head) >= packedSize; head = head[packedSize:] {
		if !bytes.Equal(head[8:packedSize], []byte{0, 0, 0, 0}) {
			return false
		}
	}
	return true
}

// firstLine returns the first line of data of a text, without the blanks around it, and its number.
// It stops at a bad line, which the parser will report.
func firstLine(text []byte) (line []byte, number int, bad bool) {
	for number = 1; len(text) > 0; number++ {
		line, text, _ = bytes.Cut(text, newline)
		if checkLine(line) != nil {
			return nil, number, true
		}
		if line = trimLine(line); len(line) > 0 && strings.IndexByte(listMarks, line[0]) < 0 {
			return line, number, false
		}
	}
	return nil, number, false
}

// foreignLine recognizes a text in another format by its first line of data. name is the file's
// name. It returns an advice for the user, or nothing if the text may be a list of edges or a
// matrix.
func foreignLine(line, text []byte, name string) (found, expected string) {
	word, rest := cutField(line)
	lower := strings.ToLower(string(word))
	switch {
	case len(line) == 0:
	case line[0] == '<' && bytes.Contains(text, []byte("<gexf")):
		return "a graph in GEXF",
			"a table: Gephi exports that of the edges (Data Laboratory, Export table)"
	case line[0] == '<' && bytes.Contains(text, []byte("<rdf:RDF")), line[0] == '<' &&
		bytes.HasSuffix(line, []byte(".")), lower == "@prefix", lower == "@base":
		return "RDF triples: " + quote(line), fmt.Sprintf(
			`a table: riot --output=ntriples %s | awk '{print $1 "\t" $3}' > FILE.tsv makes one of all triples`,
			quoteName(name))
	case line[0] == '<':
		if bytes.Contains(text, []byte("<graphml")) {
			return "GraphML: " + quote(line), asText + " (--format graphml reads it)"
		}
		return "HTML or XML: " + quote(line), asText + " (a page in place of a download begins so)"
	case line[0] == '{' || line[0] == '[':
		return "JSON: " + quote(line), asText +
			" (--format jsonl reads an object a line, --format giraph a list a line)"
	case lower == "*vertices":
		return "a graph of Pajek", asText
	case lower == "creator" || lower == "graph" && (len(rest) == 0 || rest[0] == '['):
		return "a graph in GML: " + quote(line), asText
	case lower == "strict" || lower == "digraph" || lower == "graph":
		return "a graph of Graphviz: " + quote(line), asText
	case lower == "c" || lower == "p":
		return "a DIMACS graph", asText + " (--format dimacs reads it)"
	}
	return "", ""
}

// separated recognizes, by the first word of data, a text whose columns are not separated by
// blanks.
func separated(line []byte) (found, expected string) {
	word, _ := cutField(line)
	for _, by := range []struct{ mark, word string }{
		{",", "commas (CSV)"}, {";", "semicolons (CSV)"}, {"|", "bars"},
	} {
		if bytes.Contains(word, []byte(by.mark)) {
			return "columns separated by " + by.word + ": " + quote(line),
				"blanks between columns (--format csv reads tables)"
		}
	}
	return "", ""
}

// quoteName quotes a file's name for a shell.
func quoteName(name string) string {
	if strings.ContainsAny(name, " '\"$&;|<>()*?[]#~`\\\t\n") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
