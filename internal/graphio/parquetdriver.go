package graphio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A driver reads and writes the pages of Parquet (drivers/parquet). A program that does not import
// it does not link the Parquet library. This package knows the meaning of the columns.

// Layout of a Parquet file: | PAR1 | pages ... | footer | size of the footer (uint32) | PAR1 |.
const (
	parquetMagic = "PAR1"
	// maxFooter is the maximum size of a footer in bytes.
	maxFooter = 256 << 20
	// footerMemory is the number of bytes of memory that each byte of a footer may take.
	footerMemory = 100
)

// ColumnType is the type of the values of a Parquet column.
type ColumnType uint8

const (
	// TextColumn has texts in UTF-8.
	TextColumn ColumnType = iota
	// IntColumn has int64s.
	IntColumn
	// UintColumn has uint64s.
	UintColumn
	// FloatColumn has float64s.
	FloatColumn
	// BoolColumn has booleans.
	BoolColumn
)

// ParquetColumn is a column of a file to write.
type ParquetColumn struct {
	Name string
	Type ColumnType
}

// ParquetWriter writes a table. For each row, call the method of each column's type, in order, and
// then Row.
type ParquetWriter interface {
	// Int adds an integer; a value of UintColumn is given as the int64 with the same bits.
	Int(column int, x int64)
	Float(column int, x float64)
	Bool(column int, x bool)
	// The bytes of a Text must not change before 4096 more rows were written.
	Text(column int, x []byte)
	Row() error
	Close() error
}

// ParquetSource gives a driver access to a file.
type ParquetSource struct {
	ReadAt   func(p []byte, at int64) error // fills p
	Admit    func(bytes int64, what string) // panics if memory is not available
	Progress func(bytes int64)              // counts bytes read
}

// StoredColumn is a column of a file being read.
type StoredColumn struct {
	Name  string
	Type  ColumnType // BoolColumn stands for all types that are neither numbers nor text
	Of    string     // Parquet's name of the type
	Other string     // the type, if it is neither numbers nor text: lists, dates, decimals
}

// ParquetFile is an open file.
type ParquetFile struct {
	Columns []StoredColumn // top-level columns of the schema
	Rows    []int64        // the number of rows of each row group
	// Pages returns the pages of a column of numbers or texts in a row group.
	Pages func(column, group int) ParquetPages
}

// ParquetPages reads a column in a row group sequentially.
type ParquetPages interface {
	// Words fills dst with the next numbers: integers extended to 64 bits, or the bits of float64s.
	Words(dst []uint64) error
	// Texts calls each with each of the next n texts.
	Texts(n int, each func(text []byte) error) error
}

// MissingValue is the error of a row without a value. Row is counted in its row group.
type MissingValue struct{ Row int64 }

func (*MissingValue) Error() string { return "nothing" }

// ParquetDriver is an implementation of Parquet. Open opens a file whose footer begins at end.
// Create begins to write a file.
type ParquetDriver struct {
	Open   func(footer []byte, end int64, source ParquetSource) (*ParquetFile, error)
	Create func(w io.Writer, columns []ParquetColumn) ParquetWriter
}

var parquetDriver ParquetDriver

// RegisterParquet registers the driver. The driver's init function calls it.
func RegisterParquet(d ParquetDriver) { parquetDriver = d }

var errNoParquet = errors.New("this program has no driver for Parquet: import _ \"github.com/superstep-go/superstep/drivers/parquet\"")

// NewParquetWriter begins to write a table.
func NewParquetWriter(w io.Writer, columns []ParquetColumn) (ParquetWriter, error) {
	if parquetDriver.Create == nil {
		return nil, errNoParquet
	}
	return parquetDriver.Create(w, columns), nil
}

// readFooter reads the footer of a file and opens it with the driver.
func (r *reader) readFooter(f *file) (*ParquetFile, error) {
	if parquetDriver.Open == nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, errNoParquet)
	}
	if err := f.random("Parquet as it is, whose pages are compressed"); err != nil {
		return nil, err
	}
	if f.size() < 12 {
		return nil, f.fault(Counted(f.size(), "byte"), "a file of Parquet, which has more")
	}
	var ends [12]byte
	if err := errors.Join(f.readAt(ends[:4], 0), f.readAt(ends[4:], f.size()-8)); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(ends[4:]))
	switch {
	case string(ends[:4]) == "PARE" || string(ends[8:]) == "PARE":
		return nil, f.fault("encrypted Parquet", "Parquet that is not encrypted")
	case string(ends[:4]) != parquetMagic || string(ends[8:]) != parquetMagic:
		return nil,
			f.fault("no "+parquetMagic+" at the beginning or the end", "a whole file of Parquet")
	case size > f.size()-12 || size > maxFooter:
		return nil, f.fault("a footer of "+Counted(size, "byte"),
			fmt.Sprintf("at most %s", Thousands(min(f.size()-12, maxFooter))))
	}
	r.admission(f).admit(footerMemory*size, "its footer")
	footer, end := make([]byte, size), f.size()-8-size
	if err := f.readAt(footer, end); err != nil {
		return nil, err
	}
	table, err := parquetDriver.Open(footer, end,
		ParquetSource{ReadAt: f.readAt, Admit: r.admission(f).admit, Progress: f.progress.add})
	if err != nil {
		return nil, f.fault("an invalid footer: "+err.Error(), "a whole file of Parquet")
	}
	return table, nil
}
