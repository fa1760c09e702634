package graphio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A driver reads and writes the pages of Parquet (drivers/parquet): a program that does not import
// it does not link the library for them. What the columns of a table mean is known here.

// A file of Parquet ends with what it holds: | PAR1 | pages ... | footer | size of the footer
// (uint32) | PAR1 |.
const (
	parquetMagic = "PAR1"
	// maxFooter is how long a footer may be.
	maxFooter = 256 << 20
	// footerMemory is how many bytes a footer may take in memory for each of its own.
	footerMemory = 100
)

// ColumnType is what the values of a column of Parquet are.
type ColumnType uint8

const (
	// TextColumn is of texts in UTF-8.
	TextColumn ColumnType = iota
	// IntColumn is of int64.
	IntColumn
	// UintColumn is of uint64.
	UintColumn
	// FloatColumn is of float64.
	FloatColumn
	// BoolColumn is of truth values.
	BoolColumn
)

// ParquetColumn is a column of a file that is written.
type ParquetColumn struct {
	Name string
	Type ColumnType
}

// ParquetWriter writes a table. Each row is a value for each column, in order, by the method of the
// column's type, and Row.
type ParquetWriter interface {
	Int(column int, x int64)
	Uint(column int, x uint64)
	Float(column int, x float64)
	Bool(column int, x bool)
	// Text's bytes must not change before some more rows have been written, as many as 4096.
	Text(column int, x []byte)
	Row() error
	Close() error
}

// ParquetSource is where a driver reads a file.
type ParquetSource struct {
	ReadAt   func(p []byte, at int64) error       // fills p
	Admit    func(bytes int64, what string) error // refuses memory that is not there
	Progress func(bytes int64)                    // counts what was read
}

// StoredColumn is a column of a file that is read.
type StoredColumn struct {
	Name  string
	Type  ColumnType // BoolColumn of all that is neither numbers nor text
	Of    string     // what Parquet calls its type
	Other string     // what it has, if neither numbers nor text: lists, dates, decimals
}

// ParquetFile is an open file.
type ParquetFile struct {
	Columns []StoredColumn // at the top of the schema
	Rows    []int64        // of each row group
	// Pages reads a column of numbers or texts in a row group.
	Pages func(column, group int) ParquetPages
}

// ParquetPages reads a column in a row group, in order.
type ParquetPages interface {
	// Words fills dst with the bits of the next numbers: integers extended to 64 bits, or the bits
	// of a float64.
	Words(dst []uint64) error
	// Texts calls each with the next n texts.
	Texts(n int, each func(text []byte) error) error
}

// MissingValue is the error of a row of a row group that has no value.
type MissingValue struct{ Row int64 }

func (*MissingValue) Error() string { return "nothing" }

// ParquetDriver opens a file by its footer and the place where the footer begins, and begins one.
type ParquetDriver struct {
	Open   func(footer []byte, end int64, source ParquetSource) (*ParquetFile, error)
	Create func(w io.Writer, columns []ParquetColumn) ParquetWriter
}

var parquetDriver ParquetDriver

// RegisterParquet is for the init function of the driver.
func RegisterParquet(d ParquetDriver) { parquetDriver = d }

var errNoParquet = errors.New("this program has no driver for Parquet: import _ \"github.com/superstep-go/superstep/drivers/parquet\"")

// NewParquetWriter begins a table.
func NewParquetWriter(w io.Writer, columns []ParquetColumn) (ParquetWriter, error) {
	if parquetDriver.Create == nil {
		return nil, errNoParquet
	}
	return parquetDriver.Create(w, columns), nil
}

// readFooter opens a file by its end.
func (r *reader) readFooter(f *file) (*ParquetFile, error) {
	fault := func(found, expected string) error { return f.fault(found, expected) }
	if parquetDriver.Open == nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, errNoParquet)
	}
	if err := f.random("Parquet as it is, whose pages are compressed"); err != nil {
		return nil, err
	}
	if f.size() < 12 {
		return nil, fault(counted(f.size(), "byte"), "a file of Parquet, which has more")
	}
	var ends [12]byte
	if err := errors.Join(f.readAt(ends[:4], 0), f.readAt(ends[4:], f.size()-8)); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(ends[4:]))
	switch {
	case string(ends[:4]) == "PARE" || string(ends[8:]) == "PARE":
		return nil, fault("encrypted Parquet", "Parquet that is not encrypted")
	case string(ends[:4]) != parquetMagic || string(ends[8:]) != parquetMagic:
		return nil, fault("no "+parquetMagic+" at the beginning or the end", "a whole file of Parquet")
	case size > f.size()-12 || size > maxFooter:
		return nil, fault("a footer of "+counted(size, "byte"), fmt.Sprintf("at most %s", thousands(min(f.size()-12, maxFooter))))
	}
	if err := r.admission(f).admit(footerMemory*size, "its footer"); err != nil {
		return nil, err
	}
	footer, end := make([]byte, size), f.size()-8-size
	if err := f.readAt(footer, end); err != nil {
		return nil, err
	}
	table, err := parquetDriver.Open(footer, end, ParquetSource{ReadAt: f.readAt, Admit: r.admission(f).admit, Progress: f.progress.add})
	if err != nil {
		return nil, fault("a footer at fault: "+err.Error(), "a whole file of Parquet")
	}
	return table, nil
}
