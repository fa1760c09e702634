// Package parquet is a driver: a program that imports it reads tables of edges in Parquet files and
// writes results to them. Package command imports it.
//
//	import _ "github.com/superstep-go/superstep/drivers/parquet"
//
//	superstep.Load("edges.parquet") --> internal/graphio --> this driver --> rows
//
// The code is in internal/graphio/parquet. The example loads a file.
package parquet

import (
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/graphio/parquet"
)

func init() {
	graphio.RegisterParquet(graphio.ParquetDriver{Open: parquet.Open, Create: parquet.Create})
}
