package graphio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/superstep-go/superstep/internal/edges"
)

// parquetFile writes rows with the library, in row groups of the given size.
func parquetFile(
	t testing.TB, columns []string, nodes []parquet.Node, rows []parquet.Row, group int,
	o ...parquet.WriterOption,
) []byte {
	t.Helper()
	fields := parquet.Group{}
	for i, name := range columns {
		fields[name] = nodes[i]
	}
	var b bytes.Buffer
	w := parquet.NewWriter(&b,
		append(o, parquet.NewSchema("test", fields), parquet.PageBufferSize(300))...)
	for i, row := range rows {
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		if (i+1)%group == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rowsText returns rows in the format of describe. Integers are unsigned if kind is uint32.
func rowsText(rows []parquet.Row, kind string) string {
	text := func(v parquet.Value) string {
		switch {
		case v.Kind() == parquet.Int32 && kind == "uint32":
			return fmt.Sprint(v.Uint32())
		case v.Kind() == parquet.Int32:
			return fmt.Sprint(v.Int32())
		case v.Kind() == parquet.Int64:
			return fmt.Sprint(v.Uint64())
		default:
			return string(v.ByteArray())
		}
	}
	var parts []string
	for _, row := range rows {
		part := text(row[0]) + ">" + text(row[1])
		if len(row) > 2 {
			w := row[2].Double()
			switch row[2].Kind() {
			case parquet.Int32:
				w = float64(row[2].Int32())
			case parquet.Float:
				w = float64(row[2].Float())
			}
			part += fmt.Sprintf("(%v)", w)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// TestParquet reads files of all supported types, encodings and compressions, and compares them
// with the written rows.
func TestParquet(t *testing.T) {
	team := team(t, 3)
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli, &parquet.Lz4Raw}
	leaf := func(typ parquet.Type) func() parquet.Node { return func() parquet.Node { return parquet.Leaf(typ) } }
	ids := map[string]func() parquet.Node{
		"int64": leaf(parquet.Int64Type), "int32": leaf(parquet.Int32Type),
		"uint32": func() parquet.Node { return parquet.Uint(32) },
		"uint64": func() parquet.Node { return parquet.Uint(64) },
		"int16":  func() parquet.Node { return parquet.Int(16) },
		"text":   parquet.String, "bytes": leaf(parquet.ByteArrayType),
	}
	weights := map[string]func() parquet.Node{"": nil, "float": leaf(parquet.FloatType), "double": leaf(parquet.DoubleType), "int32": leaf(parquet.Int32Type)}
	n := uint64(0)
	for kind, id := range ids {
		for kindOfWeight, w := range weights {
			n++
			rng := rand.New(rand.NewPCG(n, 5))
			encode := func(node parquet.Node, kind string) parquet.Node {
				switch rng.IntN(5) {
				case 0:
					node = parquet.Encoded(node, &parquet.Plain)
				case 1:
					node = parquet.Encoded(node, &parquet.RLEDictionary)
				case 2:
					switch {
					case kind == "text" || kind == "bytes":
						node = parquet.Encoded(node, &parquet.DeltaLengthByteArray)
					case strings.Contains(kind, "int"):
						node = parquet.Encoded(node, &parquet.DeltaBinaryPacked)
					default:
						node = parquet.Encoded(node, &parquet.ByteStreamSplit)
					}
				case 3:
					if kind == "text" || kind == "bytes" {
						node = parquet.Encoded(node, &parquet.DeltaByteArray)
					}
				}
				if rng.IntN(2) == 0 {
					node = parquet.Optional(node)
				}
				return node
			}
			for range 3 {
				columns, nodes := []string{"a", "b"},
					[]parquet.Node{encode(id(), kind), encode(id(), kind)}
				if w != nil {
					columns, nodes = append(columns, "c"), append(nodes, encode(w(), kindOfWeight))
				}
				value := func(kind string, column int) parquet.Value {
					var v parquet.Value
					switch kind {
					case "int64", "uint64":
						v = parquet.Int64Value(int64(rng.Uint64N(1 << (1 + rng.UintN(60)))))
					case "int32":
						v = parquet.Int32Value(int32(rng.IntN(1 << 20)))
					case "int16":
						v = parquet.Int32Value(int32(rng.IntN(1 << 10)))
					case "uint32":
						v = parquet.Int32Value(int32(rng.Uint32()))
					case "float":
						v = parquet.FloatValue(rng.Float32())
					case "double":
						v = parquet.DoubleValue(rng.Float64())
					default:
						v = parquet.ByteArrayValue(fmt.Appendf(nil, "name-%d", rng.IntN(500)))
					}
					level := 0
					if nodes[column].Optional() {
						level = 1
					}
					return v.Level(0, level, column)
				}
				var rows []parquet.Row
				for range 1 + rng.IntN(800) {
					row := parquet.Row{value(kind, 0), value(kind, 1)}
					if w != nil {
						row = append(row, value(kindOfWeight, 2))
					}
					rows = append(rows, row)
				}
				data := parquetFile(t, columns, nodes, rows, 1+rng.IntN(400),
					parquet.DataPageVersion(1+rng.IntN(2)),
					parquet.Compression(codecs[rng.IntN(len(codecs))]))
				path := put(t, "a.parquet", string(data))
				o := ReadOptions{Weights: edges.Float64, Team: team, Columns: Columns{Source: "a", Target: "b"}}
				if w != nil {
					o.Columns.Weight = "c"
				}
				in, err := read(path, pieceSize, o)
				if err != nil {
					t.Fatalf("%s, %s: %v", kind, kindOfWeight, err)
				}
				if got, want := describe(t, in), rowsText(rows, kind); got != want {
					at := 0
					for at < min(len(got), len(want)) && got[at] == want[at] {
						at++
					}
					t.Fatalf("%s, %s: byte %d: %.100s\nwant %.100s", kind, kindOfWeight, at,
						got[at:], want[at:])
				}
				in.Close()
				if kind != "text" && kind != "bytes" {
					wantJoined(t, path, 1+rng.IntN(5), pieceSize, o)
				}
			}
		}
	}
}

// TestParquetIDs reads texts that are numbers, numbers that are names, and columns found by their
// usual names.
func TestParquetIDs(t *testing.T) {
	text := func(s string, column int) parquet.Value { return parquet.ByteArrayValue([]byte(s)).Level(0, 0, column) }
	data := string(parquetFile(t, []string{"aside", "dst", "src"},
		[]parquet.Node{parquet.String(), parquet.String(), parquet.Leaf(parquet.Int64Type)},
		[]parquet.Row{
			{text("x", 0), text("12", 1), parquet.Int64Value(7).Level(0, 0, 2)},
			{text("y", 0), text("7", 1), parquet.Int64Value(12).Level(0, 0, 2)},
		}, 10))
	for ids, want := range map[string]string{"": "7>12 12>7", "name": "7>12 12>7", "number": "7>12 12>7"} {
		in := mustRead(t, put(t, "a.parquet", data), ReadOptions{Columns: Columns{IDs: ids}})
		if got := describe(t, in); got != want || (in.Names != nil) != (ids != "number") {
			t.Errorf("%q: %s, names %t", ids, got, in.Names != nil)
		}
	}
}

// TestParquetErrors has errors of tables, and of the files that contain them.
func TestParquetErrors(t *testing.T) {
	long := func(x int64, column int) parquet.Value { return parquet.Int64Value(x).Level(0, 0, column) }
	ints := []parquet.Node{parquet.Leaf(parquet.Int64Type), parquet.Leaf(parquet.Int64Type)}
	rows := []parquet.Row{{long(1, 0), long(2, 1)}, {long(3, 0), long(-4, 1)}}
	maybe := []parquet.Node{parquet.Leaf(parquet.Int64Type), parquet.Optional(parquet.Leaf(parquet.Int64Type))}
	null := []parquet.Row{{long(1, 0), parquet.Int64Value(2).Level(0, 1, 1)}, {long(3,
		0), parquet.NullValue().Level(0, 0, 1)}}
	doubles := []parquet.Node{parquet.Leaf(parquet.Int64Type), parquet.Leaf(parquet.DoubleType)}
	nan := []parquet.Row{{long(1, 0), parquet.DoubleValue(math.NaN()).Level(0, 0, 1)}}
	dates := []parquet.Node{parquet.Leaf(parquet.Int64Type), parquet.Date()}
	day := []parquet.Row{{long(1, 0), parquet.Int32Value(2).Level(0, 0, 1)}}
	for _, test := range []struct {
		columns []string
		nodes   []parquet.Node
		rows    []parquet.Row
		o       Columns
		want    string
	}{
		{[]string{"u", "v"}, ints, rows, Columns{}, `the negative number -4 in "v", row 2, expected a vertex: a whole number from 0 on (--ids name reads ids of any kind)`},
		{[]string{"u", "v"}, maybe, null, Columns{}, `nothing in "v", row 2, expected a value in every row`},
		{[]string{"u", "v"}, doubles, nan, Columns{}, `the column "v" of type DOUBLE, expected whole numbers or text`},
		{[]string{"u", "v"}, dates, day, Columns{}, `the column "v" of DATE, expected whole numbers or text`},
		{[]string{"u", "v"}, ints, rows, Columns{Source: "x"}, `no column "x", expected one of u, v`},
		{[]string{"u", "v"}, ints, nil, Columns{}, `no edges, expected one or more`},
		{[]string{"u"}, ints[:1], []parquet.Row{{long(1,
			0)}}, Columns{}, `1 column, expected 2 or more`},
		{[]string{"u", "v"}, []parquet.Node{ints[0], parquet.Repeated(ints[0])}, []parquet.Row{{long(1, 0), parquet.Int64Value(2).Level(0, 1, 1)}}, Columns{}, `the column "v" of lists or groups, expected whole numbers or text`},
	} {
		path := put(t, "a.parquet",
			string(parquetFile(t, test.columns, test.nodes, test.rows, 100)))
		_, err := read(path, pieceSize, ReadOptions{Weights: edges.Float64, Columns: test.o})
		wantError(t, err, path, "a.parquet: found "+test.want)
	}
	weighted := []parquet.Node{ints[0], ints[1], parquet.Leaf(parquet.DoubleType)}
	for _, w := range []float64{math.NaN(), math.Inf(-1)} {
		path := put(t, "a.parquet", string(parquetFile(t, []string{"u", "v", "w"}, weighted,
			[]parquet.Row{{long(1, 0), long(2, 1), parquet.DoubleValue(w).Level(0, 0, 2)}}, 100)))
		_, err := read(path, pieceSize, ReadOptions{Weights: edges.Float64})
		wantError(t, err, path,
			fmt.Sprintf(`a.parquet: found the weight %v in "w", row 1, expected a finite number that fits`, w))
	}
}

// TestParquetRows: if a footer claims too many rows, it is refused before memory is allocated.
func TestParquetRows(t *testing.T) {
	seed := parquetSeeds(t)[0]
	meta := new(format.FileMetaData)
	size := int(binary.LittleEndian.Uint32(seed[len(seed)-8:]))
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), seed[len(seed)-8-size:len(seed)-8],
		meta); err != nil {
		t.Fatal(err)
	}
	for rows, want := range map[int64]string{
		1 << 44:     "the list of 35,184,372,088,832 rows needs",
		1<<47 + 1:   "an invalid footer: row group 1 with 140737488355329 rows",
		-1:          "an invalid footer: row group 0 with -1 rows",
		1 << 16:     "fewer values than rows",
		math.MaxInt: "an invalid footer: row group 0 with 9223372036854775807 rows",
	} {
		meta.NumRows = 0
		for i := range meta.RowGroups {
			meta.RowGroups[i].NumRows = rows
			meta.NumRows += rows
		}
		footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
		if err != nil {
			t.Fatal(err)
		}
		data := append(bytes.Clone(seed), footer...) // the old footer becomes unused bytes
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), parquetMagic...)
		r := newReader(ReadOptions{}, pieceSize)
		r.free = func() int64 { return 1 << 40 }
		_, err = r.read(t.Context(), put(t, "a.parquet", string(data)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %v, want %s", rows, err, want)
		}
	}
}

// parquetSeeds returns small files with many encodings.
func parquetSeeds(t testing.TB) [][]byte {
	var seeds [][]byte
	long := func(x int64, level, column int) parquet.Value { return parquet.Int64Value(x).Level(0, level, column) }
	for i, codec := range []compress.Codec{
		&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd, &parquet.Gzip, &parquet.Brotli,
		&parquet.Lz4Raw,
	} {
		var rows, named []parquet.Row
		for j := range int64(40) {
			rows = append(rows, parquet.Row{long(j, 0, 0), long(j*j%7, 1, 1)})
			named = append(named, parquet.Row{parquet.ByteArrayValue(fmt.Append(nil, "n",
				j%5)).Level(0, 0, 0), parquet.ByteArrayValue(fmt.Append(nil, j)).Level(0, 0, 1)})
		}
		second := parquet.Optional(parquet.Encoded(parquet.Leaf(parquet.Int64Type),
			&parquet.RLEDictionary))
		o := []parquet.WriterOption{parquet.Compression(codec), parquet.DataPageVersion(1 + i%2)}
		seeds = append(seeds,
			parquetFile(t, []string{"u", "v"},
				[]parquet.Node{parquet.Encoded(parquet.Leaf(parquet.Int64Type),
					&parquet.DeltaBinaryPacked), second}, rows, 25, o...),
			parquetFile(t, []string{"u", "v"},
				[]parquet.Node{parquet.Encoded(parquet.String(),
					&parquet.DeltaByteArray), parquet.String()}, named, 100, o...))
	}
	return seeds
}

// FuzzParquet reads malformed files. The result is a graph or an error with the file's name.
func FuzzParquet(f *testing.F) {
	for _, seed := range parquetSeeds(f) {
		f.Add(seed)
	}
	team := team(f, 2)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := put(t, "a.parquet", string(data))
		in, err := read(path, pieceSize,
			ReadOptions{Format: Parquet, Weights: edges.Float64, Team: team})
		if err == nil {
			_ = plainly(t, in)
			in.Close()
		} else if !strings.Contains(err.Error(), path) {
			t.Fatalf("an error that does not name the file: %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	})
}

// TestParquetFaults changes one or a few bytes of valid files, many times. The result is a graph or
// an error.
func TestParquetFaults(t *testing.T) {
	const rounds = 50 // FuzzParquet tests more
	path := filepath.Join(t.TempDir(), "a.parquet")
	for i, seed := range parquetSeeds(t) {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		for range rounds {
			data := bytes.Clone(seed)
			for range 1 + rng.IntN(3) {
				data[rng.IntN(len(data))] = byte(rng.Uint32())
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			if in, err := read(path, pieceSize,
				ReadOptions{Weights: edges.Float64, Format: Parquet}); err == nil {
				in.Close()
			} else if !strings.Contains(err.Error(), path) {
				t.Fatal(err)
			}
		}
	}
}

// BenchmarkReadParquet reads two columns of int64 in 8 row groups with two threads, without
// compression and with Snappy. For comparison it also reads only the pages, without making a graph.
func BenchmarkReadParquet(b *testing.B) {
	team := team(b, 2)
	for name, codec := range map[string]compress.Codec{"plain": &parquet.Uncompressed, "snappy": &parquet.Snappy} {
		const rows = 8 << 20
		rng := rand.New(rand.NewPCG(1, 2))
		path := filepath.Join(b.TempDir(), "a.parquet")
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		type edge struct{ Source, Target int64 }
		w, some := parquet.NewGenericWriter[edge](f, parquet.Compression(codec),
			parquet.PageBufferSize(1<<20)), make([]edge, 1<<20)
		for range rows / len(some) {
			for i := range some {
				some[i] = edge{rng.Int64N(1 << 20), rng.Int64N(1 << 20)}
			}
			if _, err := w.Write(some); err != nil {
				b.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			b.Fatal(err)
		}
		o := ReadOptions{Team: team}
		b.Run(name+"/graph", func(b *testing.B) {
			for b.Loop() {
				in, err := Read(b.Context(), path, o)
				if err != nil {
					b.Fatal(err)
				}
				in.Close()
			}
			b.ReportMetric(2*rows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
		b.Run(name+"/pages", func(b *testing.B) {
			for b.Loop() {
				r := newReader(o, pieceSize)
				f, err := r.open(b.Context(), path)
				if err != nil {
					b.Fatal(err)
				}
				table, err := r.readFooter(f)
				if err != nil {
					b.Fatal(err)
				}
				groups := table.Rows
				team.For(len(groups), 1, func(_, lo, hi int) {
					words := make([]uint64, parquetBatch)
					for g := lo; g < hi; g++ {
						for c := range 2 {
							p := table.Pages(c, g)
							for left := groups[g]; left > 0; left -= parquetBatch {
								if err := p.Words(words[:min(left, parquetBatch)]); err != nil {
									b.Error(err)
								}
							}
						}
					}
				})
				_ = f.Close()
			}
			b.ReportMetric(2*rows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}
