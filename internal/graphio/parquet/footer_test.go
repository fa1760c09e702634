package parquet

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/superstep-go/superstep/internal/graphio"
)

// TestDecodeThrift: decodeThrift returns the length of a struct that the library wrote. No prefix
// of it is a struct.
func TestDecodeThrift(t *testing.T) {
	for _, kind := range []graphio.ColumnType{graphio.IntColumn, graphio.TextColumn} {
		var file bytes.Buffer
		w := Create(&file,
			[]graphio.ParquetColumn{{Name: "u", Type: kind}, {Name: "v", Type: graphio.IntColumn}})
		for i := range int64(40) {
			if kind == graphio.TextColumn {
				w.Text(0, fmt.Append(nil, i))
			} else {
				w.Int(0, i)
			}
			w.Int(1, i)
			if err := w.Row(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		seed := file.Bytes()
		footer := seed[len(seed)-8-int(uint32(seed[len(seed)-8])|uint32(seed[len(seed)-7])<<8) : len(seed)-8]
		if n, err := decodeThrift(append(bytes.Clone(footer), "more"...),
			new(format.FileMetaData)); err != nil ||
			n != len(footer) {
			t.Fatalf("%d of %d bytes, %v", n, len(footer), err)
		}
		for cut := range footer {
			if _, err := decodeThrift(footer[:cut], new(format.FileMetaData)); err != errThriftEnd {
				t.Fatalf("%d of %d bytes are a struct", cut, len(footer))
			}
		}
	}
	deep := bytes.Repeat([]byte{0x1c}, 1000)
	if _, err := decodeThrift(deep, new(format.FileMetaData)); err != errThriftForm {
		t.Error("structs within structs without end")
	}
	// a list of a thousand empty structs
	empty := append([]byte{0x19, 0xfc, 0xe8, 0x07}, make([]byte, 1001)...)
	if _, err := decodeThrift(empty, new(format.FileMetaData)); err != errThriftForm {
		t.Error("structs of nothing")
	}
}
