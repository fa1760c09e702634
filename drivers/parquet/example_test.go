package parquet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/superstep-go/superstep"
	_ "github.com/superstep-go/superstep/drivers/parquet"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/graphio/parquet"
)

// This example loads a table of edges from a Parquet file.
func Example() {
	dir, err := os.MkdirTemp("", "parquet")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "edges.parquet")
	if err := write(file, [][2]int64{{1, 2}, {2, 3}}); err != nil {
		fmt.Println(err)
		return
	}
	g, err := superstep.Load(context.Background(), file)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	fmt.Println(g.NumVertices(), "vertices,", g.NumEdges(), "edges")
	// Output: 3 vertices, 2 edges
}

// write writes edges to a Parquet file.
func write(path string, edges [][2]int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := parquet.Create(f, []graphio.ParquetColumn{
		{Name: "source", Type: graphio.IntColumn}, {Name: "target", Type: graphio.IntColumn},
	})
	for _, e := range edges {
		w.Int(0, e[0])
		w.Int(1, e[1])
		if err := w.Row(); err != nil {
			return err
		}
	}
	return w.Close()
}
